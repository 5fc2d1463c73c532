//! Sweep: simulation of every trace on every machine, which can be stopped and resumed.
//!
//! Unlike in [`crate::pages::run`], each trace is a workload of its own. What is finished goes to
//! an [`Archive`], where every later sweep finds it. Results do not depend on the number of
//! processors, nor on how often a sweep was stopped, nor on what other sweeps do with the archive.

mod finished;
mod key;
mod output;
mod task;
mod version;

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::slice;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use terrace_base::Result;
use terrace_policy::prefetch::Future;
use terrace_trace::stamp::{self, Stamp};
use terrace_trace::{Digest, Reading};

use crate::pages::{self, Choice, Foresight, Simulated, Survey};
use crate::watch::Watch;
pub use finished::{Archive, Finished, Kept, Pass};
pub use output::Output;
use task::{Keyed, Task, keyed, opened};
pub use version::{VERSION, version};

/// Maximum number of machines in one pass over a trace: large enough that reading the trace is a
/// small part of the work (4 took a sixth more processor time, 8 to 32 did not differ), small
/// enough that stopping a sweep loses little and the machines fit into memory.
pub const PASS: usize = 16;

/// Trace of a sweep.
#[derive(Clone, Debug)]
pub struct Trace {
    /// As it is named in results.
    pub name: String,
    /// Path of the file.
    pub path: PathBuf,
    /// How it is read, where it does not say so itself.
    pub reading: Reading,
    /// Number of accesses to read; `None` for all.
    pub limit: Option<u64>,
}

/// Sweep of traces and machines, with its finished results.
pub struct Sweep<'a> {
    tasks: Vec<Task<'a>>,
    machines: &'a [Choice],
    archive: &'a dyn Archive,
    threads: Threads<'a>,
    options: String,
    finished: Mutex<Finished>,
    resumed: usize,
    left: Option<u64>,
}

/// Part of a sweep: a trace and at most [`PASS`] machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepPart {
    /// Which trace.
    pub trace: usize,
    /// Which machines.
    pub machines: Vec<usize>,
    /// Digest of both, the same on every host.
    pub key: Digest,
}

/// Has threads of rayon do some work, for instance by `ThreadPool::install`, and returns when it is
/// done; an error where there are none.
pub type Threads<'a> = &'a (dyn Fn(&mut (dyn FnMut() + Send)) -> Result<()> + Sync);

/// Progress of a sweep.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Accesses simulated since the sweep was opened, on all machines.
    pub accesses: u64,
    /// Finished pairs of trace and machine, including those of earlier runs.
    pub finished: usize,
}

/// Results of a sweep.
#[derive(Debug)]
pub struct Results {
    /// Results of each trace, on each machine in the order in which they were given.
    pub traces: Vec<Vec<Simulated>>,
    /// What was finished when the sweep ended.
    pub finished: Finished,
}

impl<'a> Sweep<'a> {
    /// Opens a sweep and reads the finished results in `archive`.
    ///
    /// # Errors
    /// An error where a trace or the archive cannot be read, or where DRAM is too large.
    pub fn open(
        traces: &'a [Trace],
        machines: &'a [Choice],
        archive: &'a dyn Archive,
        watch: Watch,
    ) -> Result<Self> {
        let opened = opened(traces)?.into_iter().zip(traces);
        let tasks = opened.map(|(opened, trace)| Task::new(trace, opened, watch));
        let tasks: Vec<Task> = tasks.collect::<Result<_>>()?;
        let options = options(&tasks, machines);
        let workloads = tasks.iter().map(|task| task.workload).collect();
        let finished = Finished::read(archive, &workloads)?;
        let resumed = tasks.iter().map(|task| {
            let missing = task.missing(machines, &finished)?;
            Ok(machines.len() - missing.len())
        });
        let resumed: Vec<usize> = resumed.collect::<Result<_>>()?;
        let left = tasks.iter().zip(&resumed);
        let left = left.map(|(task, resumed)| task.work(machines.len() - resumed));
        Ok(Self {
            left: left.sum(),
            resumed: resumed.iter().sum(),
            tasks,
            machines,
            archive,
            threads: &|work| {
                work();
                Ok(())
            },
            options,
            finished: Mutex::new(finished),
        })
    }

