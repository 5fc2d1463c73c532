//! One program, run several ways on the same machine and tier, interleaved.

use std::ffi::OsString;
use std::time::Duration;

use terrace_policy::{eviction, migration, prefetch};

use crate::group::hierarchy::Version;
use crate::machine::sysctl;
use crate::machine::view::View;
use crate::machine::zswap;
use crate::nodes;
use crate::program::Invocation;
use crate::program::input::Inputs;
use crate::run::{Dram, Event, Measures, Observer, Outcome, Policies, Session, Way};
use crate::steer::lesson::LessonFile;
use crate::steer::placement::Placement;
use crate::system::dram;
use crate::tier::{self, Demand, Spec};
use terrace_base::{Bytes, Error, Exit, Result};

/// A request: the program, and the machine to run it on.
#[derive(Clone)]
pub struct Request {
    /// The program.
    pub command: Invocation,
    /// DRAM of the program.
    pub dram: Dram,
    /// Footprint of the program, if known.
    pub footprint: Option<Bytes>,
    /// Tier.
    pub tier: tier::Choice,
    /// zswap in front of the tier; `None` leaves it as the machine has it.
    pub zswap: Option<zswap::Spec>,
    /// Predictors, one way each; empty for the kernel alone.
    pub prefetch: Vec<prefetch::Spec>,
    /// Eviction policies, each with every predictor; not empty.
    pub eviction: Vec<eviction::Spec>,
    /// Which pages lie in DRAM if the tier is a memory node; `None` for the usual policy.
    pub migration: Option<migration::Spec>,
    /// Which objects stay in DRAM.
    pub placement: Option<Placement>,
    /// What earlier runs left to learn from, and each of these leaves to the next.
    pub lesson: Option<LessonFile>,
    /// Whether what the program writes to the tier is looked at.
    pub writes: bool,
    /// Time after which the program has its footprint, which is measured in the run itself; `None` for a run before it.
    pub measure: Option<Duration>,
    /// What is measured of each run beside its usual figures.
    pub measures: Measures,
    /// Whether to run all ways and not only the first.
    pub compare: bool,
    /// Repetitions of each way.
    pub repeat: usize,
}

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
    /// The largest size that the tier may have; `None` for a memory node and the machine's own swap.
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
        true => session.await_turn(&mut told)?,
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

impl Request {
    /// # Errors
    /// A usage error if memory would be compressed twice, or writes are to be looked at that cannot be.
    fn check(&self) -> Result<()> {
        self.check_node()?;
        self.check_measure()?;
        require(self.dram)?;
        self.lesson.as_ref().map_or(Ok(()), LessonFile::check)?;
        if self.writes && self.tier.spec != Some(Spec::Zram) {
            return Err(Error::usage(
                "--writes looks at places of the tier, and only those of zram tell what was written to them: a \
                 place on a disk still holds what another page left there if its own is zeros, which the kernel \
                 does not write; give --tier zram",
            ));
        }
        if self.writes && self.zswap.is_none() && zswap::current() != "off" {
            return Err(Error::usage(
                "--writes looks at places of the tier, and zswap is on, which keeps pages from them; give --zswap off",
            ));
        }
        match (&self.tier.spec, &self.zswap) {
            (Some(Spec::Zram | Spec::TwoLevels(_)), Some(zswap::Spec::On { .. })) => {
                Err(Error::usage(
                    "a tier of zram is compressed memory already; leave --zswap out, or name a disk with \
                 --tier",
                ))
            }
            _ => Ok(()),
        }
    }

    /// # Errors
    /// A usage error if the footprint is to be measured in a run that has no use for it, or needs it at its start.
    fn check_measure(&self) -> Result<()> {
        if self.measure.is_none() {
            return Ok(());
        }
        let why = match () {
            () if matches!(self.dram, Dram::Bytes(_)) => {
                "--measure is for a --dram that is a share of the footprint, as 50%; leave it out"
            }
            () if self.node().is_some() => {
                "--measure moves pages to swap, and a memory node has none; give --footprint SIZE"
            }
            () if self.placement.is_some() => {
                "--place needs the budget when the program starts; give --footprint SIZE in place of --measure"
            }
            () => return Ok(()),
        };
        Err(Error::usage(why))
    }

    /// Returns the memory node that is the tier, if it is one.
    fn node(&self) -> Option<u32> {
        match self.tier.spec {
            Some(Spec::Node(node)) => Some(node),
            _ => None,
        }
    }

    /// Returns the policy that says on which node pages lie.
    fn migration(&self) -> migration::Spec {
        let usual = || (&migration::benefit::ENTRY).into();
        self.migration.clone().unwrap_or_else(usual)
    }

