//! Files that appear as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process;

use super::error::BlurError;

/// A file on its way: it is written under a temporary name in the folder of `path`, and takes that name at the end.
/// Dropped before, it leaves nothing, and whatever was at `path` stays as it was.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    temporary: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    /// Starts a file for `path`. An old file there stays until [`commit`](Output::commit), so it may well be the input.
    ///
    /// # Errors
    /// [`BlurError::NotFile`] if there is a folder or a device of that name, [`BlurError::Write`].
    pub fn create(path: &Path) -> Result<Output, BlurError> {
        // Behind a symbolic link the file is replaced and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
            return Err(BlurError::NotFile(path.to_owned()));
        }
        let failed = |why| BlurError::Write(path.to_owned(), why);
        if target.file_name().is_none() {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        let (temporary, file) = create_beside(&target).map_err(failed)?;
        Ok(Output { path: target, temporary, file: BufWriter::new(file) })
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// [`BlurError::Write`].
    pub fn commit(mut self) -> Result<(), BlurError> {
        let done = self.file.flush().and_then(|()| fs::rename(&self.temporary, &self.path));
        done.map_err(|why| self.failed(why))
    }

    /// The error that says that this file could not be written.
    pub fn failed(&self, why: io::Error) -> BlurError {
        BlurError::Write(self.path.clone(), why)
    }
}

/// A new file in the folder of `path`: a rename within a folder is atomic.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    // The number is for what an earlier process of the same id may have left.
    let mut number = 0;
    loop {
        let temporary = path.with_file_name(format!(".blur-{}-{number}.tmp", process::id()));
        match File::create_new(&temporary) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists && number < 100 => number += 1,
            made => return made.map(|file| (temporary, file)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        // After a commit there is no such file any more.
        let _ = fs::remove_file(&self.temporary);
    }
}
