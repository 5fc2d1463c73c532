//! Simulation of several machines in one pass over the traces.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_policy::prefetch::{Costs, Engine, Future, window};
use terrace_policy::replacement::Replacement;

use super::control::Control;
use super::counting::{Counting, require_counts};
use super::lines::Lines;
use super::outcome::Outcome;
use super::placement::InForce;
use super::settings::{Mapped, PageMachine, Prefetch};
use super::simulation::Simulation;
use super::survey::one_thread;
use super::timeline::Point;
use super::writes::Writes;
use crate::intern::PageTable;
use crate::workload::{Batch, Workload};

/// Simulates the workload on a machine of each of these settings.
///
/// All machines see the same touches; the results of one depend neither on the others nor on the
/// number of processors. `progress` is a callback that gets the number of accesses read. `future`
/// holds all touches to come, for policies that need them; a [`super::Survey`] finds it.
///
/// # Errors
/// The errors of the traces, where one is corrupt; a usage error where a policy needs the future
/// and it is not given, or where it needs the order of touches of several threads; a usage error
/// where write schemes are asked about a trace without contents, or a machine drops pages of zeros
/// of a trace that does not tell which these are; where a control policy cannot act on a machine;
/// and the errors of [`PageMachine::bypass`].
pub fn run(
    workload: Workload,
    machines: Vec<PageMachine>,
    future: Option<&Arc<Future>>,
    progress: impl FnMut(u64),
) -> Result<Vec<Outcome>> {
    let watched = watch(workload, machines, future, None, progress)?;
    Ok(watched.into_iter().map(|(outcome, _)| outcome).collect())
}

/// Same as [`run`], with a point of the timeline recorded after every `every` prefetches, if given,
/// and at the end.
///
/// # Errors
/// The errors of [`run`].
pub fn watch(
    mut workload: Workload,
    machines: Vec<PageMachine>,
    future: Option<&Arc<Future>>,
    every: Option<u64>,
    mut progress: impl FnMut(u64),
) -> Result<Vec<(Outcome, Vec<Point>)>> {
    let counts_instructions = workload.counts_instructions();
    if machines.iter().any(PageMachine::compares_contents) {
        workload.require_contents()?;
    }
    require_memory_of_writes(&machines)?;
    if machines.iter().any(PageMachine::drops_zeros) {
        workload.require_zeros()?;
    }
    if machines.iter().any(|machine| machine.tier.untimed) && workload.programs() > 1 {
        return Err(Error::usage(
            "clocks decide how several traces run on one machine, and ‘memory’ none has none; name \
             one trace, or a memory",
        ));
    }
    if machines.len() > 1 && machines.iter().all(|machine| machine.tier.untimed) {
        workload.lengthen_batches();
    }
    if machines.iter().any(PageMachine::tells_lines) {
        workload.keep_lines();
    }
    let mut sites = None;
    if machines.iter().any(|machine| machine.place.is_some()) {
        sites = Some(workload.keep_sites()?);
    }
    let mut runners = machines
        .into_iter()
        .map(|settings| {
            let force = match (&settings.place, &sites) {
                (Some(place), Some((allocations, program))) => {
                    place.in_force(allocations, program, settings.dram_pages)?
                }
                _ => InForce::default(),
            };
            let lines = Lines::new(&settings, force, workload.passed_caches())?;
            let replacement = replacement(&settings, future)?;
            if settings.middle.is_some() && replacement.has_writes() {
                return Err(Error::usage(format!(
                    "‘replacement’ {} writes pages to the tier that stay in DRAM, and ‘middle’ is for pages that \
                     leave it; give another policy, or leave ‘middle’ out",
                    settings.replacement
                )));
            }
            if let Some(control) = &settings.control
                && !replacement.evicts()
            {
                return Err(Error::usage(format!(
                    "‘control’ {control} reclaims memory before it is full, and ‘replacement’ {} names no page that \
                     could go without one that comes; give another policy, or leave ‘control’ out",
                    settings.replacement
                )));
            }
            settings.check_control()?;
            let control = Control::new(&settings)?;
            let eviction = settings.eviction.policy(settings.dram_pages as u64);
            let eviction = eviction.map_err(Error::usage)?;
            let engine = engine(&settings, future)?;
            let writes = match settings.compares_contents() {
                true => Writes::new(&settings.writing, settings.seed)?,
                false => None,
            };
            if settings.tier.untimed {
                require_counts(&settings)?;
                let counting = Box::new(Counting::new(settings, replacement));
                return Ok(Runner::new(Driver::Counting(counting), workload.programs()));
            }
            let mut simulation = Simulation::new(
                settings,
                replacement,
                eviction,
                engine,
                &counts_instructions,
            );
            simulation.watch(every);
            simulation.count_writes(writes);
            simulation.serve_lines(lines);
            simulation.control(control);
            let driver = Driver::Simulation(Box::new(simulation));
            Ok(Runner::new(driver, workload.programs()))
        })
        .collect::<Result<Vec<_>>>()?;
    let mut tapes: Vec<Tape> = (0..workload.programs()).map(|_| Tape::default()).collect();
    let mut accesses = 0;
    loop {
        for runner in &runners {
            if let Some(program) = runner.wants {
                accesses += tapes[program].reach(runner.read[program], program, &mut workload)?;
            }
        }
        progress(accesses);
        let pages = workload.pages();
        let go_on = |runner: &mut Runner| runner.go_on(&tapes, pages);
        match &mut runners[..] {
            [only] => go_on(only),
            many => many.par_iter_mut().for_each(go_on),
        }
        runners.iter().try_for_each(Runner::expect_sound_clocks)?;
        if runners.iter().all(|runner| runner.wants.is_none()) {
            let results = runners.iter().map(|runner| runner.results(pages));
            return Ok(results.collect());
        }
        for (program, tape) in tapes.iter_mut().enumerate() {
            let running = runners.iter().filter(|runner| runner.wants.is_some());
            tape.forget(running.map(|runner| runner.read[program]).min());
        }
    }
}

