//! One program, run several ways on the same machine and tier, interleaved.

use std::ffi::OsString;

use terrace_policy::prefetch;

use crate::budget::Version;
use crate::dram;
use crate::program::Invocation;
use crate::run::{Dram, Event, Outcome, Session, Way};
use crate::sysctl;
use crate::tier::Spec;
use terrace_base::Bytes;
use terrace_base::{Error, Result};

/// What to run, and on what.
#[derive(Clone)]
pub struct Request {
    /// The program.
    pub command: Invocation,
    /// Its DRAM.
    pub dram: Dram,
    /// All the memory that it uses, where that is known.
    pub footprint: Option<Bytes>,
    /// Where the rest goes; none is a swap file in the state directory.
    pub tier: Option<Spec>,
    /// The predictors, a way each; none leaves the kernel alone.
    pub prefetch: Vec<prefetch::Spec>,
    /// Whether to run it in all ways and not in the first of them.
    pub compare: bool,
    /// How often each way is run.
    pub repeat: usize,
}

/// The settings that were in force.
#[derive(Clone, Debug)]
pub struct Effective {
    /// The DRAM budget.
    pub dram: Bytes,
    /// The program's footprint, as given or as measured without a limit.
    pub footprint: Option<Bytes>,
    /// Whether it was measured.
    pub footprint_measured: bool,
    /// The tier, for people.
    pub tier: String,
    /// The predictors with their settings.
    pub prefetch: Vec<String>,
    /// `vm.page-cluster` as it was found.
    pub page_cluster: String,
    /// The memory cgroup's version.
    pub cgroup: Version,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM.
    pub machine_memory: Bytes,
    /// The machine's CPUs that we may use.
    pub cpus: usize,
}

/// All runs of one way.
#[derive(Clone)]
pub struct Runs {
    /// The way.
    pub way: Way,
    /// In the order in which they were run.
    pub outcomes: Vec<Outcome>,
}

/// What came of a request.
#[derive(Clone)]
pub struct Results {
    /// What was run.
    pub command: Vec<OsString>,
    /// How.
    pub effective: Effective,
    /// By way.
    pub runs: Vec<Runs>,
    /// The signal by which somebody asked us to end before all runs were done.
    pub interrupted: Option<i32>,
    /// Why something could not be put back, where that is so.
    pub left_behind: Option<Error>,
}

/// Where in a request we are.
#[derive(Clone)]
pub struct Step {
    /// The way that runs.
    pub way: Way,
    /// Counted from 1.
    pub run: usize,
    /// Of so many.
    pub of: usize,
}

/// Carries a request out.
///
/// # Errors
/// A usage error where it cannot be, else a failure of ours or the machine's.
pub fn perform(
    request: &Request,
    observe: &mut (dyn FnMut(Step, Event) + Send),
) -> Result<Results> {
    request.command.find()?;
    let mut performance = Performance {
        session: Session::open()?,
        request,
        observe,
        runs: ways(request)
            .into_iter()
            .map(|way| Runs {
                way,
                outcomes: Vec::new(),
            })
            .collect(),
        done: 0,
        of: ways(request).len() * request.repeat,
    };
    let mut results = performance.perform()?;
    results.left_behind = performance.session.close().err();
    Ok(results)
}

/// In the order in which each repetition runs them.
fn ways(request: &Request) -> Vec<Way> {
    let mut steered = request.prefetch.iter().cloned().map(Way::Terrace);
    if request.compare {
        [Way::AllDram, Way::Kernel, Way::KernelCpf]
            .into_iter()
            .chain(steered)
            .collect()
    } else {
        vec![steered.next().unwrap_or(Way::Kernel)]
    }
}

struct Performance<'a> {
    session: Session,
    request: &'a Request,
    observe: &'a mut (dyn FnMut(Step, Event) + Send),
    runs: Vec<Runs>,
    done: usize,
    of: usize,
}

impl Performance<'_> {
    fn perform(&mut self) -> Result<Results> {
        let request = self.request;
        let measured = match (request.footprint, request.dram) {
            (None, Dram::Share(_)) => Some(self.measure()?),
            (None, _) if request.compare => Some(self.measure()?),
            _ => None,
        };
        let footprint = request.footprint.or(measured);
        let limit = limit(request.dram, footprint)?;
        if self.session.asked_to_end().is_none() {
            self.session
                .prepare_tier(request.tier.as_ref(), footprint)?;
            self.run_all(limit)?;
        }
        Ok(Results {
            command: request.command.words.clone(),
            effective: Effective {
                dram: limit,
                footprint,
                footprint_measured: measured.is_some(),
                tier: self.session.tier().to_owned(),
                prefetch: request.prefetch.iter().map(ToString::to_string).collect(),
                page_cluster: sysctl::current().unwrap_or_default(),
                cgroup: self.session.cgroup_version(),
                kernel: kernel_release(),
                machine_memory: dram::total(),
                cpus: std::thread::available_parallelism().map_or(1, usize::from),
            },
            runs: std::mem::take(&mut self.runs),
            interrupted: self.session.asked_to_end(),
            left_behind: None,
        })
    }

    /// A first run without a limit tells the footprint. It is none of those compared, for it
    /// may find memory that was not used for long ([`dram::warm`]).
    fn measure(&mut self) -> Result<Bytes> {
        let notice = "a first run without a limit measures the footprint";
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
        self.session
            .run(&self.request.command, &way, limit, &mut |event| {
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

/// The least that a share of a footprint may come to.
const SMALLEST_SHARE: Bytes = Bytes(1 << 20);

/// The budget in bytes.
///
/// # Errors
/// A usage error where a share comes to too little, or is of a footprint that is not known.
pub fn limit(dram: Dram, footprint: Option<Bytes>) -> Result<Bytes> {
    match (dram, footprint) {
        (Dram::Bytes(bytes), _) => Ok(bytes),
        (Dram::Share(share), Some(footprint)) => {
            let bytes = Bytes((footprint.0 as f64 * share) as u64);
            if bytes < SMALLEST_SHARE {
                return Err(Error::usage(format!(
                    "{bytes} of DRAM, that share of a footprint of {footprint}, are too few to \
                     run in; give --footprint SIZE if the program was too short to measure, or \
                     --dram as a size"
                )));
            }
            Ok(bytes)
        }
        (Dram::Share(_), None) => Err(Error::usage(
            "a share of the footprint needs the footprint; give --footprint SIZE",
        )),
    }
}

/// The kernel's release, as `uname -r` prints it.
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
            tier: None,
            prefetch: prefetch.iter().map(spec).collect(),
            compare,
            repeat: 1,
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
        assert_eq!(
            names(&request(true, &["stream", "spatial"])),
            ["all-dram", "kernel", "kernel-cpf", "terrace", "terrace"]
        );
    }

    #[test]
    fn a_share_is_of_the_footprint() {
        let footprint = Some(Bytes(16 << 20));
        assert_eq!(limit(Dram::Share(0.25), footprint), Ok(Bytes(4 << 20)));
        let error = limit(Dram::Share(0.01), footprint).unwrap_err().to_string();
        assert!(error.contains("too few to run in"), "{error}");
        assert_eq!(limit(Dram::Bytes(Bytes(7)), None), Ok(Bytes(7)));
        assert!(limit(Dram::Share(0.5), None).is_err());
    }
}
