//! The chip: flash blocks, shadow blocks and the block that picks the longest match, as the
//! firmware sees them.
//!
//! Two models implement it: [`Structural`](crate::structural::Structural) compares all rows, as the
//! hardware does; [`Functional`](crate::functional::Functional) gives the same answers by hashing.
//! The chip decides nothing; what lies where is the firmware's business
//! ([`Router`](crate::router::Router)).

use std::net::IpAddr;

use crate::length::Length;
use crate::prefix::Prefix;
use crate::route::{Port, Route};

/// A row of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Location {
    /// A row of a flash block.
    Flash {
        /// Number of the block.
        block: u32,
        /// Row in it.
        row: u32,
    },
    /// A row of a shadow block.
    Shadow {
        /// Number of the block.
        block: u32,
        /// Row in it.
        row: u32,
    },
}

/// The answer to a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Bits of the longest prefix that contains the address.
    pub length: u8,
    /// Where its packets go.
    pub port: Port,
}

/// A chip. Blocks and rows that are named must exist.
pub trait Chip {
    /// Returns the longest match of all valid rows of blocks that are on-line.
    fn lookup(&self, address: IpAddr) -> Option<Match>;

    /// Returns the valid row that holds exactly this prefix; of the blocks of its length alone the
    /// row number is read (4.3.3.2).
    fn find(&self, prefix: Prefix) -> Option<Location>;

    /// Writes a row of a shadow block, which is valid at once.
    fn write(&mut self, block: u32, row: u32, route: Route);

    /// Makes a row invalid, which takes a cycle of the clock. It holds this prefix.
    fn invalidate(&mut self, location: Location, prefix: Prefix);

    /// Makes an invalid row of a flash block valid again. It holds this route.
    fn revive(&mut self, block: u32, row: u32, route: Route);

    /// Takes a flash block off-line, erases it and programs its first rows with routes of one
    /// length.
    fn program(&mut self, block: u32, length: Length, routes: &[Route]);

    /// Brings the block on-line that was programmed with these routes; only rows that are told so
    /// are valid.
    fn start(&mut self, block: u32, routes: &[Route], valid: &[bool]);

    /// Takes a flash block without valid rows off-line.
    fn stop(&mut self, block: u32);
}
