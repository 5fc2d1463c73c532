//! `terrace list` and `terrace explain`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_report::known::{self, Known, ListDocument};
use terrace_results::text::Text;

use crate::args::{Explain, List};
use crate::results::Outputs;

/// Width of the text without a terminal, and at most with one.
const WIDTH: u16 = 100;

pub fn list(arguments: &List) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &[], &[])?;
    let (found, text) = match &arguments.kind {
        None => (everything()?, known::kinds()),
        Some(kind) => {
            let found = known::of_kind(kind)?;
            let text = known::listed(&found, width());
            (found, text)
        }
    };
    let text = Text::default().prose(text);
    outputs.show(&ListDocument::listed(&found), &text)
}

fn everything() -> Result<Vec<Known>> {
    let kinds = known::KINDS.iter();
    let all = kinds.map(|(kind, _)| known::of_kind(kind));
    Ok(all.collect::<Result<Vec<_>>>()?.concat())
}

pub fn explain(arguments: &Explain) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &[], &[])?;
    let found = known::by_name(&arguments.name)?;
    let text = Text::default().prose(known::explained(&found, width()));
    outputs.show(&ListDocument::explained(&found), &text)
}

fn width() -> u16 {
    let terminal = terminal_size::terminal_size();
    terminal.map_or(WIDTH, |(terminal_size::Width(width), _)| {
        width.clamp(40, WIDTH)
    })
}
