//! `terrace doctor`.

use std::process::ExitCode;

use terrace_live::{Result, doctor};
use terrace_report::doctor::{json, lines, ready};

use crate::args::Doctor;

pub fn doctor(arguments: &Doctor) -> Result<ExitCode> {
    if arguments.clean {
        let done = doctor::clean()?;
        if done.is_empty() {
            eprintln!("terrace: nothing was left behind");
        }
        for line in done {
            eprintln!("terrace: {line}");
        }
    }
    let checks = doctor::examine();
    if arguments.json {
        print!("{}", json(&checks));
    } else if !arguments.clean {
        print!("{}", lines(&checks));
    }
    Ok(if arguments.clean || ready(&checks) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
