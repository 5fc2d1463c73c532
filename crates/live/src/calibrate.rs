//! What swapping costs on this machine: a probe of our own, run under a budget, and the device
//! behind the tier by itself.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Context, Error, Result};
use terrace_policy::PAGE_BYTES;

use crate::compare::kernel_release;
use crate::device::{self, Device};
use crate::journal::state_directory;
use crate::probe::Readings;
use crate::program::Invocation;
use crate::run::{Event, Session, Way};
use crate::tier::Spec;

/// DRAM of the probe.
const DRAM: Bytes = Bytes(72 << 20);
/// What of it is left to the probe's pages; the rest is for the kernel's and the program's own.
const PAGES: usize = (64 << 20) / PAGE_BYTES as usize;

/// What swapping costs on this machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// The tier, for people.
    pub tier: String,
    /// The kernel's release.
    pub kernel: String,
    /// What the probe measured through swap.
    pub swap: Readings,
    /// The device by itself; none where the tier is not a directory, for a device of its own
    /// must not be written to, and compressed memory is none.
    pub device: Option<Device>,
}

impl Calibration {
    /// Of several calibrations of one tier the median of each figure; none of none.
    pub fn median(calibrations: &[Self]) -> Option<Self> {
        let first = calibrations.first()?;
        let swap: Vec<Readings> = calibrations.iter().map(|one| one.swap).collect();
        let devices: Vec<Device> = calibrations
            .iter()
            .filter_map(|one| one.device.clone())
            .collect();
        Some(Self {
            swap: Readings::median(&swap),
            device: Device::median(&devices),
            ..first.clone()
        })
    }
}

/// Measures. `probe` is the command that runs [`crate::probe::tell`]; it is given the pages of
/// DRAM and the descriptor to which it tells.
///
/// # Errors
/// A usage error where the tier cannot be what was asked for, else a failure.
pub fn calibrate(probe: &[OsString], tier: Option<&Spec>) -> Result<Calibration> {
    let mut session = Session::open()?;
    let calibration = calibrate_in(&mut session, probe, tier);
    session.close()?;
    calibration
}

fn calibrate_in(
    session: &mut Session,
    probe: &[OsString],
    tier: Option<&Spec>,
) -> Result<Calibration> {
    let device = match tier {
        None => Some(device::measure(&state_directory())?),
        Some(Spec::Directory(directory)) => Some(device::measure(directory)?),
        Some(_) => None,
    };
    session.prepare_tier(tier, Some(Bytes(4 * DRAM.0)))?;
    Ok(Calibration {
        tier: session.tier().to_owned(),
        kernel: kernel_release(),
        swap: run_probe(session, probe)?,
        device,
    })
}

fn run_probe(session: &mut Session, probe: &[OsString]) -> Result<Readings> {
    let (mut reader, writer) = io::pipe().or_fail(|| "cannot make a pipe".into())?;
    // SAFETY: clears a flag of a descriptor that is ours and open, so that the probe gets it.
    if unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFD, 0) } != 0 {
        let error = io::Error::last_os_error();
        return Err(error).or_fail(|| "cannot hand a pipe on".into());
    }
    let mut command = probe.to_vec();
    command.push(PAGES.to_string().into());
    command.push(writer.as_raw_fd().to_string().into());
    let observer = &mut |_: Event| {};
    let outcome = session.run(
        &Invocation::from(command),
        &Way::KernelCpf,
        Some(DRAM),
        observer,
    )?;
    drop(writer);
    let mut told = String::new();
    let read = reader.read_to_string(&mut told);
    read.or_fail(|| "cannot read what the probe measured".into())?;
    if !outcome.exit.success() {
        return Err(match session.asked_to_end() {
            Some(signal) => Error::failure(format!("ended by signal {signal} while measuring")),
            None => Error::failure(
                "the probe failed; see what it said above, and check with `terrace doctor`",
            ),
        });
    }
    serde_json::from_str(&told)
        .map_err(|error| Error::failure(format!("the probe told no readings: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Depth;

    /// All figures are `value`; those of the device twice that.
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
