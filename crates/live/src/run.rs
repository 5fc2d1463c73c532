//! One program, run one way: with its budget, its tier and its steering, measured.

mod measured;

use std::sync::Arc;
use std::time::{Duration, Instant};

use terrace_policy::eviction;
use terrace_policy::migration;
use terrace_policy::prefetch::{self, Costs, Engine, Lessons};

use crate::accounts::Accounts;
use crate::budget::{Budget, Limits};
use crate::cgroup::processes_in;
use crate::delegation::{Leaf, Needed};
use crate::dram;
use crate::evictor::Evictor;
use crate::faults::{FaultStream, Whose};
use crate::hierarchy::{Hierarchies, Version};
use crate::journal::{Change, Journal, state_directory};
use crate::lesson::LessonFile;
use crate::neighbours;
use crate::nodes::balancing::Balancing;
use crate::nodes::{self, Migrator, Nodes};
use crate::peers::Peers;
use crate::placement::{Answers, Placement};
use crate::pool::Pool;
use crate::privilege;
use crate::program::{Invocation, Program};
use crate::reserve::Reserve;
use crate::room::Room;
use crate::running::{Counts, Running};
use crate::scope;
use crate::steer::Aids;
use crate::steered::Steered;
use crate::swapped::SwapCounter;
use crate::sysctl::{Attempt, Hand, PageCluster};
use crate::tier::swapoff::Say;
use crate::tier::{Demand, MEMORY_COSTS, Spec, Tier};
use crate::turn::{self, Turn, Waiting};
use crate::view::{self, Covers, View};
use crate::waits::Waits;
use crate::written;
use crate::zswap::{self, Charge, Zswap};
use terrace_base::{Bytes, Context, Error, Exit, Result, Signals, Target};

pub use crate::dram::Dram;
pub use crate::outcome::{Event, Faults, Observer, Outcome, Status};
pub use measured::Settle;

/// Time that processes may outlive the program before a notice says so.
const STRAGGLE: Duration = Duration::from_millis(300);

/// One way to run a program whose memory is larger than its DRAM.
#[derive(Clone)]
pub enum Way {
    /// Without a limit: DRAM alone.
    AllDram,
    /// The kernel's swap with the machine's settings.
    Kernel,
    /// The kernel's swap without readahead: critical page first.
    KernelCpf,
    /// The kernel's swap with the machine's settings, from which the objects of a placement are kept; or two memory nodes,
    /// with those objects alone on the fast one.
    Placed,
    /// The kernel's swap, steered by policies; and the objects of a placement are kept from it, if there is one.
    Terrace(Policies),
    /// The kernel's own tiering of memory nodes, without a budget.
    KernelTiering,
    /// Pages on two memory nodes, moved as a policy decides; and the objects of a placement are kept on the fast one, if
    /// there is one and the policy moves anything.
    Migration(migration::Spec),
}

/// Policies that steer the kernel's swap.
#[derive(Clone)]
pub struct Policies {
    /// What is fetched ahead.
    pub prefetch: prefetch::Spec,
    /// What leaves DRAM before the kernel needs room.
    pub eviction: eviction::Spec,
    /// What earlier runs left to learn from, and this one leaves.
    pub lesson: Option<LessonFile>,
}

impl Policies {
    /// Fetches ahead, and leaves what goes to the kernel.
    pub fn fetching(prefetch: prefetch::Spec) -> Self {
        Self {
            prefetch,
            eviction: eviction::Spec::default(),
            lesson: None,
        }
    }

    /// Starts what lets pages go, for a program with a DRAM limit; `None` if that is left to the kernel.
    /// Keeps a reserve if nothing else changes the limit.
    fn evictor(
        &self,
        budget: &Budget,
        limit: Option<Bytes>,
        limit_is_fixed: bool,
    ) -> Result<Option<Evictor>> {
        let Some((limit, room)) = limit.and_then(|limit| Some((limit, Room::of(budget, limit)?)))
        else {
            return Ok(None);
        };
        let policy = self.eviction.policy(limit.pages()).map_err(Error::usage)?;
        let reserve = || match limit_is_fixed {
            true => Reserve::keep(budget, limit),
            false => Ok(None),
        };
        policy
            .map(|policy| Evictor::start(policy, room, reserve()?))
            .transpose()
    }
}

