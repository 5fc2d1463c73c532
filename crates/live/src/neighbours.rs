//! Runs beside each other, and the swap areas that one leaves to the others.
//!
//! Linux cannot bind a cgroup to its swap area: areas are the machine's, filled from the highest
//! priority down. So the area of one run comes to hold pages of another. Switching it off would make
//! the kernel read them all back into the other's budget, and write what they push out. Therefore a
//! run that ends while others go on leaves such an area on, and notes that in its journal; the run
//! that ends last removes it with its own, as does `terrace doctor --clean` once none runs.

use std::fs::File;
use std::time::Duration;

use terrace_base::Result;

use crate::journal::Journal;
use crate::journal::leftover::Found;
use crate::lock::lock;
use crate::tier::{NEGLIGIBLE, Tier};

/// How often, at intervals of [`TURN_LASTS`], a run tries to be the only one that ends.
const TRIES: usize = 500;
const TURN_LASTS: Duration = Duration::from_millis(20);

/// Ends the tier of a run: removes it with the areas that other runs left, or leaves it to the runs
/// that go on.
///
/// # Errors
/// A failure if an area cannot be removed; it stays in its journal.
pub(crate) fn settle(tier: Tier, journal: &mut Journal) -> Result<()> {
    let _turn = take_turn(journal);
    let others = Found::beside(journal)?;
    let own = match others.going_on {
        0 => tier.remove(),
        _ => tier.remove_all_but_used(),
    };
    // Read again: another run may have ended while pages were read back.
    let others = Found::beside(journal)?;
    let inherited = others.handed_over.into_iter();
    let due = inherited.filter(|run| others.going_on == 0 || run.pages() <= NEGLIGIBLE);
    let taken = due.map(|run| run.take_over(journal.directory()));
    let taken: Vec<_> = taken.collect();
    own.and(taken.into_iter().collect::<Result<()>>())
        .and(journal.end())
}

/// Keeps other runs of this state directory from ending until dropped: two that end at once would
/// each leave its areas to the other. After some seconds a run ends all the same.
fn take_turn(journal: &Journal) -> Option<File> {
    lock(journal.state(), TRIES, TURN_LASTS)
}
