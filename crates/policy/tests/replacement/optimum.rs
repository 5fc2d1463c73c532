//! Belady's MIN misses as seldom as can be.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::replacement::{PageId, REGISTRY, Touch, belady::Belady};

use crate::steps::{Step, make, steps, touches};

/// The fewest misses of any choice of victims: tries all, keeping the best way to each set of
/// resident pages (one bit a page).
fn fewest_misses(capacity: usize, pages: &[u32]) -> u64 {
    let mut ways = HashMap::from([(0u32, 0u64)]);
    for page in pages {
        let mut next = HashMap::new();
        let mut reach = |resident: u32, misses: u64| {
            let best = next.entry(resident).or_insert(misses);
            *best = misses.min(*best);
        };
        for (&resident, &misses) in &ways {
            if resident & (1 << page) != 0 {
                reach(resident, misses);
                continue;
            }
            let with_page = resident | 1 << page;
            if (resident.count_ones() as usize) < capacity {
                reach(with_page, misses + 1);
                continue;
            }
            let victims = (0..32).filter(|victim| resident & (1 << victim) != 0);
            for victim in victims {
                reach(with_page & !(1 << victim), misses + 1);
            }
        }
        ways = next;
    }
    ways.into_values().min().expect("there is always a way")
}

fn misses_of_belady(capacity: usize, touches: &[Touch]) -> u64 {
    use terrace_policy::replacement::Replacement as _;
    let future: Vec<_> = touches.iter().map(|touch| touch.page).collect();
    Belady::new(capacity, &future).replay(touches)
}

proptest! {
    #[test]
    fn belady_is_as_good_as_trying_everything(
        capacity in 1..5usize,
        pages in prop::collection::vec(0..8u32, 0..40),
    ) {
        let touch = |&page: &u32| Touch { page: PageId(page), write: false };
        let touches: Vec<_> = pages.iter().map(touch).collect();
        prop_assert_eq!(misses_of_belady(capacity, &touches), fewest_misses(capacity, &pages));
    }

    #[test]
    fn no_policy_misses_less_often_than_belady(capacity in 1..=20usize, seed: u64, steps in steps()) {
        let touches = touches(&steps);
        let fewest = misses_of_belady(capacity, &touches);
        let steps: Vec<_> = touches.iter().copied().map(Step::Touch).collect();
        for entry in REGISTRY {
            let misses = make(entry.make, capacity, seed, &steps).replay(&touches);
            prop_assert!(misses >= fewest, "{} misses {} times, belady {}", entry.name, misses, fewest);
        }
    }
}
