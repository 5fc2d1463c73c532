//! What the ways of a comparison are compared with. A way that failed is no reference, and is
//! compared with nothing.

use terrace_live::measure::compare::Runs;
use terrace_live::run::Outcome;

use super::wall;

/// Median wall times that other ways are compared with, in seconds.
#[derive(Default)]
pub(crate) struct Reference {
    pub all_dram: Option<f64>,
    /// Time of the better kernel way.
    pub kernel: Option<f64>,
    /// Whether zswap was on in any way.
    pub zswap: bool,
    /// Whether the tier was zram.
    pub zram: bool,
    /// Whether the tier was a memory node.
    pub nodes: bool,
}

impl Reference {
    /// Returns the references among these ways.
    pub fn among(all: &[Runs]) -> Self {
        let of = |name: &str| median(all.iter().find(|runs| runs.way.name() == name)?);
        let outcomes = || all.iter().flat_map(|runs| &runs.outcomes);
        let any = |what: fn(&Outcome) -> bool| outcomes().any(what);
        let kernels = [of("kernel"), of("kernel-cpf")];
        Self {
            all_dram: of("all-dram"),
            kernel: kernels.into_iter().flatten().min_by(f64::total_cmp),
            zswap: any(|outcome| outcome.zswap.is_some()),
            zram: any(|outcome| outcome.compressed.is_some()),
            nodes: false,
        }
    }

    /// Returns how many times the wall time of unlimited DRAM a way took.
    pub fn vs_all_dram(&self, runs: &Runs) -> Option<f64> {
        Some(median(runs)? / self.all_dram?)
    }

    /// Returns the speed-up of a way against the better of the kernel's.
    pub fn vs_kernel(&self, runs: &Runs) -> Option<f64> {
        Some(self.kernel? / median(runs)?)
    }

    /// Returns the share of the time lost by the better kernel way against all-dram that a way won
    /// back.
    pub fn won_back(&self, runs: &Runs) -> Option<f64> {
        let (best, kernel) = (self.all_dram?, self.kernel?);
        let lost = kernel - best;
        // Where the kernel loses next to nothing there is nothing to win, only noise.
        if runs.way.name() != "terrace" || lost < kernel * 0.05 {
            return None;
        }
        Some((kernel - median(runs)?) / lost)
    }
}

/// Returns the median wall time of a way that was run and did not fail, in seconds.
pub(crate) fn median(runs: &Runs) -> Option<f64> {
    let is_measured = !runs.outcomes.is_empty() && runs.failure().is_none();
    is_measured.then(|| wall(runs))
}
