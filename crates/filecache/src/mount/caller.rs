//! The user who calls, for what belongs to its maker.

use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Lets this thread make files as the caller until dropped. The kernel has checked the caller's
/// permissions, and knows the caller's groups, which this thread does not have; so it keeps the
/// capabilities of root.
pub(super) struct Caller {
    is_other: bool,
}

impl Caller {
    /// Becomes the caller, if this process is root and the caller is not.
    pub fn become_it(request: &fuser::Request) -> Self {
        let is_other =
            rustix::process::geteuid().is_root() && (request.uid(), request.gid()) != (0, 0);
        if is_other {
            set_ids(request.uid(), request.gid());
            keep_capabilities();
        }
        Self { is_other }
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if self.is_other {
            set_ids(Uid::ROOT.as_raw(), Gid::ROOT.as_raw());
            keep_capabilities();
        }
    }
}

/// Until dropped, this thread may not keep the set-user-ID and set-group-ID bits of a file that it
/// writes to: the source clears them.
pub(super) struct KillsIdBits;

impl KillsIdBits {
    /// Lets this thread write as one that has no right to keep them.
    pub fn begin() -> Self {
        if let Ok(mut sets) = capabilities(None) {
            sets.effective -= CapabilitySet::FSETID;
            let _ = set_capabilities(None, sets);
        }
        Self
    }
}

impl Drop for KillsIdBits {
    fn drop(&mut self) {
        keep_capabilities();
    }
}

fn set_ids(user: u32, group: u32) {
    // SAFETY: both take a number and concern this thread alone; they report no errors.
    unsafe {
        libc::setfsgid(group);
        libc::setfsuid(user);
    }
}

/// Takes back what the kernel took with the user id of root.
fn keep_capabilities() {
    if let Ok(mut sets) = capabilities(None) {
        sets.effective = sets.permitted & CapabilitySet::all();
        let _ = set_capabilities(None, sets);
    }
}