    /// # Errors
    /// A usage error if an option is of swap where the tier is a node, or of nodes where it is not.
    fn check_node(&self) -> Result<()> {
        if self.node().is_none() {
            return match &self.migration {
                None => Ok(()),
                Some(_) => Err(Error::usage(
                    "--migration moves pages between memory nodes; name one with --tier, as node:1",
                )),
            };
        }
        // What the command names if its user does not.
        let steered = self.prefetch.iter().any(|spec| spec.to_string() != "auto");
        let mut evicts = self.eviction.iter().map(|spec| spec.entry().name);
        let evicts = evicts.any(|name| !["hold", "kernel"].contains(&name));
        let options = [
            ("--tier-size", self.tier.allowed.is_some()),
            ("--zswap", self.zswap.is_some()),
            ("--writes", self.writes),
            ("--learn", self.lesson.is_some()),
            ("--prefetch", steered),
            ("--eviction", evicts || self.eviction.len() > 1),
        ];
        match options.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(Error::usage(format!(
                "{option} is of swap, and on a memory node nothing is swapped; leave it out, or name another --tier"
            ))),
            None => Ok(()),
        }
    }

    /// Whether a run without a limit comes first to measure the footprint.
    fn is_measured_first(&self) -> bool {
        let needs_it = self.compare || matches!(self.dram, Dram::Share(_));
        self.footprint.is_none() && self.measure.is_none() && needs_it
    }
}

