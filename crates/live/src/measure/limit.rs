//! The budget in bytes.

use terrace_base::{Bytes, Error, Result};

use crate::run::Dram;

/// Smallest budget: with less, a program is killed before it has begun.
const SMALLEST: Bytes = Bytes(1 << 20);

/// # Errors
/// A usage error if a budget is too small for any program.
fn enough(budget: Bytes) -> Result<()> {
    match budget < SMALLEST {
        true => Err(Error::usage(format!(
            "{budget} of DRAM are too few for any program to run in; give ‘dram’ {SMALLEST} or more"
        ))),
        false => Ok(()),
    }
}

/// Checks that a budget that is given in bytes is large enough.
///
/// # Errors
/// A usage error if it is not.
pub fn require(dram: Dram) -> Result<()> {
    match dram {
        Dram::Bytes(bytes) => enough(bytes),
        Dram::Share(_) => Ok(()),
    }
}

/// Returns the budget in bytes.
///
/// # Errors
/// A usage error if it is too little, or the footprint is unknown.
pub fn limit(dram: Dram, footprint: Option<Bytes>) -> Result<Bytes> {
    let share = match dram {
        Dram::Bytes(bytes) => return enough(bytes).map(|()| bytes),
        Dram::Share(share) => share,
    };
    let missing = "a share of the footprint needs the footprint; give ‘footprint’ SIZE";
    let footprint = footprint.ok_or_else(|| Error::usage(missing))?;
    let bytes = Bytes((footprint.0 as f64 * share) as u64);
    match bytes < SMALLEST {
        true => Err(Error::usage(format!(
            "{bytes} of DRAM, that share of a footprint of {footprint}, are too few to run in; give \
             ‘dram’ as a size"
        ))),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_footprint() {
        let footprint = Some(Bytes(16 << 20));
        assert_eq!(limit(Dram::Share(0.25), footprint), Ok(Bytes(4 << 20)));
        let error = limit(Dram::Share(0.01), footprint).unwrap_err().to_string();
        assert!(error.contains("too few to run in"), "{error}");
        assert!(
            !error.contains("‘footprint’"),
            "validate has no such option: {error}"
        );
        assert_eq!(limit(Dram::Bytes(SMALLEST), None), Ok(SMALLEST));
        let error = limit(Dram::Bytes(Bytes(4096)), None);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("‘dram’ 1.00 MiB or more"), "{error}");
        assert!(limit(Dram::Share(0.5), None).is_err());
    }
}
