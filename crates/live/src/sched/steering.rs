//! Which tasks take turns, and by which mechanism: CPU-bound ones are admitted, and let go when
//! they sleep.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use terrace_base::{Error, Result};
use terrace_policy::sched::{Curve, Machine, Spec, Turns};

use super::attributes::{Attributes, IDLE, has_slices};
use super::choice::{Choice, Wanted, Way};
use super::counters::Counters;
use super::held::Held;
use super::mechanism::{Mechanism, Steered};
use super::population::Population;
use super::rotation::Rotation;
use super::slices::Slices;
use super::watched::Watched;
use crate::journal::Journal;
use crate::sched::held::Scheduling;
use crate::system::cpus::Cpus;
use crate::system::privilege;

/// Time after which it is judged whether turns come out.
const JUDGE_EVERY: Duration = Duration::from_secs(1);

/// A policy, and how its turns are made.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The policy.
    pub policy: Spec,
    /// What the policy knows of the machine.
    pub machine: Machine,
    /// The mechanism that was asked for.
    pub wanted: Wanted,
    /// CPUs on which turns are passed on.
    pub cpus: Cpus,
}

/// Tasks that take turns.
pub(crate) struct Steering {
    plan: Plan,
    choice: Choice,
    mechanism: Box<dyn Mechanism>,
    tasks: BTreeMap<u32, Held>,
    /// Tasks that are left alone, as they chose a policy by themselves.
    left_alone: BTreeSet<(u32, u64)>,
    judge_at: Instant,
    /// Misses after the beginning of a turn, as last learnt of a task of each program.
    curves: BTreeMap<usize, Curve>,
}

impl Plan {
    /// Makes the policy; `None` if nothing is to be changed.
    ///
    /// # Errors
    /// A usage error if a setting is wrong.
    fn turns(&self) -> Result<Option<Box<dyn Turns>>> {
        self.policy.policy(&self.machine).map_err(Error::usage)
    }

    /// Returns the mechanisms that this machine allows, of those wanted.
    ///
    /// # Errors
    /// A failure if there are none.
    fn ways(&self) -> Result<Vec<Way>> {
        let wanted = |way: &Way| match self.wanted {
            Wanted::Auto => true,
            Wanted::Only(only) => only == *way,
        };
        let ways: Vec<Way> = ways().into_iter().filter(wanted).collect();
        match ways.is_empty() {
            true => Err(Error::failure(
                "turns cannot be made longer here: rotation needs CAP_SYS_NICE, or a limit of nice values \
                 (ulimit -e) of 20 and more, and slices need Linux 6.12; run as root, or take ‘slice’ off",
            )),
            false => Ok(ways),
        }
    }
}

impl Steering {
    /// Begins without tasks; `None` if the policy changes nothing.
    ///
    /// # Errors
    /// A usage error if a setting is wrong, a failure if no mechanism works here.
    pub fn start(plan: Plan) -> Result<Option<Self>> {
        if plan.turns()?.is_none() {
            return Ok(None);
        }
        let choice = Choice::among(&plan.ways()?).ok_or_else(|| Error::failure("no mechanism"))?;
        Ok(Some(Self {
            mechanism: mechanism(&plan, choice.now())?,
            choice,
            plan,
            tasks: BTreeMap::new(),
            left_alone: BTreeSet::new(),
            judge_at: Instant::now() + JUDGE_EVERY,
            curves: BTreeMap::new(),
        }))
    }

    /// Follows the tasks: those that came, changed or ended. `lately` tells the mean length of
    /// turns that came out since its last call. Returns a sentence if the mechanism was changed.
    ///
    /// # Errors
    /// A failure if the journal cannot be written.
    pub fn follow(
        &mut self,
        population: &Population,
        new: &[u32],
        journal: &mut Journal,
        lately: &mut dyn FnMut() -> Option<Duration>,
    ) -> Result<Option<String>> {
        new.iter().for_each(|&tid| self.disinherit(population, tid));
        for tid in self.mechanism.tend() {
            if let Some(held) = self.tasks.remove(&tid) {
                self.left_alone.insert((tid, held.started));
            }
        }
        self.let_go(population);
        if self.admit(population, journal)? {
            // Turns that came out before were cut by tasks that had none.
            self.judge_at = Instant::now() + JUDGE_EVERY;
            let _ = (self.mechanism.asked(), lately());
        }
        if Instant::now() < self.judge_at {
            return Ok(None);
        }
        self.judge_at = Instant::now() + JUDGE_EVERY;
        self.learn(population);
        match self.mechanism.asked().zip(lately()) {
            Some((asked, came_out)) => self.judge(asked, came_out),
            None => Ok(None),
        }
    }

    /// Gives a new task what its parent was found with: it has inherited what that was set to.
    fn disinherit(&self, population: &Population, tid: u32) {
        let Some(task) = population.task(tid) else {
            return;
        };
        let found = self.tasks.values().find(|held| held.pid == task.pid);
        let parent = || self.tasks.values().find(|held| held.pid == task.parent);
        let deferred = || Attributes::of(tid).is_ok_and(|now| now.policy == IDLE);
        let relative = || {
            let mut all = self.tasks.iter();
            let program = |tid: &u32| population.task(*tid).map(|task| task.program);
            all.find(|(tid, _)| program(tid) == Some(task.program) && deferred())
                .map(|(_, held)| held)
        };
        if let Some(held) = found.or_else(parent).or_else(relative) {
            // A task that has ended needs nothing; nothing else can fail that did not fail for its
            // parent.
            let _ = held.lend(tid);
        }
    }

