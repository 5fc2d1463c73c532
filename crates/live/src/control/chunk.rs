//! What is known of the pages of a chunk (512 pages): which are cold is found by trials.
//!
//! A page on trial is taken out of the page table and written to the tier, and stays in DRAM: a
//! touch puts it back within a microsecond, and shows that it is in use. One that nobody touched
//! for the time of a trial leaves DRAM, without another write. On compressed memory a page leaves
//! DRAM at once, and the trial is the time until it comes back; so does one that was only read
//! since it was in the tier, as its copy there is still the same. Pages that came back are left
//! alone for a while, twice as long after each time that most of them prove hot again.

use std::time::Duration;

use super::set::Set;

/// Time in which a page on trial shows that it is in use. One that is touched less often costs a
/// fault of some 100 us in that time: 1 in 50,000.
pub(super) const TRIAL: Duration = Duration::from_secs(5);
/// Time for which pages that came back are left alone: at first, and at most.
const REST: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(3600));
/// Pages of a chunk of which nothing is known that are tried at first.
pub(super) const SAMPLE: usize = 8;
/// Outcomes that are remembered: of more, all are halved.
const REMEMBERED: u32 = 1024;

/// What is known of the pages of a chunk.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    /// Pages on trial, in DRAM and out of the page table.
    trial: Set,
    /// Time since which they are.
    since: Duration,
    /// Pages that have left DRAM.
    away: Set,
    /// When the last of them left, as a number that grows.
    left: u64,
    /// Pages that came back, which are left alone until a time, and for how long.
    hot: Set,
    until: Duration,
    rest: Duration,
    /// Pages that were left alone, and are tried again.
    retried: Set,
    /// Trials that ended, and those of them whose page came back.
    ended: u32,
    back: u32,
    /// Pages that came back so far.
    touched: u64,
    /// Time before which it is not looked at.
    pub again: Duration,
    /// When it was looked at last.
    pub seen: Duration,
    /// Pages that several processes share, and those that stayed when they were to leave.
    pub shared: u32,
    /// See `shared`.
    pub stayed: u32,
}

impl Chunk {
    /// Handles the end of a trial: `out` are the pages out of the page table now.
    pub fn observe(&mut self, out: &Set, now: Duration) {
        let back = self.trial.or(&self.away).without(out);
        // Of those away the end was counted when they left.
        self.count(self.trial.without(out).count(), back.count());
        self.touched += back.count();
        self.trial = self.trial.and(out);
        self.away = self.away.and(out);
        if !self.retried.is_empty() {
            let proved = self.retried.and(&back).count() * 2 >= self.retried.count();
            self.rest = match proved {
                true => (self.rest * 2).min(REST.1),
                false => REST.0,
            };
            self.retried = Set::default();
        }
        if !back.is_empty() {
            self.rest = self.rest.max(REST.0);
            self.hot = self.hot.or(&back);
            self.until = now + self.rest;
        }
    }

    /// Returns those of the pages in DRAM that may be tried now: at most a sample of a chunk of
    /// which nothing is known. `order` puts them in an order of chance.
    pub fn candidates(&self, own: &Set, now: Duration, order: impl FnOnce(&mut [usize])) -> Set {
        let left_alone = match now >= self.until {
            true => self.out(),
            false => self.out().or(&self.hot),
        };
        let free = own.without(&left_alone);
        if self.ended > 0 {
            return free;
        }
        let mut pages: Vec<usize> = free.pages().collect();
        order(&mut pages);
        pages.into_iter().take(SAMPLE).collect()
    }

    /// Begins a trial of pages.
    pub fn try_out(&mut self, pages: &Set, now: Duration) {
        self.retried = self.retried.or(&pages.and(&self.hot));
        self.hot = self.hot.without(pages);
        self.trial = self.trial.or(pages);
        self.since = now;
    }

    /// Whether its pages have been on trial for long enough.
    pub fn is_due(&self, now: Duration) -> bool {
        self.is_on_trial() && now >= self.since + TRIAL
    }

    /// Notes that pages have left DRAM, as the `order`-th that did.
    pub fn leave(&mut self, pages: &Set, order: u64) {
        self.count(pages.count(), 0);
        self.trial = self.trial.without(pages);
        self.away = self.away.or(pages);
        self.left = order;
    }

    /// Notes that pages are fetched: they are in DRAM, and out of the page table until they are
    /// touched.
    pub fn fetch(&mut self, pages: &Set, now: Duration) {
        self.away = self.away.without(pages);
        self.try_out(pages, now);
    }

    /// Whether pages are on trial.
    pub fn is_on_trial(&self) -> bool {
        !self.trial.is_empty()
    }

    /// Pages on trial.
    pub fn trial(&self) -> Set {
        self.trial
    }

    /// Pages that have left DRAM.
    pub fn away(&self) -> Set {
        self.away
    }

    /// Pages that have come back so far, each time that they did.
    pub fn touched(&self) -> u64 {
        self.touched
    }

    /// Time since which pages are on trial.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// When the last page left, as a number that grows.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Pages out of the page table, as far as is known.
    fn out(&self) -> Set {
        self.trial.or(&self.away)
    }

    /// Share of trials whose page came back, in thousandths; half without any.
    pub fn heat(&self) -> u64 {
        (u64::from(self.back) + 1) * 1000 / (u64::from(self.ended) + 2)
    }

    fn count(&mut self, ended: u64, back: u64) {
        self.ended += ended as u32;
        self.back = (self.back + back as u32).min(self.ended);
        if self.ended > REMEMBERED {
            self.ended /= 2;
            self.back /= 2;
        }
    }
}
