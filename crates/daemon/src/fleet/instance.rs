//! A group of a target, with its controller.

use std::collections::VecDeque;
use std::time::Duration;

use terrace_base::Bytes;
use terrace_base::bytes::PAGE_BYTES;
use terrace_base::error::shown;
use terrace_live::control::Part;
use terrace_policy::control::{Controller, Decision, Moved, Seen, Spec, Step};

use super::{AGAIN, Counted, Machine, Now, Service};
use crate::configuration::{Goal, Percent};
use crate::protocol;
use crate::targets::Group;

/// The time over which stalls are told.
const WINDOW: Duration = Duration::from_secs(10);

/// Looks at which nothing has happened, after which a service is at rest.
const QUIET: u32 = 20;

/// The longest time between two looks at a service at rest: it has to get its memory back within a
/// second.
const AT_REST: Duration = Duration::from_secs(1);

/// The longest time between two looks at a service at rest that is as before at every glance.
const GLANCES: Duration = Duration::from_secs(8);

/// The smallest step to reclaim: smaller ones are put together, as each takes a look at page
/// tables.
const STEP: u64 = 64 * PAGE_BYTES;

/// A step that is to be carried out, away from the fleet.
pub struct Job {
    pub(super) target: String,
    pub(super) number: u64,
    pub(super) service: Box<dyn Service>,
    pub(super) step: Step,
    pub(super) is_return: bool,
}

/// A step that was carried out.
pub struct Done {
    pub(super) target: String,
    pub(super) number: u64,
    pub(super) service: Box<dyn Service>,
    pub(super) is_return: bool,
    pub(super) carried: Result<Moved, String>,
}

impl Job {
    /// Carries it out.
    pub fn perform(mut self) -> Done {
        let carried = self.service.carry_out(self.step);
        Done {
            target: self.target,
            number: self.number,
            service: self.service,
            is_return: self.is_return,
            carried,
        }
    }

    /// Whether it gives memory back, for which a service waits.
    pub fn is_urgent(&self) -> bool {
        self.is_return
    }
}

/// Where the service of an instance is.
pub(super) enum Place {
    /// Not opened: it could not be, or has no process.
    Closed,
    /// Here.
    Open(Box<dyn Service>),
    /// Where a step is carried out.
    Away,
}

/// A group of a target, with its controller.
pub(super) struct Instance {
    /// No two instances have the same.
    pub number: u64,
    pub group: Group,
    pub place: Place,
    /// The last decision in words.
    pub doing: String,
    controller: Controller,
    due: Duration,
    since_ms: u64,
    /// Times of opening and of the last look, and what was seen then.
    opened: Duration,
    looked: Duration,
    seen: Seen,
    /// Looks at which nothing has happened, one behind the other.
    quiet: u32,
    /// Bytes of decisions to reclaim that are put together.
    gathered: u64,
    /// Whether the budget of writes pays for no more than the last step.
    is_cut: bool,
    /// What was counted at the last look.
    counted: Counted,
    /// The last looks: the time that passed before each, and the part of it that stalled.
    window: VecDeque<(Duration, Duration)>,
}

impl Instance {
    pub fn new(number: u64, group: Group, policy: &Spec, now: Now) -> Self {
        Self {
            number,
            group,
            place: Place::Closed,
            doing: "begins".into(),
            controller: controller(policy),
            due: now.since,
            since_ms: now.wall_ms,
            opened: now.since,
            looked: now.since,
            quiet: 0,
            gathered: 0,
            is_cut: false,
            counted: Counted::default(),
            seen: Seen::default(),
            window: VecDeque::new(),
        }
    }

    /// Returns the time of the next look; `None` while a step is carried out.
    pub fn due(&self) -> Option<Duration> {
        (!matches!(self.place, Place::Away)).then_some(self.due)
    }

    pub fn is_there(&self) -> bool {
        !matches!(self.place, Place::Closed)
    }

