//! What is counted of targets.

use proptest::prelude::*;

use super::*;

#[test]
fn what_was_counted_during_a_step_of_a_group_that_is_gone_counts() {
    let mut bench = Bench::with(&targets(&["a"], "dram = \"64M\""), &[("a", 0)]);
    bench.run(4);
    bench.change("a", |sim| sim.resident = 1 << 30);
    bench.now.since += Duration::from_secs(2);
    let jobs = bench.fleet.turn(bench.now);
    assert_eq!(jobs.len(), 1);
    bench.change("a", |sim| sim.counted.oom_kills = 1);
    let none = [("a".to_owned(), Ok(vec![]))].into();
    bench.fleet.found(&none, bench.now);
    for job in jobs {
        bench.fleet.done(job.perform(), bench.now);
    }
    assert_eq!(bench.fleet.status()[0].counts.oom_kills, 1);
}

/// What happens to a target while it is counted.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// So many major faults, and so many kills.
    Counted(u64, u64),
    /// Time goes on.
    Ticks(u64),
    /// All its processes end, or others begin in the same group.
    Empty(bool),
    /// Its group is made anew, before the next look.
    Restart,
    /// It cannot be looked at.
    Fails(bool),
    /// Its goal is another one.
    Reload(bool),
}

fn add_up(sum: &mut Counted, more: Counted) {
    sum.major_faults += more.major_faults;
    sum.oom_kills += more.oom_kills;
}

fn happenings() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (0..1000u64, 0..3u64).prop_map(|(faults, kills)| Event::Counted(faults, kills)),
        (1..30u64).prop_map(Event::Ticks),
        any::<bool>().prop_map(Event::Empty),
        Just(Event::Restart),
        any::<bool>().prop_map(Event::Fails),
        any::<bool>().prop_map(Event::Reload),
    ];
    prop::collection::vec(event, 1..40)
}

proptest! {
    #[test]
    fn what_is_counted_is_never_lost_or_taken_back(events in happenings()) {
        let goal = |is_other| targets(&["a"], if is_other { "dram = \"64M\"" } else { SLOWDOWN });
        let mut bench = Bench::with(&goal(false), &[("a", HALF)]);
        // Opened.
        bench.run(1);
        let (mut wanted, mut last, mut inode) = (Counted::default(), Counts::default(), 1);
        for event in events {
            match event {
                Event::Counted(faults, kills) => {
                    let counted = Counted { major_faults: faults, oom_kills: kills };
                    bench.change("a", |sim| add_up(&mut sim.counted, counted));
                    if bench.fleet.status()[0].state == State::Running {
                        add_up(&mut wanted, counted);
                    }
                }
                Event::Ticks(ticks) => bench.run(ticks),
                Event::Empty(is_empty) => bench.change("a", |sim| sim.is_empty = is_empty),
                Event::Restart => {
                    inode += 1;
                    bench.find("a", inode);
                }
                Event::Fails(fails) => bench.change("a", |sim| sim.fails = fails),
                Event::Reload(is_other) => {
                    bench.fleet.reload(&configuration(&goal(is_other)), bench.now);
                    bench.find("a", inode);
                }
            }
            let counts = bench.fleet.status()[0].counts;
            prop_assert!(counts.major_faults >= last.major_faults && counts.looks >= last.looks);
            prop_assert!(counts.oom_kills >= last.oom_kills && counts.written >= last.written);
            last = counts;
        }
        bench.change("a", |sim| (sim.is_empty, sim.fails) = (false, false));
        bench.run(30);
        let counts = bench.fleet.status()[0].counts;
        let counted = Counted { major_faults: counts.major_faults, oom_kills: counts.oom_kills };
        prop_assert_eq!(counted, wanted);
    }
}
