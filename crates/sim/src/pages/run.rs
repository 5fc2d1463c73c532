//! Simulates several machines in one pass over the traces.

use std::collections::VecDeque;
use std::sync::Arc;

use rayon::prelude::*;
use terrace_base::{Error, Result};
use terrace_policy::prefetch::Engine;
use terrace_policy::replacement::{Make, PageId, Replacement};

use super::{Outcome, Prefetch, Settings, Simulation};
use crate::intern::PageTable;
use crate::workload::{Batch, Workload};

/// Makes machines of these settings and runs the workload on each of them.
///
/// All see the same touches; what one finds does not depend on the others, nor on the number of
/// processors. `progress` is told now and then how many accesses have been read. `future` holds
/// all touches in order, for policies that know it; a [`Survey`] finds it.
///
/// # Errors
/// The traces', where one is corrupt; a usage error where a policy needs the future and it is
/// not given.
pub fn run(
    mut workload: Workload,
    machines: Vec<Settings>,
    future: Option<&[PageId]>,
    mut progress: impl FnMut(u64),
) -> Result<Vec<Outcome>> {
    let counts_instructions = workload.counts_instructions();
    let mut runners = machines
        .into_iter()
        .map(|settings| {
            let replacement = replacement(&settings, future)?;
            let engine = engine(&settings)?;
            let simulation = Simulation::new(settings, replacement, engine, &counts_instructions);
            Ok(Runner::new(simulation, workload.programs()))
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
        if runners.iter().all(|runner| runner.wants.is_none()) {
            let outcome = |runner: &Runner| runner.simulation.outcome(pages);
            return Ok(runners.iter().map(outcome).collect());
        }
        for (program, tape) in tapes.iter_mut().enumerate() {
            let running = runners.iter().filter(|runner| runner.wants.is_some());
            tape.forget(running.map(|runner| runner.read[program]).min());
        }
    }
}

/// What is known of a workload after a first pass over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Pages that it touches.
    pub footprint_pages: u64,
    /// All touches in order, if they were asked for.
    pub future: Option<Vec<PageId>>,
}

impl Survey {
    /// Reads a workload to its end. `future` asks for all touches.
    ///
    /// # Errors
    /// The traces', where one is corrupt; a usage error where the future is asked for and there is
    /// more than one thread: the order of their touches is only known afterwards.
    pub fn of(mut workload: Workload, future: bool, mut progress: impl FnMut(u64)) -> Result<Self> {
        let mut touches = Vec::new();
        let mut accesses = 0;
        for program in 0..workload.programs() {
            while let Some(batch) = workload.read(program)? {
                if future && (workload.programs() > 1 || workload.threads(program) > 1) {
                    return Err(Error::usage(
                        "a policy that knows the future needs one trace with one thread: the order of several is only known afterwards",
                    ));
                }
                accesses += batch.references.len() as u64;
                progress(accesses);
                if future {
                    touches.extend(batch.references.iter().map(|reference| reference.page()));
                }
            }
        }
        Ok(Self {
            footprint_pages: workload.pages().len() as u64,
            future: future.then_some(touches),
        })
    }
}

/// The replacement policy of a machine.
fn replacement(settings: &Settings, future: Option<&[PageId]>) -> Result<Box<dyn Replacement>> {
    match (settings.replacement.make, future) {
        (Make::Online(make), _) => Ok(make(settings.dram_pages, settings.seed)),
        (Make::Offline(make), Some(future)) => Ok(make(settings.dram_pages, future)),
        (Make::Offline(_), None) => Err(Error::usage(format!(
            "{} needs to know the future",
            settings.replacement.name
        ))),
    }
}

/// The engine of a machine, if it has one.
fn engine(settings: &Settings) -> Result<Option<Engine>> {
    match &settings.prefetch {
        Prefetch::Predictor(spec) => spec.engine(None).map(Some).map_err(Error::usage),
        Prefetch::Off | Prefetch::Readahead { .. } => Ok(None),
    }
}

/// A simulation and how far it has read.
struct Runner {
    simulation: Simulation,
    /// Batches read of each program.
    read: Vec<usize>,
    /// The program of which it needs more; none when it is done.
    wants: Option<usize>,
}

impl Runner {
    fn new(simulation: Simulation, programs: usize) -> Self {
        Self {
            simulation,
            read: vec![0; programs],
            wants: Some(0),
        }
    }

    /// Takes the batch that it wants and runs until it wants another.
    fn go_on(&mut self, tapes: &[Tape], pages: &PageTable) {
        if let Some(program) = self.wants {
            let batch = tapes[program].at(self.read[program]);
            self.simulation.feed(program, batch);
            self.read[program] += 1;
            self.wants = self.simulation.run(pages);
        }
    }
}

/// The batches of a program that some simulation has not seen yet.
#[derive(Default)]
struct Tape {
    batches: VecDeque<Arc<Batch>>,
    /// How many were forgotten before the first.
    forgotten: usize,
    ended: bool,
}

impl Tape {
    /// Reads on until batch `index` is known, or the program has ended; returns how many
    /// accesses were read.
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

    /// A batch that was reached, or none: the program has ended.
    fn at(&self, index: usize) -> Option<&Arc<Batch>> {
        self.batches.get(index - self.forgotten)
    }

    /// Forgets what all have seen: the furthest behind has seen `seen` batches.
    fn forget(&mut self, seen: Option<usize>) {
        let Some(seen) = seen else { return };
        while self.forgotten < seen && self.batches.pop_front().is_some() {
            self.forgotten += 1;
        }
    }
}
