//! Machine as it was asked for, before the footprint of its programs is known.

use terrace_base::{Error, Result};

use super::counting::require_counts;
use super::dram::Dram;
use super::settings::{Inclusion, PageMachine, Prefetch};
use super::survey::Foresight;

/// One combination: a machine before the footprint of its programs is known.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub(super) dram: Dram,
    /// Size of the middle memory, if there is one.
    pub(super) middle: Option<Dram>,
    pub(super) machine: PageMachine,
}

impl Choice {
    /// Returns whether something depends on the footprint: the size of DRAM, or the places of
    /// pages.
    pub fn needs_footprint(&self) -> bool {
        let is_share = |size| matches!(size, Dram::Ratio(_));
        is_share(self.dram) || self.middle.is_some_and(is_share) || self.machine.writing.is_asked()
    }

    /// Returns the knowledge of the future that the policies need.
    pub fn foresight(&self) -> Foresight {
        self.machine.foresight()
    }

    /// Returns DRAM as it was asked for.
    pub fn dram(&self) -> Dram {
        self.dram
    }

    /// Returns the machine for programs of `footprint` pages, which matters only if
    /// [`Choice::needs_footprint`].
    ///
    /// # Errors
    /// A usage error if DRAM has more pages than can be simulated, or the prefetch cache leaves
    /// nothing of it.
    pub fn machine(&self, footprint: u64) -> Result<PageMachine> {
        let mut machine = self.machine.clone();
        machine.dram_pages = pages("DRAM", self.dram, footprint, machine.inclusion)?;
        if let (Some(middle), Some(size)) = (&mut machine.middle, self.middle) {
            middle.pages = pages("‘middle’", size, footprint, Inclusion::Inclusive)?;
            middle.timing.order = machine.tier.timing.order;
        }
        // A machine that fetches nothing ahead has no part of DRAM for fetched pages.
        if let Prefetch::Off = machine.prefetch {
            machine.prefetch_cache = 0;
        }
        // A machine is the same whether somebody knows the footprint or not, if it needs none.
        if machine.writing.is_asked() {
            machine.writing.pages = machine.tier.pages.unwrap_or(0).max(footprint);
        }
        machine.main_pages()?;
        machine.check_middle()?;
        machine.check_control()?;
        machine.bypass()?;
        if machine.tier.untimed {
            require_counts(&machine)?;
            // What leaves is written at once.
            machine.eviction_buffer = 0;
        }
        Ok(machine)
    }
}

/// Returns the pages of an amount of memory, for programs of `footprint` pages.
fn pages(what: &str, amount: Dram, footprint: u64, inclusion: Inclusion) -> Result<usize> {
    const MOST: u64 = u32::MAX as u64 - 1;
    let pages = amount.pages(footprint, inclusion);
    if pages > MOST {
        return Err(Error::usage(format!(
            "{what} of {amount} is too large to be simulated; it may have up to {MOST} pages of 4 KiB",
        )));
    }
    Ok(pages as usize)
}
