//! Measures the cost of swapping on this machine: by a probe that runs under a budget, and of the
//! device behind the tier by itself.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use terrace_base::{Bytes, Context, Error, Result, median};
use terrace_policy::PAGE_BYTES;

use crate::journal::state_directory;
use crate::measure::device::{self, Device};
use crate::measure::probe::Readings;
use crate::program::Invocation;
use crate::run::{Event, Session, Way};
use crate::tier::{Choice, Demand, Spec};
use terrace_base::kernel;

/// DRAM of the probe.
const DRAM: Bytes = Bytes(72 << 20);
/// Share of it for the pages that the probe touches; the rest is for page tables and the program.
const PAGES: usize = (64 << 20) / PAGE_BYTES as usize;

/// Cost of swapping on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Description of the tier for people.
    pub tier: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Measurements of the probe, through swap.
    pub swap: Readings,
    /// The device by itself; `None` unless the tier is a directory: a block device must not be
    /// written to, and compressed memory has none.
    pub device: Option<Device>,
}

impl Calibration {
    /// Returns the median of each figure of several calibrations of one tier; `None` of none.
    pub fn median(calibrations: &[Self]) -> Option<Self> {
        let several = calibrations.iter().map(serde_json::to_value);
        let several = several.collect::<serde_json::Result<Vec<_>>>().ok()?;
        serde_json::from_value(median_of(&several)).ok()
    }
}

/// Returns several documents of one shape as one: the median of each figure, which has a fraction,
/// and all else as in the first.
fn median_of(several: &[Value]) -> Value {
    let part = |of: &dyn Fn(&Value) -> Option<&Value>| {
        let parts: Vec<Value> = several.iter().filter_map(of).cloned().collect();
        median_of(&parts)
    };
    match several.first() {
        Some(Value::Object(first)) => {
            let member = |key: &String| (key.clone(), part(&|one| one.get(key)));
            first.keys().map(member).collect()
        }
        Some(Value::Array(first)) => (0..first.len())
            .map(|index| part(&|one| one.get(index)))
            .collect(),
        Some(Value::Number(first)) if first.is_f64() => {
            median(several.iter().filter_map(Value::as_f64)).into()
        }
        Some(first) => first.clone(),
        None => Value::Null,
    }
}

/// Measures. `probe` is the command that runs [`crate::measure::probe::tell`]; it gets the number
/// of pages of DRAM and the descriptor for its results as arguments. Waits for its turn, as a
/// comparison does.
///
/// # Errors
/// A usage error if the tier cannot be what was asked for; otherwise a failure.
pub fn calibrate(
    probe: &[OsString],
    tier: &Choice,
    observer: &mut dyn FnMut(Event),
) -> Result<Calibration> {
    tier.spec.as_ref().map_or(Ok(()), Spec::require_swap)?;
    let mut session = Session::open()?;
    tier.spec.as_ref().map_or(Ok(()), Spec::check)?;
    let turn = session.await_comparison_lock(&mut |text| observer(Event::Notice(text)))?;
    if let Some(signal) = session.asked_to_end() {
        return Err(interrupted(signal));
    }
    let calibration = calibrate_in(&mut session, probe, tier, observer);
    drop(turn);
    session.close(&mut |text| observer(Event::Notice(text)))?;
    calibration
}

fn calibrate_in(
    session: &mut Session,
    probe: &[OsString],
    tier: &Choice,
    observer: &mut dyn FnMut(Event),
) -> Result<Calibration> {
    let spec = tier.spec.as_ref();
    let device = match spec {
        None => Some(device::measure(&state_directory())?),
        Some(Spec::Directory(directory)) => Some(device::measure(directory)?),
        Some(_) => None,
    };
    let footprint = Bytes(4 * DRAM.0);
    // In a tier that gets more than half full the probe would measure lost copies as well.
    let roomy = Bytes(2 * footprint.0);
    let demand = Demand {
        wanted: Some(roomy),
        least: roomy,
        allowed: tier.allowed,
    };
    session.prepare_tier(spec, Some(footprint), &demand, observer)?;
    Ok(Calibration {
        tier: session.tier(),
        kernel: kernel::release(),
        swap: run_probe(session, probe)?,
        device,
    })
}

fn run_probe(session: &mut Session, probe: &[OsString]) -> Result<Readings> {
    let (mut reader, writer) = io::pipe().or_fail(|| "cannot make a pipe".into())?;
    // SAFETY: clears a flag of a descriptor that is ours and open, so that the probe inherits it.
    if unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFD, 0) } != 0 {
        let error = io::Error::last_os_error();
        return Err(error).or_fail(|| "cannot hand a pipe on".into());
    }
    let mut command = probe.to_vec();
    command.push(PAGES.to_string().into());
    command.push(writer.as_raw_fd().to_string().into());
    let (program, observer) = (Invocation::from(command), &mut |_: Event| {});
    let outcome = session.run(&program, &Way::KernelCpf, Some(DRAM), observer)?;
    drop(writer);
    let mut told = String::new();
    let read = reader.read_to_string(&mut told);
    read.or_fail(|| "cannot read what the probe measured".into())?;
    if !outcome.exit.success() {
        return Err(match session.asked_to_end() {
            Some(signal) => interrupted(signal),
            None => Error::failure(
                "the probe failed; see what it said above, and check with `terrace doctor`",
            ),
        });
    }
    serde_json::from_str(&told)
        .map_err(|error| Error::failure(format!("the probe told no readings: {error}")))
}

fn interrupted(signal: i32) -> Error {
    Error::failure(format!("ended by signal {signal} while measuring"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::device::Depth;

    /// A calibration whose figures are `value`, and twice that for the device.
    fn calibration(value: f64, with_device: bool) -> Calibration {
        let device = Device {
            read_ns: 2.0 * value,
            reads: vec![Depth {
                depth: 4,
                per_second: 2.0 * value,
            }],
            ..Device::default()
        };
        Calibration {
            tier: "a disk".to_owned(),
            kernel: "6.18".to_owned(),
            swap: Readings {
                fault: value,
                fetch: -value,
                ..Readings::default()
            },
            device: with_device.then_some(device),
        }
    }

    #[test]
    fn each_figure_is_a_median() {
        let several = [5.0, 1.0, 3.0].map(|value| calibration(value, true));
        let median = Calibration::median(&several).unwrap();
        assert_eq!(median, calibration(3.0, true));
        let two = [1.0, 2.0].map(|value| calibration(value, false));
        assert_eq!(Calibration::median(&two).unwrap(), calibration(1.5, false));
        assert_eq!(Calibration::median(&[]), None);
    }
}
