//! The golden copy of the table in the DRAM of the firmware (Fedorov 2016, 4.3.3): what the TCAM
//! must answer.
//!
//! Packets are not looked up in it; it is far too slow. It says which port a prefix has, and tests
//! compare each answer of the TCAM with its longest-prefix match.

use std::net::IpAddr;

use prefix_trie::PrefixMap;

use crate::chip::Match;
use crate::prefix::{Family, Prefix};
use crate::route::{Port, Route};

/// The routes of a table, in a trie for each family.
#[derive(Clone, Debug, Default)]
pub struct Golden {
    v4: PrefixMap<V4, Port>,
    v6: PrefixMap<V6, Port>,
}

impl Golden {
    /// Returns the number of routes.
    pub fn len(&self) -> usize {
        self.v4.len() + self.v6.len()
    }

    /// Tells whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells whether there are routes of a family.
    pub fn has(&self, family: Family) -> bool {
        match family {
            Family::V4 => !self.v4.is_empty(),
            Family::V6 => !self.v6.is_empty(),
        }
    }

    /// Returns the port of exactly this prefix.
    pub fn get(&self, prefix: Prefix) -> Option<Port> {
        match prefix.family() {
            Family::V4 => self.v4.get(&V4(prefix)).copied(),
            Family::V6 => self.v6.get(&V6(prefix)).copied(),
        }
    }

    /// Puts a route, and returns the port that its prefix had.
    pub fn insert(&mut self, route: Route) -> Option<Port> {
        match route.prefix.family() {
            Family::V4 => self.v4.insert(V4(route.prefix), route.port),
            Family::V6 => self.v6.insert(V6(route.prefix), route.port),
        }
    }

    /// Removes a prefix, and returns the port that it had.
    pub fn remove(&mut self, prefix: Prefix) -> Option<Port> {
        match prefix.family() {
            Family::V4 => self.v4.remove(&V4(prefix)),
            Family::V6 => self.v6.remove(&V6(prefix)),
        }
    }

    /// Returns the longest prefix that contains the address, and its port.
    pub fn lookup(&self, address: IpAddr) -> Option<Match> {
        let host = Prefix::host(address);
        let (length, port) = match host.family() {
            Family::V4 => {
                let (prefix, port) = self.v4.get_lpm(&V4(host))?;
                (prefix.0.length(), port)
            }
            Family::V6 => {
                let (prefix, port) = self.v6.get_lpm(&V6(host))?;
                (prefix.0.length(), port)
            }
        };
        Some(Match {
            length,
            port: *port,
        })
    }
}

/// An IPv4 prefix as the trie wants it.
#[derive(Clone, Debug)]
struct V4(Prefix);

impl prefix_trie::Prefix for V4 {
    type R = u32;

    fn repr(&self) -> u32 {
        (self.0.bits() >> 96) as u32
    }

    fn prefix_len(&self) -> u8 {
        self.0.length()
    }

    fn from_repr_len(bits: u32, length: u8) -> Self {
        Self(Prefix::truncated(
            Family::V4,
            u128::from(bits) << 96,
            length,
        ))
    }
}

/// An IPv6 prefix as the trie wants it.
#[derive(Clone, Debug)]
struct V6(Prefix);

impl prefix_trie::Prefix for V6 {
    type R = u128;

    fn repr(&self) -> u128 {
        self.0.bits()
    }

    fn prefix_len(&self) -> u8 {
        self.0.length()
    }

    fn from_repr_len(bits: u128, length: u8) -> Self {
        Self(Prefix::truncated(Family::V6, bits, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{addresses, changes};
    use crate::update::Change;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// A trie beside a list that is searched from end to end.
        #[test]
        fn the_longest_of_all_prefixes_that_contain_it(
            changes in prop::collection::vec(changes(), 0..60), address in addresses(),
        ) {
            let (mut golden, mut list) = (Golden::default(), BTreeMap::new());
            for change in changes {
                match change {
                    Change::Announce(route) => {
                        prop_assert_eq!(golden.insert(route), list.insert(route.prefix, route.port));
                    }
                    Change::Withdraw(prefix) => {
                        prop_assert_eq!(golden.get(prefix), list.get(&prefix).copied());
                        prop_assert_eq!(golden.remove(prefix), list.remove(&prefix));
                    }
                }
                prop_assert_eq!(golden.len(), list.len());
                let containing = list.iter().filter(|(prefix, _)| prefix.contains(address));
                let longest = containing.max_by_key(|(prefix, _)| prefix.length());
                let expected = longest.map(|(prefix, port)| Match { length: prefix.length(), port: *port });
                prop_assert_eq!(golden.lookup(address), expected);
            }
        }
    }
}
