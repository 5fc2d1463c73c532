//! `terrace size`.

use std::path::Path;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::control::size::{Event, perform};
use terrace_report::size::{SizeDocument, line, text};

use crate::args::Size;
use crate::results::{Outputs, People};
use crate::screen::{Display, Place, say};
use crate::usage;

pub fn size(arguments: Size) -> Result<ExitCode> {
    let program = arguments.program.first();
    let program = program.map(|path| ("PROGRAM", Path::new(path)));
    let mut inputs: Vec<_> = program.into_iter().collect();
    inputs.extend(arguments.tier.device());
    let outputs = Outputs::open(&arguments.results, &inputs, &[])?;
    let (goal, endurance, quiet) = (arguments.slowdown, arguments.endurance, arguments.quiet);
    let place = match arguments.program.is_empty() {
        true => Place::Line,
        false => Place::Title,
    };
    let request = arguments.request()?;
    let mut display = Display::new(place, quiet);
    let results = perform(&request, &mut |event| match event {
        Event::Look(progress) => display.show(|| line(progress)),
        Event::Notice(_) if quiet => {}
        Event::Notice(text) | Event::Warning(text) => {
            if place == Place::Line {
                display.clear();
            }
            say(&format!(
                "terrace: {}\n",
                usage::with_options(text.to_owned())
            ));
        }
    });
    display.clear();
    let results = results?;
    if let Some(error) = &results.left_behind {
        say(&format!(
            "terrace: {error}; it is put back as soon as that is possible, or then by: terrace doctor --clean\n"
        ));
    }
    let document = SizeDocument::of(&results, goal, endurance);
    match results.exit {
        None => outputs.show(&document, &text(&document)),
        Some(exit) => {
            outputs.say(&document, &text(&document), People::Error)?;
            exit.end_like()
        }
    }
}
