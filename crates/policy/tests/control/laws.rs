//! Laws that hold for every policy, or for `slowdown` at any looks.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::control::budget::Budget;
use terrace_policy::control::{Moved, REGISTRY, Reason, Seen, Spec, Step};

use crate::looks::looks;

proptest! {
    #[test]
    fn nothing_happens_on_a_machine_that_is_short(looks in looks()) {
        for entry in REGISTRY {
            let mut controller = Spec::parse(entry.name).unwrap().controller().unwrap();
            for seen in &looks {
                let decision = controller.look(seen, None);
                prop_assert!(!seen.short || decision.step == Step::Hold, "{}: {decision:?}", entry.name);
            }
        }
    }

    /// However a service is, and whatever its policy wants.
    #[test]
    fn what_is_not_there_is_searched_for_less_and_less(resident in 1_u64 << 31..1 << 34, gap in 1..2000_u64) {
        let mut controller = Spec::parse("fixed:dram=1G").unwrap().controller().unwrap();
        let (mut steps, mut time) = (Vec::new(), Duration::ZERO);
        while time < Duration::from_secs(3600) {
            let seen = Seen { time, resident, ..Seen::default() };
            match controller.look(&seen, None).step {
                Step::Hold => {}
                _ => steps.push(time),
            }
            controller.came(Moved::default());
            time += Duration::from_millis(gap);
        }
        // Seven steps until pauses are of a minute, and then one a minute.
        prop_assert!((60..80).contains(&steps.len()), "{}", steps.len());
        let seen = Seen { time, resident, ..Seen::default() };
        prop_assert_eq!(controller.decisions().reclaims, steps.len() as u64);
        // Something is found again, at last.
        let later = Seen { time: time + Duration::from_secs(60), ..seen };
        prop_assert!(matches!(controller.look(&later, None).step, Step::Reclaim(_)));
        controller.came(Moved { bytes: 0, tried: 4096 });
        let next = Seen { time: later.time + Duration::from_millis(1), ..seen };
        prop_assert!(matches!(controller.look(&next, None).step, Step::Reclaim(_)));
    }

    #[test]
    fn a_step_is_of_whole_pages_that_are_there(looks in looks(), allowance in 0..1_u64 << 30) {
        for entry in REGISTRY {
            let mut controller = Spec::parse(entry.name).unwrap().controller().unwrap();
            for seen in &looks {
                let (bytes, most) = match controller.look(seen, Some(allowance)).step {
                    Step::Reclaim(bytes) => (bytes, seen.resident.min(allowance)),
                    Step::GiveBack(bytes) => (bytes, seen.swapped),
                    Step::Hold => continue,
                };
                prop_assert!(bytes > 0 && bytes % 4096 == 0 && bytes <= most, "{}", entry.name);
            }
        }
    }

    /// As long as no more than a window is owed, which is forgiven.
    #[test]
    fn slowdown_takes_only_from_who_has_saved(looks in looks()) {
        let goal = 0.02;
        let mut controller = Spec::parse("slowdown").unwrap().controller().unwrap();
        let (mut before, mut lost) = (Duration::ZERO, Duration::ZERO);
        for seen in &looks {
            lost += seen.stalled.min(seen.time - before);
            before = seen.time;
            if lost > Duration::from_secs(60) {
                break;
            }
            if let Step::Reclaim(_) = controller.look(seen, None).step {
                let earned = seen.time.mul_f64(goal);
                prop_assert!(lost <= earned, "{lost:?} of {earned:?} at {:?}", seen.time);
            }
        }
    }

    #[test]
    fn slowdown_gives_back_at_the_first_look_of_a_burst(looks in looks()) {
        let mut controller = Spec::parse("slowdown").unwrap().controller().unwrap();
        let mut before = Duration::ZERO;
        for seen in &looks {
            let passed = seen.time - before;
            before = seen.time;
            let decision = controller.look(seen, None);
            let is_burst = seen.stalled.min(passed) > passed.mul_f64(0.081);
            if is_burst && !seen.short && seen.swapped >= 4096 {
                prop_assert!(matches!(decision.step, Step::GiveBack(_)), "{decision:?}");
                prop_assert_eq!(decision.reason, Reason::Stalls);
            }
        }
    }

    #[test]
    fn a_step_is_cut_where_it_was_to_be_larger(pages in 1..1000_u64, paid in 0..2000_u64) {
        let mut controller = Spec::parse("fixed:dram=1G").unwrap().controller().unwrap();
        let seen = Seen { resident: (1 << 30) + pages * 4096, ..Seen::default() };
        for paid in [paid, pages - 1, pages, pages + 1] {
            let decision = controller.look(&seen, Some(paid * 4096 + 5));
            prop_assert_eq!(decision.is_cut, paid < pages);
            let step = match pages.min(paid) {
                0 => Step::Hold,
                pages => Step::Reclaim(pages * 4096),
            };
            prop_assert_eq!(decision.step, step);
        }
        prop_assert!(!controller.look(&seen, None).is_cut);
    }

    /// However the others write, each has what came in for it and was not used, up to a burst.
    #[test]
    fn no_service_spends_what_another_needs(
        writes in prop::collection::vec((0..100_u64, 1..4_usize, 0..100_000_u64), 1..100),
    ) {
        let burst = 100;
        let mut budget = Budget::new(4 * 86_400 * 10, Duration::from_secs(burst), 4);
        let mut now = 0;
        for (wait, service, bytes) in writes {
            now += wait;
            budget.pass(Duration::from_secs(now));
            budget.wrote(service, bytes);
            prop_assert!(budget.allowance(0) >= 10 * burst);
        }
        budget.wrote(0, 10 * burst);
        budget.pass(Duration::from_secs(now + 7));
        prop_assert!(budget.allowance(0) >= 70);
    }
}

#[test]
fn in_a_pause_nothing_is_unpaid() {
    let mut controller = Spec::parse("fixed:dram=1G").unwrap().controller().unwrap();
    let mut look = |millis, allowance| {
        let seen = Seen {
            time: Duration::from_millis(millis),
            resident: 1 << 31,
            ..Seen::default()
        };
        let decision = controller.look(&seen, Some(allowance));
        controller.came(Moved::default());
        (decision.reason, decision.is_cut)
    };
    for millis in 0..4 {
        assert_eq!(look(millis, 1 << 31), (Reason::Quiet, false));
    }
    assert_eq!(look(500, 0), (Reason::Barren, false));
    assert_eq!(look(1500, 0), (Reason::Writes, true));
    assert_eq!(controller.decisions().unpaid, 1);
}

#[test]
fn every_span_has_no_more_writes_than_comes_in_and_a_burst() {
    let (day, burst) = (86_400 * 1000, 50);
    let mut budget = Budget::new(day, Duration::from_secs(burst), 2);
    let mut written = 0;
    for second in 0..1000 {
        budget.pass(Duration::from_secs(second));
        for service in 0..2 {
            let bytes = budget.allowance(service);
            budget.wrote(service, bytes);
            written += bytes;
        }
        assert!(written <= (second + burst) * 1000, "{second}");
    }
    // The common part holds a share's burst at most, and was empty when it began.
    assert!(written >= 999 * 1000);
}
