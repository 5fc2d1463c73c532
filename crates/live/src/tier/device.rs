//! A block device as a tier, whose data is destroyed on demand alone.

use std::path::Path;

use terrace_base::block::{self, Claim};
use terrace_base::{Bytes, Error, Result};

/// Claims a device if it is free, has room for `needed` bytes, and is blank or `force` is set.
///
/// # Errors
/// A usage error if it cannot be the tier.
pub(super) fn claim(path: &Path, needed: Bytes, force: bool) -> Result<Claim> {
    let claim = block::claim(path, needed)?;
    match &claim.data {
        Some(what) if !force => Err(Error::usage(format!(
            "the device {} holds data ({what}), which swapping would destroy; name another, \
             or add ‘force’ if that is not needed",
            path.display()
        ))),
        _ => Ok(claim),
    }
}

/// Says what is about to be destroyed, if anything is.
pub(super) fn warn(claim: &Claim, say: &mut dyn FnMut(&str)) {
    if let Some(what) = &claim.data {
        let name = claim.path.display();
        say(&format!("--force: what {name} holds ({what}) is destroyed"));
    }
}
