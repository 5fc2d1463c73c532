//! A program that terrace starts is the same program: it inherits what it would without terrace, and receives the
//! same signals. Each command that starts a program is tried in each circumstance, and a probe (`probe.c`), started
//! plainly in the same circumstance, says what must come of it.
//!
//!     cargo test -p terrace --test inherited                    # all that need no root
//!     cargo test -p terrace --test inherited -- record::        # a command
//!     cargo test -p terrace --test inherited -- --ignored       # those that need root
//!
//! A circumstance is a line in `circumstances.rs`, a scenario of signals one in `scenarios.rs`. Needs `cc`, and
//! `qemu-x86_64` for `record`.

mod circumstances;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod probe;
mod scenarios;
mod terminal;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for command in commands::all() {
        for circumstance in circumstances::all() {
            let name = format!("{}::state::{}", command.name, circumstance.name);
            let trial = Trial::test(name, move || {
                Ok(circumstances::judge(&command, &circumstance)?)
            });
            trials.push(trial.with_ignored_flag(command.needs_root));
        }
        for scenario in scenarios::all() {
            let name = format!("{}::signals::{}", command.name, scenario.name);
            let trial = Trial::test(name, move || Ok(scenarios::judge(&command, &scenario)?));
            trials.push(trial.with_ignored_flag(command.needs_root));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    probe::clean();
    conclusion.exit_code()
}
