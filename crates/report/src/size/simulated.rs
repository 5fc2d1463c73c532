//! The curve of a simulation of recordings, beside the measured one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::Bytes;
use terrace_sim::pages::{Simulated, Watched};

use super::SizeDocument;

/// The curve of a simulation. All figures are simulated.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeSimulation {
    /// Recordings, as they were named.
    pub traces: Vec<String>,
    /// The slower memory of the simulated machine.
    pub memory: String,
    /// Memory that the recordings touch, in bytes.
    pub footprint_bytes: u64,
    /// Sizes, from the most DRAM to the least, as they were held.
    pub levels: Vec<SizeSimulated>,
    /// Why figures are not those of a steady state, each once.
    pub warnings: Vec<String>,
}

/// How the recorded programs fare at a size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeSimulated {
    /// DRAM in bytes.
    pub dram_bytes: u64,
    /// Share of the time that DRAM for everything would not cost.
    pub slowdown: f64,
    /// Touches of pages that were in the slower memory alone, a second.
    pub faults_per_s: f64,
}

impl SizeDocument {
    /// Returns the sizes that were held, as values of the setting `dram` of a simulation.
    pub fn sizes(&self) -> String {
        let sizes = self.levels.iter();
        let sizes = sizes.map(|it| format!("{}p", Bytes(it.dram_bytes).pages()));
        sizes.collect::<Vec<_>>().join(",")
    }

    /// Puts the results of a simulation at these sizes beside the measured ones.
    #[must_use]
    pub fn beside(mut self, traces: Vec<String>, found: &[Watched]) -> Self {
        let runs = found.iter().map(|(run, _)| run);
        let mut warnings: Vec<_> = runs.clone().filter_map(Simulated::warning).collect();
        warnings.dedup();
        let memory = runs.clone().next().map(|run| run.machine.tier.name.clone());
        let footprint = runs.clone().map(|run| run.outcome.footprint_pages).max();
        self.simulated = Some(SizeSimulation {
            traces,
            memory: memory.unwrap_or_default(),
            footprint_bytes: Bytes::of_pages(footprint.unwrap_or(0)).0,
            levels: runs.map(SizeSimulated::of).collect(),
            warnings,
        });
        self
    }
}

impl SizeSimulated {
    fn of(run: &Simulated) -> Self {
        let outcome = &run.outcome;
        let time = outcome.programs.iter().map(|it| it.time_ns.seconds());
        let time = time.fold(0.0, f64::max);
        let faults = outcome.counts.full_misses as f64;
        Self {
            dram_bytes: Bytes::of_pages(run.machine.dram_pages as u64).0,
            slowdown: 1.0 - 1.0 / outcome.slowdown().max(1.0),
            faults_per_s: if time > 0.0 { faults / time } else { 0.0 },
        }
    }
}
