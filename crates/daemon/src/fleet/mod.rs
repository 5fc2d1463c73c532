//! The targets as they are kept: a controller a group, the budget of writes that all share, and
//! what happens next.
//!
//! A [`Fleet`] has no clock, no thread and no file. Its driver tells the time, has it look
//! ([`Fleet::turn`]), carries out the [`Job`]s that it returns, wherever it likes, and reports them
//! ([`Fleet::done`]). What has happened is taken by [`Fleet::told`].

mod instance;
mod ledger;
mod machine;
mod teller;

use std::collections::BTreeMap;
use std::time::Duration;

use terrace_base::error::shown;
use terrace_policy::control::{Reason, Spec, Step};

use crate::configuration::{self, Configuration};
use crate::protocol::{Counts, Heat, Kind, Reloaded, State, Target};
use crate::targets::{Found, Group};

pub use instance::{Done, Job};
use instance::{Instance, Place};
pub use ledger::{Kept, Ledger};
pub use machine::{Counted, Live, Machine, Service};
use teller::Teller;
pub use teller::Told;

/// Time to wait before a group is opened again that could not be, or was empty.
const AGAIN: Duration = Duration::from_secs(5);

/// Rows of a heat map of a target, at most.
const ROWS: usize = 256;

/// A time, by both clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Now {
    /// Time since the daemon began.
    pub since: Duration,
    /// Milliseconds since 1970.
    pub wall_ms: u64,
}

/// A target with its instances.
struct Followed {
    asked: configuration::Target,
    policy: Spec,
    instances: Vec<Instance>,
    counts: Counts,
    /// Why its groups cannot be known or looked at.
    trouble: Option<String>,
    /// Why its last step failed.
    failed: Option<String>,
    teller: Teller,
}

/// What something fails at.
enum Stage {
    Look,
    Step,
}

impl Followed {
    /// Follows a target, whose counts go on from those of before.
    fn new(asked: configuration::Target, counts: Counts) -> Self {
        let policy = asked.goal.policy();
        Self {
            policy: policy.expect("the configuration was checked"),
            asked,
            instances: Vec::new(),
            counts,
            trouble: None,
            failed: None,
            teller: Teller::default(),
        }
    }

    /// Leaves all instances alone, for good; returns the counts.
    fn leave(mut self, ledger: &mut Ledger) -> Counts {
        for instance in self.instances {
            ledger.settle(instance.number);
            add(&mut self.counts, instance.counted_at_last());
        }
        self.counts
    }

    /// Notes what is wrong, and tells of it if it is new.
    fn complain(&mut self, stage: Stage, why: String, now: Now) {
        let last = match stage {
            Stage::Look => &mut self.trouble,
            Stage::Step => &mut self.failed,
        };
        if last.as_ref() != Some(&why) {
            self.teller.add(Kind::Trouble, 0, why.clone(), now);
        }
        *last = Some(why);
    }
}

/// All targets.
pub struct Fleet {
    machine: Box<dyn Machine>,
    targets: BTreeMap<String, Followed>,
    ledger: Ledger,
    /// Number of the next instance.
    number: u64,
    told: Vec<Told>,
}

impl Fleet {
    /// Makes a fleet of what the configuration asks for. Nothing is found yet.
    pub fn new(machine: Box<dyn Machine>, configuration: &Configuration, ledger: Ledger) -> Self {
        let mut fleet = Self {
            machine,
            targets: BTreeMap::new(),
            ledger,
            number: 0,
            told: Vec::new(),
        };
        fleet.reload(configuration, Now::default());
        fleet
    }

    /// Follows another configuration. Targets that stay as they are go on undisturbed.
    pub fn reload(&mut self, configuration: &Configuration, now: Now) -> Reloaded {
        let mut changes = Reloaded::default();
        let mut before = std::mem::take(&mut self.targets);
        for (name, asked) in &configuration.targets {
            let followed = match before.remove(name) {
                Some(same) if same.asked == *asked => {
                    changes.kept += 1;
                    same
                }
                Some(other) => {
                    changes.changed.push(name.clone());
                    let counts = other.leave(&mut self.ledger);
                    Followed::new(asked.clone(), counts)
                }
                None => {
                    changes.added.push(name.clone());
                    Followed::new(asked.clone(), Counts::default())
                }
            };
            self.targets.insert(name.clone(), followed);
        }
        for (name, removed) in before {
            removed.leave(&mut self.ledger);
            changes.removed.push(name);
        }
        let a_day = configuration.tier.wear.map(|wear| wear.bytes_a_day());
        let names = self.targets.keys().cloned();
        self.ledger.share_among(names, a_day, now.since);
        changes
    }

