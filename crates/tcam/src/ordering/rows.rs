//! The rows of a conventional TCAM, and its priority encoder.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::chip::Match;
use crate::prefix::Prefix;
use crate::route::{Port, Route};

/// Which row holds which prefix. Rows are numbered from the top, which has the highest priority;
/// those that are filled from the other end have numbers from `u32::MAX` downwards.
#[derive(Clone, Debug)]
pub struct Rows {
    at: FxHashMap<Prefix, (u32, Port)>,
    /// Prefixes of each length.
    lengths: [u32; 129],
    /// Moves that were made.
    pub moves: u64,
}

impl Default for Rows {
    fn default() -> Self {
        Self {
            at: FxHashMap::default(),
            lengths: [0; 129],
            moves: 0,
        }
    }
}

impl Rows {
    /// Returns the number of prefixes.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Returns the row that holds a prefix.
    pub fn row(&self, prefix: Prefix) -> Option<u32> {
        self.at.get(&prefix).map(|(row, _)| *row)
    }

    /// Returns the port of a prefix.
    pub fn port(&self, prefix: Prefix) -> Option<Port> {
        self.at.get(&prefix).map(|(_, port)| *port)
    }

    /// Writes the port of a prefix where it lies. Tells whether it is there.
    pub fn set_port(&mut self, route: Route) -> bool {
        let held = self.at.get_mut(&route.prefix);
        held.map(|(_, port)| *port = route.port).is_some()
    }

    /// Writes a new route to a free row.
    pub fn write(&mut self, route: Route, row: u32) {
        self.at.insert(route.prefix, (row, route.port));
        self.lengths[usize::from(route.prefix.length())] += 1;
    }

    /// Moves a prefix that is there to a free row.
    pub fn shift(&mut self, prefix: Prefix, to: u32) {
        if let Some((row, _)) = self.at.get_mut(&prefix) {
            *row = to;
            self.moves += 1;
        }
    }

    /// Makes the row of a prefix invalid, and returns it.
    pub fn remove(&mut self, prefix: Prefix) -> Option<u32> {
        let (row, _) = self.at.remove(&prefix)?;
        self.lengths[usize::from(prefix.length())] -= 1;
        Some(row)
    }

    /// Returns the prefixes that contain this one, the longest first, with their rows; itself among
    /// them.
    pub fn containing(&self, prefix: Prefix) -> impl Iterator<Item = (Prefix, u32)> {
        let lengths = (0..=prefix.length()).rev();
        let present = lengths.filter(|length| self.lengths[usize::from(*length)] > 0);
        present.filter_map(move |length| {
            let shorter = prefix.shortened(length);
            Some((shorter, self.row(shorter)?))
        })
    }

    /// Returns the first row that matches, not the longest prefix: it is the same only if the order
    /// is right.
    pub fn first(&self, address: IpAddr) -> Option<Match> {
        let containing = self.containing(Prefix::host(address));
        let (prefix, _) = containing.min_by_key(|(_, row)| *row)?;
        Some(Match {
            length: prefix.length(),
            port: self.port(prefix)?,
        })
    }

    /// Tells whether no two prefixes are in one row.
    #[cfg(test)]
    pub fn are_distinct(&self) -> bool {
        let rows: std::collections::HashSet<u32> = self.at.values().map(|(row, _)| *row).collect();
        rows.len() == self.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{addresses, prefixes};
    use proptest::prelude::*;

    proptest! {
        /// Prefixes in any order, beside a list of rows that is searched from the top.
        #[test]
        fn the_first_row_that_matches_whatever_the_order(
            prefixes in prop::collection::hash_set(prefixes(), 0..40), address in addresses(),
        ) {
            let family = Prefix::host(address).family();
            let list: Vec<Prefix> = prefixes.into_iter().filter(|prefix| prefix.family() == family).collect();
            let mut rows = Rows::default();
            for (row, prefix) in (0..).zip(&list) {
                rows.write(Route { prefix: *prefix, port: Port(row) }, row);
            }
            let first = (0..).zip(&list).find(|(_, prefix)| prefix.contains(address));
            let expected = first.map(|(row, prefix)| Match { length: prefix.length(), port: Port(row) });
            prop_assert_eq!(rows.first(address), expected);
        }
    }
}
