//! What can be written on the command line, a file a command.

mod bench;
mod calibrate;
mod count;
mod doctor;
pub mod heap;
pub mod llc;
pub mod machines;
mod prefetch;
mod record;
mod run;
pub mod sim;
mod sweep;
pub mod trace;
mod validate;

pub use bench::Bench;
pub use calibrate::{Calibrate, Probe};
pub use doctor::Doctor;
pub use heap::Heap;
pub use record::{Filter, Record};
pub use run::Run;
pub use sim::Sim;
pub use sweep::Sweep;
pub use trace::Trace;
pub use validate::Validate;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "terrace", version, about, max_term_width = 100)]
pub struct Terrace {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Run(Run),
    Bench(Bench),
    Record(Record),
    Trace(Trace),
    Sim(Box<Sim>),
    Sweep(Box<Sweep>),
    Calibrate(Calibrate),
    Validate(Box<Validate>),
    Heap(Heap),
    Doctor(Doctor),
    #[command(hide = true)]
    Probe(Probe),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Terrace::command().debug_assert();
    }
}
