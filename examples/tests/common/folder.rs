//! Folders for the files of a test, and what a program must not do in them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A folder of a test's own, removed with it.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(test: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Names and contents of all files.
    pub fn contents(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut all: Vec<_> =
            entries.map(|entry| entry.unwrap().path()).map(|p| (p.clone(), fs::read(p).ok())).collect();
        all.sort();
        all
    }

    /// Checks that a program says what is wrong in one line, returns 2, and leaves the folder as it was.
    #[track_caller]
    pub fn is_refused<A: AsRef<OsStr>>(&self, program: &Path, arguments: impl IntoIterator<Item = A>, why: &str) {
        let before = self.contents();
        let output = Command::new(program).args(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(output.stdout.is_empty());
        let name = program.file_stem().unwrap().to_str().unwrap();
        assert!(stderr.starts_with(&format!("{name}: ")), "{stderr:?}");
        assert!(stderr.ends_with('\n') && stderr.lines().count() == 1, "{stderr:?}");
        assert!(stderr.contains(why), "`{why}` expected: {stderr}");
        assert!(before == self.contents(), "files were changed");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
