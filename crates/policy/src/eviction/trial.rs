//! Trial of letting go: one page in 64 always goes once it has been passed, and what becomes of it
//! tells whether its neighbours may go, too.
//!
//! A page that comes back before as many other pages have come in as DRAM has would have stayed
//! there by itself: to let it go was wrong. One that stays away for longer would have been evicted
//! all the same.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::page::{Location, Space};

/// One page in this many is a sample.
const SAMPLE: u64 = 64;
/// Pages of a region, which has a verdict of its own: programs pass over one array, and work in
/// another.
const REGION: u64 = 1024;
/// Judged samples that are enough for a verdict: of all pages, and of one region.
const ENOUGH: (u32, u32) = (24, 4);
/// Judged samples after which older ones count half.
const FADING: u32 = 128;

/// Whether a page is a sample: by a hash of its address, so that strides find as many as passes do.
pub(super) fn is_sample(at: Location) -> bool {
    let mixed = (at.page.0 ^ u64::from(at.space.0) << 52).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40).is_multiple_of(SAMPLE)
}

/// Samples judged so far.
#[derive(Clone, Copy, Debug, Default)]
struct Verdict {
    right: u32,
    judged: u32,
    trusts: bool,
}

impl Verdict {
    /// Counts a sample; from 7 in 8 right ones on pages may go, below 6 in 8 no longer.
    fn judge(&mut self, right: bool) {
        self.judged += 1;
        self.right += u32::from(right);
        self.trusts = match self.trusts {
            true => self.right * 8 >= self.judged * 6,
            false => self.right * 8 >= self.judged * 7,
        };
        if self.judged >= FADING {
            self.judged /= 2;
            self.right /= 2;
        }
    }

    fn trusts(&self, enough: u32) -> Option<bool> {
        (self.judged >= enough).then_some(self.trusts)
    }
}

/// The samples that are away, and the verdicts on those that were.
pub(super) struct Trial {
    /// Pages of DRAM.
    capacity: u64,
    /// The clock at which each sample was passed that was then let go.
    away: FxHashMap<Location, u64>,
    /// The samples that are on trial, in order, and some that came back.
    order: VecDeque<(u64, Location)>,
    all: Verdict,
    regions: FxHashMap<(Space, u64), Verdict>,
}

impl Trial {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            away: FxHashMap::default(),
            order: VecDeque::new(),
            all: Verdict::default(),
            regions: FxHashMap::default(),
        }
    }

    /// Whether passed pages around `at` may go.
    pub(super) fn trusts(&self, at: Location) -> bool {
        let region = self.regions.get(&region(at));
        let own = region.and_then(|verdict| verdict.trusts(ENOUGH.1));
        own.or(self.all.trusts(ENOUGH.0)).unwrap_or(false)
    }

    /// Lets a sample go that was passed at `clock`.
    pub(super) fn leave(&mut self, at: Location, clock: u64) {
        self.away.insert(at, clock);
        self.order.push_back((clock, at));
    }

    /// Handles the return of a sample. Returns the clock since it was last passed, if it had been
    /// let go.
    pub(super) fn come(&mut self, at: Location, clock: u64) -> Option<u64> {
        let away = clock - self.away.remove(&at)?;
        if away < self.capacity {
            self.judge(at, false);
        }
        Some(away)
    }

    /// Judges the samples that stayed away for as many pages as DRAM has.
    pub(super) fn expire(&mut self, clock: u64) {
        while let Some(&(passed, at)) = self.order.front()
            && passed + self.capacity <= clock
        {
            self.order.pop_front();
            if self.away.get(&at) == Some(&passed) {
                self.judge(at, true);
            }
        }
    }

    pub(super) fn forget(&mut self, space: Space) {
        self.away.retain(|at, _| at.space != space);
        self.regions.retain(|&(of, _), _| of != space);
    }

    fn judge(&mut self, at: Location, right: bool) {
        self.all.judge(right);
        self.regions.entry(region(at)).or_default().judge(right);
    }
}

fn region(at: Location) -> (Space, u64) {
    (at.space, at.page.0 / REGION)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::Page;

    fn samples() -> impl Iterator<Item = Location> {
        let pages = (0..).map(|page| Location::new(Space(1), Page(page)));
        pages.filter(|at| is_sample(*at))
    }

    #[test]
    fn one_page_in_64_is_a_sample_at_any_stride() {
        for stride in [1, 2, 17, 64, 512, 1000, 4096] {
            let pages = (0..64_000).map(|k| Location::new(Space(7), Page(k * stride)));
            let found = pages.filter(|at| is_sample(*at)).count();
            assert!((700..1300).contains(&found), "stride {stride}: {found}");
        }
    }

    #[test]
    fn samples_that_stay_away_are_trusted() {
        let mut trial = Trial::new(1000);
        let far = samples().nth(1000).unwrap();
        for (clock, at) in samples().take(30).enumerate() {
            trial.leave(at, clock as u64);
        }
        trial.expire(1000 + 22);
        assert!(!trial.trusts(far), "23 are too few");
        trial.expire(1000 + 23);
        assert!(trial.trusts(far));
        assert_eq!(trial.come(samples().next().unwrap(), 5000), Some(5000));
        assert_eq!(trial.come(samples().next().unwrap(), 6000), None);
    }

    #[test]
    fn samples_that_return_are_not_and_a_region_has_its_own_verdict() {
        let mut trial = Trial::new(1000);
        let (near, far) = (samples().next().unwrap(), samples().nth(1000).unwrap());
        for (clock, at) in samples().skip(900).take(300).enumerate() {
            trial.leave(at, clock as u64);
        }
        trial.expire(5000);
        assert!(trial.trusts(far) && trial.trusts(near));
        for at in samples().take(4) {
            trial.leave(at, 5000);
            assert_eq!(trial.come(at, 5100), Some(100));
        }
        assert!(trial.trusts(far) && !trial.trusts(near));
    }
}
