//! Of several announcements for a prefix only the newest is written to flash, also if a shadow
//! block becomes full between them: the rows that were written last stay in shadow, where their
//! next update will replace them.
//!
//! A shadow block is a write-back cache then, which evicts the least recently written part at once.
//! The chapter flushes all of it ([`thesis`](super::thesis)), and with it the prefixes that are
//! about to change again.

use terrace_base::Nanos;
use terrace_policy::settings;

use super::make::{Entry, Make};
use super::{Held, UpdatePolicy};

/// The policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "coalesce",
    summary: "the rows of a full shadow block that were written last stay in shadow",
    paper: "none: least recently used replacement of a write-back cache, in the place of Fedorov 2016, 4.3.3.1",
    when: "Few prefixes make most of the load, as in all measured tables. Flushes become smaller and more frequent.",
    evidence: terrace_policy::registry::Evidence::NONE,
    make: Make(&|params| Ok(Box::new(Coalesce(Settings::take(params)?)))),
};

settings! {
    /// Settings of the policy.
    struct Settings {
        /// part of a full shadow block that stays in shadow
        share: f64 = 0.5, 0.0..=0.9;
    }
}

/// Keeps what is recent.
struct Coalesce(Settings);

impl UpdatePolicy for Coalesce {
    fn keep(&mut self, _: Nanos, rows: &[Held], stays: &mut [bool]) {
        let mut recent: Vec<usize> = (0..rows.len()).collect();
        recent.sort_unstable_by_key(|row| std::cmp::Reverse(rows[*row].order));
        let kept = (rows.len() as f64 * self.0.share) as usize;
        for row in recent.into_iter().take(kept) {
            stays[row] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Port, Route};

    #[test]
    fn the_half_that_was_written_last_stays() {
        let route = Route {
            prefix: "::/0".parse().unwrap(),
            port: Port(1),
        };
        let rows = [3, 9, 1, 7].map(|order| Held { route, order });
        let mut stays = [false; 4];
        Coalesce(Settings::default()).keep(Nanos::ZERO, &rows, &mut stays);
        assert_eq!(stays, [false, true, false, true]);
    }
}
