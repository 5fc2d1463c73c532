//! One program, run one way: with its budget, its tier and its steering, measured.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use terrace_policy::PAGE_BYTES;
use terrace_policy::prefetch::{self, Constituent, Costs, Engine, LifeStory};

use crate::budget::{Budget, Hierarchies, Limits, Usage, Version, directories};
use crate::counters::SwapCounters;
use crate::dram;
use crate::faults::FaultStream;
use crate::journal::{Change, Journal, state_directory};
use crate::privilege;
use crate::program::{Ended, Exit, Invocation, Program};
use crate::signals::{Signals, Target};
use crate::steer::{Progress, Steering};
use crate::sysctl::PageCluster;
use crate::tier::{Spec, Tier};
use terrace_base::Bytes;
use terrace_base::{Context, Error, Result};

/// How often the program's memory is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);
/// What a program started may outlive it so long without a word.
const STRAGGLE: Duration = Duration::from_millis(300);

/// The DRAM that a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub enum Dram {
    /// This much.
    Bytes(Bytes),
    /// This share of its footprint, above 0 and up to 1.
    Share(f64),
}

impl Dram {
    /// Reads a size, or a share as `25%`.
    ///
    /// # Errors
    /// A usage error where it is neither, or larger than the machine's memory.
    pub fn parse(text: &str) -> Result<Self> {
        let Some(percent) = text.strip_suffix('%') else {
            let size = Bytes::parse(text)?;
            let memory = dram::total();
            if size > memory {
                return Err(Error::usage(format!(
                    "a DRAM budget of {size} is larger than this machine's {memory}; \
                     name less, or run the program without terrace"
                )));
            }
            return Ok(Self::Bytes(size));
        };
        match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(Self::Share(percent / 100.0)),
            _ => Err(Error::usage(format!(
                "`{text}` is no share of the footprint; name one above 0% and up to 100%"
            ))),
        }
    }
}

impl fmt::Display for Dram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            // Of 0.07 times 100 no more digits than somebody wrote.
            Self::Share(share) => write!(f, "{}%", (share * 1e8).round() / 1e6),
        }
    }
}

impl TryFrom<String> for Dram {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

/// One way to run a program whose memory is larger than its DRAM.
#[derive(Clone)]
pub enum Way {
    /// Without a limit: what it would be with DRAM alone.
    AllDram,
    /// The kernel's swap as the machine is set.
    Kernel,
    /// The kernel's swap without readahead: critical page first.
    KernelCpf,
    /// The kernel's swap, steered by a predictor.
    Terrace(prefetch::Spec),
}

impl Way {
    /// Its name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::AllDram => "all-dram",
            Self::Kernel => "kernel",
            Self::KernelCpf => "kernel-cpf",
            Self::Terrace(_) => "terrace",
        }
    }
}

/// How a running program is doing.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Since it was started.
    pub elapsed: Duration,
    /// Its memory.
    pub usage: Usage,
    /// Its DRAM budget.
    pub limit: Option<Bytes>,
    /// What steering has done.
    pub progress: Option<Progress>,
    /// What the tier has read and written since the program was started.
    pub tier: SwapCounters,
}

/// What people may want to know while a program runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// How the program is doing; comes some twenty times a second.
    Running(&'a Status),
    /// A sentence about what goes on.
    Notice(&'a str),
}

/// Is told what goes on.
pub type Observer<'a> = &'a mut (dyn FnMut(Event) + Send);

/// What one run cost.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How the program ended.
    pub exit: Exit,
    /// From its start to its end.
    pub wall: Duration,
    /// Time on a CPU in its own code.
    pub user: Duration,
    /// Time on a CPU in the kernel.
    pub system: Duration,
    /// Faults that waited for a read.
    pub major_faults: u64,
    /// Faults that did not.
    pub minor_faults: u64,
    /// What became of the predictions, where there were any.
    pub prefetch: Option<LifeStory>,
    /// The same by those of a combination who made them.
    pub constituents: Vec<Constituent>,
    /// Major faults that steering did not see, because they came too fast.
    pub unseen_faults: u64,
    /// Bytes read from swap areas, by the whole machine, while it ran.
    pub tier_read: Bytes,
    /// Bytes written to them.
    pub tier_written: Bytes,
    /// The most DRAM it had charged, page cache included, where the kernel says so.
    pub peak_resident: Option<Bytes>,
    /// The most memory it had, in DRAM and tier together (sampled; without page cache).
    pub footprint: Bytes,
    /// The most that the kernel had charged to it for itself (sampled).
    pub kernel: Bytes,
    /// The most memory it had in huge pages (sampled).
    pub huge: Bytes,
    /// Processes killed for exceeding budget plus tier.
    pub oom_kills: u64,
}

