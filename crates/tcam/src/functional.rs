//! A chip that answers like one that compares all rows, by hashing: one look for each prefix
//! length.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use crate::chip::{Chip, Location, Match};
use crate::length::Length;
use crate::prefix::Prefix;
use crate::route::{Port, Route};

/// The valid rows of blocks that are on-line, by their prefixes, which all differ.
#[derive(Clone, Debug)]
pub struct Functional {
    rows: FxHashMap<Prefix, (Location, Port)>,
    /// Valid rows of each length.
    by_length: [u32; Length::COUNT],
}

impl Default for Functional {
    fn default() -> Self {
        Self {
            rows: FxHashMap::default(),
            by_length: [0; Length::COUNT],
        }
    }
}

impl Functional {
    /// Makes an empty chip with memory for so many routes.
    pub fn with_capacity(routes: usize) -> Self {
        let mut chip = Self::default();
        chip.rows.reserve(routes);
        chip
    }

    fn put(&mut self, location: Location, route: Route) {
        let before = self.rows.insert(route.prefix, (location, route.port));
        debug_assert!(
            before.is_none_or(|(at, _)| at == location),
            "two rows hold {}",
            route.prefix
        );
        self.by_length[Length::of(route.prefix).index()] += u32::from(before.is_none());
    }
}

impl Chip for Functional {
    fn lookup(&self, address: IpAddr) -> Option<Match> {
        let host = Prefix::host(address);
        let first = Length {
            bits: 0,
            ..Length::of(host)
        }
        .index();
        (0..=host.length()).rev().find_map(|length| {
            if self.by_length[first + usize::from(length)] == 0 {
                return None;
            }
            let (_, port) = self.rows.get(&host.shortened(length))?;
            Some(Match {
                length,
                port: *port,
            })
        })
    }

    fn find(&self, prefix: Prefix) -> Option<Location> {
        self.rows.get(&prefix).map(|(location, _)| *location)
    }

    fn write(&mut self, block: u32, row: u32, route: Route) {
        self.put(Location::Shadow { block, row }, route);
    }

    fn invalidate(&mut self, location: Location, prefix: Prefix) {
        let removed = self.rows.remove(&prefix);
        debug_assert!(
            removed.is_some_and(|(at, _)| at == location),
            "{prefix} is not there"
        );
        self.by_length[Length::of(prefix).index()] -= u32::from(removed.is_some());
    }

    fn revive(&mut self, block: u32, row: u32, route: Route) {
        self.put(Location::Flash { block, row }, route);
    }

    fn program(&mut self, _: u32, _: Length, _: &[Route]) {}

    fn start(&mut self, block: u32, routes: &[Route], valid: &[bool]) {
        for (row, (route, valid)) in (0..).zip(routes.iter().zip(valid)) {
            if *valid {
                self.put(Location::Flash { block, row }, *route);
            }
        }
    }

    fn stop(&mut self, _: u32) {}
}
