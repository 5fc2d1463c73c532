//! One program, run several ways on the same machine and tier, interleaved.

use std::ffi::OsString;
use std::time::Duration;

use super::limit::limit;
use super::request::{Request, ways};
use crate::group::hierarchy::Version;
use crate::machine::sysctl;
use crate::machine::view::View;
use crate::machine::zswap;
use crate::nodes;
use crate::program::Invocation;
use crate::program::input::Inputs;
use crate::run::{Event, Observer, Outcome, Session, Way};
use crate::system::dram;
use crate::tier::Demand;
use terrace_base::kernel;
use terrace_base::{Bytes, Error, Exit, Result};

/// Effective settings.
#[derive(Clone, Debug)]
pub struct Effective {
    /// DRAM budget.
    pub dram: Bytes,
    /// Footprint of the program, as given or as measured without a limit.
    pub footprint: Option<Bytes>,
    /// Whether the footprint was measured.
    pub footprint_measured: bool,
    /// Time after which it was measured in the run itself; `None` if by a run before it.
    pub measured_after: Option<Duration>,
    /// Description of the tier for people.
    pub tier: String,
    /// The largest size that the tier may have; `None` for a memory node and the machine's own
    /// swap.
    pub tier_bound: Option<Bytes>,
    /// zswap during the runs, as `--zswap` would name it.
    pub zswap: String,
    /// Predictors with their settings.
    pub prefetch: Vec<String>,
    /// Eviction policies with their settings.
    pub eviction: Vec<String>,
    /// Migration policy with its settings; `None` if the tier is no memory node.
    pub migration: Option<String>,
    /// `vm.page-cluster` before the run.
    pub page_cluster: String,
    /// Version of the memory cgroup.
    pub cgroup: Version,
    /// What the program saw of memory limits; `None` if it was not started.
    pub view: Option<View>,
    /// Release of the kernel.
    pub kernel: String,
    /// DRAM of the machine.
    pub machine_memory: Bytes,
    /// CPUs that this process may use.
    pub cpus: usize,
}

/// Runs of one way.
#[derive(Clone)]
pub struct Runs {
    /// The way.
    pub way: Way,
    /// Measurements in the order of the runs.
    pub outcomes: Vec<Outcome>,
}

impl Runs {
    fn of(way: Way) -> Self {
        let outcomes = Vec::new();
        Self { way, outcomes }
    }

    /// Returns the first run in which the program failed; `None` if it failed in none.
    pub fn failure(&self) -> Option<&Outcome> {
        self.outcomes.iter().find(|outcome| outcome.has_failed())
    }
}

/// Results of a request.
#[derive(Clone)]
pub struct Results {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Effective settings.
    pub effective: Effective,
    /// Results by way.
    pub runs: Vec<Runs>,
    /// Signal that ended the request before all runs were done.
    pub interrupted: Option<i32>,
    /// Runs of each way that were asked for.
    pub repeat: usize,
    /// Reason why a change could not be undone, if any.
    pub left_behind: Option<Error>,
}

impl Results {
    /// Returns how the program ended: of `repeat` runs each way, the first that failed, or else the
    /// signal that ended the request before all were done.
    pub fn exit(&self, repeat: usize) -> Exit {
        let outcomes = self.runs.iter().flat_map(|runs| &runs.outcomes);
        let failed = outcomes.map(|o| o.exit).find(|exit| !exit.success());
        let unfinished = self.runs.iter().any(|r| r.outcomes.len() < repeat);
        match (failed, self.interrupted) {
            (Some(exit), _) => exit,
            (None, Some(signal)) if unfinished => Exit::Signal(signal),
            _ => Exit::Code(0),
        }
    }
}

/// Progress of a request.
#[derive(Clone)]
pub struct Step {
    /// Way of the present run.
    pub way: Way,
    /// Number of the present repetition, from 1.
    pub run: usize,
    /// Number of repetitions.
    pub of: usize,
}

