//! The guardian, which commands that change the machine start beside themselves.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::journal;

use crate::args;

pub fn guard(arguments: &args::Guard) -> Result<ExitCode> {
    journal::watch::watch(arguments.owner, &arguments.state)?;
    Ok(ExitCode::SUCCESS)
}
