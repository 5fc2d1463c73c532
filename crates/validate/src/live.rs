//! The live half: the program with all the DRAM it wants, and under its budget, in turn.

use std::ffi::OsString;

use terrace_base::{Bytes, Error, Result};
use terrace_live::compare;
use terrace_live::program::Invocation;
use terrace_live::run::{Dram, Event, Outcome, Session, Way};
use terrace_live::tier;
use terrace_sim::pages::Prefetch;

/// What is run.
pub struct Plan<'a> {
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Its DRAM.
    pub dram: Dram,
    /// Its footprint, without page cache; none measures it by a run that does not count.
    pub footprint: Option<Bytes>,
    /// Where the rest goes.
    pub tier: Option<&'a tier::Spec>,
    /// What is fetched ahead.
    pub prefetch: &'a Prefetch,
}

/// What was measured.
#[derive(Clone)]
pub struct Measured {
    /// With all the DRAM it wants.
    pub all_dram: Vec<Outcome>,
    /// Under its budget.
    pub limited: Vec<Outcome>,
    /// The budget.
    pub limit: Bytes,
    /// The footprint, without page cache.
    pub footprint: Bytes,
}

impl Measured {
    /// The most memory in huge pages with all the DRAM.
    pub fn huge(&self) -> Bytes {
        self.most(|outcome| outcome.huge)
    }

    /// The most that the kernel had charged to the program for itself, with all the DRAM.
    pub fn kernel(&self) -> Bytes {
        self.most(|outcome| outcome.kernel)
    }

    fn most(&self, of: impl Fn(&Outcome) -> Bytes) -> Bytes {
        self.all_dram.iter().map(of).max().unwrap_or_default()
    }

    /// Adds what was measured later of the same program under the same budget.
    pub fn extend(&mut self, later: Self) {
        self.all_dram.extend(later.all_dram);
        self.limited.extend(later.limited);
    }
}

/// The way in which the kernel and we fetch ahead.
pub fn way(prefetch: &Prefetch) -> Way {
    match prefetch {
        Prefetch::Off => Way::KernelCpf,
        Prefetch::Readahead { .. } => Way::Kernel,
        Prefetch::Predictor(spec) => Way::Terrace(spec.clone()),
    }
}

/// Runs it once each way. `told` is told what goes on.
///
/// # Errors
/// A failure where the program fails, or the machine does.
pub fn measure(plan: &Plan, told: &mut dyn FnMut(&str)) -> Result<Measured> {
    let mut session = Session::open()?;
    let measured = measure_in(&mut session, plan, told);
    session.close()?;
    measured
}

fn measure_in(session: &mut Session, plan: &Plan, told: &mut dyn FnMut(&str)) -> Result<Measured> {
    let footprint = match plan.footprint {
        Some(footprint) => footprint,
        None => {
            told("running it, to know its footprint");
            run(session, plan, &Way::AllDram, None)?.footprint
        }
    };
    let limit = compare::limit(plan.dram, Some(footprint))?;
    // Samples miss a peak, and a tier more than half full makes the kernel give up clean copies,
    // which then are written again: a difference between tiers, not between the two halves.
    let roomy = Bytes(footprint.0.saturating_mul(2));
    session.prepare_tier(plan.tier, Some(roomy))?;
    told("running it with all the DRAM it wants");
    let all_dram = run(session, plan, &Way::AllDram, None)?;
    told(&format!("running it with {limit} of DRAM"));
    let limited = run(session, plan, &way(plan.prefetch), Some(limit))?;
    Ok(Measured {
        all_dram: vec![all_dram],
        limited: vec![limited],
        limit,
        footprint,
    })
}

fn run(session: &mut Session, plan: &Plan, way: &Way, limit: Option<Bytes>) -> Result<Outcome> {
    let program = Invocation::from(plan.command.to_vec());
    let outcome = session.run(&program, way, limit, &mut |_: Event| {})?;
    if let Some(signal) = session.asked_to_end() {
        return Err(Error::failure(format!(
            "ended by signal {signal} before all was measured"
        )));
    }
    match outcome.exit.success() {
        true => Ok(outcome),
        false => Err(Error::failure(format!(
            "the program failed in the way {}; only what succeeds can be compared",
            way.name()
        ))),
    }
}
