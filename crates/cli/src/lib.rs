//! The `terrace` command as a library: parses, calls, prints; decides nothing.
//!
//! A program that registers policies of its own ([`terrace_policy::registry::register`]) and then
//! calls [`main`] is the command with these policies; `examples/policy` is one.

mod args;
mod attach;
mod bench;
mod calibrate;
mod circuit;
mod control;
mod counted;
mod daemon;
mod doctor;
mod explain;
mod extend;
mod guard;
mod heap;
mod level;
mod lines;
mod llc;
mod lost;
mod manual;
mod mount;
mod place;
mod progress;
mod record;
mod results;
mod run;
mod sched;
mod schema;
mod screen;
mod sim;
mod size;
mod stack;
mod sweep;
mod tcam;
mod top;
mod trace;
mod usage;
mod validate;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use terrace_base::Result;
use terrace_base::error::Kind;

/// Called by the C library before `main`, and so before Rust's runtime changes what is remembered.
#[used]
// SAFETY: the C library calls each function of this table once; this one takes no arguments that
// matter.
#[unsafe(link_section = ".init_array")]
static REMEMBER: extern "C" fn() = terrace_base::inherited::remember;

/// The hidden subcommand that puts back what a killed command has changed.
const GUARD: &str = "guard";

/// Does what the arguments of the process ask for, and returns its exit code.
#[must_use]
pub fn main() -> ExitCode {
    stack::with_enough(work)
}

fn work() -> ExitCode {
    terrace_live::journal::serve_by(GUARD);
    terrace_base::output::survive_size_limit();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let done = usage::read(&arguments).and_then(|asked| match asked {
        Some(asked) => dispatch(asked),
        None => Ok(ExitCode::SUCCESS),
    });
    match done {
        Ok(code) => code,
        Err(error) => {
            let said = usage::with_options(error.to_string());
            let _ = writeln!(std::io::stderr(), "terrace: {said}");
            ExitCode::from(match error.kind {
                Kind::Usage => 2,
                Kind::Failure => 1,
            })
        }
    }
}

fn dispatch(arguments: args::Terrace) -> Result<ExitCode> {
    match arguments.command {
        args::Command::Run(run) => run::run(*run),
        args::Command::Attach(attach) => attach::attach(&attach),
        args::Command::Size(asked) => size::size(*asked),
        args::Command::Top(asked) => top::top(&asked),
        args::Command::Status(asked) => daemon::status(&asked),
        args::Command::Reload(asked) => daemon::reload(&asked),
        args::Command::Bench(bench) => bench::bench(bench),
        args::Command::Extend(asked) => extend::extend(&asked),
        args::Command::Mount(asked) => mount::mount(&asked),
        args::Command::Sched(asked) => sched::sched(*asked),
        args::Command::Guard(asked) => guard::guard(&asked),
        args::Command::Place(asked) => place::run(&asked),
        args::Command::Sim(sim) => sim::sim(&sim),
        args::Command::Sweep(sweep) => sweep::sweep(&sweep),
        args::Command::Trace(trace) => trace::trace(&trace),
        args::Command::Record(record) => record::record(record),
        args::Command::Heap(heap) => heap::heap(&heap),
        args::Command::Tcam(asked) => tcam::tcam(&asked),
        args::Command::Calibrate(calibrate) => calibrate::calibrate(calibrate),
        args::Command::Validate(validate) => validate::validate(*validate),
        args::Command::Probe(probe) => calibrate::probe(&probe),
        args::Command::Manual(manual) => manual::manual(&manual),
        args::Command::Doctor(doctor) => doctor::doctor(&doctor),
        args::Command::List(list) => explain::list(&list),
        args::Command::Explain(explain) => explain::explain(&explain),
        args::Command::Schema(asked) => schema::schema(&asked),
    }
}
