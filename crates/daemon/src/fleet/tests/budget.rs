//! The budget of writes: kept, shared and told.

use proptest::prelude::*;

use super::*;

#[test]
fn the_budget_is_spent_and_told() {
    let text = format!("{}{WEAR}", targets(&["a"], "dram = \"64M\""));
    let mut bench = Bench::new(&text, Ledger::empty());
    bench.service("a", 0);
    bench.find("a", 1);
    bench.run(400);
    let written = (1 << 30) - bench.sim("a").resident;
    // 200 s of 10^9 bytes a day.
    assert!(written <= 1_000_000_000 / 86_400 * 201, "{written}");
    assert!(written > 1_000_000_000 / 86_400 * 150, "{written}");
    let told = bench.texts(Kind::Reclaimed);
    let says = "the budget of writes allows no more";
    assert!(told.iter().any(|text| text.ends_with(says)), "{told:?}");
    // A life so long that a page takes longer to come in than the time between looks.
    let text = text.replace("1days", "300days");
    let mut bench = Bench::new(&text, Ledger::empty());
    bench.service("a", 0);
    bench.find("a", 1);
    bench.run(400);
    let told = bench.texts(Kind::Writes);
    let says = "nothing is reclaimed: the budget of writes is spent";
    assert!(told[0].starts_with(says) && told.len() <= 5, "{told:?}");
    assert!(told[1].contains(" times in "), "{told:?}");
}

#[test]
fn several_groups_of_a_target_share_what_it_may_write() {
    let text = format!("{}{WEAR}", targets(&["a"], "dram = \"64M\""));
    let mut bench = Bench::new(&text, Ledger::empty());
    let groups: Vec<_> = (0..8)
        .map(|i| Group {
            path: format!("/{i}.service").into(),
            inode: i,
        })
        .collect();
    for group in &groups {
        let sim = Sim {
            resident: 1 << 30,
            ..Sim::default()
        };
        lock(&bench.world).services.insert(group.path.clone(), sim);
    }
    bench
        .fleet
        .found(&[("a".to_owned(), Ok(groups))].into(), bench.now);
    bench.now.since += Duration::from_secs(4000);
    bench.run(10);
    let world = lock(&bench.world);
    let written: u64 = world.services.values().map(|sim| sim.swapped).sum();
    // What came in within 4005 s, once and not once a group.
    assert!(written <= 1_000_000_000 / 86_400 * 4006, "{written}");
}

#[test]
fn a_budget_is_kept_and_goes_on() {
    let text = format!("{}{WEAR}", targets(&["a", "b"], "dram = \"900M\""));
    let mut bench = Bench::with(&text, &[("a", 0), ("b", 0)]);
    bench.run(10);
    let kept = bench.fleet.kept(bench.now).unwrap();
    let full = 500_000_000;
    assert!(
        kept.shares["a"] < full && kept.shares["b"] < full,
        "{kept:?}"
    );
    // Started again at once, then a tenth of a day later, then far too late.
    for (later, gains) in [(0, 0), (8_640_000, 50_000_000), (864_000_000, full)] {
        let ledger = Ledger::resumed(kept.clone(), kept.time_ms + later);
        let mut again = Bench::new(&text, ledger);
        let wanted = (kept.shares["a"] + gains).min(full);
        let share = again.fleet.ledger().share("a").unwrap();
        assert!(
            (share - wanted).abs() <= 1,
            "{later}: {share}, not {wanted}"
        );
    }
    // A clock that was set back lets nothing come in.
    let mut back = Bench::new(&text, Ledger::resumed(kept.clone(), 0));
    assert_eq!(back.fleet.ledger().share("a"), Some(kept.shares["a"]));
    let mut empty = Bench::new(&text, Ledger::empty());
    assert_eq!(empty.fleet.ledger().share("a"), Some(0));
    let mut first = Bench::new(&text, Ledger::default());
    assert_eq!(first.fleet.ledger().share("a"), Some(full));
}

proptest! {
    #[test]
    fn nobody_spends_what_another_will_need(
        hot in prop::collection::vec(0..1u64 << 30, 2..6), ticks in 10..400u64,
    ) {
        let names: Vec<String> = (0..hot.len()).map(|i| format!("t{i}")).collect();
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let quiet = targets(&["quiet"], "dram = \"2G\"");
        let text = format!("{}{quiet}{WEAR}", targets(&names, "dram = \"4M\""));
        let services: Vec<_> = names.iter().copied().zip(hot).chain([("quiet", 0)]).collect();
        let mut bench = Bench::with(&text, &services);
        let number = services.len() as u64;
        let full = bench.fleet.ledger().share("quiet").unwrap();
        bench.run(ticks);
        prop_assert_eq!(bench.fleet.ledger().share("quiet").unwrap(), full);
        let written: u64 = names.iter().map(|name| bench.sim(name).swapped).sum();
        // Steps of several may draw on the common part at once, and owe that then: one each.
        let steps = (number - 1) * (64 * 4096);
        let income = 1_000_000_000 / 86_400 * (ticks / 2 + 1) + 10_000 + steps;
        prop_assert!(written <= 1_000_000_000 / number * (number - 1) + income, "{}", written);
    }

    #[test]
    fn no_reload_makes_room_for_writes(
        held in prop::collection::vec(-2_000_000_000..500_000_000i64, 4),
        common in 0..500_000_000i64, kept in 0..16u32, added in 0..3usize,
    ) {
        let names = ["a", "b", "c", "d"];
        let shares: BTreeMap<_, _> = names.iter().map(|name| name.to_string()).zip(held).collect();
        let full = 250_000_000;
        let told = shares.values().map(|held| (*held).min(full)).sum::<i64>() + common.min(full);
        let sum = |ledger: &Ledger| {
            let kept = ledger.kept(0).unwrap();
            kept.shares.values().sum::<i64>() + kept.common
        };
        let mut ledger = Ledger::resumed(Kept { time_ms: 0, shares, common }, 0);
        ledger.share_among(names.iter().map(|name| name.to_string()), Some(1_000_000_000), Duration::ZERO);
        let before = sum(&ledger);
        prop_assert_eq!(before, told);
        let stay = names.iter().enumerate().filter(|(at, _)| kept >> at & 1 == 1);
        let mut after: Vec<String> = stay.map(|(_, name)| name.to_string()).collect();
        after.extend((0..added).map(|at| format!("x{at}")));
        let number = after.len();
        ledger.share_among(after.into_iter(), Some(1_000_000_000), Duration::ZERO);
        if number > 0 {
            prop_assert!(sum(&ledger) <= before.max(0) + number as i64, "{} from {}", sum(&ledger), before);
            if before < 0 {
                prop_assert!(sum(&ledger) <= before + 2 * number as i64, "{} from {}", sum(&ledger), before);
            }
        }
    }
}
