//! FUSE mounts of ours, in the kernel's list.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fd::AsRawFd;
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::mount::UnmountFlags;

use crate::mountinfo;

/// The subtype of our mounts, which the kernel shows as `fuse.terrace`.
pub const SUBTYPE: &str = "terrace";

/// Whether a mount of ours is on a directory, by its path without links.
pub fn is_mounted(mountpoint: &Path) -> bool {
    let mounts = mountinfo::all().unwrap_or_default();
    mounts
        .iter()
        .any(|mount| mount.at == mountpoint && mount.kind.strip_prefix("fuse.") == Some(SUBTYPE))
}

/// Ends the connection of our mount at a place, whose process cannot serve it any more: whoever
/// waits for it gets an error.
///
/// # Errors
/// The kernel's. It is not found if nothing of ours is mounted there.
pub fn abort(mountpoint: &Path) -> io::Result<()> {
    let mounts = mountinfo::all()?;
    let is_ours = |mount: &&mountinfo::Mount| {
        mount.at == mountpoint && mount.kind.strip_prefix("fuse.") == Some(SUBTYPE)
    };
    let found = mounts
        .iter()
        .rfind(is_ours)
        .ok_or(io::ErrorKind::NotFound)?;
    let number = found.device.rsplit(':').next().unwrap_or_default();
    let control = format!("/sys/fs/fuse/connections/{number}/abort");
    // Where that is not mounted, unmounting by force ends the connection as well, also where it
    // then says «busy».
    std::fs::write(control, "1").or_else(|_| {
        match rustix::mount::unmount(mountpoint, UnmountFlags::FORCE) {
            Err(rustix::io::Errno::BUSY) => Ok(()),
            done => Ok(done?),
        }
    })
}

/// Unmounts a directory. One that is in use goes from the tree if `detach`, and ends with its last
/// open file.
///
/// # Errors
/// Returns the error of the system: `EBUSY` if it is in use, and not to be detached.
pub fn unmount(mountpoint: &Path, detach: bool) -> io::Result<()> {
    let flags = match detach {
        true => UnmountFlags::DETACH,
        false => UnmountFlags::empty(),
    };
    match rustix::mount::unmount(mountpoint, flags) {
        Err(rustix::io::Errno::PERM) => by_helper(mountpoint, detach),
        done => Ok(done?),
    }
}

/// Unmounts what no process serves any more, of ours, if it is on this directory; returns whether
/// it was.
///
/// # Errors
/// Returns the error of the system.
pub fn unmount_dead(mountpoint: &Path) -> io::Result<bool> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(found) = rustix::fs::open(mountpoint, flags, Mode::empty()) else {
        return Ok(false);
    };
    // Asked for anew: the kernel may still know the attributes that a process told it of before it
    // died.
    let flags = AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC;
    let asked = rustix::fs::statx(&found, "", flags, StatxFlags::TYPE);
    let is_dead = asked.is_err_and(|e| e == rustix::io::Errno::NOTCONN);
    if !is_dead || !is_mounted(&without_links(mountpoint)) {
        return Ok(false);
    }
    // By what was opened: another process may mount there meanwhile.
    let exactly = PathBuf::from(format!("/proc/self/fd/{}", found.as_raw_fd()));
    match rustix::mount::unmount(&exactly, UnmountFlags::DETACH) {
        Err(rustix::io::Errno::PERM) => by_helper(mountpoint, true)?,
        done => done?,
    }
    Ok(true)
}

/// Returns the path without links in all but its last part, which cannot be looked at.
fn without_links(mountpoint: &Path) -> PathBuf {
    let parent = mountpoint.parent().filter(|it| !it.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new(".")).canonicalize();
    let name = mountpoint.file_name().unwrap_or_default();
    parent.map_or_else(|_| mountpoint.to_owned(), |parent| parent.join(name))
}

/// Unmounts as a user other than root may.
fn by_helper(mountpoint: &Path, detach: bool) -> io::Result<()> {
    let mut helper = Command::new("fusermount3");
    helper.args(["-u", "-q"]);
    if detach {
        helper.arg("-z");
    }
    match helper.arg("--").arg(mountpoint).status()?.success() {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::EBUSY)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_have_mounted_is_not_ours() {
        assert!(!is_mounted(Path::new("/")));
    }
}
