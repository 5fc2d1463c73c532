//! Runs a mix of programs, or attaches to programs that run, with turns by a policy.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use terrace_base::{Bytes, Error, Result, Signals, Target as Signalled, user};
use terrace_policy::sched::{Curve, Spec};

use super::births::Births;
use super::choice::{Wanted, Way};
use super::figures::{Latency, Outcome, ProgramFigures, Share, TurnFigures, jain};
use super::machine::machine;
use super::population::{Population, Source, Used};
use super::programs::Programs;
use super::sample::Sample;
use super::steering::{Plan, Steering, is_privileged};
use super::switches::Switches;
use super::turns::Turns;
use crate::group::hierarchy::Mounts;
use crate::group::members::Scope;
use crate::group::target::Target;
use crate::journal::{Journal, state_directory};
use crate::program::Invocation;
use crate::system::clock;
use crate::system::cpus::Cpus;

/// Pause between two looks at the tasks: so many times the time that one takes, within bounds.
const LOOK_EVERY: (u32, Duration, Duration) =
    (200, Duration::from_millis(100), Duration::from_millis(400));
/// The pause is at least so long once all tasks are told to be CPU-bound or not: no turn waits for
/// a look then.
const LOOK_ALL_TOLD: Duration = Duration::from_millis(250);
/// At first, when tasks come, the pause is at most the time so far divided by this.
const AT_FIRST: u32 = 4;
/// Pause between two looks at whether it is over.
const POLL_EVERY: Duration = Duration::from_millis(50);
/// Pause between two looks at the waits of sleeping tasks, where these are measured: one may wake
/// up 200 times a second.
const WAITS_EVERY: Duration = Duration::from_millis(4);
/// Time after which shares of CPU time are counted: tasks have been told apart by then.
const SETTLED: Duration = Duration::from_millis(1500);

/// What takes turns.
#[derive(Clone, Debug)]
pub enum Mix {
    /// Programs to start.
    Programs(Vec<Invocation>),
    /// Programs that run.
    Running(Vec<Target>),
}

/// How it takes turns.
#[derive(Clone, Debug)]
pub struct Settings {
    /// CPUs for the programs; `None` are those of this process, or of programs that run.
    pub cpus: Option<Cpus>,
    /// The mechanism.
    pub mechanism: Wanted,
    /// Size of the last-level cache; `None` as the processor states it.
    pub cache: Option<Bytes>,
    /// Whether the waits of sleeping tasks are measured, which takes a look every 4 ms.
    pub waits: bool,
    /// Time after which it ends, if it is attached to programs; `None` if they end it.
    pub time: Option<Duration>,
}

/// What happens meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Told<'a> {
    /// A sentence.
    Notice(&'a str),
    /// The present state.
    Running(&'a Status),
}

/// The present state of a run.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Time since its start.
    pub elapsed: Duration,
    /// Programs that run.
    pub programs: usize,
    /// Tasks that take turns.
    pub tasks: usize,
    /// The mechanism; `None` if none is used.
    pub mechanism: Option<Way>,
    /// Mean length of turns lately, as they came out; `None` if they are not seen.
    pub turn: Option<Duration>,
}

/// Receives what happens.
pub type Observer<'a> = &'a mut dyn FnMut(Told);

/// The machine during runs: signals are received, and changes are in a journal.
pub struct Session {
    signals: Signals,
    journal: Journal,
}

impl Session {
    /// Begins; changes nothing yet.
    ///
    /// # Errors
    /// A failure if the journal cannot be written.
    pub fn open() -> Result<Self> {
        Ok(Self {
            signals: Signals::receive()?,
            journal: Journal::begin(&state_directory())?,
        })
    }

    /// Returns the signal that asked to end, if one did.
    pub fn asked_to_end(&self) -> Option<i32> {
        self.signals.asked_to_end()
    }

