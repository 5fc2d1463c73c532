//! Every trace on every machine: a sweep, which goes on where it was stopped.
//!
//! Unlike in [`crate::pages::run`], each trace is a workload of its own. What is finished goes to
//! a [`Journal`] beside the results, and from there to the next run of the same sweep. Results do
//! not depend on the number of processors, nor on how often a sweep was stopped.

mod journal;
mod key;
mod output;

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use serde_json::Value;
use terrace_base::error::Kind;
use terrace_base::{Error, Result};
use terrace_policy::prefetch::Future;
use terrace_trace::{Columns, Format, ahead, open_in};

use crate::pages::Choice;
use crate::pages::{self, Foresight, Outcome, Settings, Survey};
use crate::workload::Workload;
pub use journal::Journal;
pub use output::Output;

/// The most machines in one pass over a trace: enough that reading it is little of the work (with
/// 4 it took a sixth more processor time, with 8 to 32 there was no difference), few enough that
/// not much is lost when the sweep is stopped, and that they fit into memory.
const PASS: usize = 16;

/// A trace, and how it is read.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The file.
    pub path: PathBuf,
    /// Its format, where neither content nor name tells.
    pub format: Option<Format>,
    /// Only its first accesses.
    pub limit: Option<u64>,
}

/// Traces and machines, each trace with each machine, and what is finished of that.
pub struct Sweep<'a> {
    tasks: Vec<Task<'a>>,
    machines: &'a [Choice],
    output: &'a Output,
    journal: Mutex<Journal>,
    resumed: usize,
    left: Option<u64>,
}

/// How far it has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Accesses simulated since it was opened, on all machines.
    pub accesses: u64,
    /// Machines that are finished, each trace for itself, with those of before.
    pub finished: usize,
}

/// What a sweep has found. The journal stays, and is locked, until the results are written.
#[derive(Debug)]
pub struct Results {
    /// For each trace, each machine in the order in which they were given.
    pub traces: Vec<Vec<(Settings, Outcome)>>,
    output: Output,
    journal: Journal,
}

impl<'a> Sweep<'a> {
    /// Opens a sweep, and reads what is finished of it from the journal of `output`.
    ///
    /// # Errors
    /// Where a trace cannot be read, or would be replaced by the results; where DRAM is too large;
    /// where the journal cannot be written, or another sweep writes it.
    pub fn open(traces: &'a [Trace], machines: &'a [Choice], output: &'a Output) -> Result<Self> {
        let tasks = traces.iter().map(|trace| Task::new(trace, output));
        let tasks: Vec<Task> = tasks.collect::<Result<_>>()?;
        let journal = Journal::open(&output.journal)?;
        let resumed = tasks.iter().map(|task| task.finished(machines, &journal));
        let resumed: Vec<usize> = resumed.collect::<Result<_>>()?;
        let left = tasks.iter().zip(&resumed);
        let left = left.map(|(task, resumed)| task.work(machines.len() - resumed));
        Ok(Self {
            left: left.sum(),
            resumed: resumed.iter().sum(),
            tasks,
            machines,
            output,
            journal: Mutex::new(journal),
        })
    }

    /// All machines, each trace for itself.
    pub fn machines(&self) -> usize {
        self.machines.len() * self.tasks.len()
    }

    /// Those that were finished when it was opened.
    pub fn resumed(&self) -> usize {
        self.resumed
    }

