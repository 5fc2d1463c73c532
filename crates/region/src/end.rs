//! The end of a process whose memory cannot be served any more.

use std::io;

/// Says why the process ends, and ends it: its threads wait for pages that will not come.
///
/// It writes to the descriptor itself. The lock of Rust's standard error may belong to a thread
/// that waits for a page, or that a forked child does not have.
pub(crate) fn give_up(why: &str) -> ! {
    let line = format!("terrace: {why}; the program is ended, because it would wait for ever\n");
    let _ = rustix::io::write(io::stderr(), line.as_bytes());
    std::process::abort();
}
