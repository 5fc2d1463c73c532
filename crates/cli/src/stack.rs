//! The stack of the thread that does the work.

use std::process::ExitCode;
use std::thread::{Builder, JoinHandle};

use rustix::process::{Resource, getrlimit};
use terrace_base::Error;

use crate::screen::say;

/// The least limit (`ulimit -s`) with which the first thread does the work: what parses the command
/// line needs some 300 KiB where the compiler does not optimise.
const LEAST: u64 = 1 << 20;
/// The stack of the thread that does it otherwise. The limit is of the first thread alone.
const STACK: usize = 8 << 20;

/// Does the work with enough stack. The limit stays, and is that of programs that are run.
pub fn with_enough(work: fn() -> ExitCode) -> ExitCode {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= LEAST) {
        return work();
    }
    let worker = Builder::new().stack_size(STACK).spawn(work);
    match worker.map(JoinHandle::join) {
        // One that panicked has said why.
        Ok(ended) => ended.unwrap_or(ExitCode::FAILURE),
        Err(error) => {
            let why = Error::failure(format!("cannot start a thread: {error}"));
            say(&format!("terrace: {why}\n"));
            ExitCode::FAILURE
        }
    }
}
