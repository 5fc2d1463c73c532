//! Facts about a workload from a first pass over it, and the knowledge of the future that policies
//! need.

use std::sync::Arc;

use terrace_base::{Error, Result};
use terrace_policy::prefetch::Future;

use crate::workload::{Batch, Workload};

/// Knowledge of the future that a policy needs, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foresight {
    /// No knowledge.
    #[default]
    Nothing,
    /// The touches of each thread, as for the oracle.
    Threads,
    /// The order of all touches, as for Belady's replacement. The order of several threads is only
    /// known after a simulation.
    Order,
}

impl Foresight {
    /// Checks that this knowledge is available for a workload.
    fn check(self, workload: &Workload) -> Result<()> {
        let alone = workload.programs() == 1;
        match self {
            Self::Nothing => Ok(()),
            Self::Threads if alone => Ok(()),
            Self::Threads => Err(Error::usage(
                "a predictor that knows the future needs one trace; it may have several threads",
            )),
            Self::Order if alone && workload.threads(0) <= 1 => Ok(()),
            Self::Order => Err(one_thread()),
        }
    }
}

/// Returns the error for the unknown order of several threads.
pub(super) fn one_thread() -> Error {
    Error::usage(
        "a replacement policy that knows the future needs one trace with one thread: the order of several is only known afterwards",
    )
}

/// Facts about a workload from a first pass over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Most pages of the workload at once: those that were touched and not given back.
    pub footprint_pages: u64,
    /// All touches, if `foresight` asked for them.
    pub future: Option<Arc<Future>>,
}

impl Survey {
    /// Reads a workload to its end. `foresight` is the knowledge of the future to collect.
    ///
    /// # Errors
    /// The errors of the traces, where one is corrupt; a usage error where the future cannot be
    /// known.
    pub fn of(
        mut workload: Workload,
        foresight: Foresight,
        mut progress: impl FnMut(u64),
    ) -> Result<Self> {
        let mut future = (foresight > Foresight::Nothing).then(Future::default);
        let mut accesses = 0;
        foresight.check(&workload)?;
        for program in 0..workload.programs() {
            while let Some(batch) = workload.read(program)? {
                foresight.check(&workload)?;
                accesses += batch.references.len() as u64;
                progress(accesses);
                if let Some(future) = &mut future {
                    note(&batch, future);
                }
            }
        }
        let pages = workload.pages();
        if let Some(future) = &mut future {
            future.pages = pages.locations().to_vec();
        }
        Ok(Self {
            footprint_pages: pages.footprint() as u64,
            future: future.map(Arc::new),
        })
    }
}

/// Appends the touches of a batch to the touches of its threads.
fn note(batch: &Batch, future: &mut Future) {
    let mut begin = 0;
    for run in &batch.runs {
        let thread = run.thread as usize;
        if thread >= future.touches.len() {
            future.touches.resize_with(thread + 1, Vec::new);
        }
        let touches = &batch.references[begin..run.end];
        let touches = touches.iter().filter(|touch| !touch.is_write_back());
        future.touches[thread].extend(touches.map(|touch| touch.page()));
        begin = run.end;
    }
}
