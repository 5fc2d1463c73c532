//! The end of a process whose memory cannot be served any more.

/// Says why the process ends, and ends it: its threads wait for pages that will not come.
pub(crate) fn give_up(why: &str) -> ! {
    eprintln!("terrace: {why}; the program is ended, because it would wait for ever");
    std::process::abort();
}
