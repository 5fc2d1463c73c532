//! Values for every setting; the machines are all combinations.

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::Catalogue;
use terrace_policy::{llc, sched};

use super::partition::Partition;
use super::settings::MixMachine;
use crate::llc::grid::Memories;
use crate::llc::{Llc, Placement, Size};
use crate::setting::Given;

/// The most cores: a core is numbered by a byte.
const MOST_CORES: usize = 256;

/// Values of all settings.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    pub(super) turns: Vec<sched::Spec>,
    pub(super) policies: Vec<llc::Spec>,
    pub(super) sizes: Vec<Bytes>,
    pub(super) ways: usize,
    pub(super) partitions: Vec<Partition>,
    pub(super) memories: Memories,
    pub(super) line: u64,
    pub(super) private: [Option<Size>; 2],
    pub(super) empties: bool,
    pub(super) placement: Placement,
    pub(super) cores: usize,
    pub(super) tasks_per_core: Option<usize>,
    pub(super) slice: Nanos,
    pub(super) switch: Nanos,
    pub(super) warmup: Nanos,
    pub(super) time: Nanos,
    pub(super) seed: u64,
}

impl Grid {
    /// The grid of these values.
    ///
    /// # Errors
    /// A usage error where a policy is not known.
    pub fn new(given: &Given<Self>) -> Result<Self> {
        let mut grid = Self::default();
        given.apply(&mut grid, &())?;
        Ok(grid)
    }

    /// Returns the number of tasks for so many traces.
    ///
    /// # Errors
    /// A usage error where they cannot be shared evenly by the cores.
    pub fn tasks(&self, traces: usize) -> Result<usize> {
        let cores = self.cores;
        let tasks = self
            .tasks_per_core
            .map_or(Some(traces), |each| each.checked_mul(cores));
        let even =
            |tasks: &usize| tasks.is_multiple_of(cores) && *tasks >= traces && *tasks <= 1 << 12;
        let tasks = tasks.filter(|tasks| traces > 0 && cores <= MOST_CORES && even(tasks));
        tasks.ok_or_else(|| {
            Error::usage(match self.tasks_per_core {
                None => format!(
                    "the traces ({traces}) cannot be shared evenly by {cores} cores; give ‘cores’, or ‘tasks-per-core’ to have traces run several times"
                ),
                Some(each) => format!(
                    "the traces ({traces}) are more than {each} tasks for each of {cores} cores; give ‘tasks-per-core’ or ‘cores’ more"
                ),
            })
        })
    }

    /// Returns all combinations: the size slowest, then policy, memory and partition, and turns
    /// fastest.
    ///
    /// # Errors
    /// A usage error where a memory is not in the catalogue, or a machine cannot be simulated with
    /// so many tasks.
    pub fn machines(&self, catalogue: &Catalogue, tasks: usize) -> Result<Vec<MixMachine>> {
        let mut machines = Vec::new();
        for &bytes in &self.sizes {
            for policy in &self.policies {
                for memory in &self.memories.backings(catalogue)? {
                    for partition in &self.partitions {
                        for turns in &self.turns {
                            machines.push(MixMachine {
                                line: self.line,
                                private: self.private,
                                empties: self.empties,
                                llc: Llc {
                                    size: Size {
                                        bytes,
                                        ways: self.ways,
                                    },
                                    policy: policy.clone(),
                                },
                                partition: partition.clone(),
                                memory: memory.clone(),
                                placement: self.placement.clone(),
                                cores: self.cores,
                                turns: turns.clone(),
                                slice: self.slice,
                                switch: self.switch,
                                warmup: self.warmup,
                                time: self.time,
                                seed: self.seed,
                            });
                        }
                    }
                }
            }
        }
        machines
            .iter()
            .try_for_each(|machine| machine.check(tasks))?;
        Ok(machines)
    }
}
