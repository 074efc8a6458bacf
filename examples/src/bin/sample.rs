//! Paints the sample picture: a lake, mountains and trees that never were.
//!
//! ```text
//! cargo run --release -p escrow-examples --bin sample -- examples/data/lake.png
//! ```
//!
//! It has what a blur is looked at for: sharp edges, fine grain, and slow gradients.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use escrow_examples::blur::{BlurError, Depth, Layout, Output, write_picture};
use escrow_examples::cli;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 640;
/// Rays of a pixel in each direction.
const RAYS: u32 = 2;

/// Paints the sample picture.
#[derive(Parser, Debug)]
#[command(name = "sample")]
struct Arguments {
    /// The PNG file to write.
    output: PathBuf,
}

fn main() -> ExitCode {
    cli::main(paint)
}

fn paint(arguments: &Arguments) -> Result<(), BlurError> {
    let output = Output::create(&arguments.output)?;
    let layout = Layout::new(WIDTH, HEIGHT, 3, Depth::Eight).expect("the sample is small");
    let mut samples = Vec::with_capacity(layout.samples());
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let mut sum = [0.0; 3];
            for ray in 0..RAYS * RAYS {
                let at = |pixel: u32, ray: u32| f64::from(pixel) + (f64::from(ray) + 0.5) / f64::from(RAYS);
                // The picture is 3 wide and 2 high; y points up, and the horizon lies at 0.
                let u = (at(x, ray % RAYS) / f64::from(HEIGHT) - 0.75) * 2.0;
                let v = (0.52 - at(y, ray / RAYS) / f64::from(HEIGHT)) * 2.0;
                sum = add(sum, scene(u, v), 1.0);
            }
            // A film's grain, the same in all channels.
            let grain = 0.006 * (hash(x as i32, y as i32, 99) - 0.5);
            for light in sum {
                let light = light / f64::from(RAYS * RAYS);
                samples.push((255.0 * (developed(light) + grain)).clamp(0.0, 255.0).round() as u16);
            }
        }
    }
    write_picture(output, &layout, &samples)
}

type Color = [f64; 3];

fn add(a: Color, b: Color, factor: f64) -> Color {
    [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]]
}

fn mix(a: Color, b: Color, part: f64) -> Color {
    let part = part.clamp(0.0, 1.0);
    add([a[0] * (1.0 - part), a[1] * (1.0 - part), a[2] * (1.0 - part)], b, part)
}

fn scaled(a: Color, factor: f64) -> Color {
    add([0.0; 3], a, factor)
}

