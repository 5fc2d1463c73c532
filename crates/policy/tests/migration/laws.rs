//! Laws that hold for every policy, whatever it is told.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::migration::{Access, Costs, Plan, REGISTRY, Side};
use terrace_policy::replacement::PageId;

use crate::calls::{COSTS, Call, TRIED, calls, policy, policy_with};

#[test]
fn every_policy_is_tried() {
    for entry in REGISTRY.iter().filter(|entry| entry.name != "fault") {
        let of = |text: &&&str| text.split(':').next() == Some(entry.name);
        assert!(TRIED.iter().any(|text| of(&text)), "{}", entry.name);
    }
}

proptest! {
    /// Only known pages move, to where they are not, and there is room for them; marks are of slow
    /// pages.
    #[test]
    fn moves_can_be_made(fast in 0..10_usize, calls in calls()) {
        for text in TRIED {
            let mut policy = policy(text, fast);
            let mut sides: HashMap<PageId, Side> = HashMap::new();
            let is_driver = |call: &&Call| !matches!(call, Call::Stays(..));
            for call in calls.iter().filter(is_driver) {
                let mut plan = Plan::default();
                match (*call, call.tell(&mut *policy, &mut plan)) {
                    (Call::Came(page), Some(side)) => {
                        let known = sides.insert(page, side);
                        prop_assert!(known.is_none_or(|known| known == side), "{}", text);
                    }
                    (Call::Gone(page), _) => drop(sides.remove(&page)),
                    _ => {}
                }
                for one in &plan.moves {
                    let before = sides.insert(one.page, one.to);
                    prop_assert!(before.is_some_and(|side| side != one.to), "{}: {:?}", text, one);
                    let number = sides.values().filter(|side| **side == Side::Fast).count();
                    prop_assert!(number <= fast, "{}: {} of {}", text, number, fast);
                }
                for (at, page) in plan.hints.iter().enumerate() {
                    prop_assert_eq!(sides.get(page), Some(&Side::Slow), "{}", text);
                    prop_assert!(!plan.hints[..at].contains(page), "{}", text);
                }
            }
        }
    }

    /// As long as there is room, new pages are fast, but where nothing ever is or they take turns.
    #[test]
    fn new_pages_take_the_room_there_is(fast in 0..10_usize) {
        let takes = |text: &&&str| **text != "never" && !text.starts_with("interleave");
        for text in TRIED.iter().filter(takes) {
            let mut policy = policy(text, fast);
            for page in 0..12 {
                let side = if (page as usize) < fast { Side::Fast } else { Side::Slow };
                prop_assert_eq!(policy.came(PageId(page)), side, "{}", text);
            }
        }
    }

    /// What moves cost has been saved before, or is within the slack, however the program behaves.
    #[test]
    fn benefit_spends_no_more_than_it_has(
        fast in 1..6_usize,
        accesses in prop::collection::vec((0..12_u32, 0..3_u64), 1..800),
    ) {
        for (text, slack) in [
            ("benefit:every=1,turns=0.3", 0.01),
            ("benefit:every=1,turns=0.06,expect=100,slack=0", 0.0),
            ("benefit:every=1,turns=0.06,expect=100,slack=0.3", 0.3),
        ] {
            // All accesses are counted, and nothing but moves is paid.
            let free = Costs { sample: Duration::ZERO, ..COSTS };
            let mut policy = policy_with(text, fast, free);
            let mut sides: HashMap<u32, Side> = HashMap::new();
            let (mut saved, mut spent) = (Duration::ZERO, Duration::ZERO);
            let mut micros = 0;
            for (page, wait) in &accesses {
                micros += wait;
                sides.entry(*page).or_insert_with(|| policy.came(PageId(*page)));
                if sides[page] == Side::Fast {
                    saved += Duration::from_nanos(COSTS.line_ps / 1000);
                }
                let time = Duration::from_micros(micros);
                let mut plan = Plan::default();
                policy.sampled(Access::read(PageId(*page)), time, &mut plan);
                if !plan.moves.is_empty() {
                    spent += COSTS.batch;
                }
                for one in plan.moves {
                    sides.insert(one.page.0, one.to);
                    spent += match one.to {
                        Side::Fast => COSTS.promotion,
                        Side::Slow => COSTS.demotion,
                    };
                }
                prop_assert!(spent <= saved + time.mul_f64(slack), "{}", text);
            }
        }
    }
}
