//! The one error style: a sentence that says what is wrong, with what, and what to do.

use std::fmt;

/// Whose fault it is; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for cannot be: exit code 2.
    Usage,
    /// We, or the machine, failed: exit code 1.
    Failure,
}

/// An error for people: one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Whose fault it is.
    pub kind: Kind,
    message: String,
}

/// A result with such an error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What was asked for cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Usage,
            message: message.into(),
        }
    }

    /// We, or the machine, failed.
    pub fn failure(message: impl Into<String>) -> Self {
        Self {
            kind: Kind::Failure,
            message: message.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Says with what an I/O error happened.
pub trait Context<T> {
    /// Makes it a failure of ours: "`what`: the system's reason".
    fn or_fail(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> Context<T> for std::io::Result<T> {
    fn or_fail(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Error::failure(format!("{}: {e}", what())))
    }
}
