//! Slow memory that serves lines by itself: worked examples, and a slow twin that adds up what each
//! access costs. Long: every case is worked out.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_device::lifetime::Endurance;
use terrace_device::{Energy, LINE_CELLS, Levelling, Wear};
use terrace_policy::migration::{Access as Seen, Costs, Migration, Plan, Side, Spec};
use terrace_policy::replacement::PageId;
use terrace_sim::pages::{Fill, Inclusion, Outcome, PageMachine, Shootdown, Unwritten, levelling};
use terrace_trace::Access;

use crate::machine::{requests, settings, simulate, simulate_traces, touch, trace};

/// The machine of [`settings`], where a line of DRAM takes 1.5 ns and one of slow memory 5.25, or
/// 20.25 if it is written.
fn machine(dram: usize, migration: &str) -> PageMachine {
    let mut machine = settings(dram);
    machine.migration = Spec::parse(migration).unwrap();
    machine.fast_line_ps = 1500;
    machine.tier.line_ps = Some(5250);
    machine.tier.line_write_ps = Some(20_250);
    machine
}

/// Accesses of one thread to lines of pages, 10 instructions apart.
fn accesses(all: &[(u64, u64, bool)]) -> Vec<Access> {
    let access = |(index, &(page, line, write)): (usize, &(u64, u64, bool))| {
        let mut access = touch(0, 10 * (index as u64 + 1), page, write);
        access.address += line * 64;
        access
    };
    all.iter().enumerate().map(access).collect()
}

/// Whole nanoseconds of the first line, which passed before figures are taken.
const BEFORE: u64 = 1;

#[test]
fn slow_memory_alone_takes_its_time() {
    let all: Vec<_> = (0..4).map(|page| (page, 0, false)).collect();
    let outcome = simulate(machine(2, "never"), &[accesses(&all)], 3);
    assert_eq!(outcome.counts.slow_accesses, 4);
    // 30 instructions, 4 lines of DRAM, and first touches of 13 ns; then 4 x 3.75 ns.
    assert_eq!(outcome.all_dram(), Nanos(30 + 6 + 4 * 13 - BEFORE));
    assert_eq!(outcome.time(), Nanos(30 + 6 + 4 * 13 + 15 - BEFORE));
    assert_eq!(outcome.times.slow_lines, Nanos(15));
    assert_eq!(outcome.lifetime.even, None, "nothing is written");
}

/// Lines that take 28 ns to read and 150 to write, 1.5 in DRAM. The times are the products.
#[test]
fn what_is_written_costs_what_writes_cost() {
    let time = |write| {
        let all: Vec<_> = (0..200_000)
            .map(|at| (at % 50, at / 50 % 64, write))
            .collect();
        let mut machine = machine(2, "never");
        (machine.tier.line_ps, machine.tier.line_write_ps) = (Some(28_000), Some(150_000));
        let outcome = simulate(machine, &[accesses(&all)], 1000);
        let counts = &outcome.counts;
        let lines = (counts.slow_reads, counts.slow_writes);
        (lines, outcome.times.slow_lines.0)
    };
    assert_eq!(time(false), ((200_000, 0), 200_000 * 53 / 2));
    assert_eq!(time(true), ((0, 200_000), 200_000 * 297 / 2));
}

/// A line that a cache writes back is written to slow memory, and the store that missed it has read
/// it: requests, of which a store reads 0 bytes.
#[test]
fn what_caches_write_back_is_written_once() {
    let rows: Vec<_> = [(0, 3, false), (0, 3, true), (1, 5, false), (9, 0, true)].into();
    let mut rows = accesses(&rows);
    rows[2].size = 0;
    let outcome = simulate_traces(machine(2, "never"), vec![requests(&rows, 7)]);
    let counts = &outcome.counts;
    assert_eq!(
        (counts.slow_reads, counts.slow_writes),
        (2, 1),
        "page 9 is unknown"
    );
    assert_eq!(outcome.times.slow_lines, Nanos((2 * 3750 + 18_750) / 1000));
}

const YEAR: f64 = 365.25 * 86_400.0;

