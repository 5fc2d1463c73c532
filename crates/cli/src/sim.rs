//! `terrace sim`.

use std::process::ExitCode;

use terrace_base::Result;

use crate::args::sim::{Command, Sim};
use crate::level::level;
use crate::llc::llc;

pub fn sim(arguments: &Sim) -> Result<ExitCode> {
    match &arguments.command {
        Command::Pages(arguments) => level(&**arguments),
        Command::Llc(arguments) => llc(arguments),
        Command::Mix(arguments) => level(&**arguments),
        Command::Files(arguments) => level(&**arguments),
        Command::Curve(arguments) => level(&**arguments),
    }
}
