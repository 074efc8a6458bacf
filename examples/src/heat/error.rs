//! What can go wrong, in one line for the person at the terminal.

use std::fmt;
use std::path::PathBuf;

use crate::blur::BlurError;
use crate::cli::Exit;

/// Why a plate was not heated. Prints as `what: why and what to do`.
#[derive(Debug)]
#[non_exhaustive]
pub enum HeatError {
    /// The picture cannot be read, or a file not be written.
    File(BlurError),
    /// A `.npy` file is not what this program takes.
    Npy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// The output is neither `.png` nor `.npy`.
    Kind(PathBuf),
    /// There are more PEs than rows.
    TooManyPes {
        /// PEs.
        pes: usize,
        /// Rows.
        rows: usize,
    },
    /// The job could not do it.
    Job(escrow::Error),
}

impl Exit for HeatError {
    fn exit_code(&self) -> u8 {
        match self {
            HeatError::File(why) => why.exit_code(),
            HeatError::Job(_) => 1,
            _ => 2,
        }
    }
}

impl fmt::Display for HeatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeatError::File(why) => why.fmt(f),
            HeatError::Npy { path, why } => {
                write!(f, "{}: {why}", path.display().to_string().replace(char::is_control, "?"))
            }
            HeatError::Kind(path) => {
                let name = path.display().to_string().replace(char::is_control, "?");
                write!(f, "{name}: is neither a picture nor an array by its name; give one that ends in .png or .npy")
            }
            HeatError::TooManyPes { pes, rows } => {
                write!(f, "{pes} PEs: are too many for {rows} rows, since each takes at least one; use fewer PEs")
            }
            HeatError::Job(why) => write!(f, "job: {why}"),
        }
    }
}

impl std::error::Error for HeatError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            HeatError::File(why) => Some(why),
            HeatError::Job(why) => Some(why),
            _ => None,
        }
    }
}

impl From<BlurError> for HeatError {
    fn from(why: BlurError) -> HeatError {
        HeatError::File(why)
    }
}

impl From<escrow::Error> for HeatError {
    fn from(why: escrow::Error) -> HeatError {
        HeatError::Job(why)
    }
}
