//! Ways of keeping a conventional TCAM in order, beside the flash TCAM, which needs none.
//!
//! A conventional TCAM is one table whose priority encoder lets the first row through that matches.
//! So a prefix must lie above the shorter ones that contain it, and a new one may need entries to
//! be moved out of its way. A move is one write of a row with what another row held; writing the
//! new route itself, another port, and making a row invalid are none. IPv4 and IPv6 have a table
//! each, and tables never get full: moves are what is counted.

pub mod hermes;
pub mod moves;
pub mod partial;
mod rows;
pub mod sorted;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::chip::Match;
use crate::prefix::Prefix;
use crate::route::{Port, Route};

pub use moves::{Moves, count};

/// Routes of one family, which an ordering makes its table from.
pub type Table = BTreeMap<Prefix, Port>;

/// A conventional TCAM that is kept in order. All prefixes are of one family.
pub trait Ordering {
    /// Has the prefix go to the port from now on.
    fn announce(&mut self, route: Route);

    /// Removes the prefix, if it is there.
    fn withdraw(&mut self, prefix: Prefix);

    /// Returns what the priority encoder lets through.
    fn lookup(&self, address: IpAddr) -> Option<Match>;

    /// Returns the moves that were made since the table was loaded.
    fn moves(&self) -> u64;
}

/// An ordering by its name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Makes it of the routes of one family, without moves.
    pub load: fn(&Table) -> Box<dyn Ordering>,
}

/// Every ordering.
pub const ORDERINGS: [Entry; 4] = [sorted::END, sorted::MIDDLE, partial::ENTRY, hermes::ENTRY];