impl Way {
    /// Returns the name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AllDram => "all-dram",
            Self::Kernel => "kernel",
            Self::KernelCpf => "kernel-cpf",
            Self::Terrace(_) | Self::Migration(_) => "terrace",
            Self::KernelTiering => "kernel-tiering",
            Self::Placed => "placed",
        }
    }

    /// Returns the file with what earlier runs left.
    fn lesson(&self) -> Option<&LessonFile> {
        match self {
            Self::Terrace(policies) => policies.lesson.as_ref(),
            _ => None,
        }
    }
}

/// The machine during a run; undoes all changes when dropped.
pub struct Session {
    // Drop order: the tier while signals are still held back; the journal, which checks that all
    // changes are undone, last.
    tier: Option<Tier>,
    zswap: Option<Zswap>,
    nodes: Option<Nodes>,
    /// What programs need to share mounts with the machine.
    peers: Option<Peers>,
    signals: Signals,
    hierarchies: Hierarchies,
    callers: Leaf,
    journal: Journal,
    runs: usize,
    /// Footprint of the program, if known.
    footprint: Option<Bytes>,
    /// Whether a notice has said that `vm.page-cluster` cannot be set.
    told_of_readahead: bool,
    /// Whether the writes of programs are looked at.
    looks_at_writes: bool,
    /// Which objects stay in DRAM.
    placement: Option<Placement>,
    /// What a program sees of memory limits that is not to see its own; none before the first run.
    view: Option<View>,
    /// What is measured of each run beside its usual figures.
    measures: Measures,
}

/// What is measured of a run if it is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measures {
    /// Time after which faults, traffic of the tier, prefetches and waits begin to count; `None` for the start.
    pub after: Option<Duration>,
    /// Whether waits at faults are measured.
    pub waits: bool,
    /// Length of the intervals whose figures are told while the program runs.
    pub every: Option<Duration>,
}

impl Session {
    /// Checks that a run is possible on this machine; changes nothing yet.
    ///
    /// # Errors
    /// A failure that names what is missing.
    pub fn open() -> Result<Self> {
        privilege::require()?;
        Ok(Self {
            tier: None,
            zswap: None,
            nodes: None,
            peers: None,
            signals: Signals::receive()?,
            hierarchies: Hierarchies::find()?,
            callers: Leaf::default(),
            journal: Journal::begin(&state_directory())?,
            runs: 0,
            footprint: None,
            told_of_readahead: false,
            looks_at_writes: false,
            placement: None,
            measures: Measures::default(),
            view: None,
        })
    }

    /// Prepares the tier. Reports to `observer` what is about to be destroyed.
    ///
    /// # Errors
    /// See [`Tier::prepare`].
    pub fn prepare_tier(
        &mut self,
        spec: Option<&Spec>,
        footprint: Option<Bytes>,
        demand: &Demand,
        observer: &mut dyn FnMut(Event),
    ) -> Result<()> {
        self.footprint = footprint;
        let default = Spec::Directory(self.journal.state().to_owned());
        let spec = spec.unwrap_or(&default);
        let mut say = |text: &str| observer(Event::Warning(text));
        let tier = Tier::prepare(spec, demand, &mut self.journal, &mut say)?;
        self.tier = Some(tier);
        Ok(())
    }

    /// Prepares a tier that is another memory node, beside one that has to hold `dram`.
    ///
    /// # Errors
    /// A usage error if there is no such node, it cannot be the slow one, or the other is too small; a failure if memory cannot
    /// be bound to it.
    pub fn prepare_node(&mut self, node: u32, dram: Bytes, footprint: Option<Bytes>) -> Result<()> {
        self.footprint = footprint;
        self.nodes = Some(Nodes::prepare(node, dram)?);
        Ok(())
    }

    /// Sets zswap, which lies in front of the tier.
    ///
    /// # Errors
    /// See [`Zswap::acquire`].
    pub fn set_zswap(&mut self, spec: &zswap::Spec) -> Result<()> {
        self.zswap = Some(Zswap::acquire(spec, &mut self.journal)?);
        Ok(())
    }

    /// Has the writes of programs looked at, if the tier is zram.
    pub fn look_at_writes(&mut self) {
        self.looks_at_writes = true;
    }

    /// Has this be measured from now on.
    pub fn measure(&mut self, measures: Measures) {
        self.measures = measures;
    }

    /// Has the objects of a placement stay in DRAM, the ways with one.
    pub fn place(&mut self, placement: Placement) {
        self.placement = Some(placement);
    }

