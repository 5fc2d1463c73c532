//! Rows in a partial order: only prefixes that contain one another need one (Shah and Gupta, Fast
//! Updating Algorithms for TCAMs, IEEE Micro 21(1), 2001: chain-ancestor ordering).
//!
//! Prefixes that contain one another are a chain, and chains are short: a prefix has to lie below
//! those that it contains and above those that contain it, and anywhere between. If there is a free
//! row between, nothing is moved. Otherwise an entry of its chain beside it makes room, and so on
//! until one finds a free row: towards the shorter ones downwards, or towards the longer ones
//! upwards, whichever takes fewer moves. Free rows are in the middle, and a loaded table has the
//! longer half of each chain above them.
//!
//! The paper has the hole of a withdrawn entry travel to the middle; here it stays, and is used by
//! the next prefix that may lie there. A withdrawal takes no move.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::ops::Bound;

use super::rows::Rows;
use super::{Entry, Ordering, Table};
use crate::chip::Match;
use crate::prefix::Prefix;
use crate::route::Route;

/// The ordering by its name.
pub const ENTRY: Entry = Entry {
    name: "partial",
    load: |table| Box::new(Partial::load(table)),
};

/// A table in partial order.
#[derive(Clone, Debug, Default)]
pub struct Partial {
    pub(super) rows: Rows,
    /// All prefixes; those that one contains follow it.
    prefixes: BTreeSet<Prefix>,
    free: Free,
}

/// Rows that hold nothing.
#[derive(Clone, Debug, Default)]
struct Free {
    /// Rows of entries that were withdrawn.
    holes: BTreeSet<u32>,
    /// Rows that were taken above the middle, and below.
    above: u32,
    below: u32,
}

/// The side of the middle from which a row is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

impl Free {
    /// Returns a free row between two, which are not meant; `None` is an end of the TCAM.
    fn between(&self, upper: Option<u32>, lower: Option<u32>, side: Side) -> Option<u32> {
        let from = upper.map_or(Bound::Unbounded, Bound::Excluded);
        let to = lower.map_or(Bound::Unbounded, Bound::Excluded);
        let hole = self.holes.range((from, to)).next().copied();
        let middle = self.next(side);
        let is_between =
            upper.is_none_or(|row| row < middle) && lower.is_none_or(|row| row > middle);
        hole.or(is_between.then_some(middle))
    }

    /// Returns the next row in the middle.
    fn next(&self, side: Side) -> u32 {
        match side {
            Side::Above => self.above,
            Side::Below => u32::MAX - self.below,
        }
    }

    /// Takes a row that was found to be free.
    fn take(&mut self, row: u32) {
        if self.holes.remove(&row) {
            return;
        }
        match row == self.above {
            true => self.above += 1,
            false => self.below += 1,
        }
    }
}

/// Entries that move, each into the row of the next and the last into a free one.
struct Chain {
    entries: Vec<Prefix>,
    free: u32,
}

impl Partial {
    /// Makes a table of routes, without moves.
    pub fn load(table: &Table) -> Self {
        let mut partial = Self {
            prefixes: table.keys().copied().collect(),
            ..Self::default()
        };
        let sides = sides(table);
        let mut by_length: Vec<Route> = table
            .iter()
            .map(|(prefix, port)| Route {
                prefix: *prefix,
                port: *port,
            })
            .collect();
        by_length.sort_by_key(|route| route.prefix.length());
        let (above, below): (Vec<Route>, Vec<Route>) = by_length
            .into_iter()
            .partition(|route| sides[&route.prefix] == Side::Above);
        for route in above.into_iter().rev() {
            partial.put(route, Side::Above);
        }
        for route in below {
            partial.put(route, Side::Below);
        }
        partial
    }

    /// Writes a route to the next row in the middle.
    fn put(&mut self, route: Route, side: Side) {
        let row = self.free.next(side);
        self.free.take(row);
        self.rows.write(route, row);
    }

