//! What becomes of services.

use proptest::prelude::*;

use super::*;

#[test]
fn a_service_comes_down_to_what_it_needs_and_gets_it_back() {
    let mut bench = Bench::with(&targets(&["a"], SLOWDOWN), &[("a", HALF)]);
    bench.run(3600 * 2);
    let held = bench.sim("a").resident;
    assert!((HALF / 2..HALF * 5 / 4).contains(&held), "{held}");
    let returned = bench.texts(Kind::GaveBack);
    let first = returned.first().expect("it was given back");
    assert!(
        first.starts_with("gave back ")
            && first.contains(": stalls ")
            && first.ends_with(", limit 2 %"),
        "{first}"
    );
    let status = bench.fleet.status().remove(0);
    assert_eq!(status.state, State::Running);
    assert!(
        (900..=7200).contains(&status.counts.looks),
        "{}",
        status.counts.looks
    );
    let told: u64 = bench
        .told
        .iter()
        .filter(|it| it.kind == Kind::Reclaimed)
        .map(|it| it.bytes)
        .sum();
    let held_back = status.counts.reclaimed - told;
    assert!(held_back < 200 * MIB, "sums leave nothing out: {held_back}");
    assert!(
        bench.told.len() < 400,
        "{} events in an hour",
        bench.told.len()
    );
}

#[test]
fn one_that_is_new_begins_without_reclaim() {
    let mut bench = Bench::with(&targets(&["a"], SLOWDOWN), &[("a", HALF)]);
    bench.run(400);
    assert!(bench.steps("a").len() > 10);
    // Restarted: the group has another inode.
    bench.service("a", HALF);
    bench.find("a", 2);
    let before = bench.steps("a").len();
    bench.run(40);
    assert_eq!(bench.steps("a").len(), before, "it saves first");
    bench.run(400);
    assert!(bench.steps("a").len() > before);
    assert_eq!(bench.texts(Kind::Found).len(), 2);
    // The same group once more is no news.
    bench.find("a", 2);
    bench.run(1);
    assert_eq!(bench.texts(Kind::Found).len(), 2);
    // Its processes have ended, and others begin in the same group.
    bench.change("a", |sim| sim.is_empty = true);
    bench.run(30);
    assert_eq!(bench.fleet.status()[0].state, State::Waiting);
    bench.service("a", HALF);
    let before = bench.steps("a").len();
    bench.run(50);
    assert_eq!(bench.fleet.status()[0].state, State::Running);
    assert_eq!(bench.steps("a").len(), before, "it saves first");
    bench.run(150);
    assert!(bench.steps("a").len() > before);
}

#[test]
fn what_is_gone_or_removed_is_left_alone_at_once() {
    let text = targets(&["a", "b"], "dram = \"64M\"");
    let mut bench = Bench::with(&text, &[("a", 0), ("b", 0)]);
    bench.run(4);
    // A step is under way while its target is removed.
    bench.change("a", |sim| sim.resident = 1 << 30);
    bench.now.since += Duration::from_secs(2);
    let jobs = bench.fleet.turn(bench.now);
    assert_eq!(jobs.len(), 1);
    let changes = bench.fleet.reload(
        &configuration(&targets(&["b"], "dram = \"64M\"")),
        bench.now,
    );
    assert_eq!(
        (&*changes.removed, changes.kept),
        (&["a".to_owned()][..], 1)
    );
    for job in jobs {
        let done = job.perform();
        bench.fleet.done(done, bench.now);
    }
    let looks = lock(&bench.world).looks.clone();
    bench.run(20);
    let later = lock(&bench.world).looks.clone();
    assert_eq!(looks[&group("a", 1).path], later[&group("a", 1).path]);
    assert!(looks[&group("b", 1).path] < later[&group("b", 1).path]);
    let none = [("b".to_owned(), Ok(vec![]))].into();
    bench.fleet.found(&none, bench.now);
    bench.run(20);
    assert_eq!(later, lock(&bench.world).looks);
    assert_eq!(bench.texts(Kind::Gone), ["/b.service is gone"]);
    assert_eq!(bench.fleet.next(), None);
}

#[test]
fn heat_is_known_of_groups_whose_memory_is_not_moved_just_now() {
    let mut bench = Bench::with(&targets(&["a"], "dram = \"64M\""), &[("a", 0), ("b", 0)]);
    let groups = [("a".to_owned(), Ok(vec![group("a", 1), group("b", 1)]))].into();
    bench.fleet.found(&groups, bench.now);
    assert_eq!(bench.fleet.heat("b"), None);
    let none = bench.fleet.heat("a").unwrap();
    assert_eq!((none.groups.len(), none.busy), (0, 2), "not opened");
    bench.run(4);
    let heat = bench.fleet.heat("a").unwrap();
    assert_eq!((heat.groups.len(), heat.busy), (2, 0));
    let rows: usize = heat.groups.iter().map(|group| group.rows.len()).sum();
    assert_eq!((rows, heat.groups[0].rows[1].address), (256, 2 << 20));
    bench.change("a", |sim| sim.resident = 1 << 30);
    bench.now.since += Duration::from_secs(2);
    let jobs = bench.fleet.turn(bench.now);
    assert_eq!(jobs.len(), 1);
    let heat = bench.fleet.heat("a").unwrap();
    assert_eq!((heat.groups.len(), heat.busy), (1, 1));
    assert_eq!(heat.groups[0].group, "/b.service");
}