/// Carries out a request.
///
/// # Errors
/// A usage error if the request cannot be carried out; otherwise a failure.
pub fn perform(
    request: &Request,
    observe: &mut (dyn FnMut(Step, Event) + Send),
) -> Result<Results> {
    let file = request.command.find()?;
    if let Some(placement) = &request.placement {
        placement.check_program(&file)?;
    }
    request.check()?;
    request.node().map_or(Ok(()), nodes::require)?;
    let session = Session::open()?;
    let ways = ways(request);
    let step = Step {
        way: ways[0].clone(),
        run: 1,
        of: ways.len() * request.repeat,
    };
    let runs = step.of + usize::from(request.is_measured_first());
    let mut told = |notice: &str| observe(step.clone(), Event::Notice(notice));
    let _turn = match request.compare {
        true => session.await_comparison_lock(&mut told)?,
        false => None,
    };
    let interrupted = || session.asked_to_end().is_some();
    let inputs = Inputs::prepare(runs, &interrupted, request.tier.spec.as_ref(), &mut told)?;
    let mut performance = Performance {
        session,
        inputs,
        request,
        observe,
        runs: ways.into_iter().map(Runs::of).collect(),
        done: 0,
        of: step.of,
    };
    let mut results = performance.perform()?;
    let Performance {
        session, observe, ..
    } = performance;
    let mut told = |notice: &str| observe(step.clone(), Event::Notice(notice));
    results.left_behind = session.close(&mut told).err();
    Ok(results)
}

struct Performance<'a> {
    session: Session,
    inputs: Inputs,
    request: &'a Request,
    observe: &'a mut (dyn FnMut(Step, Event) + Send),
    runs: Vec<Runs>,
    done: usize,
    of: usize,
}