    /// Returns the lowest row of the prefixes that this one contains, and the prefix in it. That is
    /// one of those directly below it in the trie, as these lie below what they contain.
    fn lowest_within(&self, prefix: Prefix) -> Option<(Prefix, u32)> {
        let mut lowest = None;
        let mut after = prefix;
        while let Some(child) = self
            .prefixes
            .range((Bound::Excluded(after), Bound::Unbounded))
            .next()
            && prefix.contains(child.address())
        {
            let row = self.rows.row(*child)?;
            if lowest.is_none_or(|(_, lower)| row > lower) {
                lowest = Some((*child, row));
            }
            after = Prefix::host(child.address_with(u128::MAX));
        }
        lowest
    }

    /// Returns the entries that make room downwards: those that contain the new one, the longest
    /// first.
    fn downwards(&self, containing: &[(Prefix, u32)]) -> Option<Chain> {
        let mut entries = Vec::new();
        for (index, (prefix, row)) in containing.iter().enumerate() {
            entries.push(*prefix);
            let lower = containing.get(index + 1).map(|(_, row)| *row);
            if let Some(free) = self.free.between(Some(*row), lower, Side::Above) {
                return Some(Chain { entries, free });
            }
        }
        None
    }

    /// Returns the entries that make room upwards: the lowest that the new one contains, the lowest
    /// of what that contains, and so on.
    fn upwards(&self, lowest: Option<(Prefix, u32)>) -> Option<Chain> {
        let mut entries = Vec::new();
        let mut next = lowest;
        while let Some((prefix, row)) = next {
            entries.push(prefix);
            next = self.lowest_within(prefix);
            let upper = next.map(|(_, row)| row);
            if let Some(free) = self.free.between(upper, Some(row), Side::Below) {
                return Some(Chain { entries, free });
            }
        }
        None
    }

    /// Returns a row in which the prefix may lie, and which is free now.
    fn make_room(&mut self, prefix: Prefix) -> u32 {
        let containing: Vec<(Prefix, u32)> = self.rows.containing(prefix).collect();
        let lowest = self.lowest_within(prefix);
        let side = match lowest {
            None => Side::Above,
            Some(_) => Side::Below,
        };
        let upper = lowest.map(|(_, row)| row);
        let lower = containing.first().map(|(_, row)| *row);
        if let Some(free) = self.free.between(upper, lower, side) {
            self.free.take(free);
            return free;
        }
        let chains = [self.downwards(&containing), self.upwards(lowest)];
        let shorter = chains
            .into_iter()
            .flatten()
            .min_by_key(|chain| chain.entries.len());
        let Chain { entries, mut free } = shorter.expect("one of them ends in the middle");
        self.free.take(free);
        for prefix in entries.into_iter().rev() {
            let row = self.rows.row(prefix).expect("it is in the table");
            self.rows.shift(prefix, free);
            free = row;
        }
        free
    }
}

/// Returns the side of each prefix: above, if at least as many contain it as the longest chain
/// within it has.
fn sides(table: &Table) -> HashMap<Prefix, Side, rustc_hash::FxBuildHasher> {
    let mut within: Vec<(Prefix, usize, usize)> = Vec::with_capacity(table.len());
    // Indices of the prefixes that contain the next one.
    let mut chain: Vec<usize> = Vec::new();
    for prefix in table.keys() {
        while let Some(last) = chain.last()
            && !within[*last].0.contains(prefix.address())
        {
            chain.pop();
        }
        for (depth, index) in chain.iter().enumerate() {
            let height = &mut within[*index].2;
            *height = (*height).max(chain.len() - depth);
        }
        chain.push(within.len());
        within.push((*prefix, chain.len() - 1, 0));
    }
    let side = |depth: usize, height: usize| match depth >= height {
        true => Side::Above,
        false => Side::Below,
    };
    let sides = within.into_iter();
    sides
        .map(|(prefix, depth, height)| (prefix, side(depth, height)))
        .collect()
}

impl Ordering for Partial {
    fn announce(&mut self, route: Route) {
        if self.rows.set_port(route) {
            return;
        }
        let row = self.make_room(route.prefix);
        self.rows.write(route, row);
        self.prefixes.insert(route.prefix);
    }

    fn withdraw(&mut self, prefix: Prefix) {
        if let Some(row) = self.rows.remove(prefix) {
            self.prefixes.remove(&prefix);
            self.free.holes.insert(row);
        }
    }

    fn lookup(&self, address: IpAddr) -> Option<Match> {
        self.rows.first(address)
    }

    fn moves(&self) -> u64 {
        self.rows.moves
    }
}
