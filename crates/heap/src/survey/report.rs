//! Reports: what happens to findings.

use std::fmt;
use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::lock::lock;

/// A problem found in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// Offset in bytes from the beginning of the pool.
    pub offset: u64,
    /// Description, without the offset.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}, {}", self.offset, self.what)
    }
}

/// Receives findings.
pub(crate) trait Report: Sync {
    /// Reports a finding at an offset.
    ///
    /// # Errors
    ///
    /// The survey is to stop.
    fn wrong(&self, offset: u64, what: String) -> Result<()>;

    /// Reports a finding that is a whole sentence.
    ///
    /// # Errors
    ///
    /// Same as [`Report::wrong`].
    fn error(&self, offset: u64, error: Error) -> Result<()>;
}

/// Stops at the first finding.
pub(crate) struct First;

impl Report for First {
    fn wrong(&self, offset: u64, what: String) -> Result<()> {
        let sentence = format!("the pool is damaged: at byte {offset}, {what}");
        Err(Error::damaged(sentence))
    }

    fn error(&self, _: u64, error: Error) -> Result<()> {
        Err(error)
    }
}

/// Collects all findings.
#[derive(Default)]
pub(crate) struct All(Mutex<Vec<Finding>>);

impl All {
    pub fn into_vec(self) -> Vec<Finding> {
        self.0.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

impl Report for All {
    fn wrong(&self, offset: u64, what: String) -> Result<()> {
        lock(&self.0).push(Finding { offset, what });
        Ok(())
    }

    fn error(&self, offset: u64, error: Error) -> Result<()> {
        self.wrong(offset, error.to_string())
    }
}
