//! `hold`: of a pass over more memory than DRAM, a part is held in DRAM, and the rest goes as soon
//! as it has been passed.
//!
//! The best that can be done with a cyclic pass over N pages in a DRAM of D is to keep nearly D of
//! them and let the others through, which saves D/N of the faults; least recently used saves none.
//! For pages whose time of next use is known this is Belady's rule (Belady 1966): the page goes
//! that is needed last. Here the time is estimated: a part of the program that came after some time
//! comes again after the same time, so of what is in DRAM that goes which was passed last, unless
//! something is overdue.
//!
//! Only pages that a predictor foresaw count as passed: they are cheap to fetch again. Whether
//! passed pages may go is found out beforehand, by a sample (`trial`); pages that are held show by
//! a sample, too, that the program still comes to them (`groups`).
//!
//! The clock counts distinct pages that the program touches, as far as they are seen: each page
//! that comes in, and with the sample of a group all of the group's pages.

use std::collections::VecDeque;

use super::groups::Groups;
use super::trial::{Trial, is_sample};
use super::{Entry, Eviction, Make};
use crate::page::{Location, Space};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "hold",
    summary: "of a pass over more memory than DRAM, a part stays and the rest goes right behind it",
    paper: "Terrace; the rule is Belady 1966's, with the last interval as the next",
    when: "Programs that go through large arrays again and again. Others lose next to nothing: what is \
           worth letting go is found out on one page in 64.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|capacity, params| {
        Ok(Some(Box::new(Hold::new(capacity, Settings::take(params)?))))
    }),
};

/// Arrivals, as a multiple of DRAM's pages, within which a pass shows whether pages may go: in the
/// first samples stay away for as long as DRAM has pages, and in the second others are held.
const PATIENCE: u64 = 4;
/// DRAM has room if one part in this many is free: nothing need go.
const PLENTY: u64 = 8;

settings! {
    /// Settings of `hold`.
    pub struct Settings {
        /// share of DRAM that held pages may take
        share: f64 = 0.84, 0.0..=1.0;
        /// share of DRAM for passed pages that may still be in use
        lag: f64 = 0.03125, 0.0..=1.0;
    }
}

/// The `hold` policy.
pub struct Hold {
    capacity: u64,
    lag: u64,
    /// Pages that may be held: at most, and at present.
    most: u64,
    room: f64,
    clock: u64,
    /// The clock between two touches of a page that was let go, by the latest samples.
    usual: f64,
    /// Pages that may still be in use, in order, each with the clock at which it was passed.
    passed: VecDeque<(u64, Location)>,
    trial: Trial,
    groups: Groups,
    recent: Recent,
    /// Arrivals for which it is worth to wait until something is held.
    patience: u64,
}

/// Recent arrivals, older ones counting less.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    all: u32,
    foreseen: u32,
}

impl Recent {
    fn count(&mut self, foreseen: bool) {
        self.all += 1;
        self.foreseen += u32::from(foreseen);
        if self.all >= 1024 {
            self.all /= 2;
            self.foreseen /= 2;
        }
    }
}

impl Hold {
    /// Makes the policy for a DRAM of `capacity` pages.
    pub fn new(capacity: u64, settings: Settings) -> Self {
        let share = |share: f64| (share * capacity as f64) as u64;
        let most = share(settings.share);
        Self {
            capacity,
            lag: share(settings.lag),
            most,
            room: most as f64,
            clock: 0,
            usual: capacity as f64,
            passed: VecDeque::new(),
            trial: Trial::new(capacity),
            groups: Groups::default(),
            recent: Recent::default(),
            patience: PATIENCE * capacity,
        }
    }

    /// Handles a page that was passed some time ago; `full` tells whether DRAM has no room for
    /// others.
    fn pass(&mut self, at: Location, passed: u64, full: bool, leaving: &mut Vec<Location>) {
        if is_sample(at) {
            self.trial.leave(at, passed);
            self.groups.begin(at, self.clock);
            leaving.push(at);
        } else if self.trial.trusts(at) && !self.groups.hold(at) && full {
            leaving.push(at);
        }
        while full
            && self.groups.len() as f64 > self.room
            && self.groups.let_go(self.clock, self.usual as u64, leaving)
        {}
    }