/// A memory of two pages, of which a line is written five times and another twice.
fn worn(levellings: &str) -> (PageMachine, Vec<(u64, u64, bool)>) {
    let mut machine = machine(2, "never");
    machine.tier.endurance = Some(1e6);
    machine.tier.energy = Some(ENERGY);
    machine.tier.line_energy = Some(LINE_ENERGY);
    if !levellings.is_empty() {
        machine.writing.schemes = terrace_policy::write::Spec::parse_list("lines").unwrap();
        machine.writing.levellings = levelling::Spec::parse_list(levellings).unwrap();
        machine.writing.pages = 2;
    }
    let mut all = vec![(0, 3, true); 5];
    all.extend([(1, 0, true), (0, 9, false), (1, 0, true)]);
    (machine, all)
}

const LINE_ENERGY: Energy = Energy {
    read: 1.0,
    write: 10.0,
    activate: 0.5,
    standby: 3.0,
    refresh: 0.25,
};

const ENERGY: Energy = Energy {
    read: 20.0,
    write: 200.0,
    activate: 2.0,
    ..LINE_ENERGY
};

fn near(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one / other - 1.0).abs() < 1e-9)
}

#[test]
fn lines_that_are_written_wear_and_take_energy() {
    let (mut machine, all) = worn("");
    let outcome = simulate(machine.clone(), &[accesses(&all)], 3);
    let seconds = outcome.time().0 as f64 * 1e-9;
    let life = outcome.lifetime;
    assert!(
        near(life.unlevelled, 1e6 / 5.0 * seconds / YEAR),
        "{life:?}"
    );
    // 7 of 128 lines.
    assert!(
        near(life.even, 1e6 * 128.0 / 7.0 * seconds / YEAR),
        "{life:?}"
    );
    let energy = outcome.energy.unwrap();
    assert_eq!((energy.read_j, energy.write_j), (1.5, 7.0 * 10.5));
    assert!(near(Some(energy.standby_j), 3.0 * 8192.0 * seconds));
    assert!(near(Some(energy.refresh_j), 0.25 * 8192.0 * seconds));
    machine.warmup = 3;
    let warm = simulate(machine.clone(), &[accesses(&all)], 3);
    let seconds = warm.time().0 as f64 * 1e-9;
    assert!(near(warm.lifetime.unlevelled, 1e6 / 2.0 * seconds / YEAR));
    assert!(near(warm.lifetime.even, 1e6 * 128.0 / 4.0 * seconds / YEAR));
    machine.warmup = 0;
    machine.tier.rated = Some(Endurance::parse("1TBW").unwrap());
    let rated = simulate(machine, &[accesses(&all)], 3);
    let seconds = rated.time().0 as f64 * 1e-9;
    assert!(near(
        rated.lifetime.even,
        1e12 / (7.0 * 64.0) * seconds / YEAR
    ));
    assert_eq!(rated.lifetime.unlevelled, None);
}

#[test]
fn moves_take_the_energy_of_pages() {
    let mut machine = machine(1, "sampled:interval=1us,every=1,seen=1");
    (machine.tier.energy, machine.tier.line_energy) = (Some(ENERGY), Some(LINE_ENERGY));
    let all: Vec<_> = (0..2000).map(|at| (u64::from(at > 0), 0, false)).collect();
    let outcome = simulate(machine, &[accesses(&all)], 7);
    let counts = outcome.counts;
    assert_eq!((counts.move_reads, counts.move_writes), (64, 64));
    let energy = outcome.energy.unwrap();
    let of_lines = 1.5 * counts.slow_reads as f64;
    assert_eq!((energy.read_j, energy.write_j), (of_lines + 22.0, 202.0));
}

/// By the wear of a memory to which the same lines are written one by one.
#[test]
fn lines_are_levelled_as_is_asked() {
    let (machine, all) = worn("none,start-gap:psi=2,randomised:psi=1");
    let outcome = simulate(machine.clone(), &[accesses(&all)], 3);
    let ways = [
        Levelling::None,
        Levelling::StartGap {
            psi: 2,
            regions: 1,
            random: false,
        },
        Levelling::Randomised { psi: 1 },
    ];
    assert_eq!(outcome.schemes.len(), ways.len());
    let seconds = outcome.time().0 as f64 * 1e-9;
    for (scheme, way) in outcome.schemes.iter().zip(ways) {
        let mut wear = Wear::new(way, 128, machine.seed).unwrap();
        for (page, line, _) in all.iter().filter(|(.., write)| *write) {
            wear.write(64 * page + line, LINE_CELLS);
            wear.settle(|_| LINE_CELLS);
        }
        let worn = wear.worn();
        let name = &scheme.levelling;
        assert_eq!(
            (&*scheme.scheme, scheme.lines, scheme.bytes),
            ("lines", 7, 7 * 64),
            "{name}"
        );
        assert_eq!(scheme.moved_lines, wear.moved_lines(), "{name}");
        assert_eq!(scheme.wear_quantiles[4], worn.most(), "{name}");
        let written = 7.0 + wear.moved_lines() as f64;
        assert!(near(scheme.energy_j, 10.5 * written), "{name}");
        assert!(
            near(
                scheme.first_years,
                wear.runs(1e6, 0).unwrap() * seconds / YEAR
            ),
            "{name}"
        );
        assert_eq!((scheme.left, scheme.bytes_share()), (None, None), "{name}");
    }
    assert_eq!(outcome.schemes[0].wear_quantiles[4], 5.0);
    assert!(near(
        outcome.schemes[0].first_years,
        1e6 / 5.0 * seconds / YEAR
    ));
    assert_eq!(outcome.schemes[1].moved_lines, 3);
}

