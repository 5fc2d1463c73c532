//! A pool of compressed pages in DRAM: of zswap, or of a zram device.

use terrace_base::Bytes;

/// Memory of a pool, or what was added to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// DRAM that it takes.
    pub taken: Bytes,
    /// Size of the pages in it before they were compressed.
    pub held: Bytes,
}

impl Pool {
    /// Returns what was added since `earlier`.
    pub fn since(self, earlier: Self) -> Self {
        let more = |now: Bytes, then: Bytes| Bytes(now.0.saturating_sub(then.0));
        Self {
            taken: more(self.taken, earlier.taken),
            held: more(self.held, earlier.held),
        }
    }

    /// Returns the one that takes more DRAM.
    pub fn larger(self, other: Self) -> Self {
        match other.taken > self.taken {
            true => other,
            false => self,
        }
    }

    /// Returns how many times smaller the pages in it are than they were; `None` of an empty one.
    pub fn ratio(self) -> Option<f64> {
        (self.taken.0 > 0).then(|| self.held.0 as f64 / self.taken.0 as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(taken: u64, held: u64) -> Pool {
        Pool {
            taken: Bytes(taken),
            held: Bytes(held),
        }
    }

    #[test]
    fn the_largest_pool_of_a_run_without_what_was_in_it_before() {
        let before = pool(10, 30);
        let looks = [pool(10, 30), pool(30, 80), pool(25, 90), pool(5, 9)];
        let peak = looks.map(|look| look.since(before));
        let peak = peak.into_iter().fold(Pool::default(), Pool::larger);
        assert_eq!(peak, pool(20, 50));
        assert_eq!(peak.ratio(), Some(2.5));
        assert_eq!(Pool::default().ratio(), None);
    }
}
