//! What happened to the updates of one prefix length.

use std::iter::Sum;
use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::Serialize;

/// Counts of a length, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counts {
    /// Announcements.
    pub announcements: u64,
    /// Withdrawals.
    pub withdrawals: u64,
    /// Withdrawals of prefixes that are not in the table.
    pub withdrawals_of_nothing: u64,
    /// Announcements that a policy did not have written, as nothing changed.
    pub skipped: u64,
    /// Announcements that made an invalid row of flash valid again.
    pub revived: u64,
    /// Announcements that replaced the row of their prefix in shadow.
    pub replaced: u64,
    /// Announcements that took a row in shadow.
    pub added: u64,
    /// Rows that stayed in shadow when their block was full.
    pub kept: u64,
    /// Shadow blocks that were full.
    pub flushes: u64,
    /// Entries of full shadow blocks that were written to flash: flash writes as the chapter counts
    /// them.
    pub flushed: u64,
    /// Entries that were written to flash only because their block was erased for its holes.
    pub copied: u64,
    /// Flash blocks that were programmed.
    pub programmed: u64,
    /// Flash blocks that were erased.
    pub erased: u64,
    /// Updates that waited, as there was no shadow block for them.
    pub waited: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.announcements += other.announcements;
        self.withdrawals += other.withdrawals;
        self.withdrawals_of_nothing += other.withdrawals_of_nothing;
        self.skipped += other.skipped;
        self.revived += other.revived;
        self.replaced += other.replaced;
        self.added += other.added;
        self.kept += other.kept;
        self.flushes += other.flushes;
        self.flushed += other.flushed;
        self.copied += other.copied;
        self.programmed += other.programmed;
        self.erased += other.erased;
        self.waited += other.waited;
    }
}

impl Sum for Counts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}