#[test]
fn schemes_that_look_at_contents_are_refused() {
    let (mut machine, _) = worn("none");
    assert!(machine.bypass().is_ok());
    machine.writing.schemes = terrace_policy::write::Spec::parse_list("lines,dcw").unwrap();
    let error = machine.bypass().unwrap_err().to_string();
    assert!(error.contains("give ‘write’ lines"), "{error}");
    machine.writing.schemes.truncate(1);
    machine.writing.unwritten = Unwritten::Zeros;
    let error = machine.bypass().unwrap_err().to_string();
    assert!(error.contains("‘unwritten’"), "{error}");
}

/// Pages 0 and 1 are in DRAM first. Page 2 takes the place of one that was never in slow memory;
/// and back, of one that has a copy there, in which a line was written since.
#[test]
fn moves_write_the_lines_that_they_copy() {
    let moves = |fill, inclusion, dirty| {
        let mut machine = machine(1, "sampled:interval=1us,every=1,seen=1");
        (machine.fill, machine.inclusion) = (fill, inclusion);
        let rounds = [(0, 1), (1, 2000), (0, 2000), (1, 2000), (0, 2000)];
        let all = rounds
            .into_iter()
            .flat_map(|(page, times)| (0..times).map(move |at| (page, at % 2, dirty && page == 1)));
        let all: Vec<_> = all.collect();
        let counts = simulate(machine, &[accesses(&all)], 7).counts;
        assert_eq!((counts.promotions, counts.demotions), (4, 4));
        (counts.move_reads, counts.move_writes)
    };
    let (page, sectors) = (Fill::Page, Fill::Sectors);
    let (keeps, drops) = (Inclusion::Inclusive, Inclusion::Exclusive);
    assert_eq!(moves(page, drops, false), (4 * 64, 4 * 64));
    assert_eq!(
        moves(page, keeps, false),
        (4 * 64, 64),
        "page 0 alone had no copy"
    );
    assert_eq!(
        moves(page, keeps, true),
        (4 * 64, 3 * 64),
        "page 1 is written each time"
    );
    assert_eq!(
        moves(sectors, keeps, true),
        (0, 64 + 2 * 2),
        "two lines of page 1"
    );
}

/// A program that reads half of its pages and writes the other, each as often: those that are read
/// come first, and DRAM has room for them. Rounds begin at other pages, so that samples see all.
fn read_and_written(rounds: u64) -> Vec<(u64, u64, bool)> {
    let access = |round: u64, at: u64| {
        let page = (at + 3 * round) % 16;
        (page, (7 * round + page) % 64, page >= 8)
    };
    let round = |round| (0..16).map(move |at| access(round, at));
    (0..rounds).flat_map(round).collect()
}

