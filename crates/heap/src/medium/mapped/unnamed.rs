//! Files that have no name until they are whole.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat_with};

/// Creates an empty file in the folder of `path`; returns it with its temporary name, where the
/// file system does not support files without a name.
pub(super) fn create(path: &Path) -> io::Result<(File, Option<PathBuf>)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o644);
    let mut unnamed = options.clone();
    match unnamed.custom_flags(libc::O_TMPFILE).open(folder_of(path)) {
        Ok(file) => Ok((file, None)),
        Err(error) if is_unknown(&error) => create_provisional(path, &options),
        Err(error) => Err(error),
    }
}

/// Names a file of [`create`]. Fails if the name exists already.
pub(super) fn name(file: &File, provisional: Option<&Path>, path: &Path) -> io::Result<()> {
    match provisional {
        Some(provisional) => renameat_with(CWD, provisional, CWD, path, RenameFlags::NOREPLACE)?,
        None => {
            let file = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, file, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        }
    }
    Ok(())
}

/// Returns the folder in which a file lies.
pub(super) fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns whether an error means that a file system does not support files without a name.
fn is_unknown(error: &io::Error) -> bool {
    let codes = [libc::EOPNOTSUPP, libc::EISDIR, libc::EINVAL];
    codes.map(Some).contains(&error.raw_os_error())
}

/// Creates a file beside the final name: `.NAME.PROCESS-NUMBER.new`.
fn create_provisional(path: &Path, options: &OpenOptions) -> io::Result<(File, Option<PathBuf>)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let of = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    remove_left(path, of.as_bytes());
    let mut name = OsString::from(".");
    name.push(of);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{number}.new", process::id()));
    let provisional = folder_of(path).join(name);
    let file = options.clone().create_new(true).open(&provisional)?;
    Ok((file, Some(provisional)))
}

/// Removes what killed processes have left of new pools of this name.
fn remove_left(path: &Path, of: &[u8]) {
    let Ok(folder) = fs::read_dir(folder_of(path)) else {
        return;
    };
    for entry in folder.flatten() {
        let name = entry.file_name();
        let number = name
            .as_bytes()
            .strip_prefix(b".")
            .and_then(|name| name.strip_prefix(of)?.strip_prefix(b"."))
            .and_then(|name| name.strip_suffix(b".new"))
            .and_then(|name| name.split(|&byte| byte == b'-').next());
        let process = number.and_then(|number| std::str::from_utf8(number).ok()?.parse().ok());
        // The process that makes it holds a lock on it while it runs.
        if process.is_some_and(|process: u32| process != process::id())
            && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provisional_file_gets_its_name_and_what_a_killed_process_left_goes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        // No process has this number.
        let left = folder.path().join(".pool.4194305-0.new");
        fs::write(&left, b"half a pool").unwrap();
        let others = [".pool.new", "pool.1-0.new", ".pool2.4194305-0.new"];
        for other in others {
            fs::write(folder.path().join(other), b"").unwrap();
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let (file, provisional) = create_provisional(&path, &options).unwrap();
        assert!(!left.exists() && !path.exists());
        name(&file, provisional.as_deref(), &path).unwrap();
        assert!(path.exists() && !provisional.unwrap().exists());
        assert!(
            others
                .iter()
                .all(|other| folder.path().join(other).exists())
        );
        let (file, provisional) = create_provisional(&path, &options).unwrap();
        let taken = name(&file, provisional.as_deref(), &path).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_file_without_a_name_gets_one_unless_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pool");
        let (file, provisional) = create(&path).unwrap();
        assert!(!path.exists());
        name(&file, provisional.as_deref(), &path).unwrap();
        assert!(path.exists());
        let (file, provisional) = create(&path).unwrap();
        let taken = name(&file, provisional.as_deref(), &path).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AlreadyExists);
    }
}
