//! Whether fetches make way for demand faults.
//!
//! A thread whose pages are foreseen is served best by many reads in flight. Another thread, whose
//! faults nobody foresaw, then waits behind all of them: demand comes first (Fedorov 2016, section
//! 5.4.3). A single thread has only one fault at a time, and fetches that make way would cost it
//! more than they spare.

use rustc_hash::FxHashMap;

use crate::Thread;

/// Faults of a thread in an epoch from which it is judged.
const LEAST: u32 = 8;
/// Epochs for which fetches make way after the last in which they had to.
const HOLD: u32 = 4;

/// Judges, epoch by epoch, who waits for what.
#[derive(Debug, Default)]
pub struct Precedence {
    threads: FxHashMap<Thread, Faults>,
    held: u32,
}

/// Faults of a thread in this epoch.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    foreseen: u32,
    others: u32,
}

impl Faults {
    fn all(self) -> u32 {
        self.foreseen + self.others
    }

    /// Whether it waits for fetches: for half of its pages and more.
    fn follows(self) -> bool {
        self.all() >= LEAST && self.foreseen >= self.others
    }

    /// Whether fetches are of no use to it: for four fifths of its pages and more.
    fn demands(self) -> bool {
        self.all() >= LEAST && self.others >= 4 * self.foreseen
    }
}

impl Precedence {
    /// Tells of a fault on a page that is fetched or is to be fetched (`foreseen`), or on another.
    pub fn fault(&mut self, thread: Thread, foreseen: bool) {
        let faults = self.threads.entry(thread).or_default();
        match foreseen {
            true => faults.foreseen += 1,
            false => faults.others += 1,
        }
    }

    /// Ends an epoch. Returns whether fetches make way in the next: some thread waits for fetches,
    /// and another for pages that nobody foresaw.
    pub fn end_epoch(&mut self) -> bool {
        let mut threads = self.threads.values();
        let follows = threads.clone().any(|faults| faults.follows());
        self.held = match follows && threads.any(|faults| faults.demands()) {
            true => HOLD,
            false => self.held.saturating_sub(1),
        };
        self.threads.clear();
        self.held > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends an epoch in which threads had so many foreseen and other faults.
    fn epoch(precedence: &mut Precedence, threads: &[(u32, u32)]) -> bool {
        for (number, &(foreseen, others)) in threads.iter().enumerate() {
            let thread = Thread(number as u32);
            (0..foreseen).for_each(|_| precedence.fault(thread, true));
            (0..others).for_each(|_| precedence.fault(thread, false));
        }
        precedence.end_epoch()
    }

    #[test]
    fn fetches_make_way_where_one_thread_follows_and_another_demands() {
        for (threads, makes_way) in [
            (&[(100, 10), (0, 50)][..], true),
            (&[(100, 10), (10, 50)], true),
            // One thread, whatever its faults.
            (&[(100, 100)], false),
            (&[(0, 100)], false),
            // Two that are foreseen, or two that are not.
            (&[(100, 10), (90, 20)], false),
            (&[(0, 100), (3, 100)], false),
            // Too few to tell.
            (&[(100, 10), (0, LEAST - 1)], false),
            (&[(LEAST - 1, 0), (0, 50)], false),
        ] {
            assert_eq!(
                epoch(&mut Precedence::default(), threads),
                makes_way,
                "{threads:?}"
            );
        }
    }

    #[test]
    fn fetches_make_way_for_some_epochs() {
        let mut precedence = Precedence::default();
        assert!(epoch(&mut precedence, &[(100, 10), (0, 50)]));
        let held = (1..10).take_while(|_| precedence.end_epoch()).count();
        assert_eq!(held as u32, HOLD - 1);
    }
}
