//! `terrace doctor`.

use std::io::Write;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::doctor;
use terrace_report::doctor::{json, lines, ready};

use crate::args::Doctor;

pub fn doctor(arguments: &Doctor) -> Result<ExitCode> {
    if arguments.clean {
        let done = doctor::clean()?;
        let done = if done.is_empty() {
            vec!["nothing was left behind".to_owned()]
        } else {
            done
        };
        for line in done {
            let _ = writeln!(std::io::stderr(), "terrace: {line}");
        }
    }
    let checks = doctor::examine();
    let text = match (arguments.json, arguments.clean) {
        (true, _) => json(&checks),
        (false, false) => lines(&checks),
        (false, true) => String::new(),
    };
    // Whoever reads only the first lines has read what they wanted.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(if arguments.clean || ready(&checks) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