    /// Lets tasks go that sleep now, or have ended.
    fn let_go(&mut self, population: &Population) {
        let is_bound = |tid: &u32| population.task(*tid).is_some_and(|it| it.load.is_bound());
        let sleep: Vec<u32> = self
            .tasks
            .keys()
            .filter(|tid| !is_bound(tid))
            .copied()
            .collect();
        for tid in sleep {
            self.tasks.remove(&tid);
            self.mechanism.release(tid);
        }
    }

    /// Admits tasks that are CPU-bound now, and returns whether there were any. The journal names
    /// them before they are changed.
    fn admit(&mut self, population: &Population, journal: &mut Journal) -> Result<bool> {
        let bound = population.tasks().filter(|(_, task)| task.load.is_bound());
        let new = bound.filter(|(tid, task)| {
            !self.tasks.contains_key(tid) && !self.left_alone.contains(&(*tid, task.started))
        });
        let new: Vec<Held> = new.filter_map(|(tid, task)| found(tid, task)).collect();
        if new.is_empty() {
            return Ok(false);
        }
        self.tasks
            .extend(new.iter().map(|held| (held.tid, held.clone())));
        let all = self.tasks.values().cloned().collect();
        journal.note(Scheduling(all))?;
        for held in new {
            self.mechanism.admit(steered(held));
        }
        Ok(true)
    }

    /// Keeps what the policy has learnt, which it forgets with the tasks.
    fn learn(&mut self, population: &Population) {
        for tid in self.tasks.keys() {
            let curve = self.mechanism.curve(*tid).filter(Curve::is_known);
            if let Some((curve, task)) = curve.zip(population.task(*tid)) {
                self.curves.insert(task.program, curve);
            }
        }
    }

    /// Returns what the policy has learnt of a program's misses after the beginning of a turn.
    pub fn curve(&self, program: usize) -> Option<&Curve> {
        self.curves.get(&program)
    }

    fn judge(&mut self, asked: Duration, came_out: Duration) -> Result<Option<String>> {
        let before = self.choice.now();
        let Some(way) = self.choice.judge(asked, came_out) else {
            return Ok(None);
        };
        // The tasks are put back before the next mechanism takes them.
        self.mechanism = Box::new(Slices::new(self.turns()?));
        self.mechanism = mechanism(&self.plan, way)?;
        for held in self.tasks.values() {
            self.mechanism.admit(steered(held.clone()));
        }
        Ok(Some(format!(
            "turns of {asked:.1?} came out as {came_out:.1?} by {}; goes on by {}",
            before.name(),
            way.name()
        )))
    }

    fn turns(&self) -> Result<Box<dyn Turns>> {
        let made = self.plan.turns()?;
        made.ok_or_else(|| Error::failure("the policy makes no turns"))
    }

    /// Returns the number of tasks that take turns.
    pub fn count(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the present mechanism.
    pub fn way(&self) -> Way {
        self.choice.now()
    }

    /// Returns the mean length of the turns that were asked for.
    pub fn asked(&self) -> Option<Duration> {
        self.mechanism.asked_in_all()
    }
}

/// Returns the mechanisms that this machine allows this process, the better first.
pub fn ways() -> Vec<Way> {
    let rotation = may_rotate().then_some(Way::Rotation);
    let slices = has_slices().then_some(Way::Slices);
    [rotation, slices].into_iter().flatten().collect()
}

fn mechanism(plan: &Plan, way: Way) -> Result<Box<dyn Mechanism>> {
    let none = || Error::failure("the policy makes no turns");
    let turns = plan.turns()?.ok_or_else(none)?;
    Ok(match way {
        Way::Rotation => Box::new(Rotation::start(turns, &plan.cpus)?),
        Way::Slices => Box::new(Slices::new(turns)),
    })
}

/// Returns a task as it was found; `None` if its turns cannot be longer, or it has ended.
fn found(tid: u32, task: &Watched) -> Option<Held> {
    let found = Attributes::of(tid).ok()?;
    found.takes_turns().then_some(Held {
        pid: task.pid,
        tid,
        started: task.started,
        found,
    })
}

fn steered(held: Held) -> Steered {
    let counters = Counters::of(held.pid, held.tid);
    Steered { held, counters }
}

/// Whether this process may take tasks out of `SCHED_IDLE` again, which the kernel allows as it
/// does lowering a nice value to 0.
fn may_rotate() -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nice);
    is_privileged() || limit.current.is_none_or(|most| most >= 20)
}

/// Whether this process may change the scheduling of any task.
pub(crate) fn is_privileged() -> bool {
    let missing = privilege::missing();
    missing.iter().all(|it| it.name != "CAP_SYS_NICE")
}
