//! `terrace validate`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::{Context, Error, Result};
use terrace_live::measure::calibrate::Calibration;
use terrace_live::program::Invocation;
use terrace_live::program::input::Input;
use terrace_report::calibrate;
use terrace_report::validate::mix::{MixValidationDocument, text as validation_of_mix};
use terrace_report::validate::{ValidationDocument, text};
use terrace_validate::mix::perform as mix;
use terrace_validate::perform::{Request, parse_prefetch, perform};

use crate::args;
use crate::args::sched::several;
use crate::args::validate::{Other, ValidateMix};
use crate::calibrate::command_of_probe;
use crate::results::{Outputs, People};
use crate::sched::settings;
use crate::screen::{Place, Screen, say};

pub fn validate(arguments: args::Validate) -> Result<ExitCode> {
    match arguments.other {
        Some(Other::Mix(mix)) => validate_mix(&mix),
        None => validate_program(arguments),
    }
}

fn validate_mix(arguments: &ValidateMix) -> Result<ExitCode> {
    let program = arguments.programs.first();
    let program = program.map(|program| ("PROGRAM", Path::new(program)));
    let inputs: Vec<_> = program.into_iter().collect();
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let user = arguments.user.chosen()?;
    let programs = several(&arguments.programs)?.into_iter();
    let request = mix::Request {
        programs: programs
            .map(|program| Invocation {
                input: Input::Empty,
                user: user.clone(),
                huge_pages: true,
                ..program
            })
            .collect(),
        policies: arguments.turns.slice.policies(true)?,
        settings: settings(&arguments.turns, false)?,
        repeat: arguments.repeat as usize,
        rows: arguments.rows,
    };
    let quiet = arguments.quiet;
    let results = mix::perform(&request, &mut |notice| {
        if !quiet {
            say(&format!("terrace: {notice}\n"));
        }
    })?;
    let document = MixValidationDocument::of(&results);
    let people = People::beside_a_program(quiet);
    outputs.say(&document, &validation_of_mix(&document), people)?;
    Ok(ExitCode::SUCCESS)
}

fn validate_program(arguments: args::Validate) -> Result<ExitCode> {
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
    let tier = arguments.tier.choice();
    let request = Request {
        prefetch: parse_prefetch(&arguments.prefetch, &tier)?,
        command: Invocation {
            words: arguments.program,
            user: arguments.user.chosen()?,
            sees_limit: arguments.view.see_limit,
            ..Invocation::default()
        },
        dram: arguments.dram,
        tier,
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
