//! What can go wrong, in one line for the person at the terminal.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::gaussian::MAX_SIGMA;
use crate::cli::Exit;

/// Why a picture was not blurred. Prints as `what: why and what to do`.
#[derive(Debug)]
#[non_exhaustive]
pub enum BlurError {
    /// The input cannot be read.
    Read(PathBuf, io::Error),
    /// The input does not start as a PNG does.
    NotPng(PathBuf),
    /// The input starts as a PNG and does not go on as one.
    Broken(PathBuf, png::DecodingError),
    /// The input has more samples than this program takes.
    TooLarge {
        /// The input.
        path: PathBuf,
        /// Pixels in a row.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The output cannot be written.
    Write(PathBuf, io::Error),
    /// The output is there and is no regular file.
    NotFile(PathBuf),
    /// A standard deviation that no blur has.
    Sigma(f64),
    /// The device could not do it.
    Device(escrow::Error),
}

impl Exit for BlurError {
    fn exit_code(&self) -> u8 {
        match self {
            BlurError::Device(_) => 1,
            _ => 2,
        }
    }
}

impl fmt::Display for BlurError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlurError::Read(path, why) => {
                write!(f, "{}: cannot be read ({why}); check the path and its permissions", name(path))
            }
            BlurError::NotPng(path) => {
                write!(f, "{}: is not a PNG file; convert the picture to PNG first", name(path))
            }
            BlurError::Broken(path, png::DecodingError::IoError(why)) if why.kind() == io::ErrorKind::UnexpectedEof => {
                write!(f, "{}: ends too early, the PNG is truncated; get a complete copy", name(path))
            }
            BlurError::Broken(path, why) => {
                let why = why.to_string();
                let why = why.trim_end_matches('.');
                write!(f, "{}: is a broken PNG ({why}); get an intact copy", name(path))
            }
            BlurError::TooLarge { path, width, height } => {
                write!(f, "{}: {width} x {height} pixels are too many; scale or cut the picture first", name(path))
            }
            BlurError::Write(path, why) => {
                write!(f, "{}: cannot be written ({why}); check the folder and its permissions", name(path))
            }
            BlurError::NotFile(path) => {
                write!(f, "{}: is there and is not a regular file; give the path of a PNG file to write", name(path))
            }
            BlurError::Sigma(sigma) => {
                write!(f, "sigma {sigma}: is no blur; give a number above 0 and up to {MAX_SIGMA}")
            }
            BlurError::Device(why) => write!(f, "device: {why}"),
        }
    }
}

/// The path as far as it fits one line.
fn name(path: &Path) -> String {
    match path.display().to_string() {
        name if name.is_empty() => "an empty path".to_owned(),
        name => name.replace(char::is_control, "?"),
    }
}

impl std::error::Error for BlurError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            BlurError::Read(_, why) | BlurError::Write(_, why) => Some(why),
            BlurError::Broken(_, why) => Some(why),
            BlurError::Device(why) => Some(why),
            _ => None,
        }
    }
}

impl From<escrow::Error> for BlurError {
    fn from(why: escrow::Error) -> BlurError {
        BlurError::Device(why)
    }
}

// So that `?` takes what a failed call hands back; the values in it are dropped, which is always safe.
impl<V> From<escrow::Fault<V>> for BlurError {
    fn from(fault: escrow::Fault<V>) -> BlurError {
        BlurError::Device(fault.error)
    }
}