    /// Whether it is at rest and as before, so that a look at it can wait.
    pub fn can_wait(&mut self, now: Now) -> bool {
        let Place::Open(service) = &mut self.place else {
            return false;
        };
        let is_at_rest = self.quiet > QUIET && now.since < self.looked + GLANCES;
        let can_wait = is_at_rest && service.is_as_before();
        if can_wait {
            let every = self.controller.every();
            self.due = aligned(now.since, every.max(AT_REST));
        }
        can_wait
    }

    /// Looks at the service, which is opened if it is not. One that had no process begins with a
    /// new controller when it has some again.
    pub fn look(
        &mut self,
        machine: &mut dyn Machine,
        policy: &Spec,
        now: Now,
    ) -> Result<Option<Seen>, String> {
        let mut service = match std::mem::replace(&mut self.place, Place::Closed) {
            Place::Open(service) => service,
            _ => {
                self.due = now.since + AGAIN;
                let Some(service) = machine.open(&self.group.path)? else {
                    return Ok(self.empty());
                };
                self.controller = controller(policy);
                self.window.clear();
                self.scatter();
                (self.opened, self.looked) = (now.since, now.since);
                service
            }
        };
        self.due = now.since + AGAIN;
        let seen = service.look();
        // Also of one that has just ended: it may have been killed.
        self.counted = service.counted();
        let Some(mut seen) = seen? else {
            return Ok(self.empty());
        };
        self.place = Place::Open(service);
        let passed = now.since.saturating_sub(self.looked);
        self.looked = now.since;
        // A controller that is new has nothing behind it, however long the daemon runs.
        seen.time = now.since.saturating_sub(self.opened);
        self.note(passed, seen.stalled.min(passed));
        let before = std::mem::replace(&mut self.seen, seen);
        let has_moved = [seen.resident, seen.swapped] != [before.resident, before.swapped];
        let is_quiet = !has_moved && seen.stalled.is_zero() && seen.written == 0;
        self.quiet = if is_quiet { self.quiet + 1 } else { 0 };
        let every = self.controller.every();
        self.due = aligned(
            now.since,
            match self.quiet > QUIET {
                true => every.max(AT_REST),
                false => every,
            },
        );
        Ok(Some(seen))
    }

    /// Returns what was counted since this was asked last, up to the last look.
    pub fn counted(&mut self) -> Counted {
        std::mem::take(&mut self.counted)
    }

    /// Returns what was counted since the last look, of an instance that is gone.
    pub fn counted_at_last(self) -> Counted {
        match self.place {
            Place::Open(mut service) => service.counted(),
            _ => Counted::default(),
        }
    }

    /// Notes that there is no process.
    fn empty(&mut self) -> Option<Seen> {
        self.seen = Seen::default();
        self.doing = "has no process".into();
        None
    }

    fn note(&mut self, passed: Duration, stalled: Duration) {
        self.window.push_back((passed, stalled));
        let mut all: Duration = self.window.iter().map(|(passed, _)| *passed).sum();
        while let Some((oldest, _)) = self.window.front() {
            if all - *oldest < WINDOW {
                break;
            }
            all -= *oldest;
            self.window.pop_front();
        }
    }

    /// Returns what stalled of the time before the last look, and that time.
    pub fn last(&self) -> (Duration, Duration) {
        let (passed, stalled) = self.window.back().copied().unwrap_or_default();
        (stalled, passed)
    }

    pub fn decide(&mut self, seen: &Seen, allowance: Option<u64>) -> Decision {
        let decision = self.controller.look(seen, allowance);
        self.is_cut = decision.is_cut;
        decision
    }

