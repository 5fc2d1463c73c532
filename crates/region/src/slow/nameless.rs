//! A file without a name.

use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Makes a file without a name in a directory, which is gone when it is closed.
///
/// # Errors
/// Returns the system's.
pub(super) fn open_in(directory: &Path) -> io::Result<File> {
    let open = |flags| {
        let mut options = File::options();
        options.read(true).write(true);
        options
            .custom_flags(libc::O_TMPFILE | flags)
            .open(directory)
    };
    // Some file systems in memory know no O_DIRECT.
    open(libc::O_DIRECT).or_else(|_| open(0))
}
