//! Rows sorted by the length of their prefixes, long ones first, with the free rows in one place
//! (Shah and Gupta, Fast Updating Algorithms for TCAMs, IEEE Micro 21(1), 2001: prefix-length
//! ordering).
//!
//! The rows of a length are a region, within which there is no order. A new prefix takes the row
//! next to its region, which the region beside it gives up by moving one entry to its other end,
//! and so on to the free rows: one move for each region between. A withdrawal is the reverse: the
//! hole travels to the free rows. With the free rows at the end that are as many moves as there are
//! shorter lengths; with the free rows in the middle, lengths above half of an address's bits lie
//! above them and others below, and there are half as many at worst.

use std::net::IpAddr;

use super::rows::Rows;
use super::{Entry, Ordering, Table};
use crate::chip::Match;
use crate::prefix::Prefix;
use crate::route::Route;

/// Free rows at the end.
pub const END: Entry = Entry {
    name: "sorted-end",
    load: |table| Box::new(Sorted::load(Free::End, table)),
};

/// Free rows in the middle.
pub const MIDDLE: Entry = Entry {
    name: "sorted-middle",
    load: |table| Box::new(Sorted::load(Free::Middle, table)),
};

/// Where the free rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Free {
    /// Below all entries.
    End,
    /// Between the longer and the shorter half of the lengths.
    Middle,
}

/// A table sorted by length.
#[derive(Clone, Debug)]
pub struct Sorted {
    free: Free,
    pub(super) rows: Rows,
    above: Half,
    below: Half,
}

/// Entries on one side of the free rows. Places are counted from the side's own end, towards the
/// free rows.
#[derive(Clone, Debug)]
struct Half {
    is_above: bool,
    /// The prefix at each place.
    held: Vec<Prefix>,
    /// Sizes of the regions, from the side's own end on.
    regions: [usize; 129],
}

impl Half {
    fn new(is_above: bool) -> Self {
        Self {
            is_above,
            held: Vec::new(),
            regions: [0; 129],
        }
    }

    /// Returns the region of a prefix: the longest lengths lie at the top, the shortest at the
    /// bottom.
    fn region(&self, prefix: Prefix) -> usize {
        match self.is_above {
            true => 128 - usize::from(prefix.length()),
            false => usize::from(prefix.length()),
        }
    }

    fn row(&self, place: usize) -> u32 {
        match self.is_above {
            true => place as u32,
            false => u32::MAX - place as u32,
        }
    }

    fn place(&self, row: u32) -> usize {
        match self.is_above {
            true => row as usize,
            false => (u32::MAX - row) as usize,
        }
    }

    /// Returns the sizes of the regions between a prefix's and the free rows, the next one first.
    fn inner(&self, prefix: Prefix) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let sizes = self.regions.into_iter().skip(self.region(prefix) + 1);
        sizes.filter(|size| *size > 0)
    }

    fn shift(&mut self, rows: &mut Rows, from: usize, to: usize) {
        self.held[to] = self.held[from];
        rows.shift(self.held[to], self.row(to));
    }

    fn insert(&mut self, rows: &mut Rows, route: Route) {
        let mut hole = self.held.len();
        self.held.push(route.prefix);
        for size in self.inner(route.prefix).rev() {
            self.shift(rows, hole - size, hole);
            hole -= size;
        }
        self.held[hole] = route.prefix;
        self.regions[self.region(route.prefix)] += 1;
        rows.write(route, self.row(hole));
    }

    fn remove(&mut self, rows: &mut Rows, prefix: Prefix, row: u32) {
        let (region, place) = (self.region(prefix), self.place(row));
        let mut hole = self.regions[..=region].iter().sum::<usize>() - 1;
        if place != hole {
            self.shift(rows, hole, place);
        }
        for size in self.inner(prefix) {
            self.shift(rows, hole + size, hole);
            hole += size;
        }
        self.held.pop();
        self.regions[region] -= 1;
    }
}

impl Sorted {
    /// Makes an empty table.
    pub fn new(free: Free) -> Self {
        Self {
            free,
            rows: Rows::default(),
            above: Half::new(true),
            below: Half::new(false),
        }
    }