    /// Returns the identity of the results: the traces by name, and the machines. Results of sweeps
    /// with other options are not replaced.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// Returns the number of pairs of trace and machine.
    pub fn machines(&self) -> usize {
        self.machines.len() * self.tasks.len()
    }

    /// Returns the number of pairs that were finished when the sweep was opened.
    pub fn resumed(&self) -> usize {
        self.resumed
    }

    /// Returns the number of passes in the archive that are not used: they are damaged or of
    /// another version.
    pub fn skipped(&self) -> usize {
        self.finished().skipped()
    }

    /// Returns the number of accesses to simulate on all machines, if the traces tell their length.
    pub fn left(&self) -> Option<u64> {
        self.left
    }

    /// Returns what is not finished, in parts that can be simulated apart: each is one pass.
    ///
    /// # Errors
    /// A usage error where DRAM is too large.
    pub fn parts(&self) -> Result<Vec<SweepPart>> {
        let mut parts = Vec::new();
        for (trace, task) in self.tasks.iter().enumerate() {
            let missing = task.missing(self.machines, &self.finished())?;
            for machines in passes(&missing) {
                let choices = machines.iter().map(|at| key::choice(&self.machines[*at]));
                parts.push(SweepPart {
                    trace,
                    machines: machines.to_vec(),
                    key: key::pass(task.workload, choices),
                });
            }
        }
        Ok(parts)
    }

    /// Has each trace simulated by other threads than those of the program.
    #[must_use]
    pub fn on(mut self, threads: Threads<'a>) -> Self {
        self.threads = threads;
        self
    }

    /// Simulates all pairs that are not finished. `progress` is a callback that gets the progress.
    ///
    /// # Errors
    /// A failure where a trace is corrupt, changes meanwhile, or results cannot be written; a usage
    /// error where a policy needs the future of several threads. What was finished before stays.
    pub fn run(self, progress: &(dyn Fn(Progress) + Sync)) -> Result<Results> {
        let meter = Meter {
            accesses: AtomicU64::new(0),
            finished: AtomicUsize::new(self.resumed),
            report: progress,
        };
        self.all(&meter)
            .map_err(|error| self.finished().stays(&error))?;
        let finished = self.finished.into_inner();
        let tasks = self.tasks.into_iter();
        Ok(Results {
            traces: tasks.filter_map(|task| task.rows.into_inner()).collect(),
            finished: finished.unwrap_or_else(PoisonError::into_inner),
        })
    }
}

/// Returns a digest of traces and machines as text. Settings that are a share of the footprint are
/// taken of the same footprint for every trace.
fn options(tasks: &[Task], machines: &[Choice]) -> String {
    let mut all = String::new();
    for task in tasks {
        let (path, reading) = (&task.trace.path, &task.trace.reading);
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        all += &format!("{path:?} {reading:?} {:?};", task.trace.limit);
    }
    let machines = machines.iter().map(key::choice);
    all.extend(machines.map(|key| format!("{key};")));
    Digest::of(all.as_bytes()).to_string()
}

/// Returns the machines of each pass: as few passes as possible, of the same size.
fn passes<T>(machines: &[T]) -> slice::Chunks<'_, T> {
    let passes = machines.len().div_ceil(PASS).max(1);
    machines.chunks(machines.len().div_ceil(passes).max(1))
}

/// Returns the greatest knowledge of the future that any machine needs.
fn foresight(all: impl Iterator<Item = Foresight>) -> Foresight {
    all.max().unwrap_or_default()
}

