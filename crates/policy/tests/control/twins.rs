//! Every policy and its slow twin answer alike at every look; so does the budget.

use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::control::budget::Budget;
use terrace_policy::control::{Moved, REGISTRY, Reason, Seen, Spec, Step};

use crate::looks::looks;
use crate::slow::{Past, TWINS};

const PAGE: u64 = 4096;

#[test]
fn every_policy_has_a_twin() {
    for entry in REGISTRY {
        let named = |twin: &&(&str, _)| Spec::parse(twin.0).unwrap().entry().name == entry.name;
        assert_eq!(TWINS.iter().filter(named).count(), 1, "{}", entry.name);
    }
}

/// What a driver was told to do, why, and whether the budget paid for a part of it alone.
type Ruled = (Step, Reason, bool);

/// What is left of an answer by the rules that hold for all.
fn ruled(answer: (Step, Reason), seen: &Seen, allowance: Option<u64>, pauses: bool) -> Ruled {
    let whole = |bytes: u64| bytes / PAGE * PAGE;
    match answer {
        (Step::Hold, reason) => (Step::Hold, reason, false),
        _ if seen.short => (Step::Hold, Reason::Short, false),
        (Step::Reclaim(bytes), reason) => {
            let wanted = whole(bytes.min(seen.resident));
            let paid = allowance.map_or(wanted, |paid| wanted.min(whole(paid)));
            match (wanted, paid) {
                (0, _) => (Step::Hold, reason, false),
                (1.., _) if pauses => (Step::Hold, Reason::Barren, false),
                (1.., 0) => (Step::Hold, Reason::Writes, true),
                _ => (Step::Reclaim(paid), reason, wanted > paid),
            }
        }
        (Step::GiveBack(bytes), reason) => match whole(bytes.min(seen.swapped)) {
            0 => (Step::Hold, reason, false),
            bytes => (Step::GiveBack(bytes), reason, false),
        },
    }
}

/// Whether there is a pause at a time, by what steps to reclaim came to and when: four and more
/// that found nothing.
fn pauses(steps: &[(Duration, Moved)], time: Duration) -> bool {
    let nothing = |step: &&(Duration, Moved)| step.1.bytes == 0 && step.1.tried == 0;
    match steps.iter().rev().take_while(nothing).count() {
        0..4 => false,
        in_a_row => {
            let seconds = [1, 2, 4, 8, 16, 32, 60][(in_a_row - 4).min(6)];
            time < steps[steps.len() - 1].0 + Duration::from_secs(seconds)
        }
    }
}

/// What a budget pays for at most.
fn allowances(most: u64) -> impl Strategy<Value = Option<u64>> {
    (0..most).prop_map(Some)
}

/// What steps come to, for a while each: quarters of what was asked, and what is tried besides.
fn outcomes() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let quarters = prop_oneof![3 => Just(4), 2 => Just(0), 1 => 0..=4_u64];
    let tried = prop_oneof![2 => Just(0), 1 => Just(PAGE)];
    let spells = prop::collection::vec((quarters, tried, 1..40_usize), 300);
    let long = |spells: Vec<(u64, u64, usize)>| {
        let each = spells.into_iter();
        each.flat_map(|(quarters, tried, looks)| [(quarters, tried)].repeat(looks))
            .collect()
    };
    spells.prop_map(long)
}

proptest! {
    #[test]
    fn policy_and_twin_agree(
        looks in looks(),
        allowance in prop_oneof![Just(None), allowances(4 * PAGE), allowances(1 << 26)],
        outcomes in outcomes(),
    ) {
        for (name, twin) in TWINS {
            let mut fast = Spec::parse(name).unwrap().controller().unwrap();
            let (mut past, mut steps) = (Vec::new(), Vec::new());
            for (seen, (quarters, tried)) in looks.iter().zip(&outcomes) {
                let ours = fast.look(seen, allowance);
                past.push(Past { seen: *seen, left: 0 });
                let theirs = ruled(twin(&past), seen, allowance, pauses(&steps, seen.time));
                prop_assert_eq!((ours.step, ours.reason, ours.is_cut), theirs, "{} at look {}", name, past.len());
                let moved = |bytes| Moved { bytes: bytes / 4 * quarters, tried: *tried };
                match ours.step {
                    Step::Reclaim(bytes) => {
                        past.last_mut().unwrap().left = moved(bytes).bytes;
                        steps.push((seen.time, moved(bytes)));
                        fast.came(moved(bytes));
                    }
                    Step::GiveBack(bytes) => fast.came(moved(bytes)),
                    Step::Hold => {}
                }
            }
        }
    }

    /// A byte comes in for each service at each tick; a byte too much goes to the common part.
    #[test]
    fn budget_and_twin_agree(
        services in 1..5_usize, burst in 1..200_u64, calls in prop::collection::vec((0..60_u64, any::<usize>(), 0..300_u64), 1..80),
    ) {
        let a_day = 86_400 * services as u64;
        let mut budget = Budget::new(a_day, Duration::from_secs(burst), services);
        let full = burst as i64;
        let (mut shares, mut common) = (vec![full; services], 0);
        let mut now = 0;
        for (wait, service, bytes) in calls {
            let service = service % services;
            now += wait;
            for _ in 0..wait {
                for share in &mut shares {
                    match *share < full {
                        true => *share += 1,
                        false => common = (common + 1).min(full),
                    }
                }
            }
            budget.pass(Duration::from_secs(now));
            for (at, share) in shares.iter().enumerate() {
                prop_assert_eq!(budget.allowance(at), (share + common).max(0) as u64);
            }
            budget.wrote(service, bytes);
            for _ in 0..bytes {
                match shares[service] <= 0 && common > 0 {
                    true => common -= 1,
                    false => shares[service] -= 1,
                }
            }
            let levels = budget.levels();
            prop_assert_eq!(&levels.shares, &shares);
            prop_assert_eq!(levels.common, common);
            let mut again = Budget::new(a_day, Duration::from_secs(burst), services);
            again.restore(&levels);
            prop_assert_eq!(again.levels(), levels);
        }
    }
}
