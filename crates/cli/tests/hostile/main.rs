//! Wrong use and hostile state: each case is a command line in a directory of its own, and is
//! judged for all of it: exit code, one sentence, no panic, nothing left behind, nothing of others
//! touched.
//!
//!     cargo test -p terrace --test hostile                    # all
//!     cargo test -p terrace --test hostile -- general::       # a file of cases
//!     cargo test -p terrace --test hostile -- --ignored       # those that need root
//!
//! A file of cases is `cases/AREA.rs` and a line in `cases/mod.rs`. Cases that need root are
//! ignored, and run by `make test-root`.

mod case;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod judge;
mod proofs;
mod run;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = proofs::all();
    for (area, cases) in cases::all() {
        for case in cases {
            let live = if case.live { "live::" } else { "" };
            let name = format!("{area}::{live}{}", case.name);
            let ignored = case.needs_root;
            let trial = Trial::test(name, move || Ok(run::judged(case)?));
            trials.push(trial.with_ignored_flag(ignored));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    run::clean();
    conclusion.exit_code()
}
