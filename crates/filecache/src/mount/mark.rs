//! What tells a file from every other one, also from one that gets its inode when it is gone.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{AtFlags, OFlags, StatxFlags};

use crate::file::{self, TICK};

/// The mark of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mark {
    device: u64,
    inode: u64,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// Its handle by the file system (`name_to_handle_at(2)`), and the mount that it was found in.
    Handle {
        kind: i32,
        bytes: Box<[u8]>,
        mount: i32,
    },
    /// When it was made, in nanoseconds since 1970.
    Born(i64),
}

impl Mark {
    /// Returns the mark of what is open, also by a mere path; `None` if nothing tells it from a
    /// later file with its inode.
    pub fn of(file: impl AsFd) -> Option<Self> {
        let file = file.as_fd();
        let wanted = StatxFlags::INO | StatxFlags::BTIME;
        // A server is not asked.
        let how = AtFlags::EMPTY_PATH | AtFlags::STATX_DONT_SYNC;
        let about = rustix::fs::statx(file, c"", how, wanted).ok()?;
        let born = StatxFlags::from_bits_retain(about.stx_mask)
            .contains(StatxFlags::BTIME)
            .then_some(about.stx_btime.tv_sec * 1_000_000_000 + i64::from(about.stx_btime.tv_nsec));
        let born = born.filter(|born| file::now().saturating_sub(*born) > TICK);
        let kind = handle(file).or_else(|| born.map(Kind::Born))?;
        Some(Self {
            device: u64::from(about.stx_dev_major) << 32 | u64::from(about.stx_dev_minor),
            inode: about.stx_ino,
            kind,
        })
    }

    /// Opens its file by its handle. `root` is open, and of the same mount.
    ///
    /// # Errors
    /// Returns the error of the system; it needs the right to pass over permissions
    /// (`CAP_DAC_READ_SEARCH`).
    pub fn open(&self, root: BorrowedFd<'_>, flags: OFlags) -> io::Result<OwnedFd> {
        let Kind::Handle { kind, bytes, .. } = &self.kind else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let mut handle = Handle::of(*kind, bytes);
        let flags = flags.bits() as libc::c_int;
        // SAFETY: the handle has as many bytes as it says, and the kernel changes nothing.
        let opened =
            unsafe { libc::open_by_handle_at(root.as_raw_fd(), (&raw mut handle).cast(), flags) };
        if opened < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it for us.
        Ok(unsafe { OwnedFd::from_raw_fd(opened) })
    }

    /// Whether it was found in the same mount as another file, so that it can be opened by it.
    pub fn is_of_mount_of(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Handle { mount, .. }, Kind::Handle { mount: other, .. }) => mount == other,
            _ => false,
        }
    }
}

/// A handle in the form of the kernel.
#[repr(C)]
struct Handle {
    length: u32,
    kind: i32,
    bytes: [u8; libc::MAX_HANDLE_SZ as usize],
}

impl Handle {
    fn of(kind: i32, from: &[u8]) -> Self {
        let mut bytes = [0; libc::MAX_HANDLE_SZ as usize];
        bytes[..from.len()].copy_from_slice(from);
        Self {
            length: from.len() as u32,
            kind,
            bytes,
        }
    }
}

/// Returns the handle of a file, if its file system has handles.
fn handle(file: BorrowedFd<'_>) -> Option<Kind> {
    let mut found = Handle::of(0, &[]);
    found.length = found.bytes.len() as u32;
    let mut mount = 0;
    // SAFETY: the name is empty and ends, and the handle has room for as many bytes as it says.
    let done = unsafe {
        libc::name_to_handle_at(
            file.as_raw_fd(),
            c"".as_ptr(),
            (&raw mut found).cast(),
            &raw mut mount,
            libc::AT_EMPTY_PATH,
        )
    };
    (done == 0).then(|| Kind::Handle {
        kind: found.kind,
        bytes: found.bytes[..(found.length as usize).min(found.bytes.len())].into(),
        mount,
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_file_has_the_same_mark_however_it_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        fs::write(&one, b"one").unwrap();
        fs::write(&two, b"two").unwrap();
        std::thread::sleep(std::time::Duration::from_millis(40));
        let mark = |path| Mark::of(File::open(path).unwrap()).unwrap();
        let (first, second) = (mark(&one), mark(&two));
        assert_ne!(first, second);
        fs::rename(&one, directory.path().join("three")).unwrap();
        assert_eq!(first, mark(&directory.path().join("three")));
        assert!(first.is_of_mount_of(&second));
    }
}
