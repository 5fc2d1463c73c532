//! `terrace extend`.

use std::process::ExitCode;

use terrace_base::{Bytes, Error, Exit, Result, program};
use terrace_extend::memory::{Memory, catalogue};
use terrace_extend::{Outcome, Session};
use terrace_live::steer::placement::{Answers, Placement};
use terrace_live::system::dram::Dram;
use terrace_region::Settings;
use terrace_report::extend::{ExtendDocument, text};

use crate::args::Extend;
use crate::results::{Outputs, People};
use crate::run::placement;
use crate::screen::say;

pub fn extend(arguments: &Extend) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &arguments.inputs(), &[])?;
    let mut session = arguments.session()?;
    session.check()?;
    let placement = arguments.place.as_deref().map(placement).transpose()?;
    if let Some(placement) = &placement {
        placement.check_program(&program::find(&session.command)?)?;
    }
    let dram = match arguments.dram {
        Dram::Bytes(bytes) => Ok(bytes),
        Dram::Share(share) => share_of(&session, share)?,
    };
    let (dram, outcome) = match dram {
        Ok(dram) => (dram, run_placed(&mut session, placement.as_ref(), dram)?),
        Err(measured) => (Bytes(0), measured),
    };
    let catalogue = catalogue(session.memories.as_deref())?;
    let technology = match &session.memory {
        Memory::Emulated(emulation) => Some(catalogue.get(&emulation.technology)?),
        Memory::Directory(_) | Memory::Device(_) => None,
    };
    let document = ExtendDocument::of(&session, dram, &outcome, technology);
    let people = People::beside_a_program(arguments.quiet);
    outputs.say(&document, &text(&document), people)?;
    outcome.exit.end_like()
}

/// Runs the program with this much DRAM for its large memory: that of placed objects, and the bound
/// of the rest.
fn run_placed(
    session: &mut Session,
    placement: Option<&Placement>,
    dram: Bytes,
) -> Result<Outcome> {
    let Some(placement) = placement else {
        return session.run(Some(dram));
    };
    let rest = placement.rest(dram)?;
    let answers = Answers::start(placement, None)?;
    session.environment.push(answers.variable());
    let outcome = session.run(Some(rest))?;
    if answers.finish().sites == 0 {
        say("terrace: the program has allocated no large object at any of the placement's sites\n");
    }
    Ok(outcome)
}

/// Measures the footprint of the extended memory in a first run, and returns a share of it; or what
/// came of that run, where there is no such memory.
fn share_of(session: &Session, share: f64) -> Result<std::result::Result<Bytes, Outcome>> {
    let measured = session.run(None)?;
    if let Exit::Signal(_) = measured.exit {
        say(&format!(
            "terrace: the program {} in the run that measures its footprint\n",
            measured.exit
        ));
        measured.exit.end_like();
    }
    let Some(figures) = measured.figures else {
        return Ok(Err(measured));
    };
    let pages = (figures.peak_footprint as f64 * share) as u64;
    if pages < Settings::LEAST_DRAM {
        return Err(Error::usage(format!(
            "{} % of the footprint is less than the {} pages that are needed; give more DRAM",
            share * 100.0,
            Settings::LEAST_DRAM
        )));
    }
    Ok(Ok(Bytes::of_pages(pages)))
}