/// The machine while we use it: everything changed is taken back when this is dropped.
pub struct Session {
    // Fields are dropped in this order: the tier while signals are still held back, and the
    // journal, which looks whether all is undone, last.
    tier: Option<Tier>,
    signals: Signals,
    hierarchies: Hierarchies,
    journal: Journal,
    runs: usize,
    /// The program's, where it is known.
    footprint: Option<Bytes>,
}

impl Session {
    /// Makes sure that a run is possible here; changes nothing yet.
    ///
    /// # Errors
    /// A failure that says what is missing.
    pub fn open() -> Result<Self> {
        privilege::require()?;
        Ok(Self {
            tier: None,
            signals: Signals::receive()?,
            hierarchies: Hierarchies::find()?,
            journal: Journal::begin(&state_directory())?,
            runs: 0,
            footprint: None,
        })
    }

    /// Puts the tier in place: at least twice the footprint, so that clean pages keep their
    /// copies (the kernel gives a slot up at once when swap is half full); twice the machine's
    /// memory where the footprint is not known.
    ///
    /// # Errors
    /// See [`Tier::prepare`].
    pub fn prepare_tier(&mut self, spec: Option<&Spec>, footprint: Option<Bytes>) -> Result<()> {
        self.footprint = footprint;
        let needed = footprint.map(|f| Bytes(f.0.saturating_mul(2).max(64 << 20)));
        let wanted = needed.unwrap_or(Bytes(dram::total().0.saturating_mul(2)));
        let default = Spec::Directory(self.journal.state().to_owned());
        let spec = spec.unwrap_or(&default);
        self.tier = Some(Tier::prepare(spec, wanted, needed, &mut self.journal)?);
        Ok(())
    }

    /// Takes the tier back; dropping a session does so too, but cannot say that it failed.
    ///
    /// # Errors
    /// A failure where the kernel cannot take its pages back.
    pub fn close(mut self) -> Result<()> {
        self.tier.take().map_or(Ok(()), Tier::remove)
    }

    /// What the tier is, for people.
    pub fn tier(&self) -> &str {
        self.tier.as_ref().map_or("none", |tier| &tier.description)
    }

    /// The memory cgroup's version.
    pub fn cgroup_version(&self) -> Version {
        self.hierarchies.version
    }

    /// The signal by which somebody asked us to end, if so.
    pub fn asked_to_end(&self) -> Option<i32> {
        self.signals.asked_to_end()
    }

