//! What policies do to services of a model.

use std::time::Duration;

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
