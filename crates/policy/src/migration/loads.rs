//! What accesses to both memories took, as processors count it: how many there were, and for how
//! long they were under way together (Colloid reads both of the caches' counters, and divides them
//! by Little's law).

use std::ops::Sub;

/// What accesses to a memory took. Counts only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Accesses.
    pub accesses: u64,
    /// Picoseconds that they took together, waiting for a busy memory included.
    pub took_ps: u64,
    /// Picoseconds of one that reads where the memory is idle.
    pub idle_ps: u64,
}

impl Load {
    /// Returns the mean time of an access in picoseconds; where there was none, that of idle
    /// memory.
    pub fn latency_ps(self) -> u64 {
        self.took_ps
            .checked_div(self.accesses)
            .unwrap_or(self.idle_ps)
    }
}

/// What accesses to both memories took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// Of fast memory.
    pub fast: Load,
    /// Of slow memory.
    pub slow: Load,
}

impl Sub for Loads {
    type Output = Self;
    /// Returns what came since `before`.
    fn sub(self, before: Self) -> Self {
        let since = |load: Load, before: Load| Load {
            accesses: load.accesses.saturating_sub(before.accesses),
            took_ps: load.took_ps.saturating_sub(before.took_ps),
            idle_ps: load.idle_ps,
        };
        Self {
            fast: since(self.fast, before.fast),
            slow: since(self.slow, before.slow),
        }
    }
}
