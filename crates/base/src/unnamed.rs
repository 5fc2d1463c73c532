//! Files without a name: the kernel removes them however the program ends, and they can get a name
//! when they are complete.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tempfile::{Builder, TempPath};

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
        .mode(0o666)
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
    let source = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let link = |path: &Path| {
        let target = CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: both are strings that end with a zero and live until the call is over.
        let linked = unsafe {
            libc::linkat(
                libc::AT_FDCWD,
                source.as_ptr(),
                libc::AT_FDCWD,
                target.as_ptr(),
                libc::AT_SYMLINK_FOLLOW,
            )
        };
        match linked {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    let named = builder().make_in(directory, link)?;
    Ok(named.into_temp_path())
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
            .mode(0o666)
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