/// With as many accesses to each page `benefit` moves none, and all writes go to slow memory. The
/// other has what is written in DRAM after some rounds; then nothing but moves writes slow memory.
#[test]
fn what_is_written_is_kept_in_dram_where_writes_cost_more() {
    let run = |migration: &str, caches: bool| {
        let mut machine = machine(8, migration);
        machine.tier.endurance = Some(ENDURANCE);
        machine.fault.copy = Nanos(500);
        machine.tier.timing.write = Nanos(1095);
        (machine.tier.line_ps, machine.tier.line_write_ps) = (Some(28_000), Some(150_000));
        let mut rows = accesses(&read_and_written(4000));
        if caches {
            // What is written is read first, and a cache writes it back.
            let filled = rows.iter().flat_map(|row| {
                let read = Access {
                    write: false,
                    ..*row
                };
                [Some(read), row.write.then_some(*row)]
            });
            rows = filled.flatten().collect();
        }
        let source = if caches {
            requests(&rows, 100)
        } else {
            trace(&rows, 100)
        };
        simulate_traces(machine, vec![source])
    };
    for caches in [false, true] {
        let [theirs, ours] = ["benefit", "write-aware"].map(|policy| run(policy, caches));
        assert_eq!(theirs.counts.promotions, 0, "{caches}");
        assert_eq!(theirs.counts.slow_writes, 8 * 4000, "{caches}");
        assert_eq!(ours.counts.promotions, 8, "{caches}");
        assert_eq!(
            ours.counts.move_writes,
            8 * 64,
            "each page that is read once"
        );
        let before = ours.counts.slow_writes;
        assert!(
            before < 8 * 4000 / 10,
            "{caches}: {before} until they were moved"
        );
        assert!(ours.time() < theirs.time(), "{caches}");
        let years = |outcome: &Outcome| {
            let life = outcome.lifetime;
            (life.even.unwrap(), life.unlevelled.unwrap())
        };
        let (ours, theirs) = (years(&ours), years(&theirs));
        assert!(
            ours.0 > 2.0 * theirs.0 && ours.1 > 2.0 * theirs.1,
            "{ours:?} {theirs:?}"
        );
    }
}

/// Where writes take no longer than reads and wear does not count, both do the same.
#[test]
fn what_is_written_is_as_good_as_what_is_read_where_it_costs_the_same() {
    let run = |migration: &str| {
        let mut machine = machine(8, migration);
        machine.tier.line_write_ps = None;
        let outcome = simulate(machine, &[accesses(&read_and_written(1000))], 100);
        (outcome.counts, outcome.time())
    };
    assert_eq!(run("benefit"), run("write-aware:wear=0"));
}

#[test]
fn what_fits_is_as_fast_as_dram() {
    let all: Vec<_> = (0..40).map(|at| (at % 4, at, true)).collect();
    for policy in ["sampled", "hot", "benefit"] {
        let outcome = simulate(machine(4, policy), &[accesses(&all)], 7);
        assert_eq!(outcome.time(), outcome.all_dram(), "{policy}");
    }
}

#[test]
fn a_machine_that_cannot_be_is_refused() {
    let mut lineless = machine(4, "never");
    lineless.tier.line_ps = None;
    let message = lineless.bypass().unwrap_err().to_string();
    assert!(message.contains("serves no lines"), "{message}");
    let mut ahead = machine(4, "never");
    ahead.prefetch = crate::machine::stream();
    let message = ahead.bypass().unwrap_err().to_string();
    assert!(message.contains("act on faults"), "{message}");
    lineless.migration = Spec::parse("fault").unwrap();
    assert_eq!(lineless.bypass(), Ok(None));
}

/// What the twin finds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    time: u64,
    all_dram: u64,
    slow: u64,
    /// Lines of slow memory read and written, by accesses and by moves.
    lines: [u64; 4],
    /// Writes of the most worn line.
    most: u64,
    promotions: u64,
    demotions: u64,
    hints: u64,
    samples: u64,
    shootdowns: u64,
}

impl Found {
    fn of(outcome: &Outcome) -> Self {
        let counts = &outcome.counts;
        Self {
            time: outcome.time().0,
            all_dram: outcome.all_dram().0,
            slow: counts.slow_accesses,
            lines: [
                counts.slow_reads,
                counts.slow_writes,
                counts.move_reads,
                counts.move_writes,
            ],
            most: outcome.lifetime.unlevelled.map_or(0, |years| {
                let seconds = outcome.time().0 as f64 * 1e-9;
                (ENDURANCE * seconds / YEAR / years).round() as u64
            }),
            promotions: counts.promotions,
            demotions: counts.demotions,
            hints: counts.hint_faults,
            samples: counts.samples,
            shootdowns: counts.shootdowns,
        }
    }
}

const ENDURANCE: f64 = 1e7;

/// A machine of plain sets. The policy is the same; what is shown to it, and what it costs, is not.
struct Twin {
    machine: PageMachine,
    plan: Plan,
    sides: HashMap<u64, Side>,
    accessed: HashSet<u64>,
    /// Pages that were written since the last scan.
    written: HashSet<u64>,
    marked: HashMap<u64, u64>,
    /// Pages with a copy in slow memory, and lines of fast pages that differ from it.
    copies: HashSet<u64>,
    dirty: HashSet<(u64, u64)>,
    /// Lines that pages have in DRAM, of those that came without them.
    here: HashMap<u64, HashSet<u64>>,
    /// The place of each page in slow memory, places that are free, and writes of lines there.
    places: HashMap<u64, u64>,
    free: Vec<u64>,
    worn: HashMap<(u64, u64), u64>,
    compute_ps: u64,
    lost_ps: u64,
    /// Nanoseconds of first touches.
    new: u64,
    found: Found,
}

