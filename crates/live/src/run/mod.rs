//! One program, run one way: with its budget, its tier and its steering, measured.

pub mod attach;
pub mod comparison_lock;
pub(crate) mod event;
pub mod interval;
pub(crate) mod outcome;
pub(crate) mod running;
pub(crate) mod status;

mod far;
mod life;
mod limits_seen;
mod measured;
mod pressure;
mod sized;
mod steering;
mod way;

use std::time::Duration;

use terrace_policy::migration;

use crate::group::accounts::Accounts;
use crate::group::budget::{Budget, Limits};
use crate::group::cgroup::Cgroup;
use crate::group::delegation::{Callers, Leaf, Needed};
use crate::group::hierarchy::{Hierarchies, Version};
use crate::group::scope;
use crate::group::swapped::SwapCounter;
use crate::journal::{Journal, state_directory};
use crate::machine::peers::Peers;
use crate::machine::pool::Pool;
use crate::machine::view::View;
use crate::machine::zswap::{self, Charge, Zswap};
use crate::nodes::balancing::Balancing;
use crate::nodes::{self, Migrator, Nodes};
use crate::program::Invocation;
use crate::run::comparison_lock::{ComparisonLock, Waiting};
use crate::run::running::{Counts, Running};
use crate::steer::placement::{Answers, Placement};
use crate::system::dram;
use crate::system::lock::Say;
use crate::system::privilege;
use crate::tier::neighbours;
use crate::tier::{Demand, Remark, Spec, Tier};
use crate::watch::faults::Whose;
use crate::watch::waits::Waits;
use crate::watch::written;
use terrace_base::{Bytes, Result, Signals};

pub use crate::run::event::{Event, Observer};
pub use crate::run::outcome::Outcome;
pub use crate::run::status::Status;
pub use crate::steer::steered::Faults;
pub use crate::system::dram::Dram;
pub use measured::Settle;
pub use way::{Policies, Way};

use far::Far;
use life::Held;
use steering::leave_lesson;

/// The machine during a run; undoes all changes when dropped.
pub struct Session {
    // Drop order: the tier while signals are still held back; the journal, which checks that all
    // changes are undone, last.
    far: Far,
    /// In front of swap areas.
    zswap: Option<Zswap>,
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
    /// Time after which faults, traffic of the tier, prefetches and waits begin to count; `None`
    /// for the start.
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
            far: Far::None,
            zswap: None,
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
        let say = &mut |remark: Remark| match remark {
            Remark::Notice(text) => observer(Event::Notice(text)),
            Remark::Warning(text) => observer(Event::Warning(text)),
        };
        let tier = Tier::prepare(spec, demand, &mut self.journal, say)?;
        self.far = Far::Swap(Box::new(tier));
        Ok(())
    }

    /// Prepares a tier that is another memory node, beside one that has to hold `dram`.
    ///
    /// # Errors
    /// A usage error if there is no such node, it cannot be the slow one, or the other is too
    /// small; a failure if memory cannot be bound to it.
    pub fn prepare_node(&mut self, node: u32, dram: Bytes, footprint: Option<Bytes>) -> Result<()> {
        self.footprint = footprint;
        self.far = Far::Node(Nodes::prepare(node, dram)?);
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

    /// Starts to look at the writes of the program in this group, if that is asked for and
    /// possible.
    fn watch_writes(&self, budget: &Budget) -> Result<Option<written::Watch>> {
        let area = self.far.swap().and_then(Tier::told);
        let area = area.filter(|_| self.looks_at_writes);
        let group = || budget.directories()[0].clone();
        area.map(|area| written::Watch::start(group(), &area))
            .transpose()
    }

    /// Makes the swap areas that are on the tier, whosever they are.
    pub(crate) fn use_active_areas(&mut self) {
        self.far = Far::Swap(Box::default());
    }

    /// Removes the tier, or leaves it to other runs (`neighbours`), and tells `say` what is waited
    /// for. Dropping a session does the same, but cannot report anything.
    ///
    /// # Errors
    /// A failure that names an area that stays on.
    pub fn close(mut self, say: &mut dyn FnMut(&str)) -> Result<()> {
        self.end_tier(say)
    }

    fn end_tier(&mut self, say: Say) -> Result<()> {
        match self.far.take_swap() {
            Some(tier) => neighbours::settle(tier, &mut self.journal, say),
            None => Ok(()),
        }
    }

    /// Describes the tier for people.
    pub fn tier(&self) -> String {
        match &self.far {
            Far::Swap(tier) => tier.description(),
            Far::Node(nodes) => nodes.description(),
            Far::None => "none".into(),
        }
    }

    /// Returns the largest size that the tier may have; `None` for a memory node and the machine's
    /// own swap.
    pub fn tier_bound(&self) -> Option<Bytes> {
        let bound = self.far.swap().and_then(Tier::bound);
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
        let swapped = limit.filter(|_| self.far.node().is_none());
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
        if let Some(tier) = self.far.swap() {
            tier.follow(Some(counter.clone()));
        }
        let pool = zswap::pool();
        let charge = self.charge(&budget, swapped, pool)?;
        let waits = self.measure_waits(&budget)?;
        let running = Running {
            budget: &budget,
            limit: swapped,
            tier: self.far.swap(),
            swapped: counter,
            accounts,
            readahead: hand.as_ref(),
            zswap: self.zswap.as_ref(),
            balancing: balancing.as_ref(),
            charge,
            steered,
            waits,
            start: Counts::at_start(self.far.swap()),
            pool,
            after: self.measures.after,
            every: self.measures.every,
        };
        let nodes = self.far.node();
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
        let program = self.start(&invocation, &budget, covers)?;
        let held = Held { knob, writes };
        let mut outcome = self.follow(program, running, held, observer)?;
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

    /// Starts to measure the waits of the program in this group, if that is asked for.
    fn measure_waits(&self, budget: &Budget) -> Result<Option<Waits>> {
        let group = || Whose::Group(budget.watched().to_owned());
        let waits = self.measures.waits.then(|| Waits::measure(&group()));
        waits.transpose()
    }

    /// Starts to move pages between two nodes, or has the kernel do it, if the way is one of those.
    fn move_pages(
        &mut self,
        way: &Way,
        budget: &Budget,
        dram: Option<Bytes>,
        observer: Observer,
    ) -> Result<(Option<Migrator>, Option<Balancing>)> {
        let Some(nodes) = self.far.node() else {
            return Ok((None, None));
        };
        let spec = match way {
            Way::Migration(spec) => spec.clone(),
            Way::Placed => (&migration::never::ENTRY).into(),
            Way::KernelTiering => {
                let notice = &mut |text: &str| observer(Event::Notice(text));
                return Ok((None, Some(nodes.tier(&mut self.journal, notice)?)));
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
            self.journal.note(Callers(leaf.clone()))?;
            self.callers.0.clone_from(&needed.leaf);
        }
        for directory in self.hierarchies.directories(&name) {
            self.journal.note(Cgroup(directory))?;
        }
        let tier = self.far.swap().and_then(Tier::size);
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

    /// Waits until no other run compares; `None` if a signal asked to end meanwhile.
    ///
    /// # Errors
    /// See [`ComparisonLock::acquire`].
    pub fn await_comparison_lock(
        &self,
        told: &mut dyn FnMut(&str),
    ) -> Result<Option<ComparisonLock>> {
        let stop = || self.asked_to_end().is_some();
        ComparisonLock::acquire(self.journal.state(), &mut Waiting { stop: &stop, told })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A change that cannot be undone now stays in the journal for `terrace doctor --clean`.
        let _ = self.end_tier(&mut |_| {});
    }
}
