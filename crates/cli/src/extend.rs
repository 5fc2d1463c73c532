//! `terrace extend`.

use std::process::ExitCode;

use terrace_base::{Bytes, Error, Exit, Result};
use terrace_extend::memory::{Memory, catalogue};
use terrace_extend::{Outcome, Session};
use terrace_live::dram::Dram;
use terrace_region::Settings;
use terrace_report::extend::{ExtendDocument, text};

use crate::args::Extend;
use crate::results::{Outputs, People};
use crate::screen::say;

pub fn extend(arguments: &Extend) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &arguments.inputs(), &[])?;
    let session = arguments.session()?;
    session.check()?;
    let (dram, outcome) = match arguments.dram {
        Dram::Bytes(bytes) => (bytes, session.run(Some(bytes))?),
        Dram::Share(share) => run_with_share(&session, share)?,
    };
    let catalogue = catalogue(session.memories.as_deref())?;
    let technology = match &session.memory {
        Memory::Technology(name) => Some(catalogue.get(name)?),
        Memory::Directory(_) | Memory::Device(_) => None,
    };
    let document = ExtendDocument::of(&session, dram, &outcome, technology);
    let people = People::beside_a_program(arguments.quiet);
    outputs.say(&document, &text(&document), people)?;
    outcome.exit.end_like()
}

/// Measures the footprint of the extended memory in a first run, and runs the program with a share of it.
fn run_with_share(session: &Session, share: f64) -> Result<(Bytes, Outcome)> {
    let measured = session.run(None)?;
    if let Exit::Signal(_) = measured.exit {
        say(&format!(
            "terrace: the program {} in the run that measures its footprint\n",
            measured.exit
        ));
        measured.exit.end_like();
    }
    let Some(figures) = measured.figures else {
        return Ok((Bytes(0), measured));
    };
    let pages = (figures.peak_footprint as f64 * share) as u64;
    if pages < Settings::LEAST_DRAM {
        return Err(Error::usage(format!(
            "{} % of the footprint is less than the {} pages that are needed; give more DRAM",
            share * 100.0,
            Settings::LEAST_DRAM
        )));
    }
    let dram = Bytes::of_pages(pages);
    Ok((dram, session.run(Some(dram))?))
}
