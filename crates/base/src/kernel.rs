//! The kernel of this machine.

/// Returns the kernel's release, as `uname -r` prints it.
pub fn release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}