    /// Accesses to be simulated, on all machines, where the traces say how long they are.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// Simulates what is not finished. `progress` is told now and then how far it has come.
    ///
    /// # Errors
    /// A failure where a trace is corrupt or the journal cannot be written; a usage error where a
    /// policy needs the future of several threads. What was finished before stays in the journal.
    pub fn run(self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Results> {
        let meter = Meter {
            accesses: AtomicU64::new(0),
            finished: AtomicUsize::new(self.resumed),
            report: progress,
        };
        self.all(&meter)?;
        let journal = self.journal.into_inner();
        let tasks = self.tasks.into_iter();
        Ok(Results {
            traces: tasks.filter_map(|task| task.rows.into_inner()).collect(),
            output: self.output.clone(),
            journal: journal.unwrap_or_else(PoisonError::into_inner),
        })
    }
}

impl Results {
    /// Writes these bytes to the files of the output, and removes the journal.
    ///
    /// # Errors
    /// A failure where that cannot be done; the journal stays.
    pub fn write(self, parquet: &[u8], csv: &[u8]) -> Result<()> {
        output::replace(&self.output.parquet, parquet)?;
        output::replace(&self.output.csv, csv)?;
        self.journal.remove()
    }
}

/// A trace with all machines.
struct Task<'a> {
    trace: &'a Trace,
    /// What is simulated, as the journal knows it.
    workload: Value,
    /// How many accesses there are, where the trace says so.
    accesses: Option<u64>,
    /// What was found, once it is.
    rows: OnceLock<Vec<(Settings, Outcome)>>,
}

impl<'a> Task<'a> {
    fn new(trace: &'a Trace, output: &Output) -> Result<Self> {
        let stamp = key::Stamp::of(&trace.path)?;
        if output.is(stamp.path()) {
            return Err(Error::usage(format!(
                "the results would replace the trace `{}`; give another -o",
                trace.path.display()
            )));
        }
        Ok(Self {
            trace,
            workload: key::workload(&stamp, trace.format, trace.limit),
            accesses: trace.accesses()?,
            rows: OnceLock::new(),
        })
    }

    /// Accesses on so many machines.
    fn work(&self, machines: usize) -> Option<u64> {
        self.accesses
            .map(|accesses| accesses.saturating_mul(machines as u64))
    }

    /// How many of the machines are finished.
    fn finished(&self, machines: &[Choice], journal: &Journal) -> Result<usize> {
        let Some(known) = journal.any(&self.workload) else {
            return Ok(0);
        };
        let settings = all(machines, known.footprint_pages)?;
        let keys = settings.iter().map(key::machine);
        let finished = keys.filter(|key| journal.outcome(&self.workload, key).is_some());
        Ok(finished.count())
    }
}

impl Trace {
    fn open(&self) -> Result<Workload> {
        Workload::new(vec![ahead(self.source()?)], self.limit)
    }

    fn source(&self) -> Result<Box<dyn terrace_trace::Source>> {
        open_in(&self.path, self.format, Columns::PAGES)
    }

    fn accesses(&self) -> Result<Option<u64>> {
        let accesses = self.source()?.meta().accesses;
        Ok(accesses.map(|accesses| accesses.min(self.limit.unwrap_or(u64::MAX))))
    }
}

/// The machines for programs of `footprint` pages.
fn all(machines: &[Choice], footprint: u64) -> Result<Vec<Settings>> {
    let settings = machines.iter().map(|machine| machine.settings(footprint));
    settings.collect()
}

/// The most that some machine has to know of the future.
fn foresight(machines: &[Choice]) -> Foresight {
    let all = machines.iter().map(Choice::foresight);
    all.max().unwrap_or_default()
}