    /// Returns the placement, in a way with one.
    fn placement(&self, way: &Way) -> Option<&Placement> {
        let is_placed = match way {
            Way::Placed | Way::Terrace(_) => true,
            Way::Migration(spec) => !nodes::moves_nothing(spec),
            _ => false,
        };
        self.placement.as_ref().filter(|_| is_placed)
    }

    /// Starts to look at the writes of the program in this group, if that is asked for and possible.
    fn watch_writes(&self, budget: &Budget) -> Result<Option<written::Watch>> {
        let area = self.tier.as_ref().and_then(Tier::told);
        let area = area.filter(|_| self.looks_at_writes);
        let group = || budget.directories()[0].clone();
        area.map(|area| written::Watch::start(group(), &area))
            .transpose()
    }

    /// Makes the swap areas that are on the tier, whosever they are.
    pub(crate) fn use_active_areas(&mut self) {
        self.tier = Some(Tier::default());
    }

    /// Removes the tier, or leaves it to other runs (`neighbours`), and tells `say` what is waited for.
    /// Dropping a session does the same, but cannot report anything.
    ///
    /// # Errors
    /// A failure that names an area that stays on.
    pub fn close(mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        self.end_tier(say)
    }

    fn end_tier(&mut self, say: Say) -> Result<()> {
        let tier = self.tier.take();
        tier.map_or(Ok(()), |tier| {
            neighbours::settle(tier, &mut self.journal, say)
        })
    }

    /// Describes the tier for people.
    pub fn tier(&self) -> String {
        match (&self.tier, &self.nodes) {
            (Some(tier), _) => tier.description(),
            (None, Some(nodes)) => nodes.description(),
            (None, None) => "none".into(),
        }
    }

    /// Returns the largest size that the tier may have; `None` for a memory node and the machine's own swap.
    pub fn tier_bound(&self) -> Option<Bytes> {
        let bound = self.tier.as_ref().and_then(Tier::bound);
        bound.map(|bound| bound.size())
    }

    /// Version of the memory cgroup.
    pub fn cgroup_version(&self) -> Version {
        self.hierarchies.version
    }

    /// Returns the signal that asked Terrace to end, if one came.
    pub fn asked_to_end(&self) -> Option<i32> {
        self.signals.asked_to_end()
    }

    /// Runs a program one way, and waits until it and all processes that it started have ended.
    ///
    /// # Errors
    /// A usage error if the program cannot be run; otherwise a failure.
    pub fn run(
        &mut self,
        invocation: &Invocation,
        way: &Way,
        limit: Option<Bytes>,
        observer: Observer,
    ) -> Result<Outcome> {
        let limit = limit.filter(|_| !matches!(way, Way::AllDram));
        // On two nodes nothing is swapped: what DRAM holds is limited by what is moved there.
        let swapped = limit.filter(|_| self.nodes.is_none());
        let budget = self.make_budget(swapped)?;
        let covers = self.covers(invocation, &budget, observer)?;
        let (migrator, balancing) = self.move_pages(way, &budget, limit, observer)?;
        let (steered, knob, hand) = self.steer(way, &budget, limit, observer)?;
        if let (Way::AllDram, Some(footprint)) = (way, self.footprint) {
            dram::warm(footprint);
        }
        let accounts = swapped
            .map(|limit| Accounts::keep(&budget.statistics(), limit))
            .transpose()?;
        let counter = SwapCounter::of(&budget);
        if let Some(tier) = &self.tier {
            tier.follow(Some(counter.clone()));
        }
        let pool = zswap::pool();
        let charge = self.charge(&budget, swapped, pool)?;
        let waits = self.measure_waits(&budget)?;
        let running = Running {
            budget: &budget,
            limit: swapped,
            tier: self.tier.as_ref(),
            swapped: counter,
            accounts,
            readahead: hand.as_ref(),
            zswap: self.zswap.as_ref(),
            balancing: balancing.as_ref(),
            charge,
            steered,
            waits,
            start: Counts::at_start(self.tier.as_ref()),
            pool,
            after: self.measures.after,
            every: self.measures.every,
        };
        let nodes = self.nodes.as_ref();
        let fast = nodes.map(|nodes| nodes.fast);
        let placement = self.placement(way);
        let answers = placement.map(|placement| Answers::start(placement, fast));
        let answers = answers.transpose()?;
        let mut invocation = Invocation {
            huge_pages: invocation.huge_pages || self.suffices(limit),
            node: migrator.as_ref().and(nodes).map(|nodes| nodes.slow),
            processors: nodes.and_then(|nodes| nodes.processors.clone()),
            ..invocation.clone()
        };
        if let Some(answers) = &answers {
            invocation.environment.extend(answers.environment()?);
        }
        let writes = self.watch_writes(&budget)?;
        let program = start(&invocation, &budget, covers, &self.signals)?;
        self.signals.aim(Target::program(program.pid()));
        // A signal between the start and here reached no process.
        self.signals.pass_on();
        let the_rest = |exit, observer: Observer| self.await_the_rest(&budget, exit, observer);
        let (ended, seen) = running.watch(program, the_rest, observer);
        self.signals.aim(Target::Nobody);
        if let Some(tier) = &self.tier {
            tier.follow(None);
        }
        let mut outcome = running.outcome(ended?, seen);
        self.tell_of_phase(&outcome, observer);
        drop(knob);
        // Another program may have written it after the last look.
        if let Some(notice) = hand.as_ref().and_then(Hand::notice) {
            observer(Event::Notice(&notice));
        }
        outcome.written = writes.map(written::Watch::finish);
        outcome.nodes = migrator.map(Migrator::finish);
        if answers.is_some_and(|answers| answers.finish().sites == 0) {
            observer(Event::Notice(
                "the program has allocated at none of the placement's sites: it is not what was recorded, or was built \
                 without the same debug symbols (-g), or links its libraries statically",
            ));
        }
        leave_lesson(way, &mut outcome, observer)?;
        Ok(outcome)
    }

