//! The command line, one file a command.

mod attach;
mod bench;
mod calibrate;
pub mod circuit;
mod control;
pub mod curve;
mod daemon;
mod doctor;
mod explain;
mod extend;
pub mod files;
mod format;
mod guard;
pub mod heap;
pub mod level;
pub mod llc;
mod manual;
mod meanwhile;
mod measured;
pub mod mix;
mod mount;
mod pages;
pub mod place;
mod reading;
mod record;
pub mod results;
mod run;
pub mod sched;
mod schema;
mod settings;
pub mod sim;
mod size;
mod sweep;
pub mod tcam;
mod tier;
mod top;
pub mod trace;
mod user;
pub mod validate;
mod view;

pub use attach::Attach;
pub use bench::Bench;
pub use calibrate::{Calibrate, Probe};
pub use control::Control;
pub use daemon::{Reload, Status};
pub use doctor::Doctor;
pub use explain::{Explain, List};
pub use extend::Extend;
pub use guard::Guard;
pub use heap::Heap;
pub use manual::Manual;
pub use meanwhile::Meanwhile;
pub use mount::Mount;
pub use place::Place;
pub use record::{Filter, Record};
pub use results::Results;
pub use run::Run;
pub use sched::Sched;
pub use schema::Schema;
pub use sim::Sim;
pub use size::Size;
pub use sweep::Sweep;
pub use tcam::Tcam;
pub use tier::Tier;
pub use top::Top;
pub use trace::Trace;
pub use user::AsUser;
pub use validate::Validate;
pub use view::SeeLimit;

use std::time::Duration;

use clap::{ArgAction, Parser, Subcommand};
use terrace_base::Nanos;

/// Without empty lines and without a heading of options, all commands fit most screens.
const TEMPLATE: &str = "{about}\n{usage-heading} {usage}\nCommands:\n{subcommands}\n{options}";

#[derive(Parser)]
#[command(name = "terrace", version, about, max_term_width = 80, help_template = TEMPLATE)]
#[command(disable_version_flag = true)]
pub struct Terrace {
    #[command(subcommand)]
    pub command: Command,

    // A screen of -h has no line left for it.
    /// Print version
    #[arg(short = 'V', long = "version", action = ArgAction::Version, hide_short_help = true)]
    _version: Option<bool>,
}

#[derive(Subcommand)]
pub enum Command {
    Run(Box<Run>),
    Attach(Attach),
    Size(Box<Size>),
    Status(Status),
    Top(Top),
    Reload(Reload),
    Bench(Bench),
    Extend(Extend),
    Mount(Box<Mount>),
    Sched(Box<Sched>),
    Record(Record),
    Trace(Trace),
    Sim(Box<Sim>),
    Place(Box<Place>),
    Sweep(Box<Sweep>),
    Calibrate(Calibrate),
    Validate(Box<Validate>),
    Heap(Heap),
    Tcam(Box<Tcam>),
    Doctor(Doctor),
    List(List),
    Explain(Explain),
    Schema(Schema),
    #[command(hide = true)]
    Probe(Probe),
    #[command(hide = true)]
    Guard(Guard),
    #[command(hide = true)]
    Manual(Manual),
}

/// Parses an amount of a program's memory that may not be a share.
fn memory(text: &str) -> terrace_base::Result<terrace_base::Bytes> {
    terrace_base::Bytes::parse_memory(text, false)
}

/// Parses a time that people wait.
fn time(text: &str) -> Result<Duration, String> {
    let has_unit = text.ends_with(|c: char| c.is_ascii_alphabetic());
    let time = Nanos::parse(text).ok().filter(|_| has_unit);
    time.filter(|time| *time > Nanos::ZERO)
        .map(|time| Duration::from_nanos(time.0))
        .ok_or_else(|| format!("`{text}` is no time to wait; write it as 30s, 10m, 2h or 1d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_as_people_write_them() {
        for (text, seconds) in [
            ("30s", 30.0),
            ("10m", 600.0),
            ("2h", 7200.0),
            ("500ms", 0.5),
            ("1d", 86_400.0),
        ] {
            assert_eq!(time(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in [
            "", "30", "s", "-1s", "0s", "NaNs", "infh", "1e300h", "6000000h", "1w",
        ] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
