//! Finds how much DRAM a service needs: a control policy drives it for a while, and each look is a
//! point of its curve.

use std::time::{Duration, Instant};

use terrace_base::{Bytes, Error, Exit, Result};
use terrace_policy::control::{Controller, Decision, Decisions, Seen, Spec};

use super::curve::{Curve, Look};
use super::machine::Machine;
use super::pages::Passed;
use super::service::{About, Carried, Service};
use super::stalls::Measuring;
use crate::group::hierarchy::Mounts;
use crate::group::members::Scope;
use crate::group::target::Target;
use crate::program::Invocation;
use crate::run::Session;
use crate::run::attach::End;
use crate::tier::{Choice, Demand, active_areas};
use crate::watch::waits::Measured;

/// Longest pause before signals and the time are looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// What is sized.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A service that runs.
    Service(Target),
    /// A program that is started in a group of its own, without a limit, with a tier of its own.
    Program(Box<Invocation>, Choice),
}

/// What to size, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The service or program.
    pub subject: Subject,
    /// Policy that drives it.
    pub control: Spec,
    /// Time after which this ends; `None` if it goes on until the program ends, or a signal comes.
    pub time: Option<Duration>,
    /// Whether waits at faults are measured where stalls are known without that.
    pub waits: bool,
}

/// What is reported meanwhile.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A look, what was decided, and what it came to.
    Look(&'a Progress),
    /// A sentence about it.
    Notice(&'a str),
    /// What is destroyed.
    Warning(&'a str),
}

/// A look, what was decided, and what it came to.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What was seen.
    pub seen: Seen,
    /// The look as a point of the curve.
    pub look: Look,
    /// What was decided.
    pub decision: Decision,
    /// What the step came to.
    pub carried: Carried,
}

/// Progress callback.
pub type Observer<'a> = &'a mut (dyn FnMut(Event) + Send);

/// Results of a request.
#[derive(Clone, Debug)]
pub struct Results {
    /// The service.
    pub about: About,
    /// Policy with its settings.
    pub control: String,
    /// Swap areas, for people.
    pub tier: String,
    /// Time that it was looked at.
    pub wall: Duration,
    /// Why it ended.
    pub end: End,
    /// All looks.
    pub curve: Curve,
    /// Counts of decisions.
    pub decisions: Decisions,
    /// What the steps came to, put together; of the longest one the time.
    pub carried: Carried,
    /// What was passed over.
    pub passed: Passed,
    /// Memory that its processes had locked.
    pub locked: Bytes,
    /// What was fetched back at the end, because it had left by terrace's hands.
    pub restored: Bytes,
    /// Waits at faults; `None` if nothing measured them.
    pub waits: Option<Measured>,
    /// Events of faults that were lost.
    pub lost: u64,
    /// End of the program that was started.
    pub exit: Option<Exit>,
    /// Reason why a change could not be undone, if any.
    pub left_behind: Option<Error>,
}

/// Carries out a request.
///
/// # Errors
/// A usage error if there is no such service or program; a failure if it cannot be looked at or
/// moved.
pub fn perform(request: &Request, observer: Observer) -> Result<Results> {
    let controller = request.control.controller().map_err(Error::usage)?;
    match &request.subject {
        Subject::Service(target) => size_service(request, target, controller, observer),
        Subject::Program(invocation, tier) => {
            size_program(request, invocation, tier, controller, observer)
        }
    }
}

fn size_service(
    request: &Request,
    target: &Target,
    controller: Controller,
    observer: Observer,
) -> Result<Results> {
    let mounts = Mounts::find()?;
    let found = target.find(&mounts)?;
    let mut service = open(request, found.name, found.scope, &mounts)?;
    let session = Session::open()?;
    observer(Event::Notice(&introduction(&service.about())));
    let ends = |elapsed: Duration| match () {
        () if session.asked_to_end().is_some() => Some(End::Signal),
        () if request.time.is_some_and(|time| elapsed >= time) => Some(End::Time),
        () => None,
    };
    let tier = areas();
    let driven = drive(&mut service, controller, &ends, observer)?;
    let restored = service.restore()?;
    if restored > Bytes(0) {
        observer(Event::Notice(&format!(
            "{restored} that had left DRAM by terrace's hands come back"
        )));
    }
    let mut results = driven.results(request, service, tier);
    results.restored = restored;
    results.left_behind = session
        .close(&mut |text| observer(Event::Notice(text)))
        .err();
    Ok(results)
}

/// Opens the service that is sized.
fn open(request: &Request, name: String, scope: Scope, mounts: &Mounts) -> Result<Service> {
    let measuring = match request.waits {
        true => Measuring::All,
        false => Measuring::Untold,
    };
    Service::of(name, scope, mounts, &Machine::default(), measuring)
}

fn size_program(
    request: &Request,
    invocation: &Invocation,
    tier: &Choice,
    controller: Controller,
    observer: Observer,
) -> Result<Results> {
    // Before anything is changed.
    invocation.find()?;
    let mut session = Session::open()?;
    let demand = Demand::of_program(None, Bytes(0), tier.allowed);
    session.prepare_tier(tier.spec.as_ref(), None, &demand, &mut |event| {
        tell(observer, event);
    })?;
    let ends = |elapsed: Duration| {
        let is_over = request.time.is_some_and(|time| elapsed >= time);
        is_over.then_some(End::Time)
    };
    let sized = session.run_sized(invocation, observer, |group, name, observer| {
        let mounts = Mounts::find()?;
        let (memory, _) = mounts.require_memory()?;
        let scope = Scope::Group {
            hierarchy: memory.clone(),
            group,
        };
        let mut service = open(request, name, scope, &mounts)?;
        observer(Event::Notice(&introduction(&service.about())));
        let driven = drive(&mut service, controller, &ends, observer)?;
        // While it runs: by then its end gives back what it has in the tier.
        Ok(driven.results(request, service, String::new()))
    });
    let tier = session.tier();
    let left_behind = session
        .close(&mut |text| observer(Event::Notice(text)))
        .err();
    let (exit, results) = sized?;
    Ok(Results {
        tier,
        exit: Some(exit),
        left_behind,
        ..results?
    })
}

/// Tells an event of a run.
pub(crate) fn tell(observer: Observer, event: crate::run::Event) {
    match event {
        crate::run::Event::Notice(text) => observer(Event::Notice(text)),
        crate::run::Event::Warning(text) => observer(Event::Warning(text)),
        crate::run::Event::Running(_) | crate::run::Event::Interval(_) => {}
    }
}

fn areas() -> String {
    let areas = active_areas();
    let areas: Vec<_> = areas
        .iter()
        .map(|area| area.display().to_string())
        .collect();
    areas.join(", ")
}

fn introduction(about: &About) -> String {
    format!(
        "{}: stalls by {}; bytes written by {}",
        about.name, about.stalls, about.written
    )
}

/// What came of driving a service.
struct Driven {
    end: End,
    wall: Duration,
    curve: Curve,
    decisions: Decisions,
    carried: Carried,
}

/// Drives a service until it ends, or `ends` says so.
fn drive(
    service: &mut Service,
    mut controller: Controller,
    ends: &dyn Fn(Duration) -> Option<End>,
    observer: Observer,
) -> Result<Driven> {
    let (began, mut next) = (Instant::now(), Instant::now());
    let mut last = Seen::default();
    let (mut curve, mut sum, mut faults) = (Curve::default(), Carried::default(), 0);
    let end = loop {
        if let Some(end) = ends(began.elapsed()) {
            break end;
        }
        let now = Instant::now();
        if now < next {
            std::thread::sleep((next - now).min(PAUSE));
            continue;
        }
        // A step that took long delays the looks, and none is made up for.
        next = now + controller.every();
        let Some(seen) = service.look()? else {
            break End::Program;
        };
        let counted = service.major_faults();
        let look = Look {
            passed: seen.time.saturating_sub(last.time),
            resident: Bytes(seen.resident),
            swapped: Bytes(seen.swapped),
            stalled: seen.stalled,
            faults: counted - std::mem::replace(&mut faults, counted),
            written: Bytes(seen.written),
        };
        last = seen;
        curve.add(look);
        let decision = controller.look(&seen, None);
        let carried = service.carry_out(decision.step)?;
        controller.came(carried.moved());
        add(&mut sum, &carried);
        observer(Event::Look(&Progress {
            seen,
            look,
            decision,
            carried,
        }));
    };
    Ok(Driven {
        end,
        wall: began.elapsed(),
        curve,
        decisions: controller.decisions(),
        carried: sum,
    })
}

fn add(sum: &mut Carried, step: &Carried) {
    sum.left.0 += step.left.0;
    sum.tried.0 += step.tried.0;
    sum.came.0 += step.came.0;
    sum.full |= step.full;
    sum.took = sum.took.max(step.took);
}

impl Driven {
    fn results(self, request: &Request, service: Service, tier: String) -> Results {
        Results {
            about: service.about(),
            control: request.control.to_string(),
            tier,
            wall: self.wall,
            end: self.end,
            curve: self.curve,
            decisions: self.decisions,
            carried: self.carried,
            passed: service.passed(),
            locked: service.locked(),
            restored: Bytes(0),
            lost: service.lost(),
            waits: service.finish(),
            exit: None,
            left_behind: None,
        }
    }
}
