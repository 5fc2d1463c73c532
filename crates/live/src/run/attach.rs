//! Steers a program that runs already, within the limits that it has. Nothing is made and nothing
//! is moved; only `vm.page-cluster` is owned meanwhile, as by any run, and the program runs on when
//! this ends.

use std::fs;
use std::time::{Duration, Instant};

use terrace_base::{Bytes, Error, Result};
use terrace_policy::{PAGE_BYTES, prefetch};

use crate::group::budget::Usage;
use crate::group::counters::SwapCounters;
use crate::group::faults::FaultCounts;
use crate::group::hierarchy::Mounts;
use crate::group::limit::{Limit, limit};
use crate::group::members::{Member, Members, Scope};
use crate::group::swapped;
use crate::group::target::Target;
use crate::machine::sysctl::{self, Hand, PageCluster};
use crate::run::event::{Event, Observer};
use crate::run::interval::Intervals;
use crate::run::status::Status;
use crate::run::{Policies, Session, Way};
use crate::steer::Aids;
use crate::steer::steered::Steered;
use crate::system::dram;
use crate::tier;
use crate::watch::faults::{FaultStream, Whose};
use crate::watch::mappings::Mappings;
use crate::watch::waits::{self, Waits};

pub use crate::steer::steered::Foreseen;

/// Pause between two looks at the program.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Pause between two lists of its processes: at least this, and so many times the time that one
/// takes.
const LIST_EVERY: (Duration, u32) = (Duration::from_millis(200), 100);

/// What to attach to, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program.
    pub target: Target,
    /// Predictor.
    pub prefetch: prefetch::Spec,
    /// Time after which it ends; `None` if it goes on until the program ends.
    pub time: Option<Duration>,
    /// Whether waits at faults are measured.
    pub waits: bool,
    /// Length of the intervals whose figures are told meanwhile.
    pub every: Option<Duration>,
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// All processes have ended.
    Program,
    /// A signal asked for it.
    Signal,
    /// The time was over.
    Time,
}

/// Results of a request.
#[derive(Clone, Debug)]
pub struct Results {
    /// The program, for people.
    pub target: String,
    /// Limit of its DRAM; `None` if it has none but the machine's memory.
    pub limit: Option<Limit>,
    /// Swap areas, for people.
    pub tier: String,
    /// Predictor with its settings.
    pub prefetch: String,
    /// `vm.page-cluster` before and after.
    pub page_cluster: String,
    /// Processes that were listed.
    pub processes: u64,
    /// Bytes of them that were in swap when it began.
    pub swapped: Bytes,
    /// Time that it was attached.
    pub wall: Duration,
    /// Major faults of the processes meanwhile, by the kernel's count when they were last listed.
    pub major_faults: u64,
    /// What steering saw and did.
    pub foreseen: Foreseen,
    /// Waits at faults; `None` if nothing measured them.
    pub waits: Option<waits::Measured>,
    /// Pages read from and written to swap areas by the whole machine meanwhile.
    pub swap: SwapCounters,
    /// Why it ended.
    pub end: End,
    /// Reason why a change could not be undone, if any.
    pub left_behind: Option<Error>,
}

/// Carries out a request.
///
/// # Errors
/// A usage error if there is no such program, or several; a failure if it cannot be steered.
pub fn perform(request: &Request, observer: Observer) -> Result<Results> {
    let mounts = Mounts::find()?;
    // Before signals are received, because it may wait for other programs.
    let found = request.target.find(&mounts)?;
    let mut session = Session::open()?;
    let subject = Subject::examine(found.name, found.scope, &mounts)?;
    observer(Event::Notice(&subject.introduction()));
    session.use_active_areas();
    let way = Way::Terrace(Policies::fetching(request.prefetch.clone()));
    let engine = session.engine(&way, observer)?.ok_or_else(|| {
        Error::failure("there is nothing to attach for; name a predictor with ‘prefetch’")
    })?;
    let page_cluster = sysctl::current().unwrap_or_default();
    let readahead = session.take_readahead(&way, observer)?;
    let hand = readahead.as_ref().map(PageCluster::hand);
    let faults = FaultStream::of_members(subject.members.clone())?;
    let gauge = subject.members.fault_counter();
    let aids = Aids {
        gauge: Some(gauge),
        readahead,
        ..Aids::default()
    };
    let waits = match request.waits {
        true => Some(Waits::measure(&Whose::Members(subject.members.clone()))?),
        false => None,
    };
    let attached = Attached {
        waits: waits.as_ref(),
        session: &session,
        steered: Steered::start(engine, faults, subject.dram(), aids)?,
        subject: &subject,
        readahead: hand.as_ref(),
        began: Instant::now(),
        counted: SwapCounters::read(),
    };
    let (end, seen) = attached.watch(request, observer);
    let (wall, counted) = (attached.began.elapsed(), attached.counted);
    let (faults, major_faults) = (seen.counts.faults(), seen.counts.major_faults());
    let foreseen = attached.steered.finish(seen.mappings, major_faults);
    // Another program may have written it after the last look.
    if let Some(notice) = hand.as_ref().and_then(Hand::notice) {
        observer(Event::Notice(&notice));
    }
    Ok(Results {
        prefetch: request.prefetch.to_string(),
        page_cluster,
        processes: seen.counts.processes(),
        wall,
        major_faults,
        foreseen,
        waits: waits.map(|waits| waits.finish(faults)),
        swap: SwapCounters::read().since(counted),
        end,
        left_behind: session
            .close(&mut |text| observer(Event::Notice(text)))
            .err(),
        target: subject.name,
        limit: subject.limit,
        tier: subject.tier,
        swapped: subject.swapped,
    })
}