/// A shoot-down on four processors, by interrupts and in microcode.
fn shootdown(machine: &PageMachine) -> u64 {
    machine.fault.shootdown.cost(4).0
}

fn each(machine: &PageMachine) -> u64 {
    if machine.fault.shootdown_on_map { 2 } else { 1 }
}

impl Twin {
    fn now(&self) -> u64 {
        self.compute_ps / 1000 + self.lost_ps / 1000 + self.new
    }

    fn time(&self) -> Duration {
        Duration::from_nanos(self.now())
    }

    fn lose(&mut self, nanos: u64) {
        self.lost_ps += nanos * 1000;
    }

    fn settle(&mut self, page: u64) {
        if !self.places.contains_key(&page) {
            let new = self.places.len() as u64;
            let place = self.free.pop().unwrap_or(new);
            self.places.insert(page, place);
        }
    }

    fn wear(&mut self, page: u64, line: u64) {
        *self.worn.entry((self.places[&page], line)).or_default() += 1;
    }

    fn shoot_down(&mut self, times: u64) {
        self.found.shootdowns += times;
        self.lose(times * shootdown(&self.machine));
    }

    /// Shows an access to the policy, if it is one of those that it sees.
    fn sample(&mut self, policy: &mut dyn Migration, seen: Seen, unseen: &mut u32) {
        let Some(every) = policy.every() else { return };
        *unseen += 1;
        if *unseen == every.get() {
            *unseen = 0;
            self.found.samples += 1;
            let time = self.time();
            policy.sampled(seen, time, &mut self.plan);
            self.lose(self.machine.sample.0);
            self.do_as_asked();
        }
    }

    fn do_as_asked(&mut self) {
        let now = self.now();
        for page in std::mem::take(&mut self.plan.hints) {
            self.marked.insert(page.0.into(), now);
        }
        let moves = std::mem::take(&mut self.plan.moves);
        let batched = self.machine.fault.shootdown == Shootdown::Batched;
        for one in &moves {
            let page = u64::from(one.page.0);
            self.sides.insert(page, one.to);
            // Unmapped here, mapped there.
            self.lose(16 + 8);
            match one.to {
                Side::Fast => {
                    self.found.promotions += 1;
                    self.copies.insert(page);
                    if self.machine.inclusion == Inclusion::Exclusive {
                        self.free.extend(self.places.remove(&page));
                    }
                    self.dirty.retain(|(other, _)| *other != page);
                    match self.machine.fill {
                        Fill::Page => {
                            self.found.lines[2] += 64;
                            self.lose(4);
                        }
                        Fill::Sectors => drop(self.here.insert(page, HashSet::new())),
                    }
                }
                Side::Slow => {
                    self.found.demotions += 1;
                    let written = self
                        .dirty
                        .iter()
                        .filter(|(other, _)| *other == page)
                        .count();
                    let kept = self.machine.inclusion == Inclusion::Inclusive
                        && self.copies.contains(&page);
                    let lines = match self.here.remove(&page) {
                        Some(_) => written as u64,
                        None if kept && written == 0 => 0,
                        None => 64,
                    };
                    self.found.lines[3] += lines;
                    self.settle(page);
                    let dirty = |line: &u64| lines == 64 || self.dirty.contains(&(page, *line));
                    let copied: Vec<u64> = match lines {
                        0 => Vec::new(),
                        _ => (0..64).filter(dirty).collect(),
                    };
                    copied.into_iter().for_each(|line| self.wear(page, line));
                    // Slow memory takes longer than the processor.
                    self.lose(1000 * lines / 64);
                }
            }
            if !batched {
                self.shoot_down(each(&self.machine));
            }
        }
        if batched && !moves.is_empty() {
            self.shoot_down(each(&self.machine));
        }
    }
}