#[test]
fn what_fails_is_told_once_and_tried_again() {
    let mut bench = Bench::with(&targets(&["a"], "dram = \"64M\""), &[("a", 0)]);
    bench.change("a", |sim| sim.fails = true);
    bench.run(120);
    assert_eq!(bench.texts(Kind::Trouble), ["it cannot be read"]);
    let status = bench.fleet.status().remove(0);
    assert!((10..15).contains(&status.counts.failures), "{status:?}");
    assert_eq!(status.trouble.as_deref(), Some("it cannot be read"));
    bench.change("a", |sim| sim.fails = false);
    bench.run(20);
    assert_eq!(bench.fleet.status()[0].trouble, None);
    assert!(!bench.steps("a").is_empty());
    let wrong = [("a".to_owned(), Err("nobody knows".to_owned()))].into();
    bench.fleet.found(&wrong, bench.now);
    bench.fleet.found(&wrong, bench.now);
    bench.run(10);
    assert_eq!(
        bench.texts(Kind::Trouble),
        ["it cannot be read", "nobody knows"]
    );
}

#[test]
fn a_service_at_rest_costs_little_and_is_seen_within_a_second() {
    let mut bench = Bench::with(&targets(&["a"], SLOWDOWN), &[("a", 0)]);
    bench.change("a", |sim| sim.pinned = sim.resident);
    bench.run(1200);
    let steps = bench.steps("a").len();
    assert!(
        (8..20).contains(&steps),
        "{steps} steps to find nothing in ten minutes"
    );
    let looks = |bench: &Bench| lock(&bench.world).looks[&group("a", 1).path];
    let before = looks(&bench);
    bench.run(200);
    let between = looks(&bench) - before;
    assert!(
        (10..=14).contains(&between),
        "{between}: one in eight seconds"
    );
    bench.change("a", |sim| {
        sim.swapped = 1 << 28;
        sim.hot = 1 << 31;
    });
    bench.run(2);
    assert!(matches!(bench.steps("a").last(), Some(Step::GiveBack(_))));
    let before = looks(&bench);
    bench.run(10);
    assert_eq!(looks(&bench) - before, 10, "two a second again");
}

#[test]
fn small_steps_are_taken_together() {
    let mut bench = Bench::with(&targets(&["a"], SLOWDOWN), &[("a", 0)]);
    bench.change("a", |sim| sim.resident = 8 << 20);
    bench.run(1200);
    let steps = bench.steps("a");
    assert!((15..40).contains(&steps.len()), "{}", steps.len());
    let is_large = |step: &Step| matches!(step, Step::Reclaim(bytes) if *bytes >= 1 << 18);
    assert!(steps.iter().all(is_large), "{steps:?}");
    assert!(
        bench.sim("a").resident < 3 << 19,
        "{}",
        bench.sim("a").resident
    );
}

#[test]
fn on_a_machine_that_is_short_nothing_moves() {
    let mut bench = Bench::with(&targets(&["a"], "dram = \"64M\""), &[("a", 0)]);
    bench.change("a", |sim| sim.short = true);
    bench.run(100);
    assert!(bench.steps("a").is_empty());
    let told = bench.texts(Kind::Short);
    assert_eq!(
        told[0],
        "nothing is moved: the machine is short of memory by itself"
    );
    assert!(told.len() <= 2, "{told:?}");
}

proptest! {
    #[test]
    fn a_reload_disturbs_nobody_who_stays(at in 1..300u64, with_budget: bool) {
        let wear = if with_budget { WEAR.replace("1GB", "100TB") } else { String::new() };
        let before = targets(&["b", "c"], SLOWDOWN);
        let after = before.replace("target.c", "target.d") + &wear;
        let before = before + &wear;
        let mut plain = Bench::with(&before, &[("b", HALF)]);
        let mut other = Bench::with(&before, &[("b", HALF)]);
        plain.run(400);
        other.run(at);
        let changes = other.fleet.reload(&configuration(&after), other.now);
        prop_assert_eq!((changes.added.len(), changes.removed.len(), changes.kept), (1, 1, 1));
        other.run(400 - at);
        prop_assert_eq!(plain.steps("b"), other.steps("b"));
        prop_assert_eq!(lock(&other.world).opened, 1);
    }
}
