//! Blurs a PNG picture on a device.
//!
//! ```text
//! cargo run --release -p escrow-examples --bin blur -- INPUT.png OUTPUT.png --sigma 3
//! ```

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use escrow::Device;
use escrow_examples::blur::{Blur, BlurError, Gaussian, Layout, Output, PictureFile, write_picture};
use escrow_examples::cli;
use indicatif::{ProgressBar, ProgressStyle};

/// Blurs a PNG picture with a Gaussian bell, on a device.
///
/// Takes PNG files of every colour type and depth. Palettes and samples of less than 8 bits are expanded to 8 bits; the
/// output has the colour type and depth of the expanded input. Samples are blurred as they are stored, without regard to
/// gamma, sRGB or colour profiles, and such chunks are not written. Colours are weighted with their alpha, so that what
/// is transparent does not shine through. Beyond the borders the outermost pixels go on.
#[derive(Parser, Debug)]
#[command(name = "blur", version)]
struct Arguments {
    /// The PNG file to read.
    input: PathBuf,
    /// The PNG file to write. It appears when it is complete, and may be the input.
    output: PathBuf,
    /// Standard deviation of the bell in pixels, above 0 and up to 200.
    #[arg(long, default_value = "3", allow_hyphen_values = true)]
    sigma: f64,
}

fn main() -> ExitCode {
    cli::main(run)
}

fn run(arguments: &Arguments) -> Result<(), BlurError> {
    let start = Instant::now();
    // All that can be wrong with the arguments comes before the work.
    let gaussian = Gaussian::new(arguments.sigma)?;
    let file = PictureFile::open(&arguments.input)?;
    let output = Output::create(&arguments.output)?;

    let device = Device::default_device()?;
    let blur = Blur::new(&device)?;
    let layout = file.layout();
    let mut picture = blur.create_picture(&layout)?;
    file.read(&mut picture)?;

    let strip_rows = Blur::strip_rows(&layout, &gaussian);
    let bar = progress_bar(layout.height());
    let begin = Instant::now();
    let picture = blur.run(picture, &layout, &gaussian, strip_rows, |rows| bar.inc(rows as u64));
    let seconds = begin.elapsed().as_secs_f64();
    bar.finish_and_clear();

    write_picture(output, &layout, &picture?)?;
    let total = start.elapsed().as_secs_f64();
    report(&device, &layout, &gaussian, strip_rows, seconds, total);
    Ok(())
}

/// On the terminal, and nowhere if there is none.
fn progress_bar(rows: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("blur {wide_bar} {pos}/{len} rows");
    ProgressBar::new(rows.into()).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn report(device: &Device, layout: &Layout, gaussian: &Gaussian, strip_rows: usize, seconds: f64, total: f64) {
    let (width, height, bits) = (layout.width(), layout.height(), layout.depth().bits());
    let strips = (height as usize).div_ceil(strip_rows);
    let megabytes = 2.0 * 1e-6 * (layout.samples() * size_of::<u16>()) as f64;
    let text = format!(
        "device   {device}\n\
         picture  {width} x {height} pixels, {}, {bits} bits a sample\n\
         blur     sigma {}, radius {}, {strips} strips of up to {strip_rows} rows on two streams\n\
         time     {:.2} ms for upload, blur and download: {:.2} GB/s ({megabytes:.2} MB copied, each 16-bit sample up and down)\n\
         total    {:.2} ms with reading and writing the files\n",
        layout.color_name(),
        gaussian.sigma(),
        gaussian.radius(),
        1e3 * seconds,
        1e-3 * megabytes / seconds,
        1e3 * total,
    );
    // The picture is written; a reader of this text that has gone is no failure.
    let _ = io::stdout().write_all(text.as_bytes());
}