/// What the machine does with a trace of one thread; if it has passed caches, they write back what
/// is written.
fn twin(machine: PageMachine, all: &[(u64, u64, bool)], passed: bool) -> Found {
    let mut policy = machine
        .migration
        .policy(machine.dram_pages)
        .unwrap()
        .unwrap();
    let cost = shootdown(&machine) * each(&machine);
    let (apart, batch) = match machine.fault.shootdown {
        Shootdown::Batched => (0, cost),
        _ => (cost, 0),
    };
    let copy = if machine.fill == Fill::Page { 4 } else { 0 };
    policy.set_costs(Costs {
        line_ps: 3750,
        written_line_ps: 18_750,
        promotion: Duration::from_nanos(16 + copy + 8 + apart),
        demotion: Duration::from_nanos(16 + 1000 + 8 + apart),
        batch: Duration::from_nanos(batch),
        sample: Duration::from_nanos(machine.sample.0),
    });
    let (sides, accessed, marked, copies, dirty, here) = Default::default();
    let (places, free, worn, written) = Default::default();
    let mut twin = Twin {
        machine,
        plan: Plan::default(),
        sides,
        accessed,
        written,
        marked,
        copies,
        dirty,
        here,
        places,
        free,
        worn,
        compute_ps: 0,
        lost_ps: 0,
        new: 0,
        found: Found::default(),
    };
    // Pages are numbered in the order of their first touch.
    let mut numbers: HashMap<u64, u64> = HashMap::new();
    let mut unseen = 0;
    for (index, &(page, line, write)) in all.iter().enumerate() {
        let next = numbers.len() as u64;
        let page = *numbers.entry(page).or_insert(next);
        let id = PageId(page as u32);
        twin.compute_ps += if index == 0 { 0 } else { 10_000 };
        if passed && write {
            if twin.sides.contains_key(&page) {
                twin.written.insert(page);
            }
            // A page that came without lines takes this one whole.
            if twin.sides.get(&page) == Some(&Side::Fast) {
                twin.dirty.insert((page, line));
                twin.here.get_mut(&page).map(|here| here.insert(line));
            } else if twin.sides.contains_key(&page) {
                twin.found.lines[1] += 1;
                twin.wear(page, line);
                twin.lost_ps += 18_750;
            }
            if twin.sides.contains_key(&page) && policy.sees_write_backs() {
                twin.sample(&mut *policy, Seen::write(id), &mut unseen);
            }
            continue;
        }
        twin.compute_ps += 1500;
        if policy.next_scan().is_some_and(|next| twin.time() >= next) {
            let accessed = twin.accessed.drain().map(|page| Seen {
                page: PageId(page as u32),
                wrote: twin.written.remove(&page),
            });
            let mut accessed: Vec<Seen> = accessed.collect();
            accessed.sort();
            twin.shoot_down(1);
            policy.scanned(&accessed, twin.time(), &mut twin.plan);
            twin.do_as_asked();
        }
        if !twin.sides.contains_key(&page) {
            twin.new += 1 + 4 + 8;
            twin.sides.insert(page, policy.came(id));
            if twin.sides[&page] == Side::Slow {
                twin.settle(page);
            }
        }
        if let Some(since) = twin.marked.remove(&page) {
            twin.found.hints += 1;
            twin.lose(1 + 8);
            let waited = Duration::from_nanos(twin.now() - since);
            let seen = Seen {
                page: id,
                wrote: write,
            };
            policy.hinted(seen, waited, twin.time(), &mut twin.plan);
            twin.do_as_asked();
        }
        let missing = twin
            .here
            .get_mut(&page)
            .is_some_and(|here| here.insert(line));
        if twin.sides[&page] == Side::Slow || missing {
            // A line that is missing is read, and written in DRAM.
            let writes = write && !missing;
            twin.found.slow += 1;
            twin.found.lines[usize::from(writes)] += 1;
            twin.lost_ps += if writes { 18_750 } else { 3750 };
            if writes {
                twin.wear(page, line);
            }
        }
        if write {
            twin.dirty.insert((page, line));
            twin.written.insert(page);
        }
        twin.accessed.insert(page);
        let wrote = write && !passed;
        twin.sample(&mut *policy, Seen { page: id, wrote }, &mut unseen);
    }
    let before = if passed && all[0].2 { 0 } else { BEFORE };
    twin.found.most = twin.worn.values().max().map_or(0, |most| *most);
    twin.found.time = twin.now() - before;
    twin.found.all_dram = twin.compute_ps / 1000 + twin.new - before;
    twin.found
}