/// 0 below `from`, 1 above `to`, smooth between.
fn step(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// What film makes of light: a soft shoulder, and the display's curve.
fn developed(light: f64) -> f64 {
    (1.0 - (-1.45 * light.max(0.0)).exp()).powf(1.0 / 2.1)
}

/// A number from 0 to 1 for a point of the lattice.
fn hash(x: i32, y: i32, seed: u32) -> f64 {
    let mut h =
        (x as u32).wrapping_mul(0x8da6_b343) ^ (y as u32).wrapping_mul(0xd816_3841) ^ seed.wrapping_mul(0xcb1a_b31f);
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    f64::from(h ^ (h >> 16)) / f64::from(u32::MAX)
}

/// Smooth noise from 0 to 1.
fn noise(x: f64, y: f64, seed: u32) -> f64 {
    let (i, j) = (x.floor(), y.floor());
    let (s, t) = (step(0.0, 1.0, x - i), step(0.0, 1.0, y - j));
    let at = |dx, dy| hash(i as i32 + dx, j as i32 + dy, seed);
    let row = |dy| at(0, dy) * (1.0 - s) + at(1, dy) * s;
    row(0) * (1.0 - t) + row(1) * t
}

/// Noise of many sizes, about 0.5.
fn fractal(mut x: f64, mut y: f64, octaves: u32, seed: u32) -> f64 {
    let (mut sum, mut weight) = (0.0, 0.5);
    for octave in 0..octaves {
        sum += weight * noise(x, y, seed + octave);
        weight *= 0.5;
        // Turned, so that the lattices do not show.
        (x, y) = (1.6 * x - 1.2 * y + 3.1, 1.2 * x + 1.6 * y - 1.7);
    }
    sum
}

/// Height of the land: ridges that are sharper where they are higher.
fn land(x: f64, z: f64, octaves: u32) -> f64 {
    let (mut p, mut q) = (0.35 * x, 0.35 * z);
    let (mut sum, mut weight, mut sharp) = (0.0, 1.0, 1.0);
    for octave in 0..octaves {
        let ridge = 1.0 - (2.0 * noise(p, q, 40 + octave) - 1.0).abs();
        let ridge = ridge * ridge * sharp;
        sum += weight * ridge;
        sharp = (1.6 * ridge).clamp(0.25, 1.0);
        weight *= 0.48;
        (p, q) = (1.6 * p - 1.2 * q + 5.3, 1.2 * p + 1.6 * q + 2.9);
    }
    // The lake lies in front, and a valley in the middle lets the light through.
    let shore = step(3.0, 9.5, z + 1.1 * (x - 0.4).abs().min(3.0));
    let valley = 1.0 - 0.55 * (-0.12 * (x - 0.12 * z).powi(2)).exp();
    shore * valley * (1.35 * sum - 0.35) - 0.1
}

/// Towards the sun: low, from the left, before us.
const SUN: [f64; 3] = [-0.62, 0.36, 0.70];

fn sky(direction: [f64; 3]) -> Color {
    let up = direction[1].max(0.0);
    let to_sun = (direction[0] * SUN[0] + direction[1] * SUN[1] + direction[2] * SUN[2]).max(0.0);
    let mut color = mix([0.98, 0.72, 0.50], [0.16, 0.32, 0.62], (2.3 * up).powf(0.62));
    color = add(color, [0.9, 0.45, 0.15], 0.55 * to_sun.powi(8));
    color = add(color, [1.0, 0.75, 0.45], 0.9 * to_sun.powi(60));
    if up > 0.01 {
        // A sheet of clouds far up.
        let (x, z) = (direction[0] / (up + 0.06), direction[2] / (up + 0.06));
        let cover = step(0.42, 0.72, fractal(0.9 * x + 5.0, 0.55 * z, 7, 7));
        let lit = step(0.35, 0.75, fractal(0.9 * x + 4.7, 0.55 * z + 0.2, 6, 7));
        let cloud = mix([1.15, 0.86, 0.66], [0.45, 0.44, 0.52], lit);
        color = mix(color, cloud, 0.85 * cover * step(0.01, 0.16, up));
    }
    color
}

/// Where a ray meets the land, if it does.
fn meet(origin: [f64; 3], direction: [f64; 3]) -> Option<f64> {
    let mut distance = 0.6;
    while distance < 42.0 {
        let at = |axis: usize| origin[axis] + distance * direction[axis];
        let above = at(1) - land(at(0), at(2), 7);
        if above < 0.0006 * distance {
            return Some(distance);
        }
        if at(1) > 2.6 && direction[1] > 0.0 {
            return None;
        }
        distance += (0.32 * above).clamp(0.002 * distance, 0.6);
    }
    None
}

/// The colour of the land at a point, with the haze before it.
fn ground(point: [f64; 3], distance: f64, direction: [f64; 3]) -> Color {
    let [x, height, z] = point;
    let size = 0.0012 * distance.max(1.0);
    let slope = |dx, dz| (land(x + dx, z + dz, 11) - land(x - dx, z - dz, 11)) / (2.0 * size);
    let (gx, gz) = (slope(size, 0.0), slope(0.0, size));
    let steep = (1.0 + gx * gx + gz * gz).sqrt();
    let light = ((SUN[1] - gx * SUN[0] - gz * SUN[2]) / steep).max(0.0);
    // Whether a mountain stands before the sun.
    let shaded = (1..24)
        .map(|i| 0.09 * f64::from(i) * (1.0 + 0.06 * f64::from(i)))
        .any(|far| height + far * SUN[1] + 0.01 < land(x + far * SUN[0], z + far * SUN[2], 6));
    let sun = if shaded { 0.06 } else { light };

    let grain = fractal(9.0 * x, 9.0 * z, 5, 70);
    let rock = mix([0.20, 0.17, 0.15], [0.36, 0.31, 0.27], grain);
    let forest = mix([0.025, 0.055, 0.03], [0.08, 0.12, 0.05], fractal(40.0 * x, 40.0 * z, 3, 80));
    let snow = [0.86, 0.88, 0.93];
    let mut color = mix(forest, rock, step(0.22, 0.55, height + 0.35 * (grain - 0.5)).max(step(1.5, 2.4, steep)));
    color = mix(color, snow, step(0.62, 0.82, height + 0.5 * (grain - 0.5)) * (1.0 - step(1.5, 2.2, steep)));
    let lit = add(scaled([1.9, 1.45, 1.0], sun), [0.22, 0.30, 0.44], 0.6 + 0.4 / steep);
    let color = [color[0] * lit[0], color[1] * lit[1], color[2] * lit[2]];
    // Haze is thicker over the water.
    let haze = 1.0 - (-0.03 * distance * (0.35 + (-3.0 * height).exp())).exp();
    mix(color, sky([direction[0], 0.06, direction[2]]), haze)
}

/// The colour that comes from a direction above the water.
fn look(origin: [f64; 3], direction: [f64; 3]) -> Color {
    match meet(origin, direction) {
        Some(distance) => {
            let point = [0, 1, 2].map(|axis| origin[axis] + distance * direction[axis]);
            ground(point, distance, direction)
        }
        None => sky(direction),
    }
}

/// The whole picture at a point of its plane.
fn scene(u: f64, v: f64) -> Color {
    let length = (u * u + v * v + 2.6 * 2.6).sqrt();
    let direction = [u / length, v / length, 2.6 / length];
    let eye = [0.0, 0.16, 0.0];
    let mut color = if let Some(dark) = trees(u, v) {
        dark
    } else if let Some(boat) = boat(u, v, 1.0) {
        boat
    } else if direction[1] < -0.002 && meet(eye, direction).is_none_or(|far| eye[1] + far * direction[1] < 0.0) {
        water(u, v, eye, direction)
    } else {
        look(eye, direction)
    };
    // The corners of a lens are darker.
    color = scaled(color, 1.0 - 0.09 * (u * u + v * v));
    color
}

fn water(u: f64, v: f64, eye: [f64; 3], direction: [f64; 3]) -> Color {
    let far = -eye[1] / direction[1];
    let (x, z) = (far * direction[0], far * direction[2]);
    // Ripples, less of them far away, and calm lanes.
    let calm = step(0.35, 0.65, fractal(0.7 * x, 0.5 * z, 4, 120));
    let strength = (0.012 + 0.05 * calm) / (1.0 + 0.35 * far);
    let ripple = |seed| 2.0 * fractal(9.0 * x, 26.0 * z, 4, seed) - 0.94;
    let mut mirrored =
        [direction[0] + 0.4 * strength * ripple(130), -direction[1] + strength * ripple(140), direction[2]];
    mirrored[1] = mirrored[1].max(0.004);
    let mut image = look([x, 0.0, z], mirrored);
    if let Some(boat) = boat(u + 0.3 * strength * ripple(150), 2.0 * -0.0395 - v + strength * ripple(160), 0.0) {
        image = scaled(boat, 0.8);
    }
    // Looking down, one sees into it.
    let shine = 0.25 + 0.75 * (1.0 - mirrored[1]).powi(5);
    mix([0.015, 0.05, 0.06], image, shine)
}

/// A small sailing boat on the lake.
fn boat(u: f64, v: f64, floats: f64) -> Option<Color> {
    let (x, y) = ((u - 0.52) / 0.15, (v + 0.0395) / 0.15);
    let hull = (0.0..0.09).contains(&y) && x.abs() < 0.26 + 0.8 * y - 0.1 * (1.0 - floats);
    let mast = (0.0..1.0).contains(&y) && (x + 0.02).abs() < 0.011;
    let main = (0.16..0.96).contains(&y) && x > 0.0 && x < 0.36 * (0.96 - y).powf(0.75);
    let jib = (0.14..0.84).contains(&y) && x < -0.04 && x > -0.3 * (0.84 - y).powf(1.1) - 0.04;
    match (hull, mast, main, jib) {
        (true, ..) => Some(if y > 0.07 { [0.9, 0.85, 0.75] } else { [0.35, 0.05, 0.04] }),
        (_, true, ..) => Some([0.12, 0.08, 0.05]),
        // Seams across the sails.
        (_, _, true, _) => Some(scaled([1.25, 1.12, 0.95], if (8.0 * y).fract() < 0.06 { 0.8 } else { 1.0 })),
        (_, _, _, true) => Some([0.95, 0.72, 0.5]),
        _ => None,
    }
}

/// Conifers in front, against the light.
fn trees(u: f64, v: f64) -> Option<Color> {
    let bank = -0.78 + 0.30 * step(-0.55, -1.6, u) + 0.12 * step(0.75, 1.6, u) + 0.03 * fractal(14.0 * u, 3.0, 5, 200);
    if v < bank {
        let grass = fractal(220.0 * u + 20.0 * v, 45.0 * v, 4, 210) * (0.4 + fractal(7.0 * u, 9.0 * v, 3, 215));
        return Some(mix([0.008, 0.012, 0.006], [0.17, 0.15, 0.06], grass * grass));
    }
    for number in 0..15 {
        let random = |seed: u32| hash(number, 0, 220 + seed);
        let side = if number < 10 { -1.56 + 0.085 * f64::from(number) } else { 1.56 - 0.1 * f64::from(number - 10) };
        let center = side + 0.05 * random(0);
        let near = if number < 10 { 1.0 - 0.075 * f64::from(number) } else { 0.62 - 0.1 * f64::from(number - 10) };
        let height = near * (0.75 + 0.5 * random(1));
        let foot = -0.85 + 0.25 * near;
        let t = (v - foot) / height;
        if !(0.0..1.0).contains(&t) {
            continue;
        }
        // Boughs: each hangs down, wider towards the foot, and frayed.
        let tier = (13.0 + 5.0 * random(2)) * t;
        let bough = 0.55 + 0.45 * (1.0 - tier.fract());
        let fray = 0.55 + 0.9 * noise(170.0 * (u - center) / near, 90.0 * v / near, 230 + number as u32);
        let wide = 0.17 * height * (1.0 - t).powf(0.85) * bough * fray;
        if (u - center).abs() < wide.max(0.006 * near * (1.0 - t)) {
            let rim = step(0.0, -0.9, (u - center) / wide.max(1e-3));
            let needles = noise(300.0 * u, 200.0 * v, 250);
            return Some(mix([0.006, 0.011, 0.009], [0.06, 0.06, 0.03], rim * needles));
        }
    }
    None
}
