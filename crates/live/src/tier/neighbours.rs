//! Runs beside each other, and the swap areas that one leaves to the others.
//!
//! Linux cannot bind a cgroup to its swap area: areas are the machine's, filled from the highest
//! priority down. So the area of one run comes to hold pages of another. Switching it off would
//! make the kernel read them all back into the other's budget, and write what they push out.
//! Therefore a run that ends while others go on leaves such an area on, and notes that in its
//! journal; the run that ends last removes it with its own, as does `terrace doctor --clean` once
//! none runs.

use terrace_base::Result;

use super::{NEGLIGIBLE, Tier};
use crate::journal::Journal;
use crate::system::lock::Say;

/// Ends the tier of a run: removes it with the areas that other runs left, or leaves it to the runs
/// that go on. What is waited for is told to `say`.
///
/// # Errors
/// A failure if an area cannot be removed; it stays in its journal.
pub(crate) fn settle(tier: Tier, journal: &mut Journal, say: Say) -> Result<()> {
    // Two that end at once would each leave its areas to the other.
    let _turn = journal.directory().take_turn(say);
    let others = journal.others()?;
    let own = match others.going_on {
        0 => tier.remove(say),
        _ => tier.remove_all_but_used(say),
    };
    // Read again: another run may have begun while pages were read back.
    let others = journal.others()?;
    let inherited = others.handed_over.into_iter();
    let due = inherited.filter(|run| others.going_on == 0 || run.pages() <= NEGLIGIBLE);
    let taken: Vec<_> = due
        .map(|run| run.take_over(journal.directory(), say))
        .collect();
    let taken: Result<()> = taken.into_iter().collect();
    if taken.is_err() {
        journal.leave_guardian();
    }
    own.and(taken).and(journal.end())
}