const POLICIES: &[&str] = &[
    "never",
    "sampled:interval=1us,seen=1",
    "sampled:interval=2us,every=3",
    "hot:threshold=1ms,period=1us",
    "hot:threshold=1us,period=2us,scan=16K",
    "benefit:every=1,turns=1.6,slack=1",
    "benefit:every=2,turns=3,expect=1,slack=0.5",
    "benefit:every=1,turns=1.6,expect=10,slack=0,watch=0.2",
    "write-aware:every=1,turns=1.6,slack=1,expect=20,wear=0.5",
];

proptest! {
    #[test]
    fn the_simulation_adds_up_as_the_twin_does(
        all in prop::collection::vec((prop_oneof![0u64..12, 0u64..3], 0u64..64, any::<bool>()), 1..500),
        dram in 1usize..8,
        block in 1usize..60,
        inclusive: bool,
        sectors: bool,
        on_map: bool,
        way in 0..4_usize,
        sample in 0..3_u64,
        passed: bool,
    ) {
        for policy in POLICIES {
            let mut machine = machine(dram, policy);
            machine.inclusion = if inclusive { Inclusion::Inclusive } else { Inclusion::Exclusive };
            machine.fill = if sectors { Fill::Sectors } else { Fill::Page };
            machine.fault.shootdown_on_map = on_map;
            let ways = [Shootdown::Free, Shootdown::Hardware, Shootdown::Interrupt, Shootdown::Batched];
            machine.fault.shootdown = ways[way];
            machine.threads = Some(4);
            machine.sample = Nanos(sample);
            machine.tier.endurance = Some(ENDURANCE);
            let rows = accesses(&all);
            let trace = if passed { requests(&rows, block) } else { trace(&rows, block) };
            let outcome = simulate_traces(machine.clone(), vec![trace]);
            prop_assert_eq!(Found::of(&outcome), twin(machine, &all, passed), "{}", policy);
        }
    }

    /// With a slack of a hundredth, no program is slower by more than that than in slow memory
    /// alone.
    #[test]
    fn benefit_loses_no_more_than_its_slack(
        all in prop::collection::vec((0u64..20, 0u64..64, any::<bool>()), 1..800),
        dram in 1usize..8,
        turns in prop_oneof![Just(0.6), Just(3.0)],
    ) {
        let all = accesses(&all);
        let time = |policy: &str| simulate(machine(dram, policy), std::slice::from_ref(&all), 99).time().0;
        let ours = time(&format!("benefit:every=1,expect=100,turns={turns}"));
        prop_assert!(ours as f64 <= time("never") as f64 / 0.99 + 1.0);
    }
}

/// A trace of one thread with objects of two sites, and a placement of the first.
mod placed {
    use std::sync::Arc;

    use terrace_sim::pages::{Placement, run};
    use terrace_sim::workload::Workload;
    use terrace_trace::allocation::{Allocations, Call, Object, Site};
    use terrace_trace::{Block, Columns, Reading, create};

    use super::*;

    const FILE: &str = "placement = 1\nprogram = \"p\"\nfast_bytes = 8192\n\
                        [[site]]\nname = \"s0\"\nbytes = 8192\ncalls = [\"s0+0x0\"]\n";

    /// An object: before which row it begins, its rows, its site, and its first page and pages.
    type Life = (u64, Option<u64>, u32, u64, u64);

    fn placement(directory: &std::path::Path, text: &str) -> Arc<Placement> {
        let path = directory.join("p.toml");
        std::fs::write(&path, text).unwrap();
        Placement::load(&path).unwrap()
    }

    fn workload(directory: &std::path::Path, all: &[(u64, u64, bool)], lives: &[Life]) -> Workload {
        let path = directory.join("p.parquet");
        let mut block = Block::default();
        accesses(all)
            .into_iter()
            .for_each(|access| block.push(access));
        let object = |&(began, rows, site, page, pages): &Life| Object {
            began,
            ended: rows.map(|rows: u64| began + rows),
            process: 0,
            site,
            address: page * 4096,
            bytes: pages * 4096,
        };
        let mut objects: Vec<Object> = lives.iter().map(object).collect();
        objects.sort_by_key(|object| object.began);
        let site = |number: u32| Site {
            stack: vec![Call {
                module: format!("/s{number}"),
                ..Call::default()
            }],
        };
        let mut sink = create(&path, &[]).unwrap();
        sink.write(&block).unwrap();
        sink.allocations(Allocations {
            sites: (0..2).map(site).collect(),
            objects,
        });
        sink.finish().unwrap();
        Workload::open(&[path], &Reading::default(), None, Columns::PAGES).unwrap()
    }

