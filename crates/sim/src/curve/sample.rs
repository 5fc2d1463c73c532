//! Which pages are in a sample.

use terrace_policy::replacement::PageId;

/// Disjoint samples of the pages of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sampling {
    /// Of this number of pages in the order of their first touch one is in a sample.
    pub(super) every: u32,
    /// Number of samples.
    pub(super) samples: u32,
    pub(super) seed: u64,
}

impl Sampling {
    /// Returns the sample in which a page is, and its number there; `None` if it is in no sample.
    #[inline]
    pub(super) fn of(self, page: PageId) -> Option<(usize, u32)> {
        if self.every == 1 && self.samples == 1 {
            return Some((0, page.0));
        }
        let stratum = page.0 / self.every;
        if self.every > 1 && page.0 % self.every != self.drawn(stratum) {
            return None;
        }
        Some(((stratum % self.samples) as usize, stratum / self.samples))
    }

    /// Returns the place of the page in a stratum that was drawn.
    #[inline]
    fn drawn(self, stratum: u32) -> u32 {
        // The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
        let mut hash = (u64::from(stratum) ^ self.seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((hash >> 32).wrapping_mul(u64::from(self.every)) >> 32) as u32
    }

    /// Returns the share of the pages that is in a sample.
    pub(super) fn rate(self) -> f64 {
        1.0 / f64::from(self.every)
    }

    /// Returns the number of pages in each sample, by the number of all pages.
    pub(super) fn pages(self, all: u64) -> Vec<u64> {
        let mut pages = vec![0; self.samples as usize];
        for page in 0..all as u32 {
            if let Some((sample, _)) = self.of(PageId(page)) {
                pages[sample] += 1;
            }
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_disjoint_and_of_the_share_that_was_asked_for() {
        for (every, samples) in [(1, 1), (10, 4), (100, 3)] {
            let sampling = Sampling {
                every,
                samples,
                seed: 7,
            };
            let all = 12_000;
            let pages = sampling.pages(u64::from(all));
            assert_eq!(
                pages,
                vec![u64::from(all / every / samples); samples as usize]
            );
            let mut seen: Vec<_> = (0..all)
                .filter_map(|page| sampling.of(PageId(page)))
                .collect();
            seen.sort_unstable();
            let numbers = all / every / samples;
            let dense =
                (0..samples).flat_map(|sample| (0..numbers).map(move |at| (sample as usize, at)));
            assert!(seen.into_iter().eq(dense), "{every} {samples}");
        }
    }

    /// Every place of a stratum is drawn about as often as another: within five standard
    /// deviations.
    #[test]
    fn all_pages_have_the_same_chance() {
        let sampling = Sampling {
            every: 10,
            samples: 1,
            seed: 1,
        };
        let mut drawn = [0_i32; 10];
        (0..100_000).for_each(|stratum| drawn[sampling.drawn(stratum) as usize] += 1);
        assert!(
            drawn.iter().all(|times| (times - 10_000).abs() < 475),
            "{drawn:?}"
        );
    }
}