    /// Adapts the room for held pages to what the kernel leaves: other memory of the program needs
    /// DRAM, too. A held page that is lost takes a quarter of a page from it, since the kernel may
    /// evict all of a pass where only some did not fit; pages that are found where they were held
    /// give a little back.
    fn adapt(&mut self, lost: bool, found: u64) {
        let change = found as f64 / 64.0 - if lost { 0.25 } else { 0.0 };
        self.room = (self.room + change).clamp(0.0, self.most as f64);
    }
}

impl Eviction for Hold {
    fn arrived(&mut self, at: Location, foreseen: bool, free: u64, leaving: &mut Vec<Location>) {
        self.clock += 1;
        self.recent.count(foreseen);
        self.patience = match self.groups.len() {
            0 => self.patience.saturating_sub(1),
            _ => PATIENCE * self.capacity,
        };
        let lost = self.groups.lose(at);
        let mut found = 0;
        if is_sample(at) {
            if let Some(away) = self.trial.come(at, self.clock) {
                self.usual += (away as f64 - self.usual) / 16.0;
            }
            found = self.groups.come(at, self.clock);
            self.clock += found;
        }
        self.adapt(lost, found);
        self.trial.expire(self.clock);
        if !foreseen {
            return;
        }
        let full = free * PLENTY <= self.capacity;
        if !full {
            self.room = self.most as f64;
        }
        self.passed.push_back((self.clock, at));
        while let Some(&(passed, at)) = self.passed.front()
            && passed + self.lag < self.clock
        {
            self.passed.pop_front();
            self.pass(at, passed, full, leaving);
        }
    }

    fn wants_arrivals(&self) -> bool {
        let Recent { all, foreseen } = self.recent;
        self.patience > 0 && foreseen * 2 > all
    }

