//! What policies do to services of a model.

use std::time::Duration;

use terrace_policy::control::{Reason, Seen, Spec, Step};

use crate::service::Service;

const PAGES: usize = 3000;
const MIB: u64 = 1 << 20;

fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

/// A third of the pages is touched at each second look, the rest never.
fn a_hot_third() -> Vec<u64> {
    (0..PAGES)
        .map(|page| if page % 3 == 0 { 2 } else { 0 })
        .collect()
}

/// Of all heats: a page is touched after 2 looks, the coldest after some hours.
fn all_heats() -> Vec<u64> {
    (0..PAGES).map(|page| 2 << (14 * page / PAGES)).collect()
}

#[test]
fn cold_memory_leaves_and_hot_memory_stays() {
    let mut service = Service::start("slowdown", a_hot_third());
    service.run(minutes(10));
    let third = PAGES as u64 / 3 * 4096;
    assert!(
        service.resident() < third + third / 4,
        "{}",
        service.resident()
    );
    assert!(
        service.lost < service.now().mul_f64(0.02),
        "{:?}",
        service.lost
    );
}

#[test]
fn what_is_new_loses_nothing_at_first() {
    let mut service = Service::start("slowdown", a_hot_third());
    service.run(Duration::from_secs(29));
    assert_eq!(service.resident(), PAGES as u64 * 4096);
}

#[test]
fn a_service_of_all_heats_loses_no_more_than_its_share() {
    for goal in [0.001, 0.02, 0.1] {
        let mut service = Service::start(&format!("slowdown:goal={goal}"), all_heats());
        service.run(minutes(60));
        let share = service.lost.as_secs_f64() / service.now().as_secs_f64();
        assert!(share <= goal, "{share} of {goal}");
        let held = service.resident() as f64 / (PAGES as f64 * 4096.0);
        assert!(held < 0.9, "{held} is held at {goal}");
    }
}

/// Each page is used every so many looks, so that faults take too little time to matter.
fn all_used(looks: u64) -> Vec<u64> {
    vec![looks; PAGES]
}

#[test]
fn a_service_that_uses_all_is_hardly_written() {
    for looks in [6, 20, 60] {
        let mut service = Service::start("slowdown", all_used(looks));
        service.run(minutes(60));
        let first = service.reclaimed();
        service.run(minutes(60));
        let second = service.reclaimed() - first;
        // Rests of ten minutes, and some seconds of steps behind each.
        let all = PAGES as u64 * 4096;
        assert!(first < 4 * all, "{looks}: {first}");
        assert!(second < all, "{looks}: {second}");
        let seen = |reason| service.decisions.iter().any(|it| it.reason == reason);
        assert!(seen(Reason::Used) && !seen(Reason::Stalls), "{looks}");
    }
}

#[test]
fn what_is_not_used_any_more_leaves_after_a_rest() {
    let mut service = Service::start("slowdown", all_used(20));
    service.run(minutes(60));
    service.every = a_hot_third();
    service.run(minutes(20));
    assert!(service.resident() < 5 * MIB, "{}", service.resident());
}

#[test]
fn stalls_in_lumps_count_by_their_mean() {
    let mut controller = Spec::parse("slowdown").unwrap().controller().unwrap();
    let mut leaves = 0;
    for look in 1..=1200 {
        // At each eighth look 1.5 % of the time, above half of the share; a fifth of it on average.
        let stalled = Duration::from_micros(if look % 8 == 0 { 7_500 } else { 0 });
        let seen = Seen {
            time: Duration::from_millis(500) * look,
            resident: 1 << 30,
            swapped: u64::from(look) << 23,
            stalled,
            ..Seen::default()
        };
        leaves += u32::from(matches!(
            controller.look(&seen, None).step,
            Step::Reclaim(_)
        ));
    }
    // All but the first half of a minute, in which time is saved.
    assert!(leaves > 1100, "{leaves}");
}

#[test]
fn a_small_service_gets_a_page_back_at_once() {
    let mut service = Service::start("slowdown:most=0.1", a_hot_third()[..30].to_vec());
    service.run(minutes(10));
    assert!(service.resident() < 25 * 4096, "{}", service.resident());
    let decisions = service.decisions.len();
    // Longer than a burst of the share of half a second.
    for _ in 0..500 {
        service.wait();
    }
    service.run(Duration::from_millis(500));
    let first = service.decisions[decisions];
    assert_eq!(first.step, Step::GiveBack(4096), "{first:?}");
}

#[test]
fn probes_grow_with_the_logarithm_of_time() {
    let mut service = Service::start("slowdown:longest=86400s", all_heats());
    service.run(minutes(60));
    let before = service.episodes();
    service.run(minutes(60));
    let after = service.episodes();
    assert!(after <= before + 3, "{before}, then {after}");
    assert!(before <= 12, "{before}");
}

#[test]
fn a_burst_is_given_back_and_leaves_again() {
    let mut service = Service::start("slowdown", a_hot_third());
    service.run(minutes(10));
    let cold: Vec<usize> = (0..PAGES).filter(|page| page % 3 != 0).collect();
    for page in &cold {
        service.touch(*page);
    }
    let lost = service.lost;
    service.run(Duration::from_secs(10));
    assert!(service.lost - lost < Duration::from_secs(1));
    assert!(service.resident() > 10 * MIB, "{}", service.resident());
    service.run(minutes(15));
    assert!(service.resident() < 5 * MIB, "{}", service.resident());
}

#[test]
fn the_hot_third_moves() {
    let mut service = Service::start("slowdown", a_hot_third());
    for phase in 0..6 {
        service.every = (0..PAGES)
            .map(|page| if page % 3 == phase % 3 { 2 } else { 0 })
            .collect();
        service.run(minutes(20));
    }
    assert!(
        service.lost < service.now().mul_f64(0.02),
        "{:?}",
        service.lost
    );
    assert!(service.resident() < 6 * MIB, "{}", service.resident());
}

#[test]
fn senpai_takes_slowly_and_stays_below_its_threshold() {
    let mut service = Service::start("senpai", a_hot_third());
    service.run(minutes(60));
    assert!(service.lost <= service.now().mul_f64(0.001) + Duration::from_millis(10));
    let held = service.resident() as f64 / (PAGES as f64 * 4096.0);
    assert!((0.5..0.85).contains(&held), "{held}");
}

#[test]
fn a_fixed_size_is_kept_whatever_it_costs() {
    let mut service = Service::start("fixed:dram=2M", a_hot_third());
    service.run(minutes(1));
    assert!(service.lost > service.now().mul_f64(0.02));
}
