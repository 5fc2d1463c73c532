//! A program that terrace starts is the same program: it inherits what it would without terrace,
//! and receives the same signals. Each command that starts a program is tried in each circumstance,
//! and a probe (`probe.c`), started plainly in the same circumstance, says what must come of it.
//! Those that start none, and serve, do their work in each circumstance, and end by signals
//! (`services.rs`).
//!
//!     cargo test -p terrace --test inherited                    # all that need no root
//!     cargo test -p terrace --test inherited -- record::        # a command
//!     cargo test -p terrace --test inherited -- --ignored       # those that need root
//!
//! A circumstance is a line in `circumstances.rs`, a scenario of signals one in `scenarios.rs`.
//! Needs `cc`, and `qemu-x86_64` for `record`.

mod circumstances;
mod commands;
#[path = "../common/mod.rs"]
mod common;
mod probe;
mod scenarios;
mod services;
mod terminal;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for command in commands::all() {
        let means = |name: &str| command.heeds(name);
        for circumstance in circumstances::all().into_iter().filter(|it| means(it.name)) {
            let name = format!("{}::state::{}", command.name, circumstance.name);
            let trial = Trial::test(name, move || {
                Ok(circumstances::judge(&command, &circumstance)?)
            });
            trials.push(trial.with_ignored_flag(command.needs_root));
        }
        for scenario in scenarios::all().into_iter().filter(|it| means(it.name)) {
            let name = format!("{}::signals::{}", command.name, scenario.name);
            let trial = Trial::test(name, move || Ok(scenarios::judge(&command, &scenario)?));
            trials.push(trial.with_ignored_flag(command.needs_root));
        }
    }
    for service in services::all() {
        let means = |it: &circumstances::Circumstance| service.heeds(it.name);
        for circumstance in circumstances::all().into_iter().filter(means) {
            let name = format!("{}::state::{}", service.name, circumstance.name);
            let trial = Trial::test(name, move || Ok(service.work(&circumstance)?));
            trials.push(trial.with_ignored_flag(true));
        }
        for request in services::requests() {
            let name = format!("{}::signals::{}", service.name, request.name);
            let trial = Trial::test(name, move || Ok(service.end(&request)?));
            trials.push(trial.with_ignored_flag(true));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    probe::clean();
    conclusion.exit_code()
}
