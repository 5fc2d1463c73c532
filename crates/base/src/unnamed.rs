//! Files without a name: the kernel removes them however the program ends, and they can get a name
//! when they are complete.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, linkat};
use tempfile::{Builder, TempPath};

/// What others may do with a new file at most: read it. The umask takes from that.
const MODE: u32 = 0o644;

/// Opens a file without a name on the file system of `directory`, for reading and writing. Others
/// may read it as far as the umask lets them.
///
/// # Errors
/// Returns the error of the system, or `Unsupported` if the file system has no such files.
pub fn unnamed(directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_TMPFILE)
        .mode(MODE)
        .open(directory);
    file.map_err(|error| match error.raw_os_error() {
        // Kernels and file systems that do not know the flag open the directory.
        Some(libc::EOPNOTSUPP | libc::EISDIR | libc::EINVAL) => io::ErrorKind::Unsupported.into(),
        _ => error,
    })
}

/// Gives a file without a name a temporary one in `directory`, which is removed when the returned
/// path is dropped.
///
/// # Errors
/// Returns the error of the system. It needs `/proc`.
pub fn name(file: &File, directory: &Path) -> io::Result<TempPath> {
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |path: &Path| Ok(linkat(CWD, &source, CWD, path, AtFlags::SYMLINK_FOLLOW)?);
    Ok(builder().make_in(directory, link)?.into_temp_path())
}

/// Opens a file with a temporary name in `directory`, for file systems without unnamed files.
///
/// # Errors
/// Returns the error of the system.
pub fn named(directory: &Path) -> io::Result<(File, TempPath)> {
    let create = |path: &Path| {
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(path)
    };
    Ok(builder().make_in(directory, create)?.into_parts())
}

/// Makes names that tell what a file is if it stays behind.
fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".terrace-").suffix(".unfinished");
    builder
}
