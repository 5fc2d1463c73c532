//! One program, run one way: with its budget, its tier and its steering, measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use terrace_policy::prefetch::{self, Constituent, Costs, Engine, LifeStory};

use crate::accounts::Accounts;
use crate::budget::{Budget, Limits, Usage};
use crate::cgroup::processes_in;
use crate::counters::SwapCounters;
use crate::delegation::{Leaf, Needed};
use crate::dram;
use crate::fault_sample::SampledFault;
use crate::hierarchy::{Hierarchies, Version};
use crate::journal::{Change, Journal, state_directory};
use crate::mappings::Region;
use crate::neighbours;
use crate::privilege;
use crate::program::{Invocation, Program};
use crate::running::{Running, Steered};
use crate::scope;
use crate::steer::Progress;
use crate::sysctl::{Attempt, PageCluster};
use crate::tier::{Spec, Tier};
use crate::turn::{self, Turn, Waiting};
use terrace_base::{Bytes, Context, Error, Exit, Result, Signals, Target};

pub use crate::dram::Dram;

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
    /// The kernel's swap, steered by a predictor.
    Terrace(prefetch::Spec),
}

impl Way {
    /// Returns the name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AllDram => "all-dram",
            Self::Kernel => "kernel",
            Self::KernelCpf => "kernel-cpf",
            Self::Terrace(_) => "terrace",
        }
    }
}

/// State of a running program.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Time since the start.
    pub elapsed: Duration,
    /// Memory of the program.
    pub usage: Usage,
    /// DRAM budget.
    pub limit: Option<Bytes>,
    /// Figures of steering.
    pub progress: Option<Progress>,
    /// Reads and writes of the tier since the start of the program.
    pub tier: SwapCounters,
}

/// Events of a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// State of the program, twenty times a second, more often at first.
    Running(&'a Status),
    /// Notice: a sentence about the run.
    Notice(&'a str),
    /// Warning of what is destroyed, shown even if quiet output was asked for.
    Warning(&'a str),
}

/// Progress callback.
pub type Observer<'a> = &'a mut (dyn FnMut(Event) + Send);

/// Measurements of one run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// End of the program.
    pub exit: Exit,
    /// Wall time from start to end.
    pub wall: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Major faults: those that waited for a read.
    pub major_faults: u64,
    /// Minor faults: those that did not.
    pub minor_faults: u64,
    /// Life story of the predictions; `None` without a predictor.
    pub prefetch: Option<LifeStory>,
    /// Life story of each constituent of a combination.
    pub constituents: Vec<Constituent>,
    /// Major faults that steering lost because a ring was full.
    pub unseen_faults: u64,
    /// Sample of the major faults; `None` without steering, as nothing watches them then.
    pub faults: Option<Faults>,
    /// Bytes read from swap areas by the whole machine during the run.
    pub tier_read: Bytes,
    /// Bytes written to swap areas by the whole machine during the run.
    pub tier_written: Bytes,
    /// Peak of the DRAM charged to the group, page cache included; `None` if the kernel keeps no peak.
    pub peak_resident: Option<Bytes>,
    /// Footprint: peak of the memory in DRAM and tier together; see [`crate::footprint`].
    pub footprint: Bytes,
    /// Whether the footprint comes from samples alone, because the kernel keeps no peak.
    pub footprint_sampled: bool,
    /// Peak of the kernel memory charged to the group (sampled under version 2).
    pub kernel: Bytes,
    /// Peak of the memory in huge pages (sampled).
    pub huge: Bytes,
    /// Processes that the kernel killed because budget and tier were exceeded.
    pub oom_kills: u64,
}

/// A sample of a run's major faults, and where they lie.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Faults of the sample, in their order.
    pub sample: Vec<SampledFault>,
    /// Number of faults of which it is a sample.
    pub seen: u64,
    /// Mapped regions in which they lie, as far as they were found.
    pub regions: Vec<Region>,
}