    /// Starts to steer a program with this DRAM, if the way is one that steers. Otherwise returns the kernel's readahead,
    /// which is held until the program has ended, if the way sets it.
    fn steer(
        &mut self,
        way: &Way,
        budget: &Budget,
        limit: Option<Bytes>,
        observer: Observer,
    ) -> Result<(Option<Steered>, Option<PageCluster>, Option<Hand>)> {
        let engine = self.engine(way, observer)?;
        let readahead = match (way, &engine) {
            (Way::KernelCpf, _) | (_, Some(_)) => self.take_readahead(way, observer)?,
            _ => None,
        };
        let hand = readahead.as_ref().map(PageCluster::hand);
        let Some(engine) = engine else {
            return Ok((None, readahead, hand));
        };
        let evictor = match way {
            Way::Terrace(policies) => {
                policies.evictor(budget, limit, !self.charges_pool(budget))?
            }
            _ => None,
        };
        let aids = Aids {
            gauge: Some(budget.fault_counter()),
            readahead,
            evictor,
            lessons: way.lesson().map(|_| Lessons::default()),
        };
        let faults = FaultStream::open(budget.watched())?;
        let dram = limit.unwrap_or_else(dram::total);
        let steered = Steered::start(engine, faults, dram, aids)?;
        Ok((Some(steered), None, hand))
    }

    /// Starts to measure the waits of the program in this group, if that is asked for.
    fn measure_waits(&self, budget: &Budget) -> Result<Option<Waits>> {
        let group = || Whose::Group(budget.watched().to_owned());
        let waits = self.measures.waits.then(|| Waits::measure(&group()));
        waits.transpose()
    }

    /// Says so if the program ended before its figures were to begin to count.
    fn tell_of_phase(&self, outcome: &Outcome, observer: Observer) {
        if let (Some(after), None) = (self.measures.after, outcome.phase.from) {
            observer(Event::Notice(&format!(
                "the program ended before the {} s of --after, so the figures are of the whole run",
                after.as_secs_f64()
            )));
        }
    }

    /// Starts to move pages between two nodes, or has the kernel do it, if the way is one of those.
    fn move_pages(
        &mut self,
        way: &Way,
        budget: &Budget,
        dram: Option<Bytes>,
        observer: Observer,
    ) -> Result<(Option<Migrator>, Option<Balancing>)> {
        let Some(nodes) = self.nodes.as_ref() else {
            return Ok((None, None));
        };
        let spec = match way {
            Way::Migration(spec) => spec.clone(),
            Way::Placed => (&migration::never::ENTRY).into(),
            Way::KernelTiering => {
                return Ok((None, Some(nodes.tier(&mut self.journal, observer)?)));
            }
            _ => return Ok((None, None)),
        };
        let dram = dram.unwrap_or_else(dram::total);
        let placed = self.placement(way).map(|placement| placement.bytes);
        let (migrator, balancing) =
            nodes.migrate(&spec, budget, dram, placed, &mut self.journal)?;
        nodes
            .notices(&spec)
            .for_each(|text| observer(Event::Notice(text)));
        Ok((Some(migrator), balancing))
    }