    /// Puts a decision to reclaim together with those before; returns the step that they make with
    /// what may be written, once it is large enough.
    pub fn gather(&mut self, bytes: u64, allowance: Option<u64>) -> Option<u64> {
        self.gathered = self.gathered.saturating_add(bytes);
        let step = self.gathered.min(allowance.unwrap_or(u64::MAX));
        let step = step - step % PAGE_BYTES;
        if step < STEP {
            // One from which memory will leave is not at rest.
            self.quiet = 0;
            return None;
        }
        self.gathered = 0;
        Some(step)
    }

    /// Forgets decisions to reclaim: they were of another time.
    pub fn scatter(&mut self) {
        self.gathered = 0;
    }

    /// Notes what the last step came to.
    pub fn came(&mut self, moved: Moved) {
        self.controller.came(moved);
    }

    /// Takes the service away, to carry out a step.
    pub fn take(&mut self) -> Option<Box<dyn Service>> {
        match std::mem::replace(&mut self.place, Place::Away) {
            Place::Open(service) => Some(service),
            other => {
                self.place = other;
                None
            }
        }
    }

    /// Returns the share of the last seconds that stalled, and how many there were.
    fn stalls(&self) -> (f64, Duration) {
        let all: Duration = self.window.iter().map(|(passed, _)| *passed).sum();
        let stalled: Duration = self.window.iter().map(|(_, stalled)| *stalled).sum();
        match all.is_zero() {
            true => (0.0, all),
            false => (stalled.as_secs_f64() / all.as_secs_f64(), all),
        }
    }

    /// Returns why a step was taken.
    pub fn because(&self, limit: Option<f64>, goal: &Goal) -> String {
        let (share, time) = self.stalls();
        let stalls = format!(
            "stalls {} over {} s",
            Percent(share),
            time.as_secs_f64().round()
        );
        let why = match (limit, goal) {
            (Some(limit), _) => format!("{stalls}, limit {}", Percent(limit)),
            (None, goal) => format!("{} in DRAM, {goal}", Bytes(self.seen.resident)),
        };
        match self.is_cut {
            true => format!("{why}; the budget of writes allows no more"),
            false => why,
        }
    }

    /// Returns what is known of its memory in at most so many rows; `None` while a step moves it,
    /// or there is no process.
    pub fn heat(&mut self, most: usize) -> Option<protocol::GroupHeat> {
        let Place::Open(service) = &mut self.place else {
            return None;
        };
        let heat = service.heat(most);
        let row = |part: &Part| protocol::Row {
            process: part.process,
            address: part.first * PAGE_BYTES,
            touched: part.touched,
            away: part.away * PAGE_BYTES,
        };
        Some(protocol::GroupHeat {
            group: shown(&self.group.path.display().to_string()),
            row_bytes: heat.pages * PAGE_BYTES,
            rows: heat.parts.iter().map(row).collect(),
            left_out: heat.left_out,
        })
    }

    pub fn status(&self) -> protocol::Instance {
        protocol::Instance {
            group: shown(&self.group.path.display().to_string()),
            since_ms: self.since_ms,
            resident: self.seen.resident,
            swapped: self.seen.swapped,
            stalled: self.stalls().0,
            doing: shown(&self.doing),
        }
    }
}

fn controller(policy: &Spec) -> Controller {
    let controller = policy.controller();
    controller.expect("the configuration was checked")
}

/// Returns the next time that is a multiple of `every`: targets with the same period are looked at
/// together, so that the daemon wakes up once for all.
fn aligned(now: Duration, every: Duration) -> Duration {
    let (now, every) = (now.as_nanos(), every.as_nanos().max(1));
    // At least half a period away, so that looks do not come in pairs.
    let next = (now + every / 2).div_ceil(every) * every;
    Duration::from_nanos(u64::try_from(next).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_together() {
        let ms = Duration::from_millis;
        for (now, next) in [
            (0, 500),
            (1, 500),
            (250, 500),
            (251, 1000),
            (499, 1000),
            (500, 1000),
        ] {
            assert_eq!(aligned(ms(now), ms(500)), ms(next), "{now}");
        }
    }
}