    /// Ends; removes the journal if all is put back.
    ///
    /// # Errors
    /// A failure that names what could not be put back.
    pub fn close(self) -> Result<()> {
        match self.journal.left().as_slice() {
            [] => Ok(()),
            left => Err(Error::failure(format!(
                "{} could not be put back",
                left.join("; ")
            ))),
        }
    }

    /// Runs a mix once.
    ///
    /// # Errors
    /// A usage error if a program cannot be run or found; a failure if its turns cannot be steered.
    pub fn run(
        &mut self,
        mix: &Mix,
        policy: &Spec,
        settings: &Settings,
        observer: Observer,
    ) -> Result<Outcome> {
        let cpus = settings.cpus(mix)?;
        let steering = Steering::start(Plan {
            policy: policy.clone(),
            machine: machine(settings.cache),
            wanted: settings.mechanism,
            cpus: cpus.clone(),
        })?;
        let switches = Switches::open(&cpus);
        let births = Births::open();
        let own = own_time();
        let (source, programs) = match mix {
            Mix::Programs(invocations) => {
                let programs = Programs::start(invocations, &cpus, &self.signals)?;
                let pids = programs.roots.iter().map(|(pid, _)| *pid);
                self.signals.aim(Signalled::programs(pids));
                self.signals.pass_on();
                (Source::Trees(programs.roots.clone()), Some(programs))
            }
            Mix::Running(targets) => {
                let source = found(targets)?;
                if let (Source::Trees(roots), Some(_)) = (&source, &steering) {
                    roots.iter().try_for_each(|(pid, _)| may_steer(*pid))?;
                }
                (source, None)
            }
        };
        let mut running = Running {
            began: Instant::now(),
            population: Population::of(source, births),
            turns: Turns::since(clock::now()),
            shares: Shares::default(),
            session: self,
            programs,
            steering,
            switches,
        };
        let watched = running.watch(settings, observer);
        let ends = running.programs.as_ref().map(Programs::ends);
        let signals = &running.session.signals;
        signals.forget_survived(&ends.unwrap_or_default());
        signals.aim(Signalled::Nobody);
        running.finish(cpus, own, watched)
    }
}

impl Settings {
    /// Returns the CPUs that are watched and on which turns are passed on.
    fn cpus(&self, mix: &Mix) -> Result<Cpus> {
        let online = Cpus::online()?;
        let allowed = match mix {
            Mix::Programs(_) => Cpus::of(0).unwrap_or_else(|_| online.clone()),
            Mix::Running(_) => online.clone(),
        };
        let wanted = self
            .cpus
            .as_ref()
            .map_or(allowed.clone(), |it| it.and(&allowed));
        match (wanted.count(), &self.cpus) {
            (0, Some(named)) => Err(Error::usage(format!(
                "the CPUs {named} are not online, or not for this process; it may use {allowed}"
            ))),
            _ => Ok(wanted),
        }
    }
}

/// Finds the programs that run.
fn found(targets: &[Target]) -> Result<Source> {
    let mounts = Mounts::find()?;
    let mut trees = Vec::new();
    for target in targets {
        match target.find(&mounts)?.scope {
            Scope::Tree { root, started } => trees.push((root, started)),
            Scope::Group { group, .. } => return Ok(Source::Group(group)),
        }
    }
    trees.sort_unstable();
    trees.dedup();
    Ok(Source::Trees(trees))
}

/// Refuses a process whose scheduling the kernel does not let this one change (sched_setattr(2)).
fn may_steer(pid: u32) -> Result<()> {
    let ours = rustix::process::geteuid().as_raw();
    let owner = fs::metadata(format!("/proc/{pid}")).map_or(ours, |it| it.uid());
    if owner == ours || is_privileged() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the process {pid} belongs to {}; only its owner, or a user with CAP_SYS_NICE as root has it, may change its turns",
        user::name_of(owner)
    )))
}

/// Returns the CPU time of this process.
fn own_time() -> Duration {
    // SAFETY: an all-zero rusage is a valid value, and it is ours to write.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let time = |it: libc::timeval| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// A mix that runs.
struct Running<'a> {
    began: Instant,
    session: &'a mut Session,
    population: Population,
    programs: Option<Programs>,
    steering: Option<Steering>,
    switches: Option<Switches>,
    turns: Turns,
    shares: Shares,
}

