//! A validation from beginning to end.

use std::ffi::OsString;
use std::path::PathBuf;

use terrace_base::{Bytes, Error, Nanos, Result, median};
use terrace_live::fetch::readahead::neighbours;
use terrace_live::group::counters::kernel_drops_zeros;
use terrace_live::machine::sysctl;
use terrace_live::measure::calibrate::{Calibration, calibrate};
use terrace_live::measure::limit::require;
use terrace_live::program::Invocation;
use terrace_live::program::input::Inputs;
use terrace_live::run::{Dram, Event, Outcome, Session};
use terrace_live::system::privilege;
use terrace_live::tier;
use terrace_policy::prefetch::Neighbours;
use terrace_sim::pages::{Around, Prefetch, ZeroPages, names};
use terrace_trace::record::{Level, RecordSettings, Recorded, Tools};

use crate::live::{Measured, Plan, measure};
use crate::machine::machine;
use crate::predict::{Predicted, predict};
use crate::record::{check_program, record};

/// The `vm.page-cluster` of a machine that does not tell it: the kernel's default.
const PAGE_CLUSTER: u32 = 3;

/// What is validated.
pub struct Request {
    /// The program. Its standard input is that of this process.
    pub command: Invocation,
    /// Its DRAM.
    pub dram: Dram,
    /// The tier for the rest.
    pub tier: tier::Choice,
    /// How pages are fetched ahead.
    pub prefetch: Prefetch,
    /// How often each way is run live.
    pub repeat: usize,
    /// An earlier calibration of the machine; none: it is measured.
    pub calibration: Option<Calibration>,
    /// An earlier trace of the program; none: it is recorded.
    pub trace: Option<PathBuf>,
    /// The command of the probe, see [`calibrate`].
    pub probe: Vec<OsString>,
}

/// The results of both halves.
pub struct Results {
    /// What was run.
    pub command: Vec<OsString>,
    /// How pages were fetched ahead.
    pub prefetch: Prefetch,
    /// The machine.
    pub calibration: Calibration,
    /// What the recording took; none where a trace was given.
    pub recorded: Option<Recorded>,
    /// What was measured.
    pub live: Measured,
    /// What was predicted.
    pub predicted: Predicted,
}

impl Results {
    /// Whether the machine swapped while the program had all the DRAM it wants: pages of other
    /// programs, whose reads and writes delay this program.
    pub fn is_disturbed(&self) -> bool {
        let swapped = |outcome: &Outcome| outcome.tier_read.0 + outcome.tier_written.0 > 0;
        self.live.all_dram.iter().any(swapped)
    }
}

/// Parses a way to fetch ahead; `readahead` is what the kernel does with this machine's setting and
/// a tier like this: single pages, if the tier is memory.
///
/// # Errors
/// Returns a usage error if there is no such way.
pub fn parse_prefetch(text: &str, tier: &tier::Choice) -> Result<Prefetch> {
    let cluster = sysctl::current().and_then(|text| text.parse().ok());
    let cluster = cluster.unwrap_or(PAGE_CLUSTER);
    if text != "readahead" {
        return names::parse_prefetch(text, cluster);
    }
    let around = match neighbours(&tier.places()) {
        Some(Neighbours::Slots) => Around::Slots,
        Some(Neighbours::Addresses) => Around::Addresses,
        None => return Ok(Prefetch::Off),
    };
    Ok(Prefetch::Readahead { cluster, around })
}

