//! A ledger of fetches: from when a page was submitted, completed, faulted and touched, what became
//! of its fetch.
//!
//! A driver cannot see the fate of a fetched page; it sees four kinds of events, each with its
//! time. A *major* fault ends on a page that the fault has read by itself: a fault on a page that
//! is under way waits for it and is a minor one. So a major fault on a submitted page means that
//! the fault began before the fetch did, which then read nothing ([`Outcome::Reissued`]), or that
//! the page had arrived and was evicted again ([`Outcome::Wasted`]); an eviction takes its time.
//! Hence, over a run, `reads = issued + major faults - reissued`.
//!
//! The ledger has no clock: times are durations since any moment that the driver chooses.

use std::collections::VecDeque;
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::Outcome;
use crate::page::{Location, Space};

/// A fetched page that stays untouched while this many windows of other pages are read counts as
/// evicted.
pub const HORIZON: u64 = 4;
/// Looks at the ends of a batch between two looks at all of its pages.
const ENDS: u32 = 16;

/// What a machine's reads take, from which events are told apart.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Time of one read: a page touched sooner after its submission than that had not arrived.
    pub read: Duration,
    /// Longest time that a page takes to be evicted for sure: a fault that ends sooner after the
    /// submission of its page began before it.
    pub eviction: Duration,
}

/// Fetched pages that are not known to have been touched, by batches.
#[derive(Debug)]
pub struct Ledger {
    timing: Timing,
    /// Number of fetched pages that may wait to be touched.
    window: u64,
    /// Batches with pages that have not ended, in the order of submission.
    batches: VecDeque<Batch>,
    /// Number of the first of [`Ledger::batches`].
    first: u64,
    /// Number of the batch of each page that has not ended.
    batch_of: FxHashMap<Location, u64>,
    /// Batch that the next sweep begins with.
    next: u64,
}

/// Pages that were submitted together.
#[derive(Debug)]
struct Batch {
    /// Pages in the order of addresses, in which a program touches them or the reverse.
    pages: VecDeque<Location>,
    /// Time at which the kernel had taken the reads over; `None` until then.
    completed: Option<Duration>,
    /// Pages that had been read from the tier when it was submitted.
    arrivals: u64,
    /// Looks at its ends since the last look at all of its pages.
    looks: u32,
}

/// Names a batch until its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket(u64);

impl Ledger {
    /// Makes an empty ledger for at most `window` fetched pages that wait to be touched.
    pub fn new(timing: Timing, window: u64) -> Self {
        Self {
            timing,
            window,
            batches: VecDeque::new(),
            first: 0,
            batch_of: FxHashMap::default(),
            next: 0,
        }
    }

    /// Enters a batch of pages, sorted by address, that is about to be read; `arrivals` pages have
    /// been read from the tier so far.
    pub fn submit(&mut self, pages: &[Location], arrivals: u64) -> Ticket {
        let number = self.first + self.batches.len() as u64;
        self.batch_of.extend(pages.iter().map(|&at| (at, number)));
        self.batches.push_back(Batch {
            pages: pages.iter().copied().collect(),
            completed: None,
            arrivals,
            looks: 0,
        });
        Ticket(number)
    }

    /// Notes that the kernel had taken over all reads of a batch at `now`.
    pub fn complete(&mut self, ticket: Ticket, now: Duration) {
        if let Some(batch) = self.batch_mut(ticket.0) {
            batch.completed = Some(now);
        }
    }

    /// Returns the number of fetched pages that have not ended.
    pub fn outstanding(&self) -> usize {
        self.batch_of.len()
    }

    /// Returns how many more pages may be fetched now.
    pub fn room(&self) -> usize {
        (self.window as usize).saturating_sub(self.outstanding())
    }

    /// Ends a page on which a major fault ended at `ended`; `None` if the page had not been
    /// fetched.
    pub fn faulted(&mut self, at: Location, ended: Duration) -> Option<Outcome> {
        let completed = self.end(at)?;
        let evicted = completed.is_some_and(|completed| ended > completed + self.timing.eviction);
        Some(match evicted {
            true => Outcome::Wasted,
            false => Outcome::Reissued,
        })
    }

