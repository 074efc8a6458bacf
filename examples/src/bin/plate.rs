//! Paints the sample plate: brushed steel with heaters, cooling channels, bolts and a slit.
//!
//! ```text
//! cargo run --release -p escrow-examples --bin plate -- examples/data/plate.png
//! ```
//!
//! What is white is hot and stays so, and what is black is cold: see the help of `heat`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use escrow_examples::blur::{BlurError, Depth, Layout, Output, write_picture};
use escrow_examples::cli;

const SIZE: u32 = 512;

/// Paints the sample plate.
#[derive(Parser, Debug)]
#[command(name = "plate")]
struct Arguments {
    /// The PNG file to write.
    output: PathBuf,
}

fn main() -> ExitCode {
    cli::main(paint)
}

fn paint(arguments: &Arguments) -> Result<(), BlurError> {
    let output = Output::create(&arguments.output)?;
    let layout = Layout::new(SIZE, SIZE, 1, Depth::Eight).expect("the plate is small");
    let at = |pixel: u32| (f64::from(pixel) + 0.5) / f64::from(SIZE);
    let points = (0..SIZE * SIZE).map(|i| (i % SIZE, i / SIZE));
    let samples: Vec<u16> = points.map(|(x, y)| (255.0 * light(at(x), at(y), x, y)).round() as u16).collect();
    write_picture(output, &layout, &samples)
}

/// A disc: its centre and radius.
type Disc = (f64, f64, f64);

/// Ends of heating rods.
const HOT: [Disc; 5] =
    [(0.22, 0.24, 0.050), (0.31, 0.72, 0.038), (0.78, 0.33, 0.030), (0.86, 0.80, 0.022), (0.55, 0.12, 0.016)];
/// Cooling channels.
const COLD: [Disc; 6] = [
    (0.12, 0.55, 0.030),
    (0.46, 0.40, 0.024),
    (0.68, 0.64, 0.034),
    (0.88, 0.14, 0.026),
    (0.50, 0.88, 0.020),
    (0.70, 0.86, 0.016),
];
/// Bolts near the corners.
const BOLTS: [Disc; 4] = [(0.06, 0.06, 0.022), (0.94, 0.06, 0.022), (0.06, 0.94, 0.022), (0.94, 0.94, 0.022)];

/// The brightness at a point, from 0 to 1; 0 and 1 only where it is held.
fn light(x: f64, y: f64, column: u32, row: u32) -> f64 {
    let distance = |&(u, v, _): &Disc| ((x - u).powi(2) + (y - v).powi(2)).sqrt();
    // The slit: a narrow cut with round ends, from side to side of the middle, that is cooled.
    let along = ((x - 0.30) * 0.94 + (y - 0.52) * 0.34).clamp(0.0, 0.52);
    let slit = ((x - 0.30 - 0.94 * along).powi(2) + (y - 0.52 - 0.34 * along).powi(2)).sqrt();
    if slit < 0.0065 || COLD.iter().any(|disc| distance(disc) < disc.2) {
        return 0.0;
    }
    if HOT.iter().any(|disc| distance(disc) < disc.2) {
        return 1.0;
    }
    // Brushed from left to right: long streaks of several widths, and a fine grain.
    let streaks =
        0.5 * noise(9.0 * x, 190.0 * y, 1) + 0.3 * noise(23.0 * x, 420.0 * y, 2) + 0.2 * noise(3.0 * x, 60.0 * y, 3);
    let grain = hash(column as i32, row as i32, 4);
    // A lamp from above, off the middle, and its reflection in the brushing.
    let lamp = (-6.0 * ((x - 0.42).powi(2) + 0.25 * (y - 0.30).powi(2))).exp();
    let mut steel = 0.26 + 0.20 * lamp + 0.13 * (streaks - 0.5) + 0.02 * (grain - 0.5);
    // Heat tint around the heaters, and dark rims at the channels and the slit, with a bright edge where the lamp meets it.
    for disc in &HOT {
        steel += 0.22 * (-(distance(disc) - disc.2) / 0.03).exp();
    }
    for disc in &COLD {
        let depth = distance(disc) - disc.2;
        let lit = ((disc.0 - x) * 0.5 + (disc.1 - y)) / distance(disc);
        steel += (0.20 * lit - 0.10) * (-depth / 0.006).exp();
    }
    steel -= 0.14 * (-(slit - 0.0065) / 0.008).exp();
    for bolt in &BOLTS {
        let far = distance(bolt) / bolt.2;
        if far < 1.0 {
            // A dome with a cross in it.
            let (u, v) = ((x - bolt.0) / bolt.2, (y - bolt.1) / bolt.2);
            let dome = 0.55 - 0.22 * u - 0.26 * v - 0.2 * far * far;
            let cross = (u.abs() < 0.12 && v.abs() < 0.6) || (v.abs() < 0.12 && u.abs() < 0.6);
            steel = if cross { 0.12 } else { dome };
        } else {
            // Its shadow, to the right and below.
            let shadow = ((x - bolt.0 - 0.006).powi(2) + (y - bolt.1 - 0.008).powi(2)).sqrt() / bolt.2;
            steel *= 1.0 - 0.5 * step(1.25, 0.9, shadow);
        }
    }
    // Bevelled edges: bright above and on the left, dark below and on the right.
    let bevel = |edge: f64| step(0.016, 0.004, edge);
    steel += 0.22 * bevel(y) + 0.12 * bevel(x) - 0.12 * bevel(1.0 - x) - 0.16 * bevel(1.0 - y);
    steel.clamp(0.03, 0.95)
}

/// 0 at `from` and before it, 1 at `to` and behind it, smooth between.
fn step(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
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
