//! `terrace status` and `terrace reload`.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_base::output::print;
use terrace_daemon::protocol::Client;
use terrace_report::daemon::{StatusDocument, reloaded};

use crate::args::{Reload, Status};
use crate::results::Outputs;

/// Events that are shown.
const EVENTS: usize = 10;

pub fn status(arguments: &Status) -> Result<ExitCode> {
    let outputs = Outputs::open(&arguments.results, &[], &[])?;
    let mut client = Client::connect(&arguments.socket.path)?;
    let mut events = Vec::new();
    let mut after = 0;
    loop {
        let more = client.events(after, 0)?;
        if more.events.is_empty() {
            break;
        }
        after = more.next;
        events.extend(more.events);
    }
    events.drain(..events.len().saturating_sub(EVENTS));
    let document = StatusDocument::of(client.status()?, events);
    outputs.show(&document, &document.text())
}

pub fn reload(arguments: &Reload) -> Result<ExitCode> {
    let changes = Client::connect(&arguments.socket.path)?.reload()?;
    if !arguments.quiet {
        print(reloaded(&changes))?;
    }
    Ok(ExitCode::SUCCESS)
}
