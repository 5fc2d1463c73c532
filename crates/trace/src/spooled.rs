//! Traces that come through a pipe, kept in a file where they are read more than once.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use terrace_base::{Bytes, Context, Error, Result};

use crate::store::Uri;

/// What stands for standard input.
const STANDARD: &str = "-";
/// Bytes that are kept between two looks at the room that is left.
const STEP: u64 = 64 << 20;
/// Room that stays free for others.
const RESERVE: Bytes = Bytes(256 << 20);

/// Returns the path by which a trace is opened: `-` is standard input.
pub fn place(path: &Path) -> &Path {
    match path.as_os_str() == STANDARD {
        true => Path::new("/dev/stdin"),
        false => path,
    }
}

/// A trace that came through a pipe, in a file without a name, which is gone when this is dropped.
#[derive(Debug)]
pub struct Spooled {
    file: File,
    bytes: Bytes,
    directory: PathBuf,
}

impl Spooled {
    /// Keeps a trace that can be read only once; returns none where the path is that of a file, or
    /// of an object in a store.
    ///
    /// # Errors
    /// A failure if it cannot be read, or there is no room for it.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        if Uri::of(path)?.is_some() {
            return Ok(None);
        }
        let from = place(path);
        let cannot = || format!("cannot read the trace `{}`", path.display());
        let kind = fs::metadata(from).or_fail(cannot)?.file_type();
        if !kind.is_fifo() && !kind.is_socket() {
            return Ok(None);
        }
        let from = File::open(from).or_fail(cannot)?;
        Self::spool(path, from).map(Some)
    }

    /// Keeps the bytes of the trace that is called `path`.
    pub(crate) fn spool(path: &Path, mut from: impl Read) -> Result<Self> {
        let directory = std::env::temp_dir();
        let cannot = |reason: &dyn std::fmt::Display| {
            Error::failure(format!(
                "the trace `{}` comes through a pipe and is read more than once, but cannot be \
                 kept in {}: {reason}; write it to a file, or set TMPDIR to a directory with more \
                 room",
                path.display(),
                directory.display()
            ))
        };
        let mut file = tempfile::tempfile_in(&directory).map_err(|e| cannot(&e))?;
        let mut bytes = 0;
        loop {
            let free = free(&file).map_err(|e| cannot(&e))?;
            if free < STEP + RESERVE.0 {
                let kept = Bytes(bytes);
                let reason = format!("{kept} of it are there, and {} are free", Bytes(free));
                return Err(cannot(&reason));
            }
            let copied = copy(&mut from, &mut file).map_err(|e| cannot(&e))?;
            bytes += copied;
            if copied < STEP {
                break;
            }
        }
        if bytes == 0 {
            let path = path.display();
            return Err(Error::failure(format!("the trace `{path}` is empty")));
        }
        Ok(Self {
            file,
            bytes: Bytes(bytes),
            directory,
        })
    }

    /// Returns the path by which the file is opened at its beginning, as long as this lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Returns the size of the file.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Returns the directory on whose file system it lies.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the file, to be read at any place.
    pub(crate) fn into_file(self) -> File {
        self.file
    }
}

/// Copies up to a step; returns how much.
fn copy(from: &mut impl Read, file: &mut File) -> io::Result<u64> {
    let copied = io::copy(&mut from.take(STEP), file)?;
    file.flush()?;
    Ok(copied)
}

/// Returns the bytes that anybody may still write to the file system of a file.
fn free(file: &File) -> io::Result<u64> {
    let about = rustix::fs::fstatvfs(file)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_through_a_pipe_is_read_as_often_as_one_likes() {
        let kept = Spooled::spool(Path::new("-"), &b"address\n4096\n"[..]).unwrap();
        assert_eq!(kept.bytes(), Bytes(13));
        for _ in 0..2 {
            assert_eq!(fs::read(kept.path()).unwrap(), b"address\n4096\n");
        }
    }

    #[test]
    fn a_file_is_not_kept() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(Spooled::of(file.path()).unwrap().is_none());
        assert!(Spooled::of(Path::new("/dev/null")).unwrap().is_none());
        assert!(Spooled::of(Path::new("/no/such/trace")).is_err());
        assert!(Spooled::spool(Path::new("-"), &b""[..]).is_err());
    }
}
