//! What a file says, whatever its format.

use terrace_base::Nanos;

use super::{NextHop, Peer};
use crate::Prefix;

/// One thing that a peer said.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    /// Who said it; `None` if the file names no peers.
    pub peer: Option<Peer>,
    /// Time since the file began, if it has times.
    pub at: Option<Nanos>,
    /// Whether it is an entry of a table, and no update.
    pub of_table: bool,
    pub said: Said,
}

/// What was said.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    Announced(Prefix, NextHop),
    Withdrawn(Prefix),
}
