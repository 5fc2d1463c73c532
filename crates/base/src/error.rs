//! Errors: sentences that say what is wrong, with what, and what to do.

use std::fmt;

use crate::limit;

/// Kind of an error, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The request cannot be carried out as given: exit code 2.
    Usage,
    /// The program or the machine failed: exit code 1.
    Failure,
}

/// An error as one sentence for users. A setting that the sentence names stands in quotes,
/// as in `‘dram’ is larger than the machine`: each front of the library writes it as its users do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Kind, which decides the exit code.
    pub kind: Kind,
    message: String,
}

/// A result with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error about a request that cannot be carried out as given. What a want of
    /// descriptors keeps from being opened is no fault of the request, but a failure.
    pub fn usage(message: impl Into<String>) -> Self {
        let message = message.into();
        let wants_descriptors = message.contains(&format!("{NUMBER}{})", libc::EMFILE));
        Self {
            kind: match wants_descriptors {
                true => Kind::Failure,
                false => Kind::Usage,
            },
            message: plain(message),
        }
    }

    /// Makes an error about a failure of the program or the machine.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failure,
            message: plain(message.into()),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Returns the message on one line, without the error number that std appends to the reason of the
/// system; in its place stands the limit of this process that may be behind it. File names can
/// contain line ends and terminal control characters.
fn plain(mut message: String) -> String {
    if message.contains(char::is_control) {
        message = shown(&message);
    }
    while let Some(at) = message.find(NUMBER) {
        let Some(end) = message[at..].find(')') else {
            break;
        };
        let number = message[at + NUMBER.len()..at + end].parse().ok();
        let limit = number.and_then(limit::behind);
        let limit = limit.map_or(String::new(), |limit| format!(" ({limit})"));
        message.replace_range(at..=at + end, &limit);
    }
    message
}

/// Returns a text with its control characters escaped, so that it neither ends a line nor colours a
/// terminal.
pub fn shown(text: &str) -> String {
    let shown = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(shown).collect()
}

const NUMBER: &str = " (os error ";

/// Adds context to I/O errors.
pub trait Context<T> {
    /// Turns the error into the failure "`what`: reason of the system".
    fn or_fail(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn or_fail(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Error::failure(format!("{}: {e}", what())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_break_the_line() {
        let error = Error::usage("a\nb\x1b[31m is none");
        assert_eq!(error.to_string(), "a\\nb\\u{1b}[31m is none");
    }

    #[test]
    fn reasons_of_the_system_come_without_their_numbers() {
        let reason = std::io::Error::from_raw_os_error(2);
        let twice = Error::failure(format!("a: {reason}; b: {reason}"));
        assert_eq!(
            twice.to_string(),
            "a: No such file or directory; b: No such file or directory"
        );
        let limited = std::io::Error::from_raw_os_error(libc::EMFILE);
        let named = Error::failure(format!("cannot open a: {limited}")).to_string();
        assert!(named.contains("(the limit of open files is "), "{named}");
        let kind = |reason| Error::usage(format!("cannot open a: {reason}")).kind;
        assert_eq!(kind(limited), Kind::Failure);
        let missing = std::io::Error::from_raw_os_error(libc::ENOENT);
        assert_eq!(kind(missing), Kind::Usage);
        assert_eq!(Error::usage("a (os error ").to_string(), "a (os error ");
    }
}
