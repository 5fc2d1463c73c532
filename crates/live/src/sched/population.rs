//! The tasks of the programs: threads of the processes that they started, as they come and go.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use terrace_base::process::Figures;

use super::counters::{Counters, Counts, missing};
use super::load::{Load, Stat};
use super::sample::Sample;
use crate::cgroup::processes_in;
use crate::members::{Member, everyone, running};

/// Pause between two lists of processes: so many times the time that one takes, within bounds.
const LIST_EVERY: (u32, Duration, Duration) =
    (200, Duration::from_millis(200), Duration::from_secs(1));
/// At first, when programs start others, the pause is at most the time so far divided by this.
const AT_FIRST: u32 = 4;

/// Processes of a group that have results of their own; those that come later share some.
const MOST_PROGRAMS: usize = 64;

/// Where the tasks come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Processes, by their numbers and start times, with all that they start: a program each.
    Trees(Vec<(u32, u64)>),
    /// The processes of a group and of those below it: a program each, up to some number.
    Group(PathBuf),
}

/// A task that is watched.
pub(crate) struct Watched {
    /// Its process.
    pub pid: u32,
    /// Start time, in clock ticks since boot.
    pub started: u64,
    /// Index of its program.
    pub program: usize,
    /// Whether it is CPU-bound or sleeps.
    pub load: Load,
    counters: Counters,
    /// How often it got a CPU, as of the last look.
    scheduled: u64,
    /// At the last look at its waits.
    stat: Option<Stat>,
}

/// What tasks have used together.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    time: Duration,
    counts: Counts,
    scheduled: u64,
}

impl Spent {
    fn add(&mut self, task: &mut Watched) {
        let reading = task.counters.read();
        self.time += reading.time;
        self.counts.add(reading.counts.unwrap_or_default());
        self.scheduled += task.scheduled;
    }
}

/// What a program has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used {
    /// Number of its first process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Time that its tasks have run, of those that have ended and of those that are there.
    pub time: Duration,
    /// What the processor counted; `None` without counters.
    pub counts: Option<Counts>,
    /// How often its tasks got a CPU.
    pub scheduled: u64,
    /// Waits for a CPU of its tasks that sleep, in seconds.
    pub waits: Sample,
    /// Whether it has had a task that was CPU-bound.
    pub was_bound: bool,
}

/// The tasks, and the programs that they belong to.
pub(crate) struct Population {
    source: Source,
    began: Instant,
    list_at: Instant,
    /// Processes, with their start times and programs.
    processes: FxHashMap<u32, (u64, usize)>,
    tasks: BTreeMap<u32, Watched>,
    programs: Vec<Used>,
    /// What the tasks of each program have used that have ended.
    ended: Vec<Spent>,
}

impl Population {
    /// Begins to watch.
    pub fn of(source: Source) -> Self {
        let began = Instant::now();
        let mut population = Self {
            began,
            list_at: began,
            processes: FxHashMap::default(),
            tasks: BTreeMap::new(),
            programs: Vec::new(),
            ended: Vec::new(),
            source,
        };
        if let Source::Trees(roots) = &population.source {
            for (pid, started) in roots.clone() {
                let program = population.add_program(pid);
                population.processes.insert(pid, (started, program));
            }
        }
        population
    }

    fn add_program(&mut self, pid: u32) -> usize {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        self.programs.push(Used {
            pid,
            name: name.trim().to_owned(),
            ..Used::default()
        });
        self.ended.push(Spent::default());
        self.programs.len() - 1
    }

    /// Returns the program of a process of a group: its own, or one for all that come late.
    fn program_of_group(&mut self, pid: u32) -> usize {
        match self.programs.len() {
            full if full > MOST_PROGRAMS => MOST_PROGRAMS,
            MOST_PROGRAMS => {
                let program = self.add_program(pid);
                "others".clone_into(&mut self.programs[program].name);
                program
            }
            _ => self.add_program(pid),
        }
    }

    /// Looks at all tasks: who has come and gone, and who sleeps. Returns the new ones.
    pub fn look(&mut self) -> Vec<u32> {
        let now = Instant::now();
        if now >= self.list_at {
            self.list();
            let (times, least, most) = LIST_EVERY;
            let pause = (now.elapsed() * times).clamp(least, most);
            self.list_at = Instant::now() + pause.min(self.began.elapsed() / AT_FIRST);
        }
        let new = self.find_threads();
        self.measure();
        new
    }

    /// Lists the processes.
    fn list(&mut self) {
        let members: Vec<Member> = match &self.source {
            Source::Trees(_) => running(everyone()).collect(),
            Source::Group(group) => running(processes_in(group)).collect(),
        };
        let known = |it: &Member, processes: &FxHashMap<u32, (u64, usize)>| {
            let known = processes.get(&it.pid);
            known
                .filter(|(started, _)| *started == it.figures.started)
                .copied()
        };
        let mut next: FxHashMap<u32, (u64, usize)> = FxHashMap::default();
        next.extend(
            members
                .iter()
                .filter_map(|it| Some((it.pid, known(it, &self.processes)?))),
        );
        match self.source {
            Source::Trees(_) => descend(&members, &mut next),
            Source::Group(_) => {
                let new = members.iter().filter(|it| !next.contains_key(&it.pid));
                let new: Vec<(u32, u64)> = new.map(|it| (it.pid, it.figures.started)).collect();
                for (pid, started) in new {
                    next.insert(pid, (started, self.program_of_group(pid)));
                }
            }
        }
        self.processes = next;
    }

