//! Compressed memory as a block device.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_base::{Bytes, Error, Result};

use crate::busy::while_busy;

const CONTROL: &str = "/sys/class/zram-control";

/// Returns the number of a free device, and whether it was added for this.
///
/// # Errors
/// A usage error if none is free, a failure if the kernel has no zram.
pub(super) fn take() -> Result<(u32, bool)> {
    let added = fs::read_to_string(format!("{CONTROL}/hot_add"));
    if let Some(number) = added.ok().and_then(|number| number.trim().parse().ok()) {
        return Ok((number, true));
    }
    match fs::read_to_string("/sys/block/zram0/disksize") {
        Ok(used) if used.trim() == "0" => Ok((0, false)),
        Ok(_) => Err(Error::usage(
            "the only zram device is in use already; choose another tier",
        )),
        Err(_) => Err(Error::failure(
            "this kernel has no zram; load it (modprobe zram) or choose another tier",
        )),
    }
}

/// Returns the path of a device.
pub(super) fn path(number: u32) -> PathBuf {
    PathBuf::from(format!("/dev/zram{number}"))
}

/// Whether the device is there.
pub(super) fn exists(number: u32) -> bool {
    directory(number).exists()
}

fn directory(number: u32) -> PathBuf {
    Path::new("/sys/block").join(format!("zram{number}"))
}

/// Sets the size of a device.
pub(super) fn set_size(number: u32, size: Bytes) -> io::Result<()> {
    fs::write(directory(number).join("disksize"), size.0.to_string())
}

/// Resets a device, and removes it if it was `added`. Does nothing if that was done before.
pub(super) fn remove(number: u32, added: bool) -> io::Result<()> {
    if !exists(number) {
        return Ok(());
    }
    // Programs that inspect new devices may keep it open for a moment.
    let reset = directory(number).join("reset");
    while_busy(50, Duration::from_millis(20), || fs::write(&reset, "1"))?;
    if added {
        fs::write(format!("{CONTROL}/hot_remove"), number.to_string())?;
    }
    Ok(())
}