    /// Returns what programs have seen of memory limits so far; none before the first run.
    pub fn view(&self, invocation: &Invocation) -> Option<View> {
        match invocation.sees_limit {
            true => Some(View::Limit),
            false => self.view,
        }
    }

    /// Returns the files of the program's group that are covered; none where it is to see its limit, or cannot but see
    /// it, of which a notice tells.
    fn covers(
        &mut self,
        invocation: &Invocation,
        budget: &Budget,
        observer: Observer,
    ) -> Result<Option<Covers>> {
        if invocation.sees_limit {
            return Ok(None);
        }
        let view = match self.view {
            Some(view) => view,
            None => self.prepare_view(observer)?,
        };
        match view {
            View::Machine => {
                Covers::of(&budget.directories()[0], &self.hierarchies.memory).map(Some)
            }
            View::Limit => Ok(None),
        }
    }

    /// Finds out what programs can see on this machine, and prepares it for that.
    fn prepare_view(&mut self, observer: Observer) -> Result<View> {
        let view = match view::check(&self.hierarchies.memory) {
            Ok(()) => {
                self.peers = Peers::join(&mut self.journal)?;
                View::Machine
            }
            Err(why) => {
                observer(Event::Notice(&format!(
                    "the program sees the limit of its group, by which some programs size themselves: {why}"
                )));
                View::Limit
            }
        };
        self.view = Some(view);
        Ok(view)
    }

    /// Whether all memory of the program fits into its DRAM, as far as is known.
    fn suffices(&self, limit: Option<Bytes>) -> bool {
        let holds = |limit| self.footprint.is_some_and(|footprint| footprint <= limit);
        limit.is_none_or(holds)
    }

    fn make_budget(&mut self, limit: Option<Bytes>) -> Result<Budget> {
        self.runs += 1;
        if self.runs == 1 {
            self.hierarchies = scope::enter(self.hierarchies.clone())?;
        }
        let name = format!("{}-{}", self.journal.name(), self.runs);
        let needed = match self.hierarchies.version {
            Version::V1 => Needed::default(),
            Version::V2 => Needed::below(&self.hierarchies.memory)?,
        };
        if let Some(leaf) = &needed.leaf {
            self.journal.note(Change::Callers(leaf.clone()))?;
            self.callers.0.clone_from(&needed.leaf);
        }
        for directory in self.hierarchies.directories(&name) {
            self.journal.note(Change::Cgroup(directory))?;
        }
        let tier = self.tier.as_ref().and_then(Tier::size);
        let limits = limit.map(|dram| Limits { dram, tier });
        Budget::create(&self.hierarchies, &name, limits, &needed)
    }

    /// Whether zswap's pool has to be counted as part of the budget, by its limit.
    fn charges_pool(&self, budget: &Budget) -> bool {
        self.zswap.is_some() && budget.version() == Version::V1
    }

    /// Has zswap's pool count as part of the budget, unless the kernel does that.
    fn charge(
        &self,
        budget: &Budget,
        limit: Option<Bytes>,
        before: Pool,
    ) -> Result<Option<Charge>> {
        limit
            .filter(|_| self.charges_pool(budget))
            .map(|dram| Charge::keep(budget.limit_file(), dram, before))
            .transpose()
    }

    /// Returns the engine of the way; `None` if it has none, or if fetching cannot pay.
    pub(crate) fn engine(&self, way: &Way, observer: Observer) -> Result<Option<Engine>> {
        let Way::Terrace(policies) = way else {
            return Ok(None);
        };
        let mut engine = policies.prefetch.engine(None).map_err(Error::usage)?;
        let costs = match &self.tier {
            Some(tier) if !zswap::takes_all(self.footprint) => tier.costs(),
            Some(_) => MEMORY_COSTS,
            None => Costs::DISK,
        };
        engine.set_costs(costs);
        if let Some(file) = &policies.lesson
            && !engine.learn(&file.read()?)
        {
            return Err(Error::usage(format!(
                "`{}` learns nothing from earlier runs; use --learn with auto or replay",
                policies.prefetch
            )));
        }
        if engine.cannot_pay() {
            observer(Event::Notice(&format!(
                "on this tier a fault takes {} us and a fetch {} us, so fetching ahead cannot pay; \
                 the kernel is left alone (--prefetch stream fetches all the same)",
                costs.demand.as_micros(),
                costs.fetch.as_micros()
            )));
            return Ok(None);
        }
        Ok(Some(engine))
    }