/// The machine during a run; undoes all changes when dropped.
pub struct Session {
    // Drop order: the tier while signals are still held back; the journal, which checks that all
    // changes are undone, last.
    tier: Option<Tier>,
    signals: Signals,
    hierarchies: Hierarchies,
    callers: Leaf,
    journal: Journal,
    runs: usize,
    /// Footprint of the program, if known.
    footprint: Option<Bytes>,
    /// Whether a notice has said that `vm.page-cluster` cannot be set.
    told_of_readahead: bool,
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
            signals: Signals::receive()?,
            hierarchies: Hierarchies::find()?,
            callers: Leaf::default(),
            journal: Journal::begin(&state_directory())?,
            runs: 0,
            footprint: None,
            told_of_readahead: false,
        })
    }

    /// Prepares the tier: at least twice the footprint, so that clean pages keep their copies (the
    /// kernel frees a slot at once when swap is half full). If the footprint is unknown, the tier
    /// grows. Reports to `observer` what is about to be destroyed.
    ///
    /// # Errors
    /// See [`Tier::prepare`].
    pub fn prepare_tier(
        &mut self,
        spec: Option<&Spec>,
        footprint: Option<Bytes>,
        observer: &mut dyn FnMut(Event),
    ) -> Result<()> {
        self.footprint = footprint;
        let needed = footprint.map(|f| Bytes(f.0.saturating_mul(2).max(64 << 20)));
        let default = Spec::Directory(self.journal.state().to_owned());
        let spec = spec.unwrap_or(&default);
        let mut say = |text: &str| observer(Event::Warning(text));
        let tier = Tier::prepare(spec, needed, &mut self.journal, &mut say)?;
        self.tier = Some(tier);
        Ok(())
    }

    /// Removes the tier, or leaves it to other runs (`neighbours`). Dropping a session does
    /// the same, but cannot report an error.
    ///
    /// # Errors
    /// A failure if the kernel cannot read the pages back.
    pub fn close(mut self) -> Result<()> {
        self.end_tier()
    }

    fn end_tier(&mut self) -> Result<()> {
        let tier = self.tier.take();
        tier.map_or(Ok(()), |tier| neighbours::settle(tier, &mut self.journal))
    }

    /// Describes the tier for people.
    pub fn tier(&self) -> String {
        self.tier.as_ref().map_or("none".into(), Tier::description)
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
        let budget = self.make_budget(limit)?;
        let engine = self.engine(way, observer)?;
        let readahead = match (way, &engine) {
            (Way::KernelCpf, _) | (_, Some(_)) => self.take_readahead(way, observer)?,
            _ => None,
        };
        // Without steering this holds the knob until the program has ended.
        let (steered, _knob) = match engine {
            Some(engine) => {
                let steered = Steered::start(engine, &budget, limit, readahead)?;
                (Some(steered), None)
            }
            None => (None, readahead),
        };
        if let (Way::AllDram, Some(footprint)) = (way, self.footprint) {
            dram::warm(footprint);
        }
        let _accounts = limit
            .map(|limit| Accounts::keep(&budget.statistics(), limit))
            .transpose()?;
        let running = Running {
            budget: &budget,
            limit,
            tier: self.tier.as_ref(),
            steered,
            counted: SwapCounters::read(),
        };
        let invocation = Invocation {
            huge_pages: invocation.huge_pages || self.suffices(limit),
            ..invocation.clone()
        };
        let program = Program::start(&invocation, &budget.entrances())?;
        self.signals.aim(Target::program(program.pid()));
        // A signal between the start and here reached no process.
        self.signals.pass_on();
        let (ended, seen) = running.watch(program, observer);
        self.await_the_rest(&budget, observer);
        self.signals.aim(Target::Nobody);
        Ok(running.outcome(ended?, seen))
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

    /// Returns the engine of the way; `None` if it has none, or if fetching cannot pay.
    fn engine(&self, way: &Way, observer: Observer) -> Result<Option<Engine>> {
        let Way::Terrace(spec) = way else {
            return Ok(None);
        };
        let mut engine = spec.engine(None).map_err(Error::usage)?;
        let costs = self.tier.as_ref().map_or(Costs::DISK, Tier::costs);
        engine.set_costs(costs);
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
    fn take_readahead(&mut self, way: &Way, observer: Observer) -> Result<Option<PageCluster>> {
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

    /// Waits for processes that outlive the program, because their memory is in the tier.
    fn await_the_rest(&self, budget: &Budget, observer: Observer) {
        let group = budget.directories()[0].clone();
        let left = move || processes_in(&group);
        self.signals.aim(Target::Left(Arc::new(left)));
        self.signals.pass_on();
        let since = Instant::now();
        let mut told = false;
        while !budget.processes().is_empty() {
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
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A change that cannot be undone now stays in the journal for `terrace doctor --clean`.
        let _ = self.end_tier();
    }
}
