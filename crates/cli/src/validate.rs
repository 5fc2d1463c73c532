//! `terrace validate`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Context, Error, Result};
use terrace_live::calibrate::Calibration;
use terrace_live::program::Invocation;
use terrace_report::calibrate;
use terrace_report::validate::{ValidationDocument, text};
use terrace_validate::perform::{Request, parse_prefetch, perform};

use crate::args;
use crate::calibrate::command_of_probe;
use crate::results::{Outputs, People};
use crate::screen::{Place, Screen};

pub fn validate(arguments: args::Validate) -> Result<ExitCode> {
    let files = [
        ("--calibration", &arguments.calibration),
        ("--trace", &arguments.trace),
    ];
    let inputs = files.map(|(option, path)| Some((option, path.as_deref()?)));
    let mut inputs: Vec<_> = inputs.into_iter().flatten().collect();
    let program = arguments.program.first();
    inputs.extend(program.map(|program| ("PROGRAM", Path::new(program))));
    inputs.extend(arguments.tier.device());
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let quiet = arguments.quiet;
    let mut screen = Screen::new(Place::Line, quiet);
    let request = Request {
        prefetch: parse_prefetch(&arguments.prefetch)?,
        command: Invocation {
            words: arguments.program,
            user: arguments.user.chosen()?,
            ..Invocation::default()
        },
        dram: arguments.dram,
        tier: arguments.tier.spec(),
        repeat: arguments.repeat as usize,
        calibration: arguments.calibration.as_deref().map(load).transpose()?,
        trace: arguments.trace,
        probe: command_of_probe()?,
    };
    let results = perform(request, &mut |event| screen.say(event))?;
    let document = ValidationDocument::of(&results);
    outputs.say(&document, &text(&document), People::beside_a_program(quiet))?;
    Ok(ExitCode::SUCCESS)
}

fn load(path: &Path) -> Result<Calibration> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).or_fail(|| format!("cannot read the readings `{name}`"))?;
    calibrate::CalibrationDocument::parse(&text).map_err(|why| {
        Error::usage(format!(
            "`{name}` has no readings: {why}; terrace calibrate --json FILE writes them"
        ))
    })
}