/// The program, as it was found.
struct Subject {
    name: String,
    members: Members,
    listed: Vec<Member>,
    limit: Option<Limit>,
    swapped: Bytes,
    tier: String,
}

impl Subject {
    /// Checks that there is something to foresee.
    fn examine(name: String, scope: Scope, mounts: &Mounts) -> Result<Self> {
        let areas = tier::active_areas();
        if areas.is_empty() {
            return Err(Error::failure(
                "this machine has no swap area, so no memory can be anywhere but in DRAM; switch one on \
                 (mkswap and swapon), or start the program by terrace run",
            ));
        }
        let group = match &scope {
            Scope::Tree { root, .. } => Some(*root),
            Scope::Group { .. } => None,
        };
        let members = Members::of(scope.clone());
        let listed = members.list();
        let Some(first) = group.or(listed.first().map(|it| it.pid)) else {
            return Err(Error::usage(format!("{name} has no processes")));
        };
        let (memory, version) = mounts.require_memory()?;
        let group = match &scope {
            Scope::Group { group, .. } if group.starts_with(memory.top()) => Some(group.clone()),
            _ => memory
                .group_of(&fs::read_to_string(format!("/proc/{first}/cgroup")).unwrap_or_default()),
        };
        let limit = group.and_then(|group| limit(version, &group, memory.top(), dram::total()));
        let swapped = Bytes(listed.iter().map(|it| swapped::of_process(it.pid).0).sum());
        if limit.is_none() && swapped == Bytes(0) {
            return Err(Error::failure(format!(
                "nothing of {name} is in swap, and its cgroup has no memory limit, so there is nothing to fetch \
                 ahead; give it a limit first (systemctl set-property --runtime UNIT MemoryHigh=4G), or attach \
                 when the machine swaps"
            )));
        }
        let areas: Vec<_> = areas
            .iter()
            .map(|area| area.display().to_string())
            .collect();
        Ok(Self {
            name,
            members,
            listed,
            limit,
            swapped,
            tier: areas.join(", "),
        })
    }

    fn dram(&self) -> Bytes {
        self.limit.as_ref().map_or_else(dram::total, |it| it.bytes)
    }

    fn introduction(&self) -> String {
        let limit = match &self.limit {
            Some(limit) => format!("{} of DRAM by {}", limit.bytes, limit.group.display()),
            None => "no limit of its DRAM".to_owned(),
        };
        let processes = match self.listed.len() {
            1 => String::new(),
            count => format!(" ({count} processes)"),
        };
        format!(
            "attached to {}{processes}: {limit}, {} of it in swap; Ctrl-C ends this, and not the program",
            self.name, self.swapped
        )
    }
}

/// A program that is steered.
struct Attached<'a> {
    session: &'a Session,
    steered: Steered,
    waits: Option<&'a Waits>,
    subject: &'a Subject,
    readahead: Option<&'a Hand>,
    began: Instant,
    counted: SwapCounters,
}

/// What was seen of it.
#[derive(Default)]
struct Seen {
    mappings: Mappings,
    counts: FaultCounts,
}

impl Attached<'_> {
    /// Waits for the end, and reports the state meanwhile.
    fn watch(&self, request: &Request, observer: Observer) -> (End, Seen) {
        let time = request.time;
        let mut seen = Seen::default();
        let mut intervals = Intervals::of(request.every);
        let recent = || self.waits.map(Waits::take_recent);
        let mut members = self.subject.listed.clone();
        let mut list_at = self.began;
        seen.counts.begin(&members);
        loop {
            let elapsed = self.began.elapsed();
            if Instant::now() >= list_at {
                let begin = Instant::now();
                members = self.subject.members.list();
                seen.counts.add(&members);
                list_at = Instant::now() + LIST_EVERY.0.max(begin.elapsed() * LIST_EVERY.1);
            }
            let end = match () {
                () if members.is_empty() => Some(End::Program),
                () if self.session.asked_to_end().is_some() => Some(End::Signal),
                () if time.is_some_and(|time| elapsed >= time) => Some(End::Time),
                () => None,
            };
            if let Some(end) = end {
                // Those that still run have faulted since the last list.
                seen.counts.add(&self.subject.members.list());
                let status = self.status(elapsed, &members, &seen.counts);
                if let Some(interval) = intervals.end(&status, recent) {
                    observer(Event::Interval(&interval));
                }
                return (end, seen);
            }
            seen.mappings.look(elapsed, || self.steered.sample());
            if let Some(notice) = self.readahead.and_then(Hand::notice) {
                observer(Event::Notice(&notice));
            }
            let status = self.status(elapsed, &members, &seen.counts);
            observer(Event::Running(&status));
            if let Some(interval) = intervals.look(&status, recent) {
                observer(Event::Interval(&interval));
            }
            let left = time.map_or(LOOK_EVERY, |time| time.saturating_sub(elapsed));
            std::thread::sleep(left.min(LOOK_EVERY));
        }
    }

    fn status(&self, elapsed: Duration, members: &[Member], counts: &FaultCounts) -> Status {
        let resident: u64 = members.iter().map(|it| it.figures.resident).sum();
        Status {
            elapsed,
            usage: Usage {
                resident: Bytes(resident * PAGE_BYTES),
                major_faults: counts.major_faults(),
                ..Usage::default()
            },
            limit: self.subject.limit.as_ref().map(|it| it.bytes),
            progress: Some(self.steered.progress()),
            tier: SwapCounters::read().since(self.counted),
            others: Bytes(0),
        }
    }
}
