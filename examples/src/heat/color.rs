//! Colours of temperatures.

/// Black over violet and orange to a light yellow, ever lighter: what is hotter is brighter in print, too.
const INFERNO: [[u8; 3]; 9] = [
    [0, 0, 4],
    [31, 12, 72],
    [85, 15, 109],
    [136, 34, 106],
    [188, 55, 84],
    [227, 89, 51],
    [249, 140, 10],
    [249, 201, 50],
    [252, 255, 164],
];

/// The colour of a value between 0 and 1.
///
/// ```
/// use escrow_examples::heat::color;
/// assert_eq!([0.0, 0.5, 2.0].map(color), [[0, 0, 4], [188, 55, 84], [252, 255, 164]]);
/// ```
pub fn color(value: f32) -> [u8; 3] {
    let place = value.clamp(0.0, 1.0) * (INFERNO.len() - 1) as f32;
    let low = (place as usize).min(INFERNO.len() - 2);
    let part = place - low as f32;
    [0, 1, 2].map(|channel| {
        let (low, high) = (f32::from(INFERNO[low][channel]), f32::from(INFERNO[low + 1][channel]));
        (low + part * (high - low)).round() as u8
    })
}
