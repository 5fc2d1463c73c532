//! The first row that matches is the longest match: every ordering beside the golden copy.

use proptest::prelude::*;

use super::hermes::Hermes;
use super::partial::Partial;
use super::sorted::{Free, Sorted};
use super::{Entry, ORDERINGS, Ordering, Table};
use crate::golden::Golden;
use crate::prefix::Family;
use crate::testing::{addresses, changes};
use crate::update::Change;

fn apply(ordering: &mut dyn Ordering, change: Change) {
    match change {
        Change::Announce(route) => ordering.announce(route),
        Change::Withdraw(prefix) => ordering.withdraw(prefix),
    }
}

/// A shadow table that is emptied again and again.
const SMALL_HERMES: Entry = Entry {
    name: "hermes with 6 rows",
    load: |table| Box::new(Hermes::load(table, 6)),
};

proptest! {
    #[test]
    fn every_ordering_answers_as_the_golden_copy(
        before in prop::collection::vec(changes(), 0..60),
        updates in prop::collection::vec((changes(), prop::collection::vec(addresses(), 3)), 0..150),
    ) {
        for entry in ORDERINGS.into_iter().chain([SMALL_HERMES]) {
            let mut golden = Golden::default();
            let mut tables = [Table::new(), Table::new()];
            for change in &before {
                if let Change::Announce(route) = change {
                    golden.insert(*route);
                    tables[route.prefix.family() as usize].insert(route.prefix, route.port);
                }
            }
            let [v4, v6] = &tables;
            let mut tcams = [(entry.load)(v4), (entry.load)(v6)];
            prop_assert_eq!(tcams[0].moves() + tcams[1].moves(), 0, "{} loads without moves", entry.name);
            for (change, addresses) in &updates {
                match change {
                    Change::Announce(route) => golden.insert(*route),
                    Change::Withdraw(prefix) => golden.remove(*prefix),
                };
                apply(&mut *tcams[change.prefix().family() as usize], *change);
                for address in addresses.iter().copied().chain([change.prefix().address()]) {
                    let found = tcams[Family::of(address) as usize].lookup(address);
                    prop_assert_eq!(found, golden.lookup(address), "{} {}", entry.name, address);
                }
            }
        }
    }

    /// An entry that is overwritten is not seen by lookups of other prefixes.
    #[test]
    fn no_two_entries_are_in_one_row(
        before in prop::collection::vec(changes(), 0..60), updates in prop::collection::vec(changes(), 0..150),
    ) {
        let routes = before.iter().filter_map(|change| match change {
            Change::Announce(route) => Some((route.prefix, route.port)),
            Change::Withdraw(_) => None,
        });
        for family in [Family::V4, Family::V6] {
            let table: Table = routes.clone().filter(|(prefix, _)| prefix.family() == family).collect();
            let mut sorted = [Free::End, Free::Middle].map(|free| Sorted::load(free, &table));
            let mut partial = Partial::load(&table);
            for change in updates.iter().filter(|change| change.prefix().family() == family) {
                for sorted in &mut sorted {
                    apply(sorted, *change);
                    prop_assert!(sorted.rows.are_distinct());
                }
                apply(&mut partial, *change);
                prop_assert!(partial.rows.are_distinct());
            }
        }
    }
}
