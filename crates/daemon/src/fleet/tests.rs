use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use terrace_base::lock;
use terrace_policy::control::{Decision, Seen, budget::Budget};

use super::*;

/// What simulated services have been told, and what they show.
#[derive(Default)]
struct World {
    services: BTreeMap<PathBuf, Sim>,
    /// Looks and steps since it began, by group.
    looks: BTreeMap<PathBuf, u64>,
    steps: Vec<(PathBuf, Step)>,
    opened: u64,
}

/// A service: it stalls while less than its hot memory is in DRAM.
#[derive(Clone, Default)]
struct Sim {
    time: Duration,
    resident: u64,
    swapped: u64,
    hot: u64,
    /// What cannot be reclaimed.
    pinned: u64,
    written: u64,
    counted: Counted,
    short: bool,
    is_empty: bool,
    fails: bool,
}

type Shared = Arc<Mutex<World>>;

struct Simulated(Shared);
struct Open(Shared, PathBuf);

impl Machine for Simulated {
    fn open(&mut self, group: &Path) -> machine::Opened {
        let mut world = lock(&self.0);
        if let Some(sim) = world.services.get_mut(group) {
            if sim.is_empty {
                return Ok(None);
            }
            // What was counted before does not count.
            sim.counted = Counted::default();
        }
        world.opened += 1;
        Ok(Some(Box::new(Open(Arc::clone(&self.0), group.to_owned()))))
    }
}

impl Service for Open {
    fn look(&mut self) -> Result<Option<Seen>, String> {
        let mut world = lock(&self.0);
        *world.looks.entry(self.1.clone()).or_default() += 1;
        let Some(sim) = world.services.get_mut(&self.1) else {
            return Ok(None);
        };
        if sim.fails {
            return Err("it cannot be read".into());
        }
        if sim.is_empty {
            return Ok(None);
        }
        let stalled = match sim.resident < sim.hot {
            true => TICK / 5,
            false => Duration::ZERO,
        };
        Ok(Some(Seen {
            time: sim.time,
            resident: sim.resident,
            swapped: sim.swapped,
            stalled,
            written: std::mem::take(&mut sim.written),
            short: sim.short,
        }))
    }

    fn carry_out(&mut self, step: Step) -> Result<Moved, String> {
        let mut world = lock(&self.0);
        world.steps.push((self.1.clone(), step));
        let sim = world.services.get_mut(&self.1).ok_or("it is gone")?;
        let bytes = match step {
            Step::Reclaim(bytes) => {
                let bytes = bytes.min(sim.resident.saturating_sub(sim.pinned));
                sim.resident -= bytes;
                sim.swapped += bytes;
                sim.written += bytes;
                bytes
            }
            Step::GiveBack(bytes) => {
                let bytes = bytes.min(sim.swapped);
                sim.resident += bytes;
                sim.swapped -= bytes;
                bytes
            }
            Step::Hold => 0,
        };
        Ok(Moved { bytes, tried: 0 })
    }

    fn counted(&mut self) -> Counted {
        let mut world = lock(&self.0);
        let sim = world.services.get_mut(&self.1);
        sim.map_or(Counted::default(), |sim| std::mem::take(&mut sim.counted))
    }

    fn heat(&mut self, most: usize) -> terrace_live::control::Heat {
        let part = |number| terrace_live::control::Part {
            first: number * 512,
            ..Default::default()
        };
        terrace_live::control::Heat {
            pages: 512,
            parts: (0..most as u64).map(part).collect(),
            left_out: 0,
        }
    }
}

const TICK: Duration = Duration::from_millis(500);
const MIB: u64 = 1 << 20;

/// A fleet on simulated services, and its clock.
struct Bench {
    world: Shared,
    fleet: Fleet,
    now: Now,
    told: Vec<Told>,
}

fn configuration(text: &str) -> Configuration {
    Configuration::parse(&[("a.toml".into(), text.into())]).unwrap()
}

fn targets(names: &[&str], goal: &str) -> String {
    let one = |name: &&str| format!("[target.{name}]\nunit = \"{name}\"\n{goal}\n");
    names.iter().map(one).collect()
}

const WEAR: &str = "[tier]\nendurance = \"1GB\"\nlife = \"1days\"\n";

impl Bench {
    fn new(text: &str, ledger: Ledger) -> Self {
        let world = Shared::default();
        let machine = Box::new(Simulated(Arc::clone(&world)));
        Self {
            fleet: Fleet::new(machine, &configuration(text), ledger),
            world,
            now: Now::default(),
            told: Vec::new(),
        }
    }

    /// Has services with these names, of 1 GiB with a hot part.
    fn with(text: &str, services: &[(&str, u64)]) -> Self {
        let mut bench = Self::new(text, Ledger::default());
        for (name, hot) in services {
            bench.service(name, *hot);
            bench.find(name, 1);
        }
        bench
    }

    fn service(&mut self, name: &str, hot: u64) {
        let sim = Sim {
            time: self.now.since,
            resident: 1 << 30,
            hot,
            ..Sim::default()
        };
        lock(&self.world).services.insert(group(name, 1).path, sim);
    }

    fn find(&mut self, name: &str, inode: u64) {
        let found = [(name.to_owned(), Ok(vec![group(name, inode)]))].into();
        self.fleet.found(&found, self.now);
    }

