//! A machine as it was chosen, before the footprint of its programs is known.

use terrace_base::{Error, Result};

use super::dram::Dram;
use super::run::Foresight;
use super::settings::{PageMachine, Prefetch};

/// One combination: a machine before the footprint of its programs is known.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    pub(super) dram: Dram,
    pub(super) machine: PageMachine,
}

impl Choice {
    /// Whether the footprint has to be known to say how much DRAM there is.
    pub fn needs_footprint(&self) -> bool {
        matches!(self.dram, Dram::Ratio(_))
    }

    /// What has to be known of the future.
    pub fn foresight(&self) -> Foresight {
        self.machine.foresight()
    }

    /// DRAM as it was asked for.
    pub fn dram(&self) -> Dram {
        self.dram
    }

    /// The machine for programs of `footprint` pages, which matters only where
    /// [`Choice::needs_footprint`].
    ///
    /// # Errors
    /// A usage error where DRAM has more pages than can be simulated, or the prefetch cache leaves
    /// nothing of it.
    pub fn machine(&self, footprint: u64) -> Result<PageMachine> {
        let pages = self.dram.pages(footprint, self.machine.inclusion);
        let dram_pages = usize::try_from(pages)
            .ok()
            .filter(|_| pages < u64::from(u32::MAX));
        let settings = PageMachine {
            dram_pages: dram_pages.ok_or_else(|| {
                Error::usage(format!(
                    "DRAM of {} is too large to be simulated; it may have up to {} pages of 4 KiB",
                    self.dram,
                    u32::MAX - 1
                ))
            })?,
            // Where nothing is fetched ahead nothing is set aside for it.
            prefetch_cache: match self.machine.prefetch {
                Prefetch::Off => 0,
                Prefetch::Readahead { .. } | Prefetch::Predictor(_) => self.machine.prefetch_cache,
            },
            ..self.machine.clone()
        };
        settings.main_pages()?;
        Ok(settings)
    }
}