impl Running<'_> {
    /// Waits for the end, and follows the tasks meanwhile.
    fn watch(&mut self, settings: &Settings, observer: Observer) -> Result<()> {
        let mut look_at = self.began;
        let mut lately = None;
        let mut looked_at = self.began;
        loop {
            let now = Instant::now();
            let news = self.population.follow() && now >= looked_at + POLL_EVERY;
            if now >= look_at || news {
                looked_at = now;
                self.look(observer, &mut lately)?;
                let (times, least, most) = LOOK_EVERY;
                let pause = (now.elapsed() * times).min(self.began.elapsed() / AT_FIRST);
                let least = match self.population.is_told() {
                    true => LOOK_ALL_TOLD,
                    false => least,
                };
                look_at = now + pause.clamp(least, most);
                let status = self.status(lately);
                observer(Told::Running(&status));
            }
            let sleepers = settings.waits && self.population.look_at_waits();
            if self.is_over(settings.time)? {
                self.look(observer, &mut lately)?;
                return Ok(());
            }
            std::thread::sleep(if sleepers { WAITS_EVERY } else { POLL_EVERY });
        }
    }

    fn is_over(&mut self, time: Option<Duration>) -> Result<bool> {
        if let Some(programs) = &mut self.programs {
            return programs.have_ended();
        }
        let signalled = self.session.asked_to_end().is_some();
        let in_time = time.is_none_or(|time| self.began.elapsed() < time);
        Ok(signalled || !in_time || self.population.tasks().next().is_none())
    }

    fn look(&mut self, observer: Observer, lately: &mut Option<Duration>) -> Result<()> {
        let new = self.population.look();
        let population = &self.population;
        let bound = |tid: u32| {
            let task = population.task(tid)?;
            task.load.is_bound().then_some(task.program)
        };
        for switch in self.switches.iter_mut().flat_map(Switches::drain) {
            self.turns.add(switch, bound);
        }
        let ended = |index| {
            self.programs
                .as_ref()
                .is_some_and(|it| it.end_of(index).is_some())
        };
        self.shares
            .look(self.began.elapsed(), population.programs(), ended);
        if let Some(steering) = &mut self.steering {
            let mut ask = || {
                *lately = self.turns.lately();
                *lately
            };
            let journal = &mut self.session.journal;
            if let Some(notice) = steering.follow(population, &new, journal, &mut ask)? {
                observer(Told::Notice(&notice));
            }
        }
        Ok(())
    }

    fn status(&self, turn: Option<Duration>) -> Status {
        let steering = self.steering.as_ref();
        let programs = self.programs.as_ref().map(Programs::running);
        Status {
            elapsed: self.began.elapsed(),
            programs: programs.unwrap_or(self.population.programs().len()),
            tasks: steering.map_or(0, Steering::count),
            mechanism: steering.map(Steering::way),
            turn,
        }
    }

    /// Puts the tasks back, and returns what was measured.
    fn finish(mut self, cpus: Cpus, own: Duration, watched: Result<()>) -> Result<Outcome> {
        let wall = self.began.elapsed();
        let mechanism = self.steering.as_ref().map(Steering::way);
        let asked = self.steering.as_ref().and_then(Steering::asked);
        let curve = |index| {
            let curve = self.steering.as_ref().and_then(|it| it.curve(index));
            let stretches = curve.into_iter().flat_map(Curve::stretches);
            let known = stretches.filter_map(|it| Some((it.end, it.rate?)));
            known.collect::<Vec<_>>()
        };
        let curves: Vec<_> = (0..self.population.programs().len()).map(curve).collect();
        drop(self.steering.take());
        watched?;
        let shares = self.shares.of_all(self.population.programs());
        let programs = self.population.programs().iter().enumerate();
        let figures = programs.map(|(index, used)| ProgramFigures {
            name: used.name.clone(),
            pid: used.pid,
            wall: self.end_of(index).map(|end| end.wall),
            cpu: self
                .end_of(index)
                .map_or(used.time, |end| end.user + end.system),
            exit: self.end_of(index).map(|end| end.exit),
            counts: used.counts,
            bound: used.was_bound,
            scheduled: used.scheduled,
            turns: self
                .switches
                .as_ref()
                .map(|_| turn_figures(&self.turns.of(index))),
            waits: latency(&used.waits).filter(|_| !used.was_bound),
            curve: curves[index].clone(),
            share: shares[index].map(Share),
        });
        let figures: Vec<ProgramFigures> = figures.collect();
        let known: Vec<f64> = shares.iter().copied().flatten().collect();
        Ok(Outcome {
            wall,
            programs: figures,
            cpus,
            mechanism,
            asked,
            jain: jain(&known),
            own: own_time().saturating_sub(own),
            spells: self.turns.spells(),
        })
    }

    fn end_of(&self, index: usize) -> Option<crate::program::Ended> {
        self.programs.as_ref()?.end_of(index)
    }
}

