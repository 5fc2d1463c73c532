//! The file a sink writes: under a temporary name until it is whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process;

use terrace_base::{Context, Error, Result};

/// A file that takes its name when it is complete; dropped before that, it is gone.
#[derive(Debug)]
pub(crate) struct Output {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
    complete: bool,
}

impl Output {
    /// Begins a file that will be called `path`; one that has this name stays until then.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::usage(format!(
                "`{}` is not a regular file; a trace is written to a file of its own",
                path.display()
            )));
        }
        let Some(name) = path.file_name() else {
            return Err(Error::usage(format!(
                "`{}` names no file; give the trace a name",
                path.display()
            )));
        };
        let mut unfinished = name.to_os_string();
        unfinished.push(format!(".{}.unfinished", process::id()));
        let temporary = path.with_file_name(unfinished);
        let file = File::create(&temporary)
            .or_fail(|| format!("cannot write `{}`", temporary.display()))?;
        Ok(Self {
            file,
            path: path.to_owned(),
            temporary,
            complete: false,
        })
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes` at `offset`, wherever else has been written.
    pub(crate) fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Gives the file its name.
    pub(crate) fn complete(mut self) -> Result<()> {
        fs::rename(&self.temporary, &self.path)
            .or_fail(|| format!("cannot name the trace `{}`", self.path.display()))?;
        self.complete = true;
        Ok(())
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
        if !self.complete {
            // Nobody is left to tell that it could not be removed; its name says what it is.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"whole").unwrap();
        assert!(!path.exists());
        output.complete().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
    }

    #[test]
    fn what_is_not_completed_leaves_the_old_file_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path(), Path::new("/dev/null"), Path::new("..")] {
            let error = Output::create(path).unwrap_err().to_string();
            assert!(error.contains("is not a regular file"), "{error}");
        }
    }
}
