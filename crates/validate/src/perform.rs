//! A validation from its beginning to its end.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use terrace_base::{Bytes, Context, Error, Nanos, Result};
use terrace_live::calibrate::{Calibration, calibrate};
use terrace_live::run::{Dram, Outcome};
use terrace_live::{privilege, program, tier};
use terrace_policy::PAGE_BYTES;
use terrace_sim::pages::Prefetch;
use terrace_trace::record::Tools;

use crate::live::{Measured, Plan, measure};
use crate::machine::machine;
use crate::predict::{Predicted, predict};
use crate::record::{Recorded, record};

/// What is validated.
pub struct Request {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Its DRAM.
    pub dram: Dram,
    /// Where the rest goes; none is a swap file in the state directory.
    pub tier: Option<tier::Spec>,
    /// What is fetched ahead.
    pub prefetch: Prefetch,
    /// How often each way is run live.
    pub repeat: usize,
    /// What was measured of the machine before; none measures it now.
    pub calibration: Option<Calibration>,
    /// What was recorded of the program before; none records it now.
    pub trace: Option<PathBuf>,
    /// The command of the probe, see [`calibrate`].
    pub probe: Vec<OsString>,
}

/// Both halves.
pub struct Results {
    /// What was run.
    pub command: Vec<OsString>,
    /// What was fetched ahead.
    pub prefetch: Prefetch,
    /// The machine.
    pub calibration: Calibration,
    /// What the recording took; none where it was given.
    pub recorded: Option<Recorded>,
    /// What was measured.
    pub live: Measured,
    /// What was predicted.
    pub predicted: Predicted,
}

impl Results {
    /// Whether the machine swapped while the program had all the DRAM it wants: somebody else's
    /// pages then, and their reads and writes delay ours.
    pub fn is_disturbed(&self) -> bool {
        let swapped = |outcome: &Outcome| outcome.tier_read.0 + outcome.tier_written.0 > 0;
        self.live.all_dram.iter().any(swapped)
    }
}

/// Carries a request out; `told` is told what goes on.
///
/// # Errors
/// A usage error where it cannot be, else a failure of ours or the machine's.
pub fn perform(request: Request, told: &mut dyn FnMut(&str)) -> Result<Results> {
    program::find(&request.command)?;
    privilege::require()?;
    let tools = match request.trace {
        Some(_) => None,
        None => Some(Tools::find()?),
    };
    let (live, calibration) = observe(&request, told)?;
    let folder = tempfile::tempdir().or_fail(|| "cannot make a directory for the trace".into())?;
    let mut recorded = None;
    let trace = request
        .trace
        .unwrap_or_else(|| folder.path().join("trace.parquet"));
    if let Some(tools) = &tools {
        told("recording it, many times slower than it runs");
        recorded = Some(record(tools, &request.command, &trace, &mut |_| {})?);
    }
    told("simulating it");
    let predicted = predict(
        &trace,
        &machine(&calibration),
        pages_left(live.limit, live.kernel()),
        &request.prefetch,
        nanos(median(&live.all_dram)),
    )?;
    Ok(Results {
        command: request.command,
        prefetch: request.prefetch,
        calibration,
        recorded,
        live,
        predicted,
    })
}

/// Runs the program, and measures the machine before each time: a device that others use as well
/// is now faster, now slower.
fn observe(request: &Request, told: &mut dyn FnMut(&str)) -> Result<(Measured, Calibration)> {
    let mut plan = Plan {
        command: &request.command,
        dram: request.dram,
        footprint: None,
        tier: request.tier.as_ref(),
        prefetch: &request.prefetch,
    };
    let mut calibrations: Vec<Calibration> = request.calibration.iter().cloned().collect();
    let mut all: Option<Measured> = None;
    for _ in 0..request.repeat.max(1) {
        if request.calibration.is_none() {
            told("measuring what swapping costs on this machine");
            calibrations.push(calibrate(&request.probe, plan.tier)?);
        }
        let measured = measure(&plan, told)?;
        (plan.dram, plan.footprint) = (Dram::Bytes(measured.limit), Some(measured.footprint));
        match &mut all {
            Some(all) => all.extend(measured),
            None => all = Some(measured),
        }
    }
    all.zip(Calibration::median(&calibrations))
        .ok_or_else(|| Error::failure("nothing was measured"))
}

/// Pages that a budget leaves to the program: the kernel charges its own to it as well.
fn pages_left(limit: Bytes, kernel: Bytes) -> usize {
    (limit.0.saturating_sub(kernel.0) / PAGE_BYTES) as usize
}

fn nanos(time: Duration) -> Nanos {
    Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// The median of the run times; there is at least one.
fn median(outcomes: &[Outcome]) -> Duration {
    let mut walls: Vec<Duration> = outcomes.iter().map(|outcome| outcome.wall).collect();
    walls.sort();
    let (low, high) = ((walls.len() - 1) / 2, walls.len() / 2);
    (walls[low] + walls[high]) / 2
}