/// CPU time of the programs while all that are CPU-bound run.
#[derive(Default)]
struct Shares {
    first: Option<Vec<Duration>>,
    last: Vec<Duration>,
    over: bool,
}

impl Shares {
    fn look(&mut self, elapsed: Duration, programs: &[Used], ended: impl Fn(usize) -> bool) {
        let mut all = programs.iter().enumerate();
        self.over |= all.any(|(index, used)| used.was_bound && ended(index));
        if self.over || elapsed < SETTLED {
            return;
        }
        self.last = programs.iter().map(|used| used.time).collect();
        self.first.get_or_insert_with(|| self.last.clone());
    }

    /// Returns the share of each program that was CPU-bound from the first look on.
    fn of_all(&self, programs: &[Used]) -> Vec<Option<f64>> {
        let first = self.first.as_deref().unwrap_or_default();
        let spent = |index: usize| {
            let (first, last) = first.get(index).zip(self.last.get(index))?;
            let bound = programs[index].was_bound;
            bound.then(|| last.saturating_sub(*first).as_secs_f64())
        };
        let all: f64 = (0..programs.len()).filter_map(spent).sum();
        let share = |index| spent(index).filter(|_| all > 0.0).map(|time| time / all);
        (0..programs.len()).map(share).collect()
    }
}

fn turn_figures(lengths: &Sample) -> TurnFigures {
    let time = |seconds: Option<f64>| Duration::from_secs_f64(seconds.unwrap_or(0.0));
    TurnFigures {
        count: lengths.count(),
        mean: time(lengths.mean()),
        median: time(lengths.quantile(0.5)),
    }
}

fn latency(waits: &Sample) -> Option<Latency> {
    let time = |seconds: Option<f64>| seconds.map(Duration::from_secs_f64);
    Some(Latency {
        count: waits.count(),
        median: time(waits.quantile(0.5))?,
        p99: time(waits.quantile(0.99))?,
        worst: time(waits.most())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_in_which_all_ran() {
        let used = |seconds: &[u64]| -> Vec<Used> {
            let used = |seconds: &u64| Used {
                time: Duration::from_secs(*seconds),
                was_bound: *seconds > 0,
                ..Used::default()
            };
            seconds.iter().map(used).collect()
        };
        let mut shares = Shares::default();
        let at = Duration::from_secs;
        let none = |_| false;
        shares.look(SETTLED / 2, &used(&[9, 0, 0]), none);
        shares.look(at(2), &used(&[10, 1, 0]), none);
        shares.look(at(6), &used(&[13, 2, 0]), none);
        shares.look(at(9), &used(&[13, 6, 0]), |index| index == 0);
        let of_all = shares.of_all(&used(&[13, 6, 0]));
        assert_eq!(of_all, [Some(0.75), Some(0.25), None]);
        assert_eq!(Shares::default().of_all(&used(&[1])), [None]);
    }
}