    /// Ends a page that was seen touched at `now`; `None` if the page had not been fetched.
    pub fn touched(&mut self, at: Location, now: Duration) -> Option<Outcome> {
        let completed = self.end(at)?;
        let arrived = completed.is_some_and(|completed| now >= completed + self.timing.read);
        Some(match arrived {
            true => Outcome::Used,
            false => Outcome::Late,
        })
    }

    /// Ends the pages of an address space without an outcome.
    pub fn forget(&mut self, space: Space) {
        self.batch_of.retain(|at, _| at.space != space);
    }

    /// Looks for touched pages with `is_touched`, at about `looks` pages; appends the pages that
    /// end and their outcomes to `ended`.
    ///
    /// Looks at each batch from its two ends on as far as pages are touched, because a program that
    /// does what was predicted touches them in order; at all of its pages from time to time. After
    /// `arrivals` pages read from the tier, what lies untouched for too long has been evicted.
    pub fn sweep(
        &mut self,
        looks: usize,
        arrivals: u64,
        now: Duration,
        mut is_touched: impl FnMut(Location) -> bool,
        ended: &mut Vec<(Location, Outcome)>,
    ) {
        self.retire();
        let mut left = looks;
        for _ in 0..self.batches.len() {
            if left == 0 {
                break;
            }
            let count = self.batches.len() as u64;
            let number = self.first + (self.next.max(self.first) - self.first) % count;
            self.next = number + 1;
            let (touched, looked) = self.look(number, &mut is_touched);
            left = left.saturating_sub(looked);
            for at in touched {
                let outcome = self.touched(at, now);
                ended.extend(outcome.map(|outcome| (at, outcome)));
            }
            for at in self.expired(number, arrivals) {
                self.batch_of.remove(&at);
                ended.push((at, Outcome::Wasted));
            }
        }
    }

    /// Looks at a batch; returns the pages found touched, and the number of looks.
    fn look(
        &mut self,
        number: u64,
        mut is_touched: impl FnMut(Location) -> bool,
    ) -> (Vec<Location>, usize) {
        let batch_of = &self.batch_of;
        let Some(batch) = self.batches.get_mut((number - self.first) as usize) else {
            return (Vec::new(), 0);
        };
        let is_open = |at: &Location| batch_of.get(at) == Some(&number);
        let (mut touched, mut looked) = (Vec::new(), 0);
        batch.looks += 1;
        if batch.looks.is_multiple_of(ENDS) {
            batch.pages.retain(|&at| {
                let open = is_open(&at);
                looked += usize::from(open);
                let hit = open && is_touched(at);
                touched.extend(hit.then_some(at));
                open && !hit
            });
            return (touched, looked);
        }
        type End = (
            fn(&VecDeque<Location>) -> Option<&Location>,
            fn(&mut VecDeque<Location>) -> Option<Location>,
        );
        let ends: [End; 2] = [
            (VecDeque::front, VecDeque::pop_front),
            (VecDeque::back, VecDeque::pop_back),
        ];
        for (peek, pop) in ends {
            while let Some(&at) = peek(&batch.pages) {
                if is_open(&at) {
                    looked += 1;
                    if !is_touched(at) {
                        break;
                    }
                    touched.push(at);
                }
                pop(&mut batch.pages);
            }
        }
        (touched, looked)
    }

    /// Returns the open pages of a batch if it was submitted too many reads ago.
    fn expired(&self, number: u64, arrivals: u64) -> Vec<Location> {
        let batch = self.batches.get((number - self.first) as usize);
        let is_old = |batch: &&Batch| {
            batch.completed.is_some() && arrivals - batch.arrivals > HORIZON * self.window
        };
        let pages = batch.filter(is_old).into_iter().flat_map(|b| &b.pages);
        let is_open = |at: &&Location| self.batch_of.get(at) == Some(&number);
        pages.filter(is_open).copied().collect()
    }

    /// Removes the oldest batches as far as all of their pages have ended.
    fn retire(&mut self) {
        while let Some(batch) = self.batches.front() {
            let number = self.first;
            let is_open = |at: &Location| self.batch_of.get(at) == Some(&number);
            if batch.pages.iter().any(is_open) {
                break;
            }
            self.batches.pop_front();
            self.first += 1;
        }
    }

