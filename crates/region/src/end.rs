//! What is said, and done, where memory cannot be served any more.

use std::io;

/// Says something to the user of the program.
///
/// It writes to the descriptor itself. The lock of Rust's standard error may belong to a thread
/// that waits for a page, or that a forked child does not have.
pub(crate) fn say(what: &str) {
    let line = format!("terrace: {what}\n");
    let _ = rustix::io::write(io::stderr(), line.as_bytes());
}

/// Says why the process ends, and ends it: its threads wait for pages that will not come.
pub(crate) fn give_up(why: &str) -> ! {
    say(&format!(
        "{why}; the program is ended, because it would wait for ever"
    ));
    std::process::abort();
}
