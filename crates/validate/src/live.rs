//! The live half: the program alternately with all the DRAM it wants and under its budget.

use terrace_base::{Bytes, Error, Result};
use terrace_live::machine::view::View;
use terrace_live::measure::limit;
use terrace_live::program::Invocation;
use terrace_live::program::input::Inputs;
use terrace_live::run::{Dram, Event, Outcome, Policies, Session, Way};
use terrace_live::tier::{self, Demand};
use terrace_sim::pages::Prefetch;

/// What is measured.
pub struct Plan<'a> {
    /// The program.
    pub command: &'a Invocation,
    /// Its DRAM.
    pub dram: Dram,
    /// Its footprint, without page cache; none: it is measured by a run of its own.
    pub footprint: Option<Bytes>,
    /// The tier for the rest.
    pub tier: &'a tier::Choice,
    /// How pages are fetched ahead.
    pub prefetch: &'a Prefetch,
}

/// What was measured.
#[derive(Clone)]
pub struct Measured {
    /// Runs with all the DRAM that the program wants.
    pub all_dram: Vec<Outcome>,
    /// Runs under the budget.
    pub limited: Vec<Outcome>,
    /// The budget.
    pub limit: Bytes,
    /// The footprint, without page cache.
    pub footprint: Bytes,
    /// What the program saw of memory limits.
    pub view: Option<View>,
}

impl Measured {
    /// Returns the most memory in huge pages, with all the DRAM.
    pub fn huge(&self) -> Bytes {
        self.most(|outcome| outcome.huge)
    }

    /// Returns the most memory that the kernel charged to the program for itself, with all the
    /// DRAM.
    pub fn kernel(&self) -> Bytes {
        self.most(|outcome| outcome.kernel)
    }

    fn most(&self, of: impl Fn(&Outcome) -> Bytes) -> Bytes {
        self.all_dram.iter().map(of).max().unwrap_or_default()
    }

    /// Adds later measurements of the same program under the same budget.
    pub fn extend(&mut self, later: Self) {
        self.all_dram.extend(later.all_dram);
        self.limited.extend(later.limited);
    }
}

/// Returns the way of running that fetches ahead so.
pub fn way(prefetch: &Prefetch) -> Way {
    match prefetch {
        Prefetch::Off => Way::KernelCpf,
        Prefetch::Readahead { .. } => Way::Kernel,
        Prefetch::Predictor(spec) => Way::Terrace(Policies::fetching(spec.clone())),
    }
}

/// Runs the program once each way, each run with the next of `inputs`; `progress` is called with
/// events.
///
/// # Errors
/// Returns a failure of the program or the machine.
pub fn measure(
    plan: &Plan,
    inputs: &mut Inputs,
    progress: &mut dyn FnMut(Event),
) -> Result<Measured> {
    let mut session = Session::open()?;
    let measured = measure_in(&mut session, plan, inputs, progress);
    session.close(&mut |text| progress(Event::Notice(text)))?;
    measured
}

fn measure_in(
    session: &mut Session,
    plan: &Plan,
    inputs: &mut Inputs,
    progress: &mut dyn FnMut(Event),
) -> Result<Measured> {
    let mut run = |session: &mut Session, way: &Way, limit| {
        let program = Invocation {
            input: inputs.next_run(),
            ..plan.command.clone()
        };
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
    };
    let footprint = match plan.footprint {
        Some(footprint) => footprint,
        None => {
            progress(Event::Notice("running it, to know its footprint"));
            run(session, &Way::AllDram, None)?.footprint
        }
    };
    let limit = limit::limit(plan.dram, Some(footprint))?;
    // Samples miss a peak, and a tier more than half full makes the kernel give up clean copies,
    // which then are written again: a difference between tiers, not between the two halves.
    let roomy = Bytes(footprint.0.saturating_mul(2));
    let demand = Demand {
        wanted: Some(Bytes(roomy.0.saturating_mul(2)).max(tier::SMALLEST)),
        least: roomy,
        allowed: plan.tier.allowed,
    };
    let spec = plan.tier.spec.as_ref();
    session.prepare_tier(spec, Some(roomy), &demand, progress)?;
    progress(Event::Notice("running it with all the DRAM it wants"));
    let all_dram = vec![run(session, &Way::AllDram, None)?];
    progress(Event::Notice(&format!("running it with {limit} of DRAM")));
    let limited = vec![run(session, &way(plan.prefetch), Some(limit))?];
    Ok(Measured {
        all_dram,
        limited,
        limit,
        footprint,
        view: session.view(plan.command),
    })
}
