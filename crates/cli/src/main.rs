//! The `terrace` command: parses, calls, prints; decides nothing.

mod args;
mod bench;
mod calibrate;
mod doctor;
mod heap;
mod llc;
mod progress;
mod record;
mod run;
mod screen;
mod sim;
mod sweep;
mod trace;
mod validate;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use terrace_base::Result;
use terrace_base::error::Kind;

fn main() -> ExitCode {
    match dispatch(args::Terrace::parse()) {
        Ok(code) => code,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "terrace: {error}");
            ExitCode::from(match error.kind {
                Kind::Usage => 2,
                Kind::Failure => 1,
            })
        }
    }
}

fn dispatch(arguments: args::Terrace) -> Result<ExitCode> {
    match arguments.command {
        args::Command::Run(run) => run::run(run),
        args::Command::Bench(bench) => bench::bench(bench),
        args::Command::Sim(sim) => sim::sim(&sim),
        args::Command::Sweep(sweep) => sweep::sweep(&sweep),
        args::Command::Trace(trace) => trace::trace(&trace),
        args::Command::Record(record) => record::record(record),
        args::Command::Heap(heap) => heap::heap(&heap),
        args::Command::Calibrate(calibrate) => calibrate::calibrate(&calibrate),
        args::Command::Validate(validate) => validate::validate(*validate),
        args::Command::Probe(probe) => calibrate::probe(&probe),
        args::Command::Doctor(doctor) => doctor::doctor(&doctor),
    }
}
