//! `terrace validate`.

use std::io::Write;
use std::process::ExitCode;

use terrace_base::{Context, Error, Result};
use terrace_live::calibrate::Calibration;
use terrace_live::sysctl;
use terrace_report::calibrate;
use terrace_report::validate::{Document, text};
use terrace_sim::pages::names::parse_prefetch;
use terrace_validate::perform::{Request, perform};

use crate::args;
use crate::calibrate::{command_of_probe, save};

/// The kernel's readahead where it does not say: its default.
const PAGE_CLUSTER: u32 = 3;

pub fn validate(arguments: args::Validate) -> Result<ExitCode> {
    let cluster = sysctl::current().and_then(|text| text.parse().ok());
    let quiet = arguments.quiet;
    let request = Request {
        prefetch: parse_prefetch(&arguments.prefetch, cluster.unwrap_or(PAGE_CLUSTER))?,
        command: arguments.program,
        dram: arguments.dram,
        tier: arguments.tier,
        repeat: arguments.repeat as usize,
        calibration: arguments.calibration.as_deref().map(load).transpose()?,
        trace: arguments.trace,
        probe: command_of_probe()?,
    };
    let results = perform(request, &mut |what| {
        if !quiet {
            let _ = writeln!(std::io::stderr(), "terrace: {what}");
        }
    })?;
    let document = Document::of(&results);
    // The program's own output went to stdout.
    let _ = std::io::stderr().write_all(text(&document).as_bytes());
    if let Some(path) = &arguments.json {
        save(path, &document.to_json())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn load(path: &std::path::Path) -> Result<Calibration> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).or_fail(|| format!("cannot read the readings `{name}`"))?;
    calibrate::Document::parse(&text).map_err(|why| {
        Error::usage(format!(
            "`{name}` has no readings: {why}; terrace calibrate --json FILE writes them"
        ))
    })
}
