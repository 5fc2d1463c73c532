//! The tasks of the programs: threads of the processes that they started, as they come and go.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use terrace_base::process::Figures;

use super::births::{Birth, Births};
use super::counters::{Counts, missing};
use super::sample::Sample;
use super::watched::Watched;
use crate::group::cgroup::processes_in;
use crate::group::members::{Member, everyone, running};

/// Pause between two lists of processes: so many times the time that one takes, within bounds.
const LIST_EVERY: (u32, Duration, Duration) =
    (200, Duration::from_millis(200), Duration::from_secs(1));
/// The same where births are told: for those that were not.
const LIST_BESIDE_BIRTHS: Duration = Duration::from_secs(2);
/// At first, when programs start others, the pause is at most the time so far divided by this.
const AT_FIRST: u32 = 4;

/// Most names of tasks whose habits are kept.
const MOST_HABITS: usize = 1024;
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
    /// Tells of new tasks; without it they are looked for at each look.
    births: Option<Births>,
    began: Instant,
    list_at: Instant,
    /// Processes, with their start times and programs.
    processes: FxHashMap<u32, (u64, usize)>,
    tasks: BTreeMap<u32, Watched>,
    /// Tasks that came since the last look.
    new: Vec<u32>,
    /// Whether there is news since the last look: tasks that came, or are presumed to be something
    /// else.
    news: bool,
    /// Whether the last task of a program that ended under a name was CPU-bound.
    habits: FxHashMap<(usize, String), bool>,
    programs: Vec<Used>,
    /// What the tasks of each program have used that have ended.
    ended: Vec<Spent>,
}

