//! Counts the moves of every ordering over the updates of a table.

use std::net::IpAddr;

use terrace_base::{Error, Result};

use super::{ORDERINGS, Ordering, Table};
use crate::golden::Golden;
use crate::prefix::Family;
use crate::route::Route;
use crate::sample::Sample;
use crate::update::{Change, Update};

/// What an ordering took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moves {
    /// Name of the ordering.
    pub name: &'static str,
    /// Entries that were moved.
    pub moves: u64,
    /// The most that were moved for one update.
    pub most: u64,
}

/// A conventional TCAM of each family, in one ordering.
struct Tcam {
    moves: Moves,
    v4: Box<dyn Ordering>,
    v6: Box<dyn Ordering>,
}

impl Tcam {
    fn of(&mut self, family: Family) -> &mut dyn Ordering {
        match family {
            Family::V4 => &mut *self.v4,
            Family::V6 => &mut *self.v6,
        }
    }

    fn update(&mut self, change: Change) {
        let ordering = self.of(change.prefix().family());
        let before = ordering.moves();
        match change {
            Change::Announce(route) => ordering.announce(route),
            Change::Withdraw(prefix) => ordering.withdraw(prefix),
        }
        let moves = ordering.moves() - before;
        self.moves.moves += moves;
        self.moves.most = self.moves.most.max(moves);
    }
}

/// Counts the moves of all orderings. After a `checked` part of the updates, 0 to 1, each of them
/// looks some address of the prefix up; `seed` says which.
///
/// # Errors
/// Returns a failure if an answer is not the longest match.
pub fn count(table: &[Route], updates: &[Update], checked: f64, seed: u64) -> Result<Vec<Moves>> {
    let mut golden = Golden::default();
    table.iter().for_each(|route| {
        golden.insert(*route);
    });
    let of = |family| -> Table {
        let routes = table.iter().filter(|route| route.prefix.family() == family);
        routes.map(|route| (route.prefix, route.port)).collect()
    };
    let (v4, v6) = (of(Family::V4), of(Family::V6));
    let mut tcams = ORDERINGS.map(|entry| Tcam {
        moves: Moves {
            name: entry.name,
            moves: 0,
            most: 0,
        },
        v4: (entry.load)(&v4),
        v6: (entry.load)(&v6),
    });
    let mut sample = Sample::new(checked, seed);
    for update in updates {
        match update.change {
            Change::Announce(route) => golden.insert(route),
            Change::Withdraw(prefix) => golden.remove(prefix),
        };
        tcams.iter_mut().for_each(|tcam| tcam.update(update.change));
        if let Some(address) = sample.draw(update.change.prefix()) {
            check(&mut tcams, &golden, address)?;
        }
    }
    Ok(tcams.map(|tcam| tcam.moves).to_vec())
}

fn check(tcams: &mut [Tcam], golden: &Golden, address: IpAddr) -> Result<()> {
    let expected = golden.lookup(address);
    for tcam in tcams {
        let answer = tcam.of(Family::of(address)).lookup(address);
        if answer != expected {
            return Err(Error::failure(format!(
                "the ordering {} answers {answer:?} for {address}, and the table says {expected:?}",
                tcam.moves.name
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::Port;

    /// A /8 and 40 of its /16; then a /12 between them, and another /16.
    #[test]
    fn moves_by_hand() {
        let route = |text: &str| Route {
            prefix: text.parse().unwrap(),
            port: Port(1),
        };
        let mut table = vec![route("10.0.0.0/8")];
        table.extend((0..40).map(|index| route(&format!("10.{index}.0.0/16"))));
        let updates = ["10.0.0.0/12", "10.240.0.0/16"].map(|text| Update {
            at: None,
            change: Change::Announce(route(text)),
        });
        let counted = count(&table, &updates, 1.0, 1).unwrap();
        let found: Vec<_> = counted
            .iter()
            .map(|moves| (moves.name, moves.moves, moves.most))
            .collect();
        assert_eq!(
            found,
            [
                ("sorted-end", 3, 2),
                ("sorted-middle", 1, 1),
                ("partial", 0, 0),
                ("hermes", 0, 0)
            ]
        );
    }
}