    /// Takes over which groups the targets have now. A group that is new begins with a new
    /// controller, which does not reclaim at first.
    pub fn found(&mut self, found: &Found, now: Now) {
        for (name, groups) in found {
            let Some(target) = self.targets.get_mut(name) else {
                continue;
            };
            match groups {
                Ok(groups) => {
                    let is_waiting = groups.is_empty() && target.instances.is_empty();
                    if is_waiting {
                        target.trouble = None;
                    }
                    follow(target, groups, &mut self.number, &mut self.ledger, now);
                }
                Err(why) => {
                    follow(target, &[], &mut self.number, &mut self.ledger, now);
                    target.complain(Stage::Look, why.clone(), now);
                }
            }
        }
        self.collect(now);
    }

    /// Returns the time of the next look, if there is one.
    pub fn next(&self) -> Option<Duration> {
        let instances = self.targets.values().flat_map(|target| &target.instances);
        instances.filter_map(Instance::due).min()
    }

    /// Looks at each target whose time has come, and returns what is to be carried out.
    pub fn turn(&mut self, now: Now) -> Vec<Job> {
        let mut jobs = Vec::new();
        self.ledger.pass(now.since);
        for (name, target) in &mut self.targets {
            for at in 0..target.instances.len() {
                let is_due = target.instances[at].due();
                if is_due.is_some_and(|due| due <= now.since) {
                    let job = look(name, target, at, &mut *self.machine, &mut self.ledger, now);
                    jobs.extend(job);
                }
            }
        }
        self.collect(now);
        jobs
    }

    /// Takes back what was carried out. What has been removed meanwhile is left alone.
    pub fn done(&mut self, mut done: Done, now: Now) {
        let Some(target) = self.targets.get_mut(&done.target) else {
            return;
        };
        let mut instances = target.instances.iter_mut();
        let Some(instance) = instances.find(|instance| instance.number == done.number) else {
            add(&mut target.counts, done.service.counted());
            return;
        };
        instance.place = Place::Open(done.service);
        match done.carried {
            Ok(moved) => {
                let bytes = moved.bytes;
                target.failed = None;
                instance.came(moved);
                let count = &mut target.counts;
                let (kind, sum) = match done.is_return {
                    true => (Kind::GaveBack, &mut count.returned),
                    false => (Kind::Reclaimed, &mut count.reclaimed),
                };
                *sum += bytes;
                let limit = target.asked.goal.limit();
                let text = instance.because(limit, &target.asked.goal);
                instance.doing = match bytes {
                    0 if kind == Kind::Reclaimed && moved.tried > 0 => {
                        "tries whether pages are cold".into()
                    }
                    0 if kind == Kind::Reclaimed => format!("holds: {}", Reason::Barren),
                    bytes => target.teller.add(kind, bytes, text, now),
                };
            }
            Err(why) => {
                target.counts.failures += 1;
                target.complain(Stage::Step, why, now);
            }
        }
        self.collect(now);
    }

    /// Returns what has happened since the last time.
    pub fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    /// Returns what the budget holds, to be kept.
    pub fn kept(&self, now: Now) -> Option<Kept> {
        self.ledger.kept(now.wall_ms)
    }

    /// Returns the budget.
    pub fn ledger(&mut self) -> &mut Ledger {
        &mut self.ledger
    }

    /// Returns how the targets fare.
    pub fn status(&self) -> Vec<Target> {
        let targets = self.targets.iter();
        targets
            .map(|(name, target)| Target {
                name: name.clone(),
                means: shown(&target.asked.by.to_string()),
                goal: target.asked.goal.to_string(),
                policy: target.policy.to_string(),
                limit: target.asked.goal.limit(),
                state: match target.instances.iter().any(Instance::is_there) {
                    true => State::Running,
                    false => State::Waiting,
                },
                trouble: target
                    .trouble
                    .as_ref()
                    .or(target.failed.as_ref())
                    .map(|why| shown(why)),
                share: self.ledger.share(name),
                counts: target.counts,
                instances: target.instances.iter().map(Instance::status).collect(),
            })
            .collect()
    }