impl Sweep<'_> {
    /// Finishes all traces: as many at a time as the machines of one leave processors without
    /// work, and one more, for while a trace is read its machines wait.
    fn all(&self, meter: &Meter) -> Result<()> {
        let machines = self.machines.len().clamp(1, PASS);
        let workers = rayon::current_num_threads().div_ceil(machines) + 1;
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(task) = self.tasks.get(next.fetch_add(1, Relaxed)) {
                if let Err(error) = self.finish(task, meter) {
                    next.store(self.tasks.len(), Relaxed);
                    return Err(error);
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let workers = (0..workers.min(self.tasks.len())).map(|_| scope.spawn(work));
            let workers: Vec<_> = workers.collect();
            let mut ends = workers.into_iter().map(|worker| worker.join());
            ends.try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// Simulates what is not finished of a trace, in passes.
    fn finish(&self, task: &Task, meter: &Meter) -> Result<()> {
        let mut survey = self.look(task)?;
        let settings = all(self.machines, survey.footprint_pages)?;
        let keys: Vec<Value> = settings.iter().map(key::machine).collect();
        let pending = self.pending(task, &settings, &keys, meter);
        let foresight = pending.iter().map(|(settings, _)| settings.foresight());
        let foresight = foresight.max().unwrap_or_default();
        if survey.future.is_none() && foresight > Foresight::Nothing {
            survey = task.survey(foresight)?;
        }
        let passes = pending.len().div_ceil(PASS).max(1);
        for pass in pending.chunks(pending.len().div_ceil(passes).max(1)) {
            self.pass(task, pass, survey.future.as_ref(), meter)?;
        }
        let journal = self.journal();
        let rows = settings.into_iter().zip(&keys).map(|(settings, key)| {
            let outcome = journal.outcome(&task.workload, key);
            (settings, outcome.expect("all are finished").clone())
        });
        task.rows.get_or_init(|| rows.collect());
        Ok(())
    }

    /// What is known of the trace before it is simulated: the journal knows a footprint as well.
    fn look(&self, task: &Task) -> Result<Survey> {
        let known = self
            .journal()
            .any(&task.workload)
            .map(|o| o.footprint_pages);
        match known {
            Some(footprint_pages) => Ok(Survey {
                footprint_pages,
                future: None,
            }),
            None if self.machines.iter().any(Choice::needs_footprint) => {
                task.survey(foresight(self.machines))
            }
            None => Ok(Survey::default()),
        }
    }

    /// The machines that are not finished, those that are the same once.
    fn pending<'s>(
        &self,
        task: &Task,
        settings: &'s [Settings],
        keys: &'s [Value],
        meter: &Meter,
    ) -> Vec<(&'s Settings, &'s Value)> {
        let journal = self.journal();
        let missing = settings.iter().zip(keys);
        let mut missing: Vec<_> = missing
            .filter(|(_, key)| journal.outcome(&task.workload, key).is_none())
            .collect();
        let all = missing.len();
        let mut seen = HashSet::new();
        missing.retain(|(_, key)| seen.insert(key.to_string()));
        let same = all - missing.len();
        meter.add(task.work(same).unwrap_or(0), same);
        missing
    }

    /// Simulates some machines in one pass, and notes what was found.
    fn pass(
        &self,
        task: &Task,
        machines: &[(&Settings, &Value)],
        future: Option<&Arc<Future>>,
        meter: &Meter,
    ) -> Result<()> {
        let settings = machines.iter().map(|(settings, _)| (*settings).clone());
        let mut before = 0;
        let outcomes = pages::run(task.trace.open()?, settings.collect(), future, |accesses| {
            let more = (accesses - before) * machines.len() as u64;
            before = accesses;
            meter.add(more, 0);
        })?;
        let keys = machines.iter().map(|(_, key)| (*key).clone());
        self.journal().add(&task.workload, keys.zip(outcomes))?;
        meter.add(0, machines.len());
        Ok(())
    }

    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task<'_> {
    /// A first pass over the trace.
    fn survey(&self, foresight: Foresight) -> Result<Survey> {
        let path = self.trace.path.display();
        let survey = Survey::of(self.trace.open()?, foresight, |_| {});
        let survey = survey.map_err(|error| match error.kind {
            Kind::Usage => Error::usage(format!("the trace `{path}`: {error}")),
            Kind::Failure => error,
        })?;
        if survey.footprint_pages == 0 {
            return Err(Error::failure(format!("there is no access in `{path}`")));
        }
        Ok(survey)
    }
}

/// Counts what is done.
struct Meter<'a> {
    accesses: AtomicU64,
    finished: AtomicUsize,
    report: &'a (dyn Fn(Progress) + Sync),
}

impl Meter<'_> {
    fn add(&self, accesses: u64, finished: usize) {
        (self.report)(Progress {
            accesses: self.accesses.fetch_add(accesses, Relaxed) + accesses,
            finished: self.finished.fetch_add(finished, Relaxed) + finished,
        });
    }
}
