//! `terrace sim llc`.

use std::process::ExitCode;

use terrace_base::{Result, User};
use terrace_results::llc::{Input, LlcDocument, text};
use terrace_trace::record::{Request, Session, Tools};

use crate::args::level::Level;
use crate::args::llc::Llc;
use crate::level::level;
use crate::progress::Bars;
use crate::record::say_remarks;
use crate::results::{Outputs, People};

pub fn llc(arguments: &Llc) -> Result<ExitCode> {
    match arguments.program.is_empty() {
        true => level(arguments),
        false => beside_a_program(arguments),
    }
}

/// Runs the program and simulates it at the same time.
fn beside_a_program(arguments: &Llc) -> Result<ExitCode> {
    let (simulation, common) = (arguments.simulation()?, &arguments.common);
    let (inputs, written) = (arguments.inputs(), arguments.others_written());
    let outputs = Outputs::open(&common.results, &inputs, &written)?;
    let simulation = simulation.beside_a_program()?;
    let request = Request {
        limit: common.limit,
        ..Request::new(&arguments.program, User::chosen(arguments.user.as_deref())?)?
    };
    let session = Session::start(&Tools::find()?, &request, None)?;
    let (results, recorded) = session.feed(|source| {
        let bars = Bars::new(common.quiet);
        simulation.run(request.command(), source, &|event| bars.show(event))
    })?;
    if !common.quiet {
        say_remarks(&recorded);
    }
    let words = arguments.program.iter();
    let program = words.map(|word| word.to_string_lossy().into()).collect();
    let document = LlcDocument::new(Input::Program(program), Vec::new(), results);
    let people = People::beside_a_program(common.quiet);
    outputs.say(&document, &text(&document.simulated), people)?;
    recorded.exit().end_like()
}