    /// Returns what is known of the memory of a target; `None` if there is no such target.
    pub fn heat(&mut self, name: &str) -> Option<Heat> {
        let instances = &mut self.targets.get_mut(name)?.instances;
        let most = ROWS / instances.len().max(1);
        let groups: Vec<_> = instances
            .iter_mut()
            .filter_map(|instance| instance.heat(most))
            .collect();
        Some(Heat {
            busy: (instances.len() - groups.len()) as u64,
            groups,
        })
    }

    /// Collects what there is to tell, also of what was held back for long enough.
    fn collect(&mut self, now: Now) {
        for (name, target) in &mut self.targets {
            self.told.extend(target.teller.take(name, now));
        }
    }
}

/// Brings the instances of a target in line with its groups.
fn follow(
    target: &mut Followed,
    groups: &[Group],
    number: &mut u64,
    ledger: &mut Ledger,
    now: Now,
) {
    let mut before = std::mem::take(&mut target.instances);
    for group in groups {
        let same = before.iter().position(|instance| instance.group == *group);
        let instance = match same {
            Some(at) => before.swap_remove(at),
            None => {
                *number += 1;
                target.counts.found += 1;
                let text = format!("found {}", group.path.display());
                target.teller.now(Kind::Found, text, now);
                Instance::new(*number, group.clone(), &target.policy, now)
            }
        };
        target.instances.push(instance);
    }
    for gone in before {
        ledger.settle(gone.number);
        let text = format!("{} is gone", gone.group.path.display());
        target.teller.now(Kind::Gone, text, now);
        add(&mut target.counts, gone.counted_at_last());
    }
}

/// Adds what was counted of an instance to the counts of its target.
fn add(counts: &mut Counts, counted: Counted) {
    counts.major_faults += counted.major_faults;
    counts.oom_kills += counted.oom_kills;
}

/// Looks at an instance.
fn look(
    name: &str,
    target: &mut Followed,
    at: usize,
    machine: &mut dyn Machine,
    ledger: &mut Ledger,
    now: Now,
) -> Option<Job> {
    let instance = &mut target.instances[at];
    if instance.can_wait(now) {
        return None;
    }
    ledger.settle(instance.number);
    let seen = instance.look(machine, &target.policy, now);
    add(&mut target.counts, instance.counted());
    let seen = match seen {
        Ok(Some(seen)) => {
            target.trouble = None;
            seen
        }
        Ok(None) => {
            target.trouble = None;
            return None;
        }
        Err(why) => {
            target.counts.failures += 1;
            target.complain(Stage::Look, why, now);
            return None;
        }
    };
    let counts = &mut target.counts;
    counts.looks += 1;
    counts.written += seen.written;
    let (stalled, watched) = instance.last();
    counts.stalled_s += stalled.as_secs_f64();
    counts.watched_s += watched.as_secs_f64();
    ledger.wrote(name, seen.written);
    let allowance = ledger.allowance(name);
    let decision = instance.decide(&seen, allowance);
    match decision.reason {
        Reason::Writes => {
            counts.unpaid += 1;
            let text = format!("nothing is reclaimed: {}", decision.reason);
            instance.doing = target.teller.add(Kind::Writes, 0, text, now);
        }
        Reason::Short => {
            counts.short += 1;
            let text = format!("nothing is moved: {}", decision.reason);
            instance.doing = target.teller.add(Kind::Short, 0, text, now);
        }
        reason if decision.step == Step::Hold => {
            instance.doing = format!("holds: {reason}");
        }
        _ => {}
    }
    let step = match decision.step {
        Step::Hold => return None,
        Step::Reclaim(bytes) => {
            let bytes = instance.gather(bytes, allowance)?;
            counts.reclaims += 1;
            ledger.reserve(instance.number, name, bytes);
            Step::Reclaim(bytes)
        }
        Step::GiveBack(bytes) => {
            instance.scatter();
            counts.returns += 1;
            Step::GiveBack(bytes)
        }
    };
    Some(Job {
        target: name.to_owned(),
        number: instance.number,
        service: instance.take()?,
        step,
        is_return: matches!(step, Step::GiveBack(_)),
    })
}

#[cfg(test)]
mod tests;