/// Checks that there is enough memory for the contents of pages, and the wear of lines.
///
/// # Errors
/// A failure that names the memory needed; a usage error if a setting has a wrong value.
fn require_memory_of_writes(machines: &[PageMachine]) -> Result<()> {
    let mut bytes = Bytes(0);
    for machine in machines {
        bytes.0 = bytes.0.saturating_add(machine.memory_of_writes()?.0);
    }
    let what = "keeping the contents of pages, and counting the writes of each line";
    terrace_base::memory::require(bytes, what)
}

/// Builds the replacement policy of a machine, for the part of DRAM that is not a prefetch cache.
fn replacement(
    settings: &PageMachine,
    future: Option<&Arc<Future>>,
) -> Result<Box<dyn Replacement>> {
    let pages = settings.main_pages()?;
    let spec = &settings.replacement;
    let touches = match future.map(|future| &future.touches[..]) {
        None => None,
        Some([]) => Some(&[][..]),
        Some([touches]) => Some(&touches[..]),
        Some(_) if spec.entry().knows_future() => return Err(one_thread()),
        Some(_) => None,
    };
    spec.policy(pages, settings.seed, touches)
        .map_err(Error::usage)
}

/// Builds the engine of a machine, if it has one that can gain anything.
fn engine(settings: &PageMachine, future: Option<&Arc<Future>>) -> Result<Option<Engine>> {
    match &settings.prefetch {
        Prefetch::Predictor(spec) => {
            let mut engine = spec.engine(future).map_err(Error::usage)?;
            engine.set_costs(costs(settings));
            engine.set_window(window(settings.dram_pages as u64));
            Ok(Some(engine).filter(|engine| !engine.cannot_pay()))
        }
        Prefetch::Off | Prefetch::Readahead { .. } => Ok(None),
    }
}

/// Returns the costs of faults and fetches on a machine with an idle device.
fn costs(settings: &PageMachine) -> Costs {
    let fault = &settings.fault;
    let fetch = fault.kernel + fault.copy + fault.prefetch;
    let first_use = match settings.mapped {
        Mapped::AtUse => fault.trap + fault.map,
        Mapped::AtArrival => Nanos::ZERO,
    };
    let time = |nanos: Nanos| Duration::from_nanos(nanos.0);
    Costs {
        demand: time(fault.trap + fetch + settings.tier.timing.read + fault.map),
        first_use: time(first_use),
        fetch: time(fetch),
        redundant: time(fetch),
    }
}

/// What makes the touches of a machine.
enum Driver {
    Simulation(Box<Simulation>),
    /// Of a machine without a clock.
    Counting(Box<Counting>),
}

/// A machine and its position in the traces.
struct Runner {
    driver: Driver,
    /// Number of batches read of each program.
    read: Vec<usize>,
    /// Program whose next batch the machine needs; `None` when it is done.
    wants: Option<usize>,
}

impl Runner {
    fn new(driver: Driver, programs: usize) -> Self {
        Self {
            driver,
            read: vec![0; programs],
            wants: Some(0),
        }
    }

    /// Takes the batch that the machine needs and runs until it needs another.
    fn go_on(&mut self, tapes: &[Tape], pages: &PageTable) {
        let Some(program) = self.wants else { return };
        let batch = tapes[program].at(self.read[program]);
        self.read[program] += 1;
        self.wants = match &mut self.driver {
            Driver::Simulation(simulation) => {
                simulation.feed(program, batch);
                simulation.run(pages)
            }
            Driver::Counting(counting) => batch.map(|batch| {
                counting.feed(batch);
                program
            }),
        };
    }

    /// Checks that no clock has gone too far.
    fn expect_sound_clocks(&self) -> Result<()> {
        match &self.driver {
            Driver::Simulation(simulation) => simulation.expect_sound_clocks(),
            Driver::Counting(_) => Ok(()),
        }
    }

    /// Returns the results and the timeline, which a machine without a clock does not have.
    fn results(&self, pages: &PageTable) -> (Outcome, Vec<Point>) {
        match &self.driver {
            Driver::Simulation(simulation) => (simulation.outcome(pages), simulation.timeline()),
            Driver::Counting(counting) => (counting.outcome(pages), Vec::new()),
        }
    }
}

/// Batches of a program that some simulation has not read yet.
#[derive(Default)]
struct Tape {
    batches: VecDeque<Arc<Batch>>,
    /// Number of batches dropped before the first.
    forgotten: usize,
    ended: bool,
}

impl Tape {
    /// Reads until batch `index` is known or the program has ended; returns the number of accesses
    /// read.
    fn reach(&mut self, index: usize, program: usize, workload: &mut Workload) -> Result<u64> {
        let mut accesses = 0;
        while !self.ended && index >= self.forgotten + self.batches.len() {
            match workload.read(program)? {
                Some(batch) => {
                    accesses += batch.references.len() as u64;
                    self.batches.push_back(Arc::new(batch));
                }
                None => self.ended = true,
            }
        }
        Ok(accesses)
    }

    /// Returns a batch that was reached; `None` if the program has ended.
    fn at(&self, index: usize) -> Option<&Arc<Batch>> {
        self.batches.get(index - self.forgotten)
    }

    /// Drops the batches that all simulations have read: `seen` is the lowest number of batches
    /// read.
    fn forget(&mut self, seen: Option<usize>) {
        let Some(seen) = seen else { return };
        while self.forgotten < seen && self.batches.pop_front().is_some() {
            self.forgotten += 1;
        }
    }
}