    /// Takes `vm.page-cluster`; sets it to single pages for
    /// [`Way::KernelCpf`].
    pub(crate) fn take_readahead(
        &mut self,
        way: &Way,
        observer: Observer,
    ) -> Result<Option<PageCluster>> {
        let single = matches!(way, Way::KernelCpf);
        let attempt = match single {
            true => self.await_knob(observer)?,
            false => Some(PageCluster::acquire(self.journal.state())?),
        };
        // A signal that came during the wait ends the program, too.
        let Some(attempt) = attempt else {
            return Ok(None);
        };
        let knob = match attempt {
            Attempt::Taken(knob) => knob,
            refused if single => return refused.require_single().map(|()| None),
            refused => {
                if let Some(notice) = refused.notice()
                    && !std::mem::replace(&mut self.told_of_readahead, true)
                {
                    observer(Event::Notice(&notice));
                }
                return Ok(None);
            }
        };
        let found = knob.found().to_owned();
        self.journal.note(Change::PageCluster(found))?;
        knob.set(single)
            .or_fail(|| "cannot set vm.page-cluster".into())?;
        Ok(Some(knob))
    }

    fn await_knob(&self, observer: Observer) -> Result<Option<Attempt>> {
        turn::await_knob(
            self.journal.state(),
            &mut Waiting {
                stop: &|| self.asked_to_end().is_some(),
                told: &mut |text| observer(Event::Notice(text)),
            },
        )
    }

    /// Waits until no other run compares; `None` if a signal asked to end meanwhile.
    ///
    /// # Errors
    /// See [`Turn::await_ours`].
    pub fn await_turn(&self, told: &mut dyn FnMut(&str)) -> Result<Option<Turn>> {
        let stop = || self.asked_to_end().is_some();
        Turn::await_ours(self.journal.state(), &mut Waiting { stop: &stop, told })
    }

    /// Waits for processes that outlive the program, because their memory is in the tier; returns whether there were
    /// any.
    fn await_the_rest(&self, budget: &Budget, exit: Option<Exit>, observer: Observer) -> bool {
        self.signals.forget_survived(exit.as_slice());
        let group = budget.directories()[0].clone();
        let left = move || processes_in(&group);
        self.signals.aim(Target::Left(Arc::new(left)));
        self.signals.pass_on();
        let since = Instant::now();
        let (mut told, mut is_outlived) = (false, false);
        while !budget.processes().is_empty() {
            is_outlived = true;
            if !told && since.elapsed() > STRAGGLE {
                told = true;
                observer(Event::Notice(&format!(
                    "the program has ended, {} of the processes it started still run; \
                     waiting for them (a SIGTERM to terrace ends them)",
                    budget.processes().len()
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        is_outlived
    }
}

/// Writes what the next run may learn from this one, if that is asked for.
fn leave_lesson(way: &Way, outcome: &mut Outcome, observer: Observer) -> Result<()> {
    if let (Some(file), Some(lesson)) = (way.lesson(), outcome.lesson.take()) {
        let foreseen = outcome
            .prefetch
            .is_some_and(|story| file.path().exists() && story.used >= outcome.major_faults);
        let notice = file.leave(&lesson, foreseen)?;
        observer(Event::Notice(&notice));
    }
    Ok(())
}

/// Starts a program in its group, of whose files some are covered.
fn start(
    invocation: &Invocation,
    budget: &Budget,
    covers: Option<Covers>,
    signals: &Signals,
) -> Result<Program> {
    // Here, so that no process of ours belongs to the program's name space.
    signals.aim(Target::Starting);
    let start = || Program::start(invocation, &budget.entrances(), signals);
    match covers {
        Some(covers) => covers.within(start)?,
        None => start(),
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A change that cannot be undone now stays in the journal for `terrace doctor --clean`.
        let _ = self.end_tier(&mut |_| {});
    }
}