/// Carries a request out; `progress` is called with events.
///
/// # Errors
/// Returns a usage error if the request cannot be carried out; otherwise a failure of a run or the
/// machine.
pub fn perform(request: Request, progress: &mut dyn FnMut(Event)) -> Result<Results> {
    if let Some(trace) = &request.trace {
        check_program(trace, &request.command.words)?;
    }
    request.command.find()?;
    require(request.dram)?;
    let spec = request.tier.spec.as_ref();
    spec.map_or(Ok(()), tier::Spec::require_swap)?;
    privilege::require()?;
    let tools = request.trace.is_none().then(Tools::find).transpose()?;
    let mut inputs = inputs(&request, progress)?;
    let (live, calibration) = observe(&request, &mut inputs, progress)?;
    let recording = match &tools {
        Some(tools) => {
            progress(Event::Notice(
                "recording it, many times slower than it runs",
            ));
            let command = Invocation {
                input: inputs.next_run(),
                ..request.command.clone()
            };
            let pages = RecordSettings {
                level: Level::Pages,
                ..RecordSettings::default()
            };
            Some(record(tools, &command, pages, None)?)
        }
        None => None,
    };
    let trace = match &recording {
        Some((_, trace)) => trace.path(),
        None => request.trace.unwrap_or_default(),
    };
    progress(Event::Notice("simulating it"));
    let zero_pages = match kernel_drops_zeros() {
        true => ZeroPages::Dropped,
        false => ZeroPages::Written,
    };
    let predicted = predict(
        &trace,
        &machine(&calibration),
        pages_left(live.limit, live.kernel()),
        &request.prefetch,
        Nanos(median(live.all_dram.iter().map(|o| o.wall.as_nanos() as f64)) as u64),
        zero_pages,
    )?;
    if predicted.zero_pages != zero_pages {
        progress(Event::Notice(
            "the trace does not tell which pages are zeros, which this kernel neither writes nor reads; record it anew",
        ));
    }
    Ok(Results {
        command: request.command.words,
        prefetch: request.prefetch,
        calibration,
        recorded: recording.map(|(recorded, _)| recorded),
        live,
        predicted,
    })
}

/// Prepares the standard input of all runs: the run for the footprint, the measured and the
/// recorded runs.
fn inputs(request: &Request, progress: &mut dyn FnMut(Event)) -> Result<Inputs> {
    let session = Session::open()?;
    let runs = 1 + 2 * request.repeat.max(1) + usize::from(request.trace.is_none());
    let interrupted = || session.asked_to_end().is_some();
    let inputs = Inputs::prepare(
        runs,
        &interrupted,
        request.tier.spec.as_ref(),
        &mut |text| {
            progress(Event::Notice(text));
        },
    )?;
    let asked_to_end = session.asked_to_end();
    session.close(&mut |text| progress(Event::Notice(text)))?;
    match asked_to_end {
        Some(signal) => Err(Error::failure(format!(
            "ended by signal {signal} before anything was measured"
        ))),
        None => Ok(inputs),
    }
}

/// Runs the program, and measures the machine before each run: a device that is shared varies in
/// speed.
fn observe(
    request: &Request,
    inputs: &mut Inputs,
    progress: &mut dyn FnMut(Event),
) -> Result<(Measured, Calibration)> {
    let mut plan = Plan {
        command: &request.command,
        dram: request.dram,
        footprint: None,
        tier: &request.tier,
        prefetch: &request.prefetch,
    };
    let mut calibrations: Vec<Calibration> = request.calibration.iter().cloned().collect();
    let mut all: Option<Measured> = None;
    for _ in 0..request.repeat.max(1) {
        if request.calibration.is_none() {
            progress(Event::Notice(
                "measuring what swapping costs on this machine",
            ));
            calibrations.push(calibrate(&request.probe, plan.tier, progress)?);
        }
        let measured = measure(&plan, inputs, progress)?;
        (plan.dram, plan.footprint) = (Dram::Bytes(measured.limit), Some(measured.footprint));
        match &mut all {
            Some(all) => all.extend(measured),
            None => all = Some(measured),
        }
    }
    all.zip(Calibration::median(&calibrations))
        .ok_or_else(|| Error::failure("nothing was measured"))
}

/// Returns the pages of a budget that are left to the program: the kernel charges its own memory,
/// too.
fn pages_left(limit: Bytes, kernel: Bytes) -> usize {
    Bytes(limit.0.saturating_sub(kernel.0)).pages() as usize
}