impl Population {
    /// Begins to watch; `births` was opened before the programs were started.
    pub fn of(source: Source, births: Option<Births>) -> Self {
        let began = Instant::now();
        let mut population = Self {
            began,
            list_at: began,
            processes: FxHashMap::default(),
            tasks: BTreeMap::new(),
            new: Vec::new(),
            news: false,
            habits: FxHashMap::default(),
            programs: Vec::new(),
            births,
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
        self.follow();
        let now = Instant::now();
        if now >= self.list_at {
            self.list();
            self.find_threads();
            let (times, least, most) = LIST_EVERY;
            let pause = match self.births {
                Some(_) => LIST_BESIDE_BIRTHS,
                None => (now.elapsed() * times).clamp(least, most),
            };
            self.list_at = Instant::now() + pause.min(self.began.elapsed() / AT_FIRST);
        } else if self.births.is_none() {
            self.find_threads();
        }
        self.bury();
        self.measure();
        self.news = false;
        std::mem::take(&mut self.new)
    }

    /// Adds reported new tasks, and returns whether anything changed since the last look.
    pub fn follow(&mut self) -> bool {
        let births = self.births.as_mut().map(Births::drain);
        for birth in births.into_iter().flatten() {
            match birth {
                Birth::Began { pid, tid, parent } => self.take_in(pid, tid, parent),
                Birth::Became { pid, name } => self.become_program(pid, name),
                Birth::Lost => self.list_at = Instant::now(),
            }
        }
        self.news
    }

    /// Takes a task in that was started by a process of the programs.
    fn take_in(&mut self, pid: u32, tid: u32, parent: u32) {
        let Some(&(_, program)) = self.processes.get(&parent) else {
            return;
        };
        // One that has ended had the same number.
        self.bury_one(tid);
        let name = self.tasks.get(&parent).map(|it| it.name.clone());
        let Some(mut watched) = Watched::begin(pid, tid, parent, program, name) else {
            return;
        };
        if matches!(self.source, Source::Group(_)) && tid == pid {
            watched.program = self.program_of_group(pid);
        }
        if tid == pid {
            self.processes
                .insert(pid, (watched.started, watched.program));
        }
        self.add(tid, watched);
    }

    fn add(&mut self, tid: u32, mut task: Watched) {
        self.presume(&mut task);
        self.tasks.insert(tid, task);
        self.new.push(tid);
        self.news = true;
    }

    fn become_program(&mut self, pid: u32, name: String) {
        if let Some(mut task) = self.tasks.remove(&pid) {
            task.name = name;
            self.presume(&mut task);
            self.tasks.insert(pid, task);
            self.news = true;
        }
    }

    /// Presumes of a task what the last of its program and name was.
    fn presume(&self, task: &mut Watched) {
        let habit = self.habits.get(&(task.program, task.name.clone()));
        task.load.presume(habit.is_some_and(|bound| *bound));
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

    /// Finds the threads of the processes, and drops tasks of others.
    fn find_threads(&mut self) {
        let processes = std::mem::take(&mut self.processes);
        for (&pid, &(_, program)) in &processes {
            for tid in threads_of(pid) {
                if self.tasks.get(&tid).is_some_and(|it| it.pid == pid) {
                    continue;
                }
                self.bury_one(tid);
                let parent = if tid == pid { None } else { Some(pid) };
                let parent = parent.or_else(|| parent_of(pid)).unwrap_or(0);
                if let Some(watched) = Watched::begin(pid, tid, parent, program, None) {
                    self.add(tid, watched);
                }
            }
        }
        let others = self.tasks.iter();
        let others = others.filter(|(_, it)| !processes.contains_key(&it.pid));
        let others: Vec<u32> = others.map(|(tid, _)| *tid).collect();
        others.into_iter().for_each(|tid| self.bury_one(tid));
        self.processes = processes;
    }

    /// Drops the tasks that have ended.
    fn bury(&mut self) {
        let ended = self.tasks.iter();
        let ended = ended.filter(|(_, task)| task.counters.has_ended());
        let ended: Vec<u32> = ended.map(|(tid, _)| *tid).collect();
        ended.into_iter().for_each(|tid| self.bury_one(tid));
    }

    /// Drops a task, and keeps what it has used, and what it was.
    fn bury_one(&mut self, tid: u32) {
        let Some(mut task) = self.tasks.remove(&tid) else {
            return;
        };
        self.ended[task.program].add(&mut task);
        if task.load.is_told() {
            if self.habits.len() >= MOST_HABITS {
                self.habits.clear();
            }
            let bound = task.load.is_bound();
            self.habits.insert((task.program, task.name), bound);
        }
    }

    /// Measures the load of each task, and what the programs have used.
    fn measure(&mut self) {
        let now = self.began.elapsed();
        let mut used: Vec<_> = self.ended.clone();
        let counted = missing().is_none();
        for task in self.tasks.values_mut() {
            task.look(now);
            self.programs[task.program].was_bound |= task.load.is_bound();
            used[task.program].add(task);
        }
        for (program, spent) in self.programs.iter_mut().zip(used) {
            program.time = spent.time;
            program.scheduled = spent.scheduled;
            program.counts = counted.then_some(spent.counts);
        }
    }

    /// Looks at the waits of the tasks that sleep; called often, it sees each of them. Returns
    /// whether there are such tasks.
    pub fn look_at_waits(&mut self) -> bool {
        let now = self.began.elapsed();
        let mut any = false;
        for task in self.tasks.values_mut().filter(|task| !task.load.is_bound()) {
            any = true;
            task.look_at_waits(now, &mut self.programs[task.program].waits);
        }
        any
    }

    /// Whether all tasks are told to be CPU-bound or not.
    pub fn is_told(&self) -> bool {
        self.tasks.values().all(|task| task.load.is_told())
    }

    /// Returns the tasks.
    pub fn tasks(&self) -> impl Iterator<Item = (u32, &Watched)> {
        self.tasks.iter().map(|(tid, task)| (*tid, task))
    }

    /// Returns a task.
    pub fn task(&self, tid: u32) -> Option<&Watched> {
        self.tasks.get(&tid)
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

fn parent_of(pid: u32) -> Option<u32> {
    Some(Figures::of(pid).ok()??.parent)
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
    #[ignore = "needs root for perf on all CPUs; run by make test-root"]
    fn what_a_loop_starts_is_presumed_to_be_as_the_last_was() {
        let births = Births::open();
        assert!(births.is_some(), "perf");
        let script = "while :; do timeout 1 sh -c \"$0\"; done";
        let mut command = Command::new("sh");
        let command = command.args(["-c", script, "while :; do :; done"]);
        let shell = Killed(command.stdout(Stdio::null()).spawn().unwrap());
        let pid = shell.0.id();
        let started = Figures::of(pid).unwrap().unwrap().started;
        let mut population = Population::of(Source::Trees(vec![(pid, started)]), births);
        let begin = Instant::now();
        let mut told = 0;
        // The first is told by its load, the next is presumed.
        loop {
            population.look();
            let bound = population.tasks().filter(|(_, task)| task.load.is_bound());
            let mut bound: Vec<bool> = bound.map(|(_, task)| task.load.is_told()).collect();
            match bound.pop() {
                Some(true) => told += 1,
                Some(false) => break,
                None => {}
            }
            std::thread::sleep(Duration::from_millis(20));
            assert!(begin.elapsed() < Duration::from_secs(600));
        }
        assert!(told > 0);
    }

    #[test]
    fn threads_and_children_are_found_and_counted_to_their_program() {
        let script = "sleep 60 & while :; do :; done";
        let mut command = Command::new("sh");
        let command = command.args(["-c", script]).stdout(Stdio::null());
        let mut shell = Killed(command.spawn().unwrap());
        let pid = shell.0.id();
        let started = Figures::of(pid).unwrap().unwrap().started;
        let mut population = Population::of(Source::Trees(vec![(pid, started)]), None);
        let begin = Instant::now();
        while population.tasks().count() < 2 || !population.programs()[0].was_bound {
            population.look();
            population.look_at_waits();
            std::thread::sleep(Duration::from_millis(20));
            assert!(begin.elapsed() < Duration::from_secs(600));
        }
        let bound = population.tasks().filter(|(_, task)| task.load.is_bound());
        let bound: Vec<u32> = bound.map(|(tid, _)| tid).collect();
        assert_eq!(bound, [pid], "the other sleeps");
        let sleeper = population.tasks().find(|(tid, _)| *tid != pid).unwrap();
        assert_eq!(sleeper.1.parent, pid);
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