    /// Makes a table of routes, without moves.
    pub fn load(free: Free, table: &Table) -> Self {
        let mut sorted = Self::new(free);
        let mut routes: Vec<Route> = table
            .iter()
            .map(|(prefix, port)| Route {
                prefix: *prefix,
                port: *port,
            })
            .collect();
        // The regions at the ends come first, so that nothing lies between them and the free rows.
        routes.sort_by_key(|route| sorted.half(route.prefix).region(route.prefix));
        for route in routes {
            sorted.announce(route);
        }
        sorted
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Tells whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tells whether a prefix is there.
    pub fn has(&self, prefix: Prefix) -> bool {
        self.rows.row(prefix).is_some()
    }

    /// Returns the moves that a new prefix would take.
    pub fn moves_for(&self, prefix: Prefix) -> u64 {
        self.half(prefix).inner(prefix).count() as u64
    }

    /// Returns an entry beside the free rows, which is removed without moves; `None` if there are
    /// no entries.
    pub fn innermost(&self) -> Option<Route> {
        let prefix = *self.above.held.last().or(self.below.held.last())?;
        let port = self.rows.port(prefix)?;
        Some(Route { prefix, port })
    }

    fn is_above(&self, prefix: Prefix) -> bool {
        self.free == Free::End || prefix.length() > prefix.family().bits() / 2
    }

    fn half(&self, prefix: Prefix) -> &Half {
        match self.is_above(prefix) {
            true => &self.above,
            false => &self.below,
        }
    }

    fn parts(&mut self, prefix: Prefix) -> (&mut Half, &mut Rows) {
        match self.is_above(prefix) {
            true => (&mut self.above, &mut self.rows),
            false => (&mut self.below, &mut self.rows),
        }
    }
}

impl Ordering for Sorted {
    fn announce(&mut self, route: Route) {
        if !self.rows.set_port(route) {
            let (half, rows) = self.parts(route.prefix);
            half.insert(rows, route);
        }
    }

    fn withdraw(&mut self, prefix: Prefix) {
        let (half, rows) = self.parts(prefix);
        if let Some(row) = rows.remove(prefix) {
            half.remove(rows, prefix, row);
        }
    }

    fn lookup(&self, address: IpAddr) -> Option<Match> {
        self.rows.first(address)
    }

    fn moves(&self) -> u64 {
        self.rows.moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Port;

    /// One entry each of /8, /12, /16, /20, /24; then another /24 and another /8, which are
    /// withdrawn again.
    #[test]
    fn a_move_for_each_region_between_a_prefix_and_the_free_rows() {
        let parse = |text: &str| text.parse::<Prefix>().unwrap();
        let lengths = [8, 12, 16, 20, 24];
        let table = lengths.map(|length| (parse(&format!("10.0.0.0/{length}")), Port(0)));
        let moves = |free| {
            let mut sorted = Sorted::load(free, &Table::from(table));
            assert_eq!(sorted.moves(), 0);
            let mut before = 0;
            let mut since = |sorted: &Sorted| {
                let moves = sorted.moves() - before;
                before = sorted.moves();
                moves
            };
            let mut found = Vec::new();
            for prefix in ["10.9.9.0/24", "11.0.0.0/8"].map(parse) {
                let port = Port(1);
                assert_eq!(sorted.moves_for(prefix), {
                    let mut copy = sorted.clone();
                    copy.announce(Route { prefix, port });
                    copy.moves() - sorted.moves()
                });
                sorted.announce(Route { prefix, port });
                found.push(since(&sorted));
            }
            for prefix in ["10.9.9.0/24", "10.0.0.0/8"].map(parse) {
                sorted.withdraw(prefix);
                found.push(since(&sorted));
            }
            found
        };
        // At the end 10.0.0.0/8 has become the last of its region, in the middle the other one
        // takes its row.
        assert_eq!(moves(Free::End), [4, 0, 4, 0]);
        assert_eq!(moves(Free::Middle), [1, 2, 1, 3]);
    }
}
