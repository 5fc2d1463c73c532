//! What the daemon says: to people on standard error, a line a sentence, which the journal of
//! systemd takes with its priority; and to systemd how it is.

use std::io::{IsTerminal, Write, stderr};

use sd_notify::NotifyState;
use terrace_base::error::shown;

/// How much a line matters, as syslog numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Something failed.
    Error = 3,
    /// Something needs a look.
    Warning = 4,
    /// What goes on.
    Info = 6,
}

/// Says a line.
pub fn say(priority: Priority, text: &str) {
    let line = line(priority, text, stderr().is_terminal());
    // Nobody is there to be told that it failed.
    let _ = stderr().write_all(line.as_bytes());
}

/// Nobody's name ends a line, or colours a terminal.
fn line(priority: Priority, text: &str, is_terminal: bool) -> String {
    let shown = shown(text);
    match is_terminal {
        true => format!("terraced: {shown}\n"),
        false => format!("<{}>{shown}\n", priority as u8),
    }
}

/// Tells systemd, if it listens.
pub fn notify(states: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(states) {
        say(Priority::Warning, &format!("cannot tell systemd: {e}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_its_priority() {
        let text = "a\n<0>b\x1b[31m";
        let shown = "<4>a\\n<0>b\\u{1b}[31m\n";
        assert_eq!(line(Priority::Warning, text, false), shown);
        assert_eq!(line(Priority::Info, "a", true), "terraced: a\n");
    }
}
