//! A shadow table in front of the main one, so that an update takes a bounded number of moves (Chen
//! and Benson, Hermes: Providing Tight Control over High-Performance SDN Switches, CoNEXT 2017).
//!
//! New prefixes go to a small table. When it is half full, its entries are moved into the main
//! table, as many after each update as the bound leaves room for, until it is empty. Both tables
//! are sorted, with free rows in the middle, so that the difference from [`sorted`](super::sorted)
//! is the shadow table's.
//!
//! The paper bounds milliseconds, here moves are bounded: how long one takes is the switch's own.
//! The paper's switch asks the shadow table first, so that rules are cut by longer ones in the main
//! table; here both are asked and the longer match wins, as in the chapter's LPM block, and nothing
//! is cut.

use std::net::IpAddr;

use super::sorted::{Free, Sorted};
use super::{Entry, Ordering, Table};
use crate::chip::Match;
use crate::prefix::{Family, Prefix};
use crate::route::Route;

/// The ordering by its name.
pub const ENTRY: Entry = Entry {
    name: "hermes",
    load: |table| Box::new(Hermes::load(table, SHADOW_ROWS)),
};

/// Rows of the shadow table, as many as a shadow block of the flash TCAM has.
const SHADOW_ROWS: usize = 512;

/// Returns the most moves of an update: the least with which the shadow table does not grow beyond
/// its half. A new prefix takes at most half of the bits of an address in the shadow table, and as
/// many and its own move when it goes to the main one; so after each update there is room for one
/// migration.
fn bound(family: Family) -> u64 {
    1 + u64::from(family.bits())
}

/// Two sorted tables.
#[derive(Clone, Debug)]
pub struct Hermes {
    main: Sorted,
    shadow: Sorted,
    shadow_rows: usize,
    is_migrating: bool,
    /// Entries that went from the shadow table to the main one.
    migrated: u64,
}

impl Hermes {
    /// Makes a main table of routes, without moves, and a shadow table of rows.
    pub fn load(table: &Table, shadow_rows: usize) -> Self {
        Self {
            main: Sorted::load(Free::Middle, table),
            shadow: Sorted::new(Free::Middle),
            shadow_rows,
            is_migrating: false,
            migrated: 0,
        }
    }

    /// Moves entries to the main table while the bound on moves since `before` allows it.
    fn migrate(&mut self, before: u64, bound: u64) {
        self.is_migrating |= self.shadow.len() >= self.shadow_rows / 2;
        while self.is_migrating {
            let Some(route) = self.shadow.innermost() else {
                self.is_migrating = false;
                return;
            };
            let moves = 1 + self.main.moves_for(route.prefix);
            if self.moves() - before + moves > bound {
                return;
            }
            self.shadow.withdraw(route.prefix);
            self.main.announce(route);
            self.migrated += 1;
        }
    }
}

impl Ordering for Hermes {
    fn announce(&mut self, route: Route) {
        let before = self.moves();
        match self.main.has(route.prefix) {
            true => self.main.announce(route),
            false => self.shadow.announce(route),
        }
        self.migrate(before, bound(route.prefix.family()));
    }

    fn withdraw(&mut self, prefix: Prefix) {
        let before = self.moves();
        self.main.withdraw(prefix);
        self.shadow.withdraw(prefix);
        self.migrate(before, bound(prefix.family()));
    }

    fn lookup(&self, address: IpAddr) -> Option<Match> {
        let answers = [self.main.lookup(address), self.shadow.lookup(address)];
        answers
            .into_iter()
            .flatten()
            .max_by_key(|found| found.length)
    }

    fn moves(&self) -> u64 {
        self.main.moves() + self.shadow.moves() + self.migrated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Port;

    /// Prefixes of all lengths, enough to fill the shadow table several times.
    #[test]
    fn no_update_takes_more_moves_than_the_bound() {
        let mut hermes = Hermes::load(&Table::new(), SHADOW_ROWS);
        let (mut before, mut emptied) = (0, 0);
        for index in 0..3000u128 {
            let length = 12 + (index * 37 % 117) as u8;
            let address = std::net::Ipv6Addr::from_bits(index << 116 | index);
            let prefix = Prefix::new(address.into(), length).unwrap();
            hermes.announce(Route {
                prefix,
                port: Port(0),
            });
            assert!(hermes.moves() - before <= bound(Family::V6));
            assert!(hermes.shadow.len() <= SHADOW_ROWS / 2, "{index}");
            before = hermes.moves();
            emptied += u32::from(hermes.shadow.is_empty());
        }
        assert!(emptied > 3 && hermes.migrated > 2000, "{emptied}");
    }
}