    fn forget(&mut self, space: Space) {
        self.passed.retain(|(_, at)| at.space != space);
        self.trial.forget(space);
        self.groups.forget(space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;
    use crate::replacement::linux::Linux;
    use crate::replacement::{Answer, PageId, Replacement, Touch};

    /// A DRAM with the kernel's replacement, in which every touch of a page that is not there was
    /// foreseen.
    struct Dram {
        kernel: Linux,
        policy: Option<Hold>,
        capacity: usize,
        misses: u64,
    }

    impl Dram {
        fn new(capacity: usize, holds: bool) -> Self {
            let policy = || Hold::new(capacity as u64, Settings::default());
            Self {
                kernel: Linux::new(capacity),
                policy: holds.then(policy),
                capacity,
                misses: 0,
            }
        }

        fn touch(&mut self, page: u64) {
            let write = false;
            let id = PageId(page as u32);
            if let Answer::Hit = self.kernel.touch(Touch { page: id, write }) {
                return;
            }
            self.misses += 1;
            let mut leaving = Vec::new();
            if let Some(policy) = &mut self.policy {
                let at = Location::new(Space(1), Page(page));
                let free = (self.capacity - self.kernel.resident()) as u64;
                policy.arrived(at, true, free, &mut leaving);
            }
            for at in leaving {
                self.kernel.remove(PageId(at.page.0 as u32));
            }
        }

        /// Touches pages, and returns the misses.
        fn pass(&mut self, pages: impl IntoIterator<Item = u64>) -> u64 {
            let before = self.misses;
            pages.into_iter().for_each(|page| self.touch(page));
            self.misses - before
        }
    }

    /// Misses of a run of passes, with the kernel alone and with `hold`.
    fn both(capacity: u64, passes: impl Fn(&mut Dram) -> u64) -> (u64, u64) {
        let [kernel, hold] =
            [false, true].map(|holds| passes(&mut Dram::new(capacity as usize, holds)));
        (kernel, hold)
    }

    const D: u64 = 8 << 10;

    #[test]
    fn a_cyclic_pass_keeps_what_fits() {
        for tenths in [13, 15, 20, 30, 80] {
            let pages = D * tenths / 10;
            let (kernel, hold) = both(D, |dram| {
                (0..7).map(|_| dram.pass(0..pages)).last().unwrap()
            });
            assert_eq!(kernel, pages, "the kernel keeps nothing of use");
            // Of DRAM, 84 % at most are held, and one page in 64 shows that the others are used.
            let bound = pages - D * 82 / 100;
            assert!(hold <= bound, "{tenths} tenths: {hold}, bound {bound}");
        }
    }

    /// A loop that fits after one that does not: what was held for the first must go.
    #[test]
    fn a_new_phase_gets_its_dram() {
        for tenths in [5, 8, 10] {
            let (_, hold) = both(D, |dram| {
                dram.pass((0..4).flat_map(|_| 0..2 * D));
                let small = 4 * D..4 * D + D * tenths / 10;
                (0..10).map(|_| dram.pass(small.clone())).last().unwrap()
            });
            // Samples go all the time.
            assert!(hold < D / 16, "{tenths} tenths: {hold}");
        }
    }

    /// Columns of a matrix: the pages of one are passed many times before the next ones.
    #[test]
    fn pages_that_are_passed_again_soon_stay() {
        for row in [3, 17, 40] {
            let column = |k| (0..2 * D / row).map(move |r| r * row + k);
            let (kernel, hold) = both(D, |dram| {
                let columns = (0..5).flat_map(|_| (0..row).flat_map(|k| [k; 16]));
                columns.map(|k| dram.pass(column(k))).sum()
            });
            assert!(
                hold < kernel * 105 / 100,
                "rows of {row} pages: {kernel} {hold}"
            );
        }
    }

    #[test]
    fn a_hot_part_stays_beside_a_pass() {
        for tenths in [1, 3, 5, 7] {
            let (kernel, hold) = both(D, |dram| {
                let mut random = 1;
                let mut hot = || 4 * D + draw(&mut random) % (D * tenths / 10);
                let pages = (0..6).flat_map(|_| 0..2 * D);
                dram.pass(pages.flat_map(move |page| [page, hot()]))
            });
            assert!(hold < kernel, "{tenths} tenths: {kernel} {hold}");
        }
    }

    /// Where nothing can be known of the next use nothing is won, and next to nothing lost.
    #[test]
    fn random_touches_lose_little() {
        for skew in [1, 2, 4] {
            let (kernel, hold) = both(D, |dram| {
                let mut random = 1;
                let mut next = || (draw(&mut random) as f64 / (1u64 << 31) as f64).powi(skew);
                dram.pass((0..20 * D).map(move |_| (next() * (2 * D) as f64) as u64))
            });
            assert!(hold < kernel * 103 / 100, "skew {skew}: {kernel} {hold}");
        }
    }

    #[test]
    fn a_small_loop_within_a_large_one() {
        for tenths in [2, 5, 9] {
            let (kernel, hold) = both(D, |dram| {
                let parts = (0..6).flat_map(|_| 0..8u64);
                let part = |k| k * D / 4..(k + 1) * D / 4;
                let small = 4 * D..4 * D + D * tenths / 10;
                parts.map(|k| dram.pass(part(k).chain(small.clone()))).sum()
            });
            assert!(
                hold < kernel * 104 / 100,
                "{tenths} tenths: {kernel} {hold}"
            );
        }
    }

    #[test]
    fn arrivals_are_wanted_while_most_are_foreseen_and_something_may_come_of_it() {
        let mut policy = Hold::new(1 << 10, Settings::default());
        let mut leaving = Vec::new();
        let mut arrive = |policy: &mut Hold, page, foreseen| {
            policy.arrived(
                Location::new(Space(1), Page(page)),
                foreseen,
                0,
                &mut leaving,
            );
            policy.wants_arrivals()
        };
        assert!(!arrive(&mut policy, 0, false));
        assert!(!arrive(&mut policy, 1, true), "half of them");
        assert!(arrive(&mut policy, 2, true));
        // A loop that fits: every sample comes back, and nothing is held.
        let fits = (0..100).flat_map(|_| 0..512);
        let wanted = fits.filter(|&page| arrive(&mut policy, page, true)).count();
        assert_eq!(wanted as u64, PATIENCE * 1024 - 4);
        assert_eq!(policy.groups.len(), 0);
    }

    /// Returns a number below 2^31.
    fn draw(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        *state >> 33
    }

    #[test]
    fn processes_that_end_are_forgotten() {
        let mut policy = Hold::new(1 << 10, Settings::default());
        let mut leaving = Vec::new();
        for page in (0..4).flat_map(|_| 0..4 << 10) {
            for space in [1, 2].map(Space) {
                policy.arrived(Location::new(space, Page(page)), true, 0, &mut leaving);
            }
        }
        assert!(policy.groups.len() > 0 && policy.wants_arrivals());
        leaving.clear();
        policy.forget(Space(1));
        policy.forget(Space(2));
        assert_eq!(policy.groups.len(), 0);
        for page in 0..64 << 10 {
            policy.arrived(Location::new(Space(3), Page(page)), true, 0, &mut leaving);
        }
        assert!(leaving.iter().all(|at| at.space == Space(3)), "{leaving:?}");
    }
}