/// Returns the ways in the order in which each repetition runs them.
fn ways(request: &Request) -> Vec<Way> {
    if request.node().is_some() {
        let never = Way::Migration((&migration::never::ENTRY).into());
        let placed = request.placement.as_ref().map(|_| Way::Placed);
        let ours = match (request.migration(), &placed) {
            // Nothing but what is placed comes to the fast node.
            (spec, Some(_)) if nodes::moves_nothing(&spec) => None,
            (spec, _) => Some(Way::Migration(spec)),
        };
        let others = [Way::AllDram, Way::KernelTiering, never];
        return match request.compare {
            true => others.into_iter().chain(placed).chain(ours).collect(),
            false => ours.or(placed).into_iter().collect(),
        };
    }
    let mut steered = request.prefetch.iter().flat_map(|prefetch| {
        request.eviction.iter().map(|eviction| {
            Way::Terrace(Policies {
                prefetch: prefetch.clone(),
                eviction: eviction.clone(),
                lesson: request.lesson.clone(),
            })
        })
    });
    let placed = request.placement.as_ref().map(|_| Way::Placed);
    let others = [Way::AllDram, Way::Kernel, Way::KernelCpf];
    match request.compare {
        true => others.into_iter().chain(placed).chain(steered).collect(),
        false => vec![steered.next().or(placed).unwrap_or(Way::Kernel)],
    }
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
                kernel: kernel_release(),
                machine_memory: dram::total(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
            },
            runs: std::mem::take(&mut self.runs),
            interrupted: self.session.asked_to_end(),
            repeat: request.repeat,
            left_behind: None,
        }
    }

    /// Runs the first way, whose program gets its budget after this time. Returns the budget, all memory of the machine if
    /// the program ended before, and the footprint by which it was chosen.
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
                 that does not end by itself, as a server, give --measure 30s or --footprint SIZE"
            }
        };
        let step = self.step(Way::AllDram);
        (self.observe)(step, Event::Notice(notice));
        let outcome = self.run(Way::AllDram, None)?;
        if !outcome.exit.success() && self.session.asked_to_end().is_none() {
            return Err(Error::failure(
                "the program failed in the run that was to measure its footprint; \
                 give --footprint SIZE, or make it succeed",
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

/// Smallest budget: with less, a program is killed before it has begun.
const SMALLEST: Bytes = Bytes(1 << 20);

/// # Errors
/// A usage error if a budget is too small for any program.
fn enough(budget: Bytes) -> Result<()> {
    match budget < SMALLEST {
        true => Err(Error::usage(format!(
            "{budget} of DRAM are too few for any program to run in; give --dram {SMALLEST} or more"
        ))),
        false => Ok(()),
    }
}

/// Checks that a budget that is given in bytes is large enough.
///
/// # Errors
/// A usage error if it is not.
pub fn require(dram: Dram) -> Result<()> {
    match dram {
        Dram::Bytes(bytes) => enough(bytes),
        Dram::Share(_) => Ok(()),
    }
}

/// Returns the budget in bytes.
///
/// # Errors
/// A usage error if it is too little, or the footprint is unknown.
pub fn limit(dram: Dram, footprint: Option<Bytes>) -> Result<Bytes> {
    let share = match dram {
        Dram::Bytes(bytes) => return enough(bytes).map(|()| bytes),
        Dram::Share(share) => share,
    };
    let missing = "a share of the footprint needs the footprint; give --footprint SIZE";
    let footprint = footprint.ok_or_else(|| Error::usage(missing))?;
    let bytes = Bytes((footprint.0 as f64 * share) as u64);
    match bytes < SMALLEST {
        true => Err(Error::usage(format!(
            "{bytes} of DRAM, that share of a footprint of {footprint}, are too few to run in; give \
             --dram as a size"
        ))),
        false => Ok(bytes),
    }
}

/// Returns the kernel's release, as `uname -r` prints it.
pub fn kernel_release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(compare: bool, prefetch: &[&str]) -> Request {
        let spec = |name: &&str| prefetch::Spec::parse(name).expect("it is there");
        Request {
            command: vec!["true".into()].into(),
            dram: Dram::Share(0.5),
            footprint: None,
            tier: tier::Choice::default(),
            zswap: None,
            prefetch: prefetch.iter().map(spec).collect(),
            eviction: vec![eviction::Spec::default()],
            migration: None,
            placement: None,
            lesson: None,
            writes: false,
            measure: None,
            measures: Measures::default(),
            compare,
            repeat: 1,
        }
    }

    fn placement() -> Placement {
        Placement {
            path: "p".into(),
            program: "true".into(),
            bytes: Bytes(0),
            sites: Vec::new(),
        }
    }

    fn names(request: &Request) -> Vec<&'static str> {
        ways(request).iter().map(Way::name).collect()
    }

    #[test]
    fn which_ways_a_request_runs() {
        assert_eq!(names(&request(false, &["stream"])), ["terrace"]);
        assert_eq!(names(&request(false, &[])), ["kernel"]);
        assert_eq!(
            names(&request(true, &["stream"])),
            ["all-dram", "kernel", "kernel-cpf", "terrace"]
        );
        assert_eq!(
            names(&request(true, &[])),
            ["all-dram", "kernel", "kernel-cpf"]
        );
        let placed = |compare, prefetch: &[&str]| {
            names(&Request {
                placement: Some(placement()),
                ..request(compare, prefetch)
            })
        };
        assert_eq!(placed(false, &[]), ["placed"]);
        assert_eq!(placed(false, &["stream"]), ["terrace"]);
        assert_eq!(
            placed(true, &["stream"]),
            ["all-dram", "kernel", "kernel-cpf", "placed", "terrace"]
        );
        assert_eq!(
            names(&request(true, &["stream", "spatial"])),
            ["all-dram", "kernel", "kernel-cpf", "terrace", "terrace"]
        );
    }

    #[test]
    fn on_a_node_pages_move_and_nothing_is_swapped() {
        let mut request = request(true, &["auto"]);
        request.tier.spec = Some(Spec::Node(1));
        assert_eq!(
            names(&request),
            ["all-dram", "kernel-tiering", "terrace", "terrace"]
        );
        assert_eq!(request.check_node(), Ok(()));
        request.placement = Some(placement());
        assert_eq!(
            names(&request),
            ["all-dram", "kernel-tiering", "terrace", "placed", "terrace"]
        );
        request.migration = Some((&migration::never::ENTRY).into());
        assert_eq!(
            names(&request),
            ["all-dram", "kernel-tiering", "terrace", "placed"]
        );
        request.compare = false;
        assert_eq!(names(&request), ["placed"]);
        (request.placement, request.migration) = (None, None);
        assert_eq!(names(&request), ["terrace"]);
        request.prefetch = vec![prefetch::Spec::parse("stream").unwrap()];
        let said = request.check_node().unwrap_err().to_string();
        assert!(said.starts_with("--prefetch is of swap"), "{said}");
        request.tier.spec = None;
        assert_eq!(request.check_node(), Ok(()));
        request.migration = Some((&migration::hot::ENTRY).into());
        let said = request.check_node().unwrap_err().to_string();
        assert!(said.contains("as node:1"), "{said}");
    }

    #[test]
    fn a_share_is_of_the_footprint() {
        let footprint = Some(Bytes(16 << 20));
        assert_eq!(limit(Dram::Share(0.25), footprint), Ok(Bytes(4 << 20)));
        let error = limit(Dram::Share(0.01), footprint).unwrap_err().to_string();
        assert!(error.contains("too few to run in"), "{error}");
        assert!(
            !error.contains("--footprint"),
            "validate has no such option: {error}"
        );
        assert_eq!(limit(Dram::Bytes(SMALLEST), None), Ok(SMALLEST));
        let error = limit(Dram::Bytes(Bytes(4096)), None);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("--dram 1.00 MiB or more"), "{error}");
        assert!(limit(Dram::Share(0.5), None).is_err());
    }
}
