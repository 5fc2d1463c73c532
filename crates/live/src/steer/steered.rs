//! The steering of a program that runs, and the sample of the faults that it sees.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use terrace_base::{Bytes, Result, lock};
use terrace_policy::prefetch::{self, Engine};

use crate::fetch::readahead;
use crate::machine::sysctl;
use crate::steer::{Aids, Parts, Progress, Steering};
use crate::system::clock;
use crate::tier;
use crate::watch::fault_sample::{FaultSample, Periods, SampledFault};
use crate::watch::faults::FaultStream;
use crate::watch::mappings::{Mappings, Region};

/// A program that is steered.
pub(crate) struct Steered {
    steering: Steering,
    sample: Arc<Mutex<FaultSample>>,
}

/// A sample of a run's major faults, and where they lie.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Faults of the sample, in their order.
    pub sample: Vec<SampledFault>,
    /// Number of faults that steering saw, which the sample stands for.
    pub seen: u64,
    /// Major faults of the whole run, by the kernel's count.
    pub of: u64,
    /// When steering watched.
    pub watched: Periods,
    /// Mapped regions in which they lie, as far as they were found.
    pub regions: Vec<Region>,
}

/// What steering saw and did.
#[derive(Clone, Debug)]
pub struct Foreseen {
    /// Figures of all.
    pub progress: Progress,
    /// Figures by constituent and by process.
    pub parts: Parts,
    /// Sample of the major faults.
    pub faults: Faults,
}

impl Steered {
    /// Starts to steer a program with so much `dram` by its `faults`. Whether fetching pays is
    /// tried only if the predictor may rest, and no misses are recorded: a trial sees nothing of
    /// the program for a while.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(
        mut engine: Engine,
        faults: FaultStream,
        dram: Bytes,
        mut aids: Aids,
    ) -> Result<Self> {
        let window = prefetch::window(dram.pages());
        engine.set_window(window);
        let areas = tier::active_areas();
        let cluster = aids.readahead.as_ref().map(|knob| knob.found().to_owned());
        let cluster = cluster.or_else(sysctl::current);
        let cluster = cluster.and_then(|text| text.parse().ok()).unwrap_or(0);
        engine.set_readahead(readahead::with(cluster, &areas, window));
        if !engine.may_rest() || aids.lessons.is_some() {
            aids.gauge = None;
        }
        Ok(Self {
            sample: faults.sample(),
            steering: Steering::start(engine, faults, dram.pages(), &areas, aids)?,
        })
    }

    /// Counts the times of faults from the start of the program, which was so long ago.
    pub fn started_before(&self, by: Duration) {
        lock(&self.sample).started_before(by);
    }

    /// Returns the figures so far.
    pub fn progress(&self) -> Progress {
        self.steering.progress()
    }

    /// Returns the faults that are in the sample now.
    pub fn sample(&self) -> Vec<SampledFault> {
        let sample = lock(&self.sample);
        sample.kept().to_vec()
    }

    /// Returns the number of faults that were seen so far.
    pub fn seen(&self) -> u64 {
        lock(&self.sample).seen()
    }

    /// Stops. The program had `major_faults` in all, by the kernel's count.
    pub fn finish(self, mappings: Mappings, major_faults: u64) -> Foreseen {
        let (progress, parts) = self.steering.finish();
        let sample = lock(&self.sample);
        Foreseen {
            progress,
            parts,
            faults: Faults {
                sample: sample.kept().to_vec(),
                seen: sample.seen(),
                of: major_faults.max(sample.seen()),
                watched: sample.watched(clock::now().as_nanos() as u64),
                regions: mappings.finish(sample.kept()),
            },
        }
    }
}
