//! Results of simulated machines, and the figures that follow from their counts.

use terrace_base::Nanos;

use super::count::Counts;
use super::settings::MixMachine;
use crate::llc::model::CYCLE;

/// Results of a machine. Figures exclude the warm-up.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Results of each task, in the order of the traces.
    pub tasks: Vec<TaskOutcome>,
    /// Lines that the last level held at the end.
    pub filled: usize,
}

/// Results of a task.
#[derive(Clone, Debug)]
pub struct TaskOutcome {
    /// Name of its trace.
    pub name: String,
    /// Its core.
    pub core: usize,
    /// Whether its trace counts instructions; otherwise they are estimated.
    pub counts_instructions: bool,
    /// Everything counted.
    pub counts: Counts,
}

/// A machine and its results.
#[derive(Clone, Debug)]
pub struct Run {
    /// Settings.
    pub machine: MixMachine,
    /// Results.
    pub outcome: Outcome,
}

/// Machines that were simulated with the same tasks.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// All machines; there is at least one.
    pub runs: Vec<Run>,
}

impl TaskOutcome {
    /// Returns the time on its core.
    pub fn time(&self) -> Nanos {
        Nanos(self.counts.time / 1000)
    }

    /// Returns the instructions per cycle of its own time; `None` where the trace does not count
    /// instructions.
    pub fn ipc(&self) -> Option<f64> {
        self.pace().filter(|_| self.counts_instructions)
    }

    /// Returns the instructions per cycle, counted or estimated.
    pub fn pace(&self) -> Option<f64> {
        let Counts {
            time, instructions, ..
        } = self.counts;
        ratio((instructions * CYCLE) as f64, time as f64)
    }

    /// Returns the misses per 1000 instructions; `None` where the trace does not count
    /// instructions.
    pub fn mpki(&self) -> Option<f64> {
        let mpki = ratio(
            1000.0 * self.counts.misses as f64,
            self.counts.instructions as f64,
        );
        mpki.filter(|_| self.counts_instructions)
    }

    /// Returns the mean turn.
    pub fn turn(&self) -> Option<Nanos> {
        let turns = self.counts.turns;
        (turns > 0).then(|| Nanos(self.counts.turned / turns / 1000))
    }

    /// Returns the share of the last level's lines that came in while the task was away, on
    /// average; above 1 where some places were filled several times (Fedorov 2016, figure 3.2).
    pub fn replaced(&self) -> Option<f64> {
        ratio(self.counts.replaced, self.counts.away as f64)
    }

    /// Returns the share of the task's lines in the last level that were evicted while it was away,
    /// on average.
    pub fn lost(&self) -> Option<f64> {
        ratio(self.counts.lost, self.counts.away as f64)
    }

    /// Returns the misses per millisecond by the milliseconds since a turn began (Fedorov 2016,
    /// figure 3.3); `None` where no turn was so long.
    pub fn curve(&self) -> impl Iterator<Item = Option<f64>> {
        let bins = self.counts.curve.iter();
        bins.map(|bin| ratio(bin.misses as f64 * 1e9, bin.time as f64))
    }
}

impl Run {
    /// Returns the results of each task.
    pub fn tasks(&self) -> &[TaskOutcome] {
        &self.outcome.tasks
    }

    /// Returns a task's share of the time that its core gave to tasks.
    pub fn share(&self, task: &TaskOutcome) -> Option<f64> {
        let beside = self.tasks().iter().filter(|other| other.core == task.core);
        let all: u64 = beside.map(|other| other.counts.time).sum();
        ratio(task.counts.time as f64, all as f64)
    }

    /// Returns Jain's index of the tasks' shares: 1 where all tasks of a core have the same time,
    /// and 1/n where one of n has all.
    pub fn fairness(&self) -> Option<f64> {
        let shares: Vec<f64> = self
            .tasks()
            .iter()
            .filter_map(|task| self.share(task))
            .collect();
        let sum: f64 = shares.iter().sum();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        ratio(sum * sum, squares * shares.len() as f64)
    }

    /// Returns the misses of all tasks.
    pub fn misses(&self) -> u64 {
        self.tasks().iter().map(|task| task.counts.misses).sum()
    }

    /// Returns the misses per 1000 instructions of all tasks; `None` where a trace does not count
    /// instructions.
    pub fn mpki(&self) -> Option<f64> {
        let instructions: u64 = self
            .tasks()
            .iter()
            .map(|task| task.counts.instructions)
            .sum();
        let known = self.tasks().iter().all(|task| task.counts_instructions);
        ratio(1000.0 * self.misses() as f64, instructions as f64).filter(|_| known)
    }

    /// Returns the mean turn of all tasks.
    pub fn turn(&self) -> Option<Nanos> {
        let counts = || self.tasks().iter().map(|task| &task.counts);
        let turns: u64 = counts().map(|counts| counts.turns).sum();
        let time: u64 = counts().map(|counts| counts.turned).sum();
        (turns > 0).then(|| Nanos(time / turns / 1000))
    }

    /// Returns the run time of each task as a multiple of that of `base`: the time of an
    /// instruction here, divided by its time there. 0.9 is a run time of 90 %.
    pub fn slowdowns<'a>(&'a self, base: &'a Run) -> impl Iterator<Item = Option<f64>> + 'a {
        let tasks = self.tasks().iter().zip(base.tasks());
        tasks.map(|(task, base)| ratio(base.pace()?, task.pace()?))
    }

    /// Returns the geometric mean of the run times of all tasks, as multiples of those of `base`.
    pub fn slowdown(&self, base: &Run) -> Option<f64> {
        let logs: Option<Vec<f64>> = self.slowdowns(base).map(|of| of.map(f64::ln)).collect();
        let logs = logs?;
        ratio(logs.iter().sum(), logs.len() as f64).map(f64::exp)
    }

    /// Returns the misses per instruction as a multiple of those of `base`, for all tasks together,
    /// each weighed by its instructions there: the misses of the same work.
    pub fn misses_against(&self, base: &Run) -> Option<f64> {
        let tasks = self.tasks().iter().zip(base.tasks());
        let work = tasks.map(|(task, base)| {
            let each = ratio(task.counts.misses as f64, task.counts.instructions as f64);
            Some(each? * base.counts.instructions as f64)
        });
        let work: Option<f64> = work.sum();
        ratio(work?, base.misses() as f64)
    }
}

impl Simulated {
    /// Returns the run with which another is compared: the first one that differs only in its turns
    /// and its partition.
    pub fn base<'a>(&'a self, run: &'a Run) -> &'a Run {
        let same = |other: &&Run| {
            let (a, b) = (&other.machine, &run.machine);
            a.llc.size == b.llc.size
                && a.llc.policy == b.llc.policy
                && a.memory.name == b.memory.name
        };
        self.runs.iter().find(same).unwrap_or(run)
    }
}

/// Returns `part` divided by `whole`; `None` if `whole` is zero.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
