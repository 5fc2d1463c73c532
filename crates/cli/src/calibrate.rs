//! `terrace calibrate`, and the program that it runs.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::process::ExitCode;

use terrace_base::{Context, Error, Output, Result};
use terrace_live::sched::cache::Cache;
use terrace_report::calibrate::{CalibrationDocument, text};

use crate::args;
use crate::results::{Outputs, People};
use crate::screen::{Place, Screen};

pub fn calibrate(arguments: args::Calibrate) -> Result<ExitCode> {
    let machine = arguments.machine.as_deref();
    let others: Vec<_> = machine
        .map(|path| ("--machine", path))
        .into_iter()
        .collect();
    let inputs: Vec<_> = arguments.tier.device().into_iter().collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &others)?;
    // Opened first: minutes of measuring shall not end in a path that cannot be written.
    let to_machine = machine.map(Output::create).transpose()?;
    let tier = arguments.tier.choice();
    let mut screen = Screen::new(Place::Line, false);
    let probe = command_of_probe()?;
    let calibration =
        terrace_live::measure::calibrate::calibrate(&probe, &tier, &mut |event| screen.say(event))?;
    let machine = terrace_validate::machine::machine(&calibration);
    let cache = Cache::measure();
    let text = text(&calibration, &machine, &cache);
    if let Some(file) = to_machine {
        file.finish(machine.to_toml()?.as_bytes())?;
    }
    outputs.say(
        &CalibrationDocument::new(calibration, cache),
        &text,
        People::Standard,
    )?;
    Ok(ExitCode::SUCCESS)
}

pub fn probe(arguments: &args::Probe) -> Result<ExitCode> {
    if arguments.pages == 0 || arguments.descriptor <= 2 {
        return Err(Error::usage(
            "this command is for terrace calibrate; run that one",
        ));
    }
    // SAFETY: the calibration that started this process passed the descriptor for it to own; where
    // it is not open, writing fails.
    let mut to = unsafe { File::from_raw_fd(arguments.descriptor) };
    terrace_live::measure::probe::tell(arguments.pages, &mut to)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the command line of the probe, which is this program, without its last arguments.
pub fn command_of_probe() -> Result<Vec<OsString>> {
    let own = std::env::current_exe().or_fail(|| "cannot find this program's file".into())?;
    Ok(vec![own.into(), "probe".into()])
}
