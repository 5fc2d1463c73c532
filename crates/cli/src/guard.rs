//! The guardian, which commands that change the machine start beside themselves.

use std::process::ExitCode;

use terrace_base::Result;
use terrace_live::machine::guardian;

use crate::args;

pub fn guard(arguments: &args::Guard) -> Result<ExitCode> {
    guardian::watch(arguments.owner, &arguments.state)?;
    Ok(ExitCode::SUCCESS)
}