    /// Runs a program one way, and waits until it and all that it started have ended.
    ///
    /// # Errors
    /// A usage error where the program cannot be run, else a failure of ours or the machine's.
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
            (Way::KernelCpf, _) | (_, Some(_)) => self.take_readahead(way)?,
            _ => None,
        };
        // Without steering the knob is held here until the program has ended.
        let (steering, _knob) = match engine {
            Some(engine) => {
                let steering = start_steering(engine, &budget, limit, readahead)?;
                (Some(steering), None)
            }
            None => (None, readahead),
        };
        if let (Way::AllDram, Some(footprint)) = (way, self.footprint) {
            dram::warm(footprint);
        }
        let counted = SwapCounters::read();
        let program = Program::start(invocation, &budget.entrances())?;
        self.signals.aim(Target::Program(program.pid()));
        // What came between the start and here has reached nobody.
        self.signals.pass_on();
        let (ended, most) = watch(
            program,
            &budget,
            steering.as_ref(),
            limit,
            counted,
            observer,
        );
        self.await_the_rest(&budget, observer);
        self.signals.aim(Target::Nobody);
        let ended = ended?;
        let steered = steering.map(Steering::finish);
        Ok(outcome(ended, most, &budget, steered, counted))
    }

    fn make_budget(&mut self, limit: Option<Bytes>) -> Result<Budget> {
        self.runs += 1;
        let name = format!("{}-{}", self.journal.name(), self.runs);
        for directory in directories(&self.hierarchies, &name) {
            self.journal.note(Change::Cgroup(directory))?;
        }
        let tier = self.tier.as_ref().and_then(Tier::size);
        let limits = limit.map(|dram| Limits { dram, tier });
        Budget::create(&self.hierarchies, &name, limits)
    }

    /// The engine that steers, unless the way has none or it could win nothing.
    fn engine(&self, way: &Way, observer: Observer) -> Result<Option<Engine>> {
        let Way::Terrace(spec) = way else {
            return Ok(None);
        };
        let mut engine = spec.engine(None).map_err(Error::usage)?;
        let costs = self.tier.as_ref().map_or(Costs::DISK, Tier::costs);
        engine.price(costs);
        if engine.is_in_vain() {
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
    fn take_readahead(&mut self, way: &Way) -> Result<Option<PageCluster>> {
        let knob = PageCluster::acquire(self.journal.state())?;
        if let Some(knob) = &knob {
            let found = knob.found().to_owned();
            self.journal.note(Change::PageCluster(found))?;
            knob.set(matches!(way, Way::KernelCpf))
                .or_fail(|| "cannot set vm.page-cluster".into())?;
        } else if matches!(way, Way::KernelCpf) {
            return Err(Error::failure(
                "another terrace run has vm.page-cluster now; compare when it has ended",
            ));
        }
        Ok(knob)
    }

    /// What the program started may outlive it; its memory is in our tier, so we stay too.
    fn await_the_rest(&self, budget: &Budget, observer: Observer) {
        let group = budget.directories()[0].clone();
        self.signals.aim(Target::Group(group));
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

fn start_steering(
    mut engine: Engine,
    budget: &Budget,
    limit: Option<Bytes>,
    readahead: Option<PageCluster>,
) -> Result<Steering> {
    let pages = limit.unwrap_or_else(dram::total).0 / PAGE_BYTES;
    let window = prefetch::window(pages);
    engine.limit(window);
    let faults = FaultStream::open(budget.watched())?;
    Steering::start(engine, faults, window as usize, readahead)
}

/// The most that was seen of a program's memory.
#[derive(Clone, Copy, Default)]
struct Most {
    footprint: Bytes,
    kernel: Bytes,
    huge: Bytes,
}

/// Waits for the program while a second thread looks at its memory.
fn watch(
    program: Program,
    budget: &Budget,
    steering: Option<&Steering>,
    limit: Option<Bytes>,
    counted: SwapCounters,
    observer: &mut (dyn FnMut(Event) + Send),
) -> (Result<Ended>, Most) {
    let done = AtomicBool::new(false);
    let started = Instant::now();
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut most = Most::default();
            while !done.load(Ordering::Relaxed) {
                let usage = budget.usage();
                let footprint = Bytes(usage.resident.0 + usage.swapped.0);
                most.footprint = most.footprint.max(footprint);
                most.kernel = most.kernel.max(usage.kernel);
                most.huge = most.huge.max(usage.huge);
                observer(Event::Running(&Status {
                    elapsed: started.elapsed(),
                    usage,
                    limit,
                    progress: steering.map(Steering::progress),
                    tier: SwapCounters::read().since(counted),
                }));
                std::thread::park_timeout(SAMPLE_EVERY);
            }
            most
        });
        let ended = program.wait();
        done.store(true, Ordering::Relaxed);
        watcher.thread().unpark();
        (ended, watcher.join().unwrap_or_default())
    })
}

fn outcome(
    ended: Ended,
    most: Most,
    budget: &Budget,
    steered: Option<(Progress, Vec<Constituent>)>,
    counted: SwapCounters,
) -> Outcome {
    let (progress, constituents) = steered.unzip();
    let usage = budget.usage();
    let tier = SwapCounters::read().since(counted);
    Outcome {
        exit: ended.exit,
        wall: ended.wall,
        user: ended.user,
        system: ended.system,
        major_faults: usage.major_faults,
        minor_faults: usage.faults.saturating_sub(usage.major_faults),
        prefetch: progress.map(|p| p.story),
        constituents: constituents.unwrap_or_default(),
        unseen_faults: progress.map_or(0, |p| p.unseen_faults),
        tier_read: Bytes(tier.read * PAGE_BYTES),
        tier_written: Bytes(tier.written * PAGE_BYTES),
        peak_resident: budget.peak(),
        footprint: most.footprint,
        kernel: most.kernel,
        huge: most.huge,
        oom_kills: budget.oom_kills(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_as_people_write_them() {
        assert_eq!(Dram::parse("64M"), Ok(Dram::Bytes(Bytes(64 << 20))));
        assert_eq!(Dram::parse("25%"), Ok(Dram::Share(0.25)));
        for text in ["25%", "7%", "12.5%", "64.0 MiB"] {
            assert_eq!(Dram::parse(text).unwrap().to_string(), text);
        }
        for (text, why) in [
            ("0%", "no share"),
            ("101%", "no share"),
            ("-5%", "no share"),
            ("x%", "no share"),
            ("NaN%", "no share"),
            ("1E", "larger than this machine's"),
            ("0", "zero"),
        ] {
            let error = Dram::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
