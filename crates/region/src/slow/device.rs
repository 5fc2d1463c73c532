//! A block device that is taken for slow memory and given back.

use std::path::Path;

use terrace_base::block::{self, Claim};
use terrace_base::{Bytes, Error, Result};
use uuid::Uuid;

/// The least that a device holds: its header and some hundred pages.
const LEAST: Bytes = Bytes(1 << 20);

/// A block device that nothing else can use until this is dropped, which clears it: what it holds
/// is discarded, and what does not read as zeros then is overwritten where data is looked for. A
/// device that cannot discard keeps pages in between.
///
/// While it is taken it has a header of ours in its first page. If nothing clears it, because the
/// process was killed, the header says that its contents are nobody's.
#[derive(Debug)]
pub struct Device(Claim);

impl Device {
    /// Takes a device that is free and blank, or was left by a killed process of ours.
    ///
    /// # Errors
    /// Returns a usage error if the device is in use (mounted, swapped to, held by another device,
    /// or open in a program that has it alone), read-only or too small, or holds data; a failure if
    /// it cannot be read or written to.
    pub fn take(path: &Path) -> Result<Self> {
        let taken = Self::claimed(path)?;
        taken.prepare(Uuid::new_v4(), None)?;
        Ok(Self(taken))
    }

    /// Checks that a device can be taken, and changes nothing.
    ///
    /// # Errors
    /// Returns those of [`Device::take`].
    pub fn check(path: &Path) -> Result<()> {
        Self::claimed(path).map(drop)
    }

    fn claimed(path: &Path) -> Result<Claim> {
        let claim = block::claim(path, LEAST)?;
        match &claim.data {
            Some(what) => Err(Error::usage(format!(
                "the device {} holds data ({what}), which would be overwritten; name another, or make it \
                 blank with `blkdiscard --zeroout` if that is not needed",
                path.display()
            ))),
            None => Ok(claim),
        }
    }

    /// Lets programs that this process starts from now on share it: the device stays taken until
    /// they have ended, even if this process is killed.
    ///
    /// # Errors
    /// Returns a failure if the system refuses.
    pub fn share(&self) -> Result<()> {
        self.0.share()
    }

    /// Returns the path of the device itself, where it was named by a link.
    pub fn path(&self) -> &Path {
        &self.0.path
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Err(error) = self.0.clear() {
            eprintln!("terrace: {error}");
        }
    }
}
