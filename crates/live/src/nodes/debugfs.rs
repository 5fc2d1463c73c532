//! debugfs, where the pace of the kernel's NUMA balancing is set since Linux 5.13.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use terrace_base::answered;

/// Where it is usually mounted.
const USUAL: &str = "/sys/kernel/debug";
/// `FSCONFIG_CMD_CREATE` (linux/mount.h).
const CREATE: libc::c_long = 6;

/// Returns a directory of debugfs: where it is mounted, or else of a mount that only this process
/// sees. `None` if the kernel has none, or this process may not mount.
pub(super) fn directory(name: &str) -> Option<PathBuf> {
    let usual = Path::new(USUAL).join(name);
    if usual.exists() {
        return Some(usual);
    }
    static OWN: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let own = OWN.get_or_init(|| mount().ok()).as_ref()?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", own.as_raw_fd())).join(name);
    path.exists().then_some(path)
}

/// Mounts debugfs nowhere: at no path, for this descriptor alone.
fn mount() -> io::Result<OwnedFd> {
    // SAFETY: takes a static string and a flag.
    let context = descriptor(unsafe {
        libc::syscall(libc::SYS_fsopen, c"debugfs".as_ptr(), libc::O_CLOEXEC)
    })?;
    let null = std::ptr::null::<u8>();
    // SAFETY: the descriptor is open, and this command takes neither key nor value.
    let made = unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            CREATE,
            null,
            null,
            0,
        )
    };
    answered(made)?;
    // SAFETY: takes an open descriptor and flags (`FSMOUNT_CLOEXEC` is 1).
    descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), 1, 0) })
}

fn descriptor(returned: libc::c_long) -> io::Result<OwnedFd> {
    let returned = answered(returned)?;
    // SAFETY: the kernel returned it just now, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(returned as i32) })
}
