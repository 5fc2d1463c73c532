//! A change of the routing table that a peer announced.

use terrace_base::Nanos;

use crate::prefix::Prefix;
use crate::route::Route;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// The prefix goes to the port from now on, whether or not it had one.
    Announce(Route),
    /// The prefix has no route any more.
    Withdraw(Prefix),
}

impl Change {
    /// Returns the prefix whose route changes.
    pub fn prefix(self) -> Prefix {
        match self {
            Self::Announce(route) => route.prefix,
            Self::Withdraw(prefix) => prefix,
        }
    }
}

/// A change and when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update {
    /// Time since the trace began; `None` if the trace has no times.
    pub at: Option<Nanos>,
    /// What changes.
    pub change: Change,
}