impl Sweep<'_> {
    /// Simulates all traces, with as many at a time as keep all processors busy, and one more, as
    /// the machines of a trace wait while it is read.
    fn all(&self, meter: &Meter) -> Result<()> {
        let machines = self.machines.len().clamp(1, PASS);
        let workers = rayon::current_num_threads().div_ceil(machines) + 1;
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(task) = self.tasks.get(next.fetch_add(1, Relaxed)) {
                let stop = |_: &_| next.store(self.tasks.len(), Relaxed);
                self.finish(task, meter).inspect_err(stop)?;
            }
            Ok(())
        };
        let work = || {
            let mut done = Ok(());
            (self.threads)(&mut || done = work())?;
            done
        };
        thread::scope(|scope| {
            let workers = (0..workers.min(self.tasks.len())).map(|_| scope.spawn(work));
            let workers: Vec<_> = workers.collect();
            let mut ends = workers.into_iter().map(|worker| worker.join());
            ends.try_for_each(|end| end.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// Simulates the unfinished machines of a trace, in passes.
    fn finish(&self, task: &Task, meter: &Meter) -> Result<()> {
        let mut survey = self.look(task)?;
        let machines = keyed(self.machines, survey.footprint_pages)?;
        let pending = self.pending(task, &machines, meter);
        let foresight = foresight(pending.iter().map(|one| one.machine.foresight()));
        if survey.future.is_none() && foresight > Foresight::Nothing {
            survey = task.survey(foresight)?;
        }
        pages::require_memory(pending.len().min(PASS), survey.footprint_pages)?;
        for pass in passes(&pending) {
            self.pass(task, pass, survey.future.as_ref(), meter)?;
        }
        let finished = self.finished();
        let rows = machines.into_iter().map(|one| {
            let outcome = finished.outcome(&task.workload, &one.key);
            one.with(outcome.expect("all are finished").clone())
        });
        task.rows.get_or_init(|| rows.collect());
        Ok(())
    }

    /// Returns the facts about a trace before its simulation; a finished result has its footprint.
    fn look(&self, task: &Task) -> Result<Survey> {
        // The mutex is not held during the survey.
        let finished = self.finished();
        let known = finished.any(&task.workload).map(|o| o.footprint_pages);
        drop(finished);
        match known {
            Some(footprint_pages) => Ok(Survey {
                footprint_pages,
                future: None,
            }),
            None if self.machines.iter().any(Choice::needs_footprint) => {
                task.survey(foresight(self.machines.iter().map(Choice::foresight)))
            }
            None => Ok(Survey::default()),
        }
    }

    /// Returns the unfinished machines; equal machines are returned once.
    fn pending<'s>(&self, task: &Task, machines: &'s [Keyed], meter: &Meter) -> Vec<&'s Keyed> {
        let finished = self.finished();
        let mut missing: Vec<_> = machines.iter().collect();
        missing.retain(|one| finished.outcome(&task.workload, &one.key).is_none());
        let all = missing.len();
        let mut seen = HashSet::new();
        missing.retain(|one| seen.insert(one.key));
        let same = all - missing.len();
        meter.add(task.work(same).unwrap_or(0), same);
        missing
    }

    /// Simulates several machines in one pass and stores their outcomes.
    fn pass(
        &self,
        task: &Task,
        machines: &[&Keyed],
        future: Option<&Arc<Future>>,
        meter: &Meter,
    ) -> Result<()> {
        let settings = machines.iter().map(|one| one.machine.clone());
        let mut before = 0;
        let columns = pages::columns(machines.iter().map(|one| &one.machine));
        let workload = task.trace.open(columns)?;
        let outcomes = pages::run(workload, settings.collect(), future, |accesses| {
            let more = (accesses - before) * machines.len() as u64;
            before = accesses;
            meter.add(more, 0);
        })?;
        if Stamp::of(&task.trace.path)? != task.stamp {
            return Err(stamp::changes(&task.trace.path));
        }
        let simulated = machines.iter().zip(outcomes);
        let simulated = simulated.map(|(one, outcome)| (one.key, one.with(outcome)));
        let pass = Pass {
            trace: task.trace.name.clone(),
            workload: task.workload,
            machines: simulated.collect(),
        };
        // Others go on while it is written.
        self.archive.add(&pass)?;
        self.finished().insert(pass.kept());
        meter.add(0, machines.len());
        Ok(())
    }

    fn finished(&self) -> MutexGuard<'_, Finished> {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counter of finished work.
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