impl Performance<'_> {
    fn perform(&mut self) -> Result<Results> {
        let request = self.request;
        let mut measured = None;
        let mut budget = Bytes(0);
        if let Some(time) = request.measure {
            (budget, measured) = self.run_measured(time)?;
            return Ok(self.results(budget, measured));
        }
        // A signal before the first run, as while the input was read, leaves nothing to run.
        if self.session.asked_to_end().is_none() {
            if request.is_measured_first() {
                measured = Some(self.measure()?);
            }
            budget = limit(request.dram, request.footprint.or(measured))?;
            if let Some(placement) = &request.placement {
                placement.rest(budget)?;
                self.session.place(placement.clone());
            }
        }
        let footprint = request.footprint.or(measured);
        if self.session.asked_to_end().is_none() {
            let step = self.step(self.runs[0].way.clone());
            let observe = &mut *self.observe;
            match request.node() {
                Some(node) => self.session.prepare_node(node, budget, footprint)?,
                None => {
                    let demand = Demand::of_program(footprint, budget, request.tier.allowed);
                    let spec = request.tier.spec.as_ref();
                    self.session
                        .prepare_tier(spec, footprint, &demand, &mut |event| {
                            observe(step.clone(), event);
                        })?;
                }
            }
            if request.writes {
                self.session.look_at_writes();
            }
            if let Some(zswap) = &request.zswap {
                self.session.set_zswap(zswap)?;
            }
            self.session.measure(request.measures);
            self.run_all(budget)?;
        }
        Ok(self.results(budget, measured))
    }

    /// Returns the results of what was run with this budget.
    fn results(&mut self, budget: Bytes, measured: Option<Bytes>) -> Results {
        let request = self.request;
        Results {
            command: request.command.words.clone(),
            effective: Effective {
                dram: budget,
                footprint: request.footprint.or(measured),
                footprint_measured: measured.is_some(),
                measured_after: request.measure.filter(|_| measured.is_some()),
                tier: self.session.tier(),
                tier_bound: self.session.tier_bound(),
                zswap: zswap::current(),
                prefetch: request.prefetch.iter().map(ToString::to_string).collect(),
                eviction: request.eviction.iter().map(ToString::to_string).collect(),
                migration: request.node().map(|_| request.migration().to_string()),
                page_cluster: sysctl::current().unwrap_or_default(),
                cgroup: self.session.cgroup_version(),
                view: self.session.view(&request.command),
                kernel: kernel::release(),
                machine_memory: dram::total(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
            },
            runs: std::mem::take(&mut self.runs),
            interrupted: self.session.asked_to_end(),
            repeat: request.repeat,
            left_behind: None,
        }
    }

    /// Runs the first way, whose program gets its budget after this time. Returns the budget, all
    /// memory of the machine if the program ended before, and the footprint by which it was chosen.
    fn run_measured(&mut self, time: Duration) -> Result<(Bytes, Option<Bytes>)> {
        let way = self.runs[0].way.clone();
        let step = self.step(way.clone());
        let request = self.request;
        let observe = &mut *self.observe;
        let invocation = Invocation {
            input: self.inputs.next_run(),
            ..request.command.clone()
        };
        let mut settled = None;
        let mut settle = |session: &mut Session, footprint, observer: Observer| {
            let budget = limit(request.dram, Some(footprint))?;
            // A server grows: its tier does so with it.
            let demand = Demand::of_program(None, Bytes(0), request.tier.allowed);
            let spec = request.tier.spec.as_ref();
            session.prepare_tier(spec, None, &demand, &mut |event| observer(event))?;
            if request.writes {
                session.look_at_writes();
            }
            if let Some(zswap) = &request.zswap {
                session.set_zswap(zswap)?;
            }
            settled = Some((budget, footprint));
            Ok(budget)
        };
        self.session.measure(request.measures);
        let outcome =
            self.session
                .run_measured(&invocation, &way, time, &mut settle, &mut |event| {
                    observe(step.clone(), event)
                })?;
        self.runs[0].outcomes.push(outcome);
        let budget = settled.map_or_else(dram::total, |(budget, _)| budget);
        Ok((budget, settled.map(|(_, footprint)| footprint)))
    }

    /// Measures the footprint by a first run without a limit. That run is not compared, because it
    /// may meet memory that was not used for long ([`dram::warm`]).
    fn measure(&mut self) -> Result<Bytes> {
        let notice = match self.request.compare {
            true => {
                "a first run without a limit measures the footprint; it ends when the program ends"
            }
            false => {
                "a first run without a limit measures the footprint; it ends when the program ends; for a program \
                 that does not end by itself, as a server, give ‘measure’ 30s or ‘footprint’ SIZE"
            }
        };
        let step = self.step(Way::AllDram);
        (self.observe)(step, Event::Notice(notice));
        let outcome = self.run(Way::AllDram, None)?;
        if !outcome.exit.success() && self.session.asked_to_end().is_none() {
            return Err(Error::failure(
                "the program failed in the run that was to measure its footprint; \
                 give ‘footprint’ SIZE, or make it succeed",
            ));
        }
        Ok(outcome.footprint)
    }

    fn run_all(&mut self, limit: Bytes) -> Result<()> {
        for _ in 0..self.request.repeat {
            for index in 0..self.runs.len() {
                if self.session.asked_to_end().is_some() {
                    return Ok(());
                }
                let outcome = self.run(self.runs[index].way.clone(), Some(limit))?;
                self.runs[index].outcomes.push(outcome);
                self.done += 1;
            }
        }
        Ok(())
    }

    fn run(&mut self, way: Way, limit: Option<Bytes>) -> Result<Outcome> {
        let step = self.step(way.clone());
        let observe = &mut *self.observe;
        let invocation = Invocation {
            input: self.inputs.next_run(),
            ..self.request.command.clone()
        };
        self.session.run(&invocation, &way, limit, &mut |event| {
            observe(step.clone(), event);
        })
    }

    fn step(&self, way: Way) -> Step {
        Step {
            way,
            run: (self.done + 1).min(self.of),
            of: self.of,
        }
    }
}
