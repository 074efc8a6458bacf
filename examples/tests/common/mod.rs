//! The blur as one writes it down, and numbers to try it with.
#![allow(dead_code)] // each of the tests uses a part

/// A separable Gaussian blur in straight loops over the whole picture: the same operations in the same order as the
/// kernels, by another way. Nothing of the library is used.
pub fn reference(samples: &[u16], width: usize, channels: usize, max: u16, sigma: f64) -> Vec<u16> {
    let height = samples.len() / (width * channels);
    let radius = (3.0 * sigma).ceil() as isize;
    let bell = |x: isize| {
        let distance = x as f64 / sigma;
        (-0.5 * (distance * distance)).exp()
    };
    let mut sum = 0.0;
    for x in -radius..=radius {
        sum += bell(x);
    }
    let weight = |x: isize| (bell(x) / sum) as f32;
    let near = |at: usize, offset: isize, len: usize| (at as isize + offset).clamp(0, len as isize - 1) as usize;
    let alpha = (channels == 2 || channels == 4).then_some(channels - 1);

    let at = |x: usize, y: usize, c: usize| (y * width + x) * channels + c;
    let mut along_rows = vec![0.0f32; samples.len()];
    let mut along_columns = vec![0.0f32; samples.len()];
    let mut result = vec![0; samples.len()];
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let mut sum = 0.0f32;
                for offset in -radius..=radius {
                    let x = near(x, offset, width);
                    let mut sample = f32::from(samples[at(x, y, c)]);
                    if let Some(alpha) = alpha
                        && c != alpha
                    {
                        sample *= f32::from(samples[at(x, y, alpha)]);
                    }
                    sum += weight(offset) * sample;
                }
                along_rows[at(x, y, c)] = sum;
            }
        }
    }
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let mut sum = 0.0f32;
                for offset in -radius..=radius {
                    sum += weight(offset) * along_rows[at(x, near(y, offset, height), c)];
                }
                along_columns[at(x, y, c)] = sum;
            }
        }
    }
    for y in 0..height {
        for x in 0..width {
            for c in 0..channels {
                let mut value = along_columns[at(x, y, c)];
                if let Some(alpha) = alpha
                    && c != alpha
                    && along_columns[at(x, y, alpha)] > 0.0
                {
                    value /= along_columns[at(x, y, alpha)];
                }
                result[at(x, y, c)] = (value.min(f32::from(max)) + 0.5).floor() as u16;
            }
        }
    }
    result
}

/// Numbers without a pattern (splitmix64).
pub struct Numbers(pub u64);

impl Numbers {
    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
}