    fn machine_with(dram: usize, policy: &str, place: Arc<Placement>) -> PageMachine {
        let mut machine = machine(dram, policy);
        machine.place = Some(place);
        machine
    }

    #[test]
    fn a_placement_that_cannot_be_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let place = placement(directory.path(), FILE);
        let all = [(1, 0, false)];
        let fails = |machine: PageMachine, lives: &[Life]| {
            let workload = workload(directory.path(), &all, lives);
            let error = run(workload, vec![machine], None, |_| ()).unwrap_err();
            error.to_string()
        };
        let life = [(0, None, 0, 1, 1)];
        let error = machine_with(4, "fault", place.clone())
            .bypass()
            .unwrap_err();
        assert!(
            error.to_string().contains("give ‘migration’ never"),
            "{error}"
        );
        let other = placement(directory.path(), &FILE.replace("s0+", "s7+"));
        let error = fails(machine_with(4, "never", other), &life);
        assert!(error.contains("that of another program"), "{error}");
        let without = simulate_error(machine_with(4, "never", place));
        assert!(without.contains("says nothing of allocations"), "{without}");
    }

    /// Sites of the file in their order, as far as there is room for what they allocate here; the
    /// policy has the rest.
    #[test]
    fn what_does_not_fit_is_not_placed() {
        let directory = tempfile::tempdir().unwrap();
        let both = FILE.to_owned() + "[[site]]\nname = \"s1\"\nbytes = 1\ncalls = [\"s1+0x0\"]\n";
        let place = placement(directory.path(), &both);
        let lives = [(0, None, 0, 0, 3), (0, None, 1, 4, 1)];
        let all: Vec<_> = (0..8).map(|page| (page, 0, false)).collect();
        let placed = |dram| {
            let machine = machine_with(dram, "benefit", place.clone());
            let workload = workload(directory.path(), &all, &lives);
            let counts = run(workload, vec![machine], None, |_| ())
                .unwrap()
                .remove(0)
                .counts;
            (counts.placed_accesses, counts.slow_accesses)
        };
        assert_eq!(placed(1), (1, 7));
        assert_eq!(placed(2), (1, 6));
        assert_eq!(placed(3), (3, 5));
        assert_eq!(placed(5), (4, 3), "a page for the policy");
    }

    fn simulate_error(machine: PageMachine) -> String {
        let trace = crate::machine::trace(&accesses(&[(1, 0, false)]), 1);
        let workload = Workload::new(vec![trace], None).unwrap();
        run(workload, vec![machine], None, |_| ())
            .unwrap_err()
            .to_string()
    }

    proptest! {
        // Each case is a file.
        #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

        /// Accesses to the objects of a placed site are as fast as DRAM, and no others, by a look
        /// at all objects.
        #[test]
        fn objects_of_placed_sites_are_in_dram(
            all in prop::collection::vec((0_u64..12, 0_u64..64, any::<bool>()), 1..300),
            lives in prop::collection::vec(
                (0_u64..200, prop::option::of(0_u64..200), 0_u32..2, 1_u64..3), 1..4),
        ) {
            let directory = tempfile::tempdir().unwrap();
            let place = placement(directory.path(), FILE);
            // Apart from each other.
            let lives: Vec<Life> = lives.iter().enumerate().map(|(slot, &(began, rows, site, pages))| {
                (began, rows, site, 3 * slot as u64, pages)
            }).collect();
            let placed = all.iter().enumerate().filter(|(row, (page, ..))| {
                lives.iter().any(|&(began, rows, site, first, pages)| {
                    let row = *row as u64;
                    site == 0 && began <= row && rows.is_none_or(|rows| row < began + rows)
                        && (first..first + pages).contains(page)
                })
            }).count() as u64;
            for policy in ["never", "benefit:every=1,turns=1.6,slack=1", "hot:threshold=1ms,period=1us"] {
                let machine = machine_with(8, policy, place.clone());
                let workload = workload(directory.path(), &all, &lives);
                let outcome = run(workload, vec![machine], None, |_| ()).unwrap().remove(0);
                prop_assert_eq!(outcome.counts.placed_accesses, placed, "{}", policy);
                if policy == "never" {
                    prop_assert_eq!(outcome.counts.slow_accesses, all.len() as u64 - placed);
                }
                prop_assert!(outcome.counts.slow_accesses <= all.len() as u64 - placed, "{}", policy);
            }
        }
    }
}
