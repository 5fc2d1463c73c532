//! Next hops, and the ports that stand for them.

use std::fmt;
use std::net::IpAddr;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use crate::Port;

/// Where packets are sent next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NextHop {
    /// The address of a router.
    Address(IpAddr),
    /// The AS that announces the prefix, where a file has no next hops.
    As(u32),
    /// What a text calls it.
    Name(Box<str>),
    /// A file that has neither; all its routes go to one port.
    Unknown,
}

impl fmt::Display for NextHop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::As(number) => write!(f, "AS{number}"),
            Self::Name(name) => f.write_str(name),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// The ports of a router, numbered in the order in which next hops come up.
#[derive(Clone, Debug, Default)]
pub struct Ports(IndexSet<NextHop, FxBuildHasher>);

impl Ports {
    /// Returns the port of a next hop.
    pub fn of(&mut self, next_hop: NextHop) -> Port {
        let (index, _) = self.0.insert_full(next_hop);
        Port(u32::try_from(index).expect("memory for 2^32 next hops is not there"))
    }

    /// Returns the next hop that a port stands for.
    pub fn next_hop(&self, port: Port) -> Option<&NextHop> {
        self.0.get_index(port.0 as usize)
    }

    /// Returns the number of ports.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
