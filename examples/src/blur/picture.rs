//! PNG files and their samples.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use escrow::{HostBuffer, StreamTag};
use png::{BitDepth, ColorType, DecodingError, EncodingError};

use super::error::BlurError;
use super::layout::{Depth, Layout};
use super::output::Output;

/// How every PNG file begins.
const SIGNATURE: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// What the decoder may allocate for itself: a few rows, and chunks that are not used here.
const DECODER_BYTES: usize = 256 << 20;

/// A PNG file whose header has been read.
///
/// Palettes and samples of 1, 2 and 4 bits are expanded to 8 bits, and a transparent colour to an alpha channel.
pub struct PictureFile {
    path: PathBuf,
    reader: png::Reader<BufReader<File>>,
    layout: Layout,
}

impl PictureFile {
    /// Opens `path` and reads up to the samples.
    ///
    /// # Errors
    /// [`BlurError::Read`], [`BlurError::NotPng`], [`BlurError::Broken`], [`BlurError::TooLarge`].
    pub fn open(path: &Path) -> Result<PictureFile, BlurError> {
        let failed = |why| BlurError::Read(path.to_owned(), why);
        let mut file = BufReader::new(File::open(path).map_err(failed)?);
        if !file.fill_buf().map_err(failed)?.starts_with(&SIGNATURE) {
            return Err(BlurError::NotPng(path.to_owned()));
        }
        let mut decoder = png::Decoder::new_with_limits(file, png::Limits { bytes: DECODER_BYTES });
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut size = (0, 0);
        let too_large = |(width, height)| BlurError::TooLarge { path: path.to_owned(), width, height };
        let reader =
            decoder.read_header_info().map(|info| size = info.size()).and_then(|()| decoder.read_info()).map_err(
                |why| match why {
                    DecodingError::LimitsExceeded => too_large(size),
                    why => BlurError::Broken(path.to_owned(), why),
                },
            )?;
        let (color, depth) = reader.output_color_type();
        let depth = if depth == BitDepth::Sixteen { Depth::Sixteen } else { Depth::Eight };
        let layout = Layout::new(size.0, size.1, color.samples() as u32, depth).ok_or_else(|| too_large(size))?;
        Ok(PictureFile { path: path.to_owned(), reader, layout })
    }

    /// How the samples will lie.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// Reads the samples into `samples`, which has as many elements as the layout, and the file to its end.
    ///
    /// # Errors
    /// [`BlurError::Broken`].
    ///
    /// # Panics
    /// If `samples` has another length.
    pub fn read<S: StreamTag>(mut self, samples: &mut HostBuffer<u16, S>) -> Result<(), BlurError> {
        assert_eq!(samples.len(), self.layout.samples(), "the buffer is not made for this layout");
        self.decode(samples).map_err(|why| match why {
            DecodingError::LimitsExceeded => BlurError::TooLarge {
                path: self.path.clone(),
                width: self.layout.width(),
                height: self.layout.height(),
            },
            why => BlurError::Broken(self.path.clone(), why),
        })
    }

    fn decode<S: StreamTag>(&mut self, samples: &mut HostBuffer<u16, S>) -> Result<(), DecodingError> {
        let len = samples.len();
        let bytes = samples.view_mut::<u8>().expect("a `u16` is two bytes");
        match self.layout.depth() {
            Depth::Eight => {
                // Into the upper half, and from there to the front: what is written at 2 * i is never ahead of what is
                // read at len + i.
                self.reader.next_frame(&mut bytes[len..])?;
                for i in 0..len {
                    let sample = u16::from(bytes[len + i]).to_ne_bytes();
                    bytes[2 * i..2 * i + 2].copy_from_slice(&sample);
                }
            }
            Depth::Sixteen => {
                self.reader.next_frame(bytes)?;
                for sample in samples {
                    *sample = u16::from_be(*sample);
                }
            }
        }
        self.reader.finish()
    }
}

impl std::fmt::Debug for PictureFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PictureFile").field("path", &self.path).field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// Writes `samples` as a PNG of the same colour type and depth to `path`, as a whole or not at all.
///
/// # Errors
/// [`BlurError::Write`].
pub fn write_picture(mut output: Output, layout: &Layout, samples: &[u16]) -> Result<(), BlurError> {
    match encode(&mut output, layout, samples) {
        Ok(()) => output.commit(),
        Err(EncodingError::IoError(why)) => Err(output.failed(why)),
        Err(why) => Err(output.failed(io::Error::other(why))),
    }
}

fn encode(output: impl Write, layout: &Layout, samples: &[u16]) -> Result<(), EncodingError> {
    let mut encoder = png::Encoder::new(output, layout.width(), layout.height());
    encoder.set_color(match layout.channels() {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    encoder.set_depth(match layout.depth() {
        Depth::Eight => BitDepth::Eight,
        Depth::Sixteen => BitDepth::Sixteen,
    });
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer()?;
    let mut bytes = Vec::new();
    for row in samples.chunks(layout.row_len() as usize) {
        bytes.clear();
        match layout.depth() {
            Depth::Eight => bytes.extend(row.iter().map(|&sample| sample as u8)),
            Depth::Sixteen => bytes.extend(row.iter().flat_map(|sample| sample.to_be_bytes())),
        }
        stream.write_all(&bytes)?;
    }
    stream.finish()?;
    writer.finish()
}