    /// Finds the threads of the processes, and drops those that have ended.
    fn find_threads(&mut self) -> Vec<u32> {
        let mut new = Vec::new();
        let mut there = BTreeMap::new();
        for (&pid, &(_, program)) in &self.processes {
            for tid in threads_of(pid) {
                if let Some(known) = self.tasks.remove(&tid).filter(|it| it.pid == pid) {
                    there.insert(tid, known);
                } else if let Some(watched) = watch(pid, tid, program) {
                    there.insert(tid, watched);
                    new.push(tid);
                }
            }
        }
        for mut ended in std::mem::replace(&mut self.tasks, there).into_values() {
            self.ended[ended.program].add(&mut ended);
        }
        new
    }

    /// Measures the load of each task, and what the programs have used.
    fn measure(&mut self) {
        let now = self.began.elapsed();
        let mut used: Vec<_> = self.ended.clone();
        let counted = missing().is_none();
        for (tid, task) in &mut self.tasks {
            let wants = Figures::of(*tid)
                .ok()
                .flatten()
                .is_some_and(|it| it.state == 'R');
            if let Some(stat) = task.counters.stat() {
                task.load.look(now, stat, wants);
                task.scheduled = stat.count;
            }
            self.programs[task.program].was_bound |= task.load.is_bound();
            used[task.program].add(task);
        }
        for (program, spent) in self.programs.iter_mut().zip(used) {
            program.time = spent.time;
            program.scheduled = spent.scheduled;
            program.counts = counted.then_some(spent.counts);
        }
    }

    /// Looks at the waits of the tasks that sleep; called often, it sees each of them. Returns whether there are such
    /// tasks.
    pub fn look_at_waits(&mut self) -> bool {
        let mut any = false;
        for task in self.tasks.values_mut().filter(|task| !task.load.is_bound()) {
            let Some(now) = task.counters.stat() else {
                continue;
            };
            any = true;
            if let Some(before) = task.stat.replace(now)
                && let Some(times) = now.count.checked_sub(before.count).filter(|&it| it > 0)
            {
                let mean = now.wait.saturating_sub(before.wait).as_secs_f64() / times as f64;
                let waits = &mut self.programs[task.program].waits;
                (0..times).for_each(|_| waits.add(mean));
            }
        }
        any
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &Watched)> {
        self.tasks.iter().map(|(tid, task)| (*tid, task))
    }

    /// Returns a task.
    pub fn task(&self, tid: u32) -> Option<&Watched> {
        self.tasks.get(&tid)
    }

    /// Returns the parent of a process of the programs.
    pub fn parent(&self, pid: u32) -> Option<u32> {
        Figures::of(pid).ok().flatten().map(|it| it.parent)
    }

    /// Returns the programs, as of the last look.
    pub fn programs(&self) -> &[Used] {
        &self.programs
    }
}

/// Adds the descendants of the processes that are known, each to the program of its parent.
fn descend(members: &[Member], known: &mut FxHashMap<u32, (u64, usize)>) {
    let mut children: FxHashMap<u32, Vec<(u32, u64)>> = FxHashMap::default();
    for it in members {
        let child = (it.pid, it.figures.started);
        children.entry(it.figures.parent).or_default().push(child);
    }
    let mut unasked: Vec<u32> = known.keys().copied().collect();
    while let Some(pid) = unasked.pop() {
        let program = known[&pid].1;
        for &(child, started) in children.get(&pid).into_iter().flatten() {
            if known.insert(child, (started, program)).is_none() {
                unasked.push(child);
            }
        }
    }
}

/// Returns the threads of a process.
pub(crate) fn threads_of(pid: u32) -> impl Iterator<Item = u32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"));
    let entries = entries.into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn watch(pid: u32, tid: u32, program: usize) -> Option<Watched> {
    let figures = Figures::of(tid).ok()??;
    Some(Watched {
        pid,
        started: figures.started,
        program,
        load: Load::default(),
        scheduled: 0,
        counters: Counters::of(pid, tid),
        stat: None,
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that is killed when it is dropped.
    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn threads_and_children_are_found_and_counted_to_their_program() {
        let script = "sleep 60 & while :; do :; done";
        let mut command = Command::new("sh");
        let command = command.args(["-c", script]).stdout(Stdio::null());
        let mut shell = Killed(command.spawn().unwrap());
        let pid = shell.0.id();
        let started = Figures::of(pid).unwrap().unwrap().started;
        let mut population = Population::of(Source::Trees(vec![(pid, started)]));
        let begin = Instant::now();
        while population.tasks().count() < 2 || !population.programs()[0].was_bound {
            population.look();
            population.look_at_waits();
            std::thread::sleep(Duration::from_millis(20));
            assert!(begin.elapsed() < Duration::from_secs(60));
        }
        let bound = population.tasks().filter(|(_, task)| task.load.is_bound());
        let bound: Vec<u32> = bound.map(|(tid, _)| tid).collect();
        assert_eq!(bound, [pid], "the other sleeps");
        let sleeper = population.tasks().find(|(tid, _)| *tid != pid).unwrap();
        assert_eq!(population.parent(sleeper.1.pid), Some(pid));
        let sleeper = sleeper.0;
        shell.0.kill().unwrap();
        shell.0.wait().unwrap();
        let time = population.programs()[0].time;
        population.look();
        let used = &population.programs()[0];
        assert_eq!(used.name, "sh");
        assert!(
            used.time >= time && time > Duration::ZERO,
            "what ended counts"
        );
        // SAFETY: kill takes two integers; the shell that started this process was its parent.
        unsafe { libc::kill(sleeper as i32, libc::SIGKILL) };
    }
}
