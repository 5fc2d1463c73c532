//! A route: where packets to a prefix go.

use std::fmt;

use crate::prefix::Prefix;

/// A next hop, by a number that stands for it; who reads a table keeps what the number stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port(pub u32);

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// An entry of a routing table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// The destinations.
    pub prefix: Prefix,
    /// Where their packets go.
    pub port: Port,
}