    /// Ends a page; returns the completion time of its batch, if it was fetched.
    fn end(&mut self, at: Location) -> Option<Option<Duration>> {
        let number = self.batch_of.remove(&at)?;
        Some(self.batch_mut(number).and_then(|batch| batch.completed))
    }

    fn batch_mut(&mut self, number: u64) -> Option<&mut Batch> {
        let index = number.checked_sub(self.first)?;
        self.batches.get_mut(index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    const TIMING: Timing = Timing {
        read: Duration::from_micros(100),
        eviction: Duration::from_micros(5000),
    };

    fn at(page: u64) -> Location {
        Location::new(Space(1), Page(page))
    }

    fn us(time: u64) -> Duration {
        Duration::from_micros(time)
    }

    /// Makes a ledger with pages 0 to 7 submitted, which the kernel took over after 50 us.
    fn eight() -> Ledger {
        let mut ledger = Ledger::new(TIMING, 64);
        let pages: Vec<Location> = (0..8).map(at).collect();
        let ticket = ledger.submit(&pages, 0);
        ledger.complete(ticket, us(50));
        ledger
    }

    fn swept(ledger: &mut Ledger, arrivals: u64, touched: &[u64]) -> Vec<(u64, Outcome)> {
        let mut ended = Vec::new();
        let is_touched = |at: Location| touched.contains(&at.page.0);
        ledger.sweep(1000, arrivals, us(1000), is_touched, &mut ended);
        ended.iter().map(|(at, o)| (at.page.0, *o)).collect()
    }

    #[test]
    fn a_fault_that_began_before_the_fetch_makes_it_read_nothing() {
        let mut ledger = Ledger::new(TIMING, 64);
        let ticket = ledger.submit(&[at(1), at(2), at(3)], 0);
        assert_eq!(ledger.faulted(at(1), us(40)), Some(Outcome::Reissued));
        ledger.complete(ticket, us(50));
        assert_eq!(ledger.faulted(at(2), us(1000)), Some(Outcome::Reissued));
        assert_eq!(ledger.faulted(at(3), us(6000)), Some(Outcome::Wasted));
        assert_eq!(ledger.faulted(at(3), us(6100)), None, "it has ended");
        assert_eq!(ledger.outstanding(), 0);
    }

    #[test]
    fn a_touch_before_the_arrival_is_late() {
        let mut ledger = eight();
        assert_eq!(ledger.touched(at(0), us(149)), Some(Outcome::Late));
        assert_eq!(ledger.touched(at(1), us(150)), Some(Outcome::Used));
        assert_eq!(ledger.touched(at(1), us(151)), None);
        assert_eq!(ledger.room(), 58);
    }

    #[test]
    fn a_sweep_looks_at_batches_from_both_ends() {
        let used =
            |pages: &[u64]| -> Vec<_> { pages.iter().map(|&p| (p, Outcome::Used)).collect() };
        let mut ledger = eight();
        assert_eq!(swept(&mut ledger, 0, &[0, 1, 3, 7]), used(&[0, 1, 7]));
        let late: Vec<_> = (0..ENDS)
            .flat_map(|_| swept(&mut ledger, 0, &[3]))
            .collect();
        assert_eq!(
            late,
            used(&[3]),
            "all pages are looked at from time to time"
        );
    }

    #[test]
    fn what_lies_untouched_for_long_was_evicted() {
        let mut ledger = eight();
        assert_eq!(swept(&mut ledger, HORIZON * 64, &[]), []);
        assert_eq!(swept(&mut ledger, HORIZON * 64 + 1, &[]).len(), 8);
        assert_eq!(ledger.outstanding(), 0);
        assert!(swept(&mut ledger, HORIZON * 64 + 1, &[]).is_empty());
        assert!(ledger.batches.is_empty());
    }

    #[test]
    fn an_address_space_is_forgotten() {
        let mut ledger = eight();
        ledger.forget(Space(1));
        assert_eq!(ledger.touched(at(0), us(1000)), None);
        assert_eq!(ledger.outstanding(), 0);
    }
}