    /// Lets time go on by ticks, and carries everything out at once.
    fn run(&mut self, ticks: u64) {
        for _ in 0..ticks {
            self.now.since += TICK;
            self.now.wall_ms += TICK.as_millis() as u64;
            for sim in lock(&self.world).services.values_mut() {
                sim.time += TICK;
            }
            for job in self.fleet.turn(self.now) {
                let done = job.perform();
                self.fleet.done(done, self.now);
            }
            self.told.extend(self.fleet.told());
        }
    }

    fn sim(&self, name: &str) -> Sim {
        lock(&self.world).services[&group(name, 1).path].clone()
    }

    fn change(&self, name: &str, how: impl FnOnce(&mut Sim)) {
        how(lock(&self.world)
            .services
            .get_mut(&group(name, 1).path)
            .unwrap());
    }

    fn steps(&self, name: &str) -> Vec<Step> {
        let world = lock(&self.world);
        let steps = world
            .steps
            .iter()
            .filter(|(path, _)| *path == group(name, 1).path);
        steps.map(|(_, step)| *step).collect()
    }

    fn texts(&self, kind: Kind) -> Vec<&str> {
        let told = self.told.iter().filter(|told| told.kind == kind);
        told.map(|told| &*told.text).collect()
    }
}

fn group(name: &str, inode: u64) -> Group {
    Group {
        path: PathBuf::from(format!("/{name}.service")),
        inode,
    }
}

const SLOWDOWN: &str = "slowdown = \"2%\"";
const HALF: u64 = 1 << 29;

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
    assert!((3600..=7200).contains(&status.counts.looks));
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
    assert_eq!(looks(&bench) - before, 100, "one a second");
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

/// What a service shows at a look.
fn looks() -> impl Strategy<Value = Vec<Seen>> {
    let seen = (
        0..1u64 << 31,
        0..1u64 << 30,
        0..500u64,
        0..64 * MIB,
        prop::bool::weighted(0.1),
    );
    let of = |(resident, swapped, stalled, written, short)| Seen {
        time: Duration::ZERO,
        resident,
        swapped,
        stalled: Duration::from_millis(stalled / 4),
        written,
        short,
    };
    prop::collection::vec(seen.prop_map(of), 1..150)
}

/// A machine with one service, which shows what it is told to.
struct Script(Arc<Mutex<std::vec::IntoIter<Seen>>>, Arc<Mutex<Vec<Step>>>);

impl Machine for Script {
    fn open(&mut self, _: &Path) -> machine::Opened {
        Ok(Some(Box::new(Self(
            Arc::clone(&self.0),
            Arc::clone(&self.1),
        ))))
    }
}

impl Service for Script {
    fn look(&mut self) -> Result<Option<Seen>, String> {
        Ok(lock(&self.0).next())
    }

    fn carry_out(&mut self, step: Step) -> Result<Moved, String> {
        lock(&self.1).push(step);
        Ok(Moved { bytes: 0, tried: 1 })
    }

    fn counted(&mut self) -> Counted {
        Counted::default()
    }

    fn heat(&mut self, _: usize) -> terrace_live::control::Heat {
        terrace_live::control::Heat::default()
    }
}

/// The slow twin of a fleet with one target: the controller and the budget by hand.
fn by_hand(policy: &Spec, a_day: u64, looks: &[Seen]) -> Vec<Step> {
    let mut controller = policy.controller().unwrap();
    let mut budget = Budget::new(a_day, ledger::BURST, 1);
    let mut steps = Vec::new();
    let first = controller.every();
    for seen in looks {
        budget.pass(seen.time + first);
        budget.wrote(0, seen.written);
        let Decision { step, .. } = controller.look(seen, Some(budget.allowance(0)));
        if step != Step::Hold {
            steps.push(step);
        }
    }
    steps
}

proptest! {
    #[test]
    fn a_fleet_of_one_does_what_its_controller_does(
        mut looks in looks(),
        goal in prop_oneof![Just("slowdown = \"5%\""), Just("dram = \"256M\""), Just("pressure = \"1%\"")],
    ) {
        let configuration = configuration(&format!("{}{WEAR}", targets(&["a"], goal)));
        let policy = configuration.targets["a"].goal.policy().unwrap();
        let every = policy.controller().unwrap().every();
        for (number, seen) in looks.iter_mut().enumerate() {
            seen.time = every * number as u32;
        }
        let steps = Arc::new(Mutex::new(Vec::new()));
        let script = Script(Arc::new(Mutex::new(looks.clone().into_iter())), Arc::clone(&steps));
        let mut fleet = Fleet::new(Box::new(script), &configuration, Ledger::default());
        for number in 0..looks.len() as u32 {
            let now = Now { since: every * (number + 1), wall_ms: 0 };
            if number == 0 {
                fleet.found(&[("a".to_owned(), Ok(vec![group("a", 1)]))].into(), now);
            }
            prop_assert_eq!(fleet.next(), Some(now.since));
            for job in fleet.turn(now) {
                fleet.done(job.perform(), now);
            }
        }
        let carried = lock(&steps).clone();
        prop_assert_eq!(carried, by_hand(&policy, 1_000_000_000, &looks));
    }

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
        let income = 1_000_000_000 / 86_400 * (ticks / 2 + 1) + 10_000;
        prop_assert!(written <= 1_000_000_000 / number * (number - 1) + income, "{}", written);
    }

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
