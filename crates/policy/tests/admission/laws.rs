//! Laws that hold for every policy of the registry, and for chains of them.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::admission::{Answer, Chain, Machine, REGISTRY, Request};

use crate::calls::{answers, calls, time};

proptest! {
    #[test]
    fn the_same_calls_give_the_same_answers(flash in 1..40_u64, dram in 0..8_u64, calls in calls()) {
        let machine = Machine { flash, dram };
        for entry in REGISTRY {
            let make = || Chain::parse(entry.name).unwrap().policy(&machine).unwrap();
            let (mut first, mut second) = (make(), make());
            for call in &calls {
                call.tell(&mut *first);
                // Questions change nothing.
                answers(&*first, time(call));
                call.tell(&mut *second);
                let (first, second) = (answers(&*first, time(call)), answers(&*second, time(call)));
                prop_assert_eq!(&first, &second, "{}", entry.name);
                let mut refused = first.iter().map(|(wanted, _)| wanted).filter(|one| **one != Answer::Admit);
                prop_assert!(refused.all(|one| *one == Answer::Refuse(entry.name)), "{}", entry.name);
            }
        }
    }

    #[test]
    fn a_chain_admits_what_all_admit(flash in 1..40_u64, calls in calls()) {
        let machine = Machine { flash, dram: 2 };
        let names: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        let make = |text: &str| Chain::parse(text).unwrap().policy(&machine).unwrap();
        let mut chain = make(&names.join("+"));
        let mut links: Vec<_> = names.iter().map(|name| make(name)).collect();
        for call in &calls {
            call.tell(&mut *chain);
            links.iter_mut().for_each(|link| call.tell(&mut **link));
            let links: Vec<_> = links.iter().map(|link| answers(&**link, time(call))).collect();
            for (page, (wanted, affords)) in answers(&*chain, time(call)).into_iter().enumerate() {
                let refused = links.iter().map(|link| link[page].0).find(|one| *one != Answer::Admit);
                prop_assert_eq!(wanted, refused.unwrap_or(Answer::Admit));
                prop_assert_eq!(affords, links.iter().all(|link| link[page].1));
            }
        }
    }

    /// Whatever is read and however often, no span of a day has more than the budget and what the
    /// bucket holds.
    #[test]
    fn a_budget_is_kept(
        reads in prop::collection::vec((0..30_u64, 0..900_u64), 100..600), pages_a_day in 24..2000_u64,
    ) {
        let budget = pages_a_day * 4096;
        let text = format!("write-budget:bytes-per-day={budget}");
        let machine = Machine { flash: 16, dram: 0 };
        let mut policy = Chain::parse(&text).unwrap().policy(&machine).unwrap();
        let mut now = 0;
        let mut written: Vec<u64> = Vec::new();
        for (page, wait) in reads {
            now += wait;
            let time = Duration::from_secs(now);
            let request = Request { page, size: 0, time };
            policy.missed(&request);
            if policy.wants(&request) == Answer::Admit {
                policy.admitted(&request);
                policy.wrote(4096, time);
                written.push(now);
            }
        }
        for first in &written {
            let day = written.iter().filter(|at| (*first..first + 86_400).contains(at));
            prop_assert!(day.count() as f64 <= pages_a_day as f64 * (25.0 / 24.0));
        }
    }
}
