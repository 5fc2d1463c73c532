//! Write schemes: a memory of physical cells that replays the trace, cases by hand, and the order
//! of changes.

use std::collections::{HashMap, HashSet, VecDeque};

use proptest::prelude::*;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::SeedableRng;
use terrace_base::Result;
use terrace_device::Energy;
use terrace_policy::replacement;
use terrace_policy::write::{self, Contents};
use terrace_sim::pages::{Outcome, PageMachine, SchemeOutcome, Unwritten, Writing, levelling, run};
use terrace_sim::workload::Workload;
use terrace_trace::changes::{Change, Word};
use terrace_trace::{Access, Block, Meta, Source};

use crate::machine::{settings, touch};
use crate::naive::{Levelling, Naive};

pub const PAGE: usize = size_of::<Contents>();
pub const CELLS: u64 = 512;

/// A row of a trace with contents.
#[derive(Clone, Debug)]
struct Row {
    access: Access,
    version: u32,
    words: Vec<Word>,
}

/// A trace with contents in memory.
struct Recorded {
    meta: Meta,
    rows: Vec<Row>,
    block: usize,
}

impl Source for Recorded {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let some = self.block.min(self.rows.len());
        for row in self.rows.drain(..some) {
            block.push(row.access);
            block.changes.push(Change {
                words: &row.words,
                version: row.version,
                checksum: 0,
            });
        }
        Ok(())
    }
}

fn workload(rows: &[Row], has_contents: bool) -> Workload {
    let source = Recorded {
        meta: Meta {
            counts_instructions: true,
            has_contents,
            ..Meta::default()
        },
        rows: rows.to_vec(),
        block: 7,
    };
    Workload::new(vec![Box::new(source)], None).expect("there is a program")
}

fn simulate(rows: &[Row], machine: PageMachine) -> Outcome {
    let outcomes = run(workload(rows, true), vec![machine], None, |_| {});
    outcomes.expect("traces in memory are right").remove(0)
}

/// A machine of [`settings`] that is asked about schemes, over a memory of so many pages.
fn machine(dram: usize, schemes: &str, levellings: &str, pages: u64) -> PageMachine {
    PageMachine {
        writing: Writing {
            schemes: write::Spec::parse_list(schemes).expect("schemes"),
            levellings: levelling::Spec::parse_list(levellings).expect("levellings"),
            pages,
            unwritten: Unwritten::Random,
        },
        ..settings(dram)
    }
}

/// A touch: a page, whether it is written, and the words that change.
type Touch = (u64, bool, Vec<(u16, u64)>);

/// Touches of one thread, 10 instructions apart, with the words that they change.
fn rows(touches: &[Touch]) -> Vec<Row> {
    let mut versions: HashMap<u64, u32> = HashMap::new();
    let row = |(index, (page, write, words)): (usize, &Touch)| {
        let word = |&(index, value): &(u16, u64)| Word { index, value };
        let version = match words.is_empty() {
            true => 0,
            false => {
                let version = versions.entry(*page).or_default();
                *version += 1;
                *version
            }
        };
        Row {
            access: touch(0, 10 * (index as u64 + 1), *page, *write),
            version,
            words: words.iter().map(word).collect(),
        }
    };
    touches.iter().enumerate().map(row).collect()
}

/// Which pages an LRU of `dram` pages lets go, in their order, with what they hold and whether that
/// must be written: a page that was never changed is zeros, and needs no copy.
fn departures(rows: &[Row], dram: usize) -> Vec<(usize, Contents, bool)> {
    let mut lru: Vec<u64> = Vec::new();
    let mut numbers: HashMap<u64, usize> = HashMap::new();
    let mut contents: HashMap<u64, Contents> = HashMap::new();
    let mut dirty = HashSet::new();
    let mut departures = Vec::new();
    for row in rows {
        let page = row.access.address / PAGE as u64;
        let number = numbers.len();
        numbers.entry(page).or_insert(number);
        let held = contents.entry(page).or_insert([0; PAGE]);
        for word in &row.words {
            held[usize::from(word.index) * 8..][..8].copy_from_slice(&word.value.to_le_bytes());
        }
        match lru.iter().position(|other| *other == page) {
            Some(place) => drop(lru.remove(place)),
            None if lru.len() == dram => {
                let victim = lru.remove(0);
                let must = dirty.remove(&victim);
                departures.push((numbers[&victim], contents[&victim], must));
            }
            None => {}
        }
        lru.push(page);
        if row.access.write || !row.words.is_empty() {
            dirty.insert(page);
        }
    }
    departures
}

/// What a scheme writes of these departures, as results tell it.
fn twin(
    departures: &[(usize, Contents, bool)],
    spec: &str,
    levelling: Levelling,
    pages: usize,
    unwritten: Unwritten,
) -> Found {
    let scheme = write::Spec::parse(spec).unwrap().scheme().unwrap();
    let spare = if scheme.pinned { 0 } else { pages.div_ceil(64) };
    let mut random = SplitMix64::seed_from_u64(1);
    let mut memory = Naive::new(pages + spare, levelling, unwritten, &mut random);
    let mut free: VecDeque<usize> = (0..pages + spare).collect();
    let mut places: HashMap<usize, usize> = HashMap::new();
    for (page, contents, must) in departures {
        if scheme.inclusive && !must {
            continue;
        }
        let place = match scheme.pinned {
            true => *page,
            false => {
                let place = free.pop_front().expect("one is free");
                free.extend(places.insert(*page, place));
                place
            }
        };
        memory.write(contents, place, &scheme, &mut random);
    }
    memory.wear.sort_unstable_by(|a, b| b.cmp(a));
    Found {
        left: departures.len() as u64,
        pages: memory.pages,
        bytes: memory.written.bytes,
        lines: memory.written.lines,
        sectors: memory.written.sectors,
        cells: memory.written.cells,
        metadata: memory.written.metadata,
        moved: memory.moved,
        places: memory.wear.len() as u64,
        most: memory.wear[0],
        second: memory.wear[1],
        all: memory.wear.iter().sum(),
        worn: memory.wear.iter().filter(|cells| **cells > 0).count() as u64,
    }
}

/// What is compared; wear in cells.
#[derive(Debug, PartialEq)]
struct Found {
    left: u64,
    pages: u64,
    bytes: u64,
    lines: u64,
    sectors: u64,
    cells: u64,
    metadata: u64,
    moved: (u64, u64),
    places: u64,
    most: u64,
    second: u64,
    all: u64,
    worn: u64,
}

impl Found {
    fn of(one: &SchemeOutcome) -> Self {
        let cells = |writes: f64| (writes * CELLS as f64).round() as u64;
        let rank = |rank: u64| {
            one.ranks
                .iter()
                .find(|one| one.rank == rank)
                .map_or(0, |one| cells(one.writes))
        };
        assert_eq!(cells(one.wear_quantiles[4]), rank(1));
        Self {
            left: one.left.unwrap(),
            pages: one.pages.unwrap(),
            bytes: one.bytes,
            lines: one.lines,
            sectors: one.sectors,
            cells: one.cells,
            metadata: one.metadata,
            moved: (one.moved_lines, one.moved_cells),
            places: one.places,
            most: rank(1),
            second: rank(2),
            all: cells(one.wear_mean * one.places as f64),
            worn: one.places_written,
        }
    }
}

const SCHEMES: [&str; 14] = [
    "page",
    "page:pin=off",
    "inclusive",
    "lines",
    "lines:pin=off",
    "sectors",
    "same-filled:pin=off",
    "mfwr",
    "mfwr+dcw:pin=off",
    "best:time=1000",
    "dcw",
    "dcw:pin=off",
    "flip-n-write",
    "flip-n-write:pin=off",
];

fn touches() -> impl Strategy<Value = Vec<Touch>> {
    let value = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let words = prop_oneof![
        3 => prop::collection::vec((0..512_u16, value.clone()), 0..3),
        1 => prop::collection::vec(value, 512).prop_map(|all| (0..512).zip(all).collect()),
    ];
    prop::collection::vec((0..7_u64, any::<bool>(), words), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn schemes_write_what_changes_in_a_memory_of_cells(
        touches in touches(),
        dram in 1..5_usize,
        psi in prop_oneof![Just(1_u32), Just(3), 1..200_u32],
        pages in 7..9_usize,
        unwritten in prop_oneof![Just(Unwritten::Random), Just(Unwritten::Zeros)],
    ) {
        let rows = rows(&touches);
        let departures = departures(&rows, dram);
        let levellings = format!(
            "none,start-gap:psi={psi},start-gap:psi={psi},regions=3,random=on,randomised:psi={psi}"
        );
        let mut machine = machine(dram, &SCHEMES.join(","), &levellings, pages as u64);
        machine.writing.unwritten = unwritten;
        let outcome = simulate(&rows, machine);
        let mut found = outcome.schemes.iter();
        for spec in SCHEMES {
            let regions = Levelling::Regions(psi, 3, 1);
            for levelling in [Levelling::None, Levelling::StartGap(psi), regions, Levelling::Randomised(psi)] {
                let one = found.next().expect("each scheme under each levelling");
                prop_assert_eq!(&one.scheme, spec);
                let expected = twin(&departures, spec, levelling, pages, unwritten);
                prop_assert_eq!(Found::of(one), expected, "{} {:?}", spec, levelling);
            }
        }
        prop_assert!(found.next().is_none());
    }

    /// What is asked of schemes changes nothing else.
    #[test]
    fn the_machine_is_the_same_with_schemes_and_without(touches in touches(), dram in 1..5_usize) {
        let rows = rows(&touches);
        let mut with = simulate(&rows, machine(dram, "page,dcw", "start-gap", 7));
        prop_assert_eq!(with.schemes.len(), 2);
        prop_assert_eq!(with.schemes[0].left, Some(with.counts.evictions));
        with.schemes.clear();
        prop_assert_eq!(with, simulate(&rows, settings(dram)));
    }
}

/// Two pages in turn over one page of DRAM: the first gets a bit set, then another, and another.
fn two_pages() -> Vec<Row> {
    rows(&[
        (0, true, vec![(0, 1)]),
        (1, false, vec![]),
        (0, true, vec![(0, 3)]),
        (1, false, vec![]),
        (0, true, vec![(0, 7)]),
        (1, false, vec![]),
    ])
}

/// After a warm-up in which both pages have left DRAM for the first time.
#[test]
fn energy_and_lifetime_by_hand() {
    let mut machine = machine(1, "page,inclusive,dcw", "none", 2);
    machine.warmup = 3;
    // A joule a cell, and 10 to open a row.
    machine.tier.energy = Some(Energy {
        read: 0.0,
        write: 8.0 * 4096.0,
        activate: 10.0,
        standby: 0.0,
        refresh: 0.0,
    });
    let outcome = simulate(&two_pages(), machine);
    let [page, inclusive, dcw] = &outcome.schemes[..] else {
        panic!("three schemes")
    };
    // Page 0 leaves twice, with one more bit each time, and page 1 once, as it was before.
    assert_eq!((page.left, page.pages, page.lines), (Some(3), Some(3), 192));
    assert_eq!((page.wear_mean, page.wear_quantiles[4]), (1.5, 2.0));
    assert_eq!(
        (inclusive.left, inclusive.pages, inclusive.lines),
        (Some(3), Some(2), 128)
    );
    assert_eq!(inclusive.energy_j, Some(2.0 * (8.0 * 4096.0 + 10.0)));
    assert_eq!(
        (inclusive.wear_mean, inclusive.wear_quantiles[4]),
        (1.0, 2.0)
    );
    assert_eq!(
        (dcw.left, dcw.pages, dcw.lines, dcw.cells),
        (Some(3), Some(2), 2, 2)
    );
    assert_eq!(dcw.energy_j, Some(2.0 + 20.0));
    assert_eq!(dcw.cells_share(), Some(2.0 / (3.0 * 8.0 * 4096.0)));
    // Cells endure 10^7 writes; a year has 365.25 days.
    let runs_a_year = 365.25 * 86_400.0 / outcome.time().seconds();
    let close = |years: Option<f64>, expected: f64| {
        let years = years.expect("something is written");
        assert!(
            (years / expected - 1.0).abs() < 1e-9,
            "{years}, not {expected}"
        );
    };
    close(inclusive.first_years, 1e7 / 2.0 / runs_a_year);
    close(inclusive.even_years, 1e7 / runs_a_year);
    close(dcw.first_years, 1e7 / (2.0 / 512.0) / runs_a_year);
    close(dcw.even_years, 1e7 / (2.0 / 512.0 / 128.0) / runs_a_year);
}

/// One page of two is written out again and again, all 64 lines of it.
#[test]
fn lifetimes_by_levellings_by_hand() {
    let mut touches = vec![(0, true, vec![(0, 1)]), (1, false, vec![])];
    touches.extend((2..12).flat_map(|value| [(0, true, vec![(0, value)]), (1, false, vec![])]));
    let rows = rows(&touches);
    let levellings = "none,start-gap:psi=1048576,none:spare=64,start-gap:psi=64";
    let mut machine = machine(1, "inclusive", levellings, 2);
    machine.warmup = 3;
    let outcome = simulate(&rows, machine);
    let [none, slow, spared, quick] = &outcome.schemes[..] else {
        panic!("four levellings")
    };
    assert_eq!((none.pages, none.lines), (Some(10), 640));
    let years = outcome.time().seconds() / (365.25 * 86_400.0);
    let close = |found: &SchemeOutcome, runs: f64| {
        let found = found.first_years.expect("it wears out") / years;
        assert!((found / runs - 1.0).abs() < 1e-6, "{found} {runs}");
    };
    // 10^7 writes of a line, of which a run makes 10.
    close(none, 1e6);
    // Psi writes, in 1638.4 runs, are 16,384 of each hot line: 610 times that is 10^7. A rotation
    // is 129 movements, so the gap has been at place 10 four times until the fifth rotation is at
    // 98, and it held a hot line else; four copies were made to it.
    close(slow, 1638.4 * (4.0 + (1e7 - 4.0) / 16_384.0));
    // 64 lines fail together, and the 65th failure is that of a spare.
    close(spared, 2e6);
    let even = 1e7 * 129.0 / (640.0 + 10.0);
    let found = quick.first_years.expect("it wears out") / years;
    assert!((0.99..1.0).contains(&(found / even)), "{found} {even}");
}

/// Linux has the first page written twice while it stays; three others leave, of which no copy is
/// needed.
#[test]
fn what_is_written_and_stays_is_of_inclusive_schemes() {
    let rows = rows(&[
        (0, true, vec![(0, 1)]),
        (1, false, vec![]),
        (2, false, vec![]),
        (3, false, vec![]),
        (0, true, vec![(0, 3)]),
        (4, false, vec![]),
        (1, false, vec![]),
    ]);
    let mut machine = machine(3, "page,inclusive", "none", 5);
    machine.replacement = replacement::Spec::parse("linux").expect("it is there");
    let outcome = simulate(&rows, machine);
    let [page, inclusive] = &outcome.schemes[..] else {
        panic!("two schemes")
    };
    assert_eq!((page.left, page.pages), (Some(3), Some(3)));
    assert_eq!((inclusive.left, inclusive.pages), (Some(3), Some(2)));
}

/// A page that a system call has changed is read after that, and not written by the program.
#[test]
fn what_something_else_has_changed_is_written() {
    let rows = rows(&[
        (0, true, vec![(0, 1)]),
        (1, true, vec![]),
        (0, false, vec![(0, 3)]),
        (1, true, vec![]),
    ]);
    let mut machine = machine(1, "inclusive,dcw", "none", 2);
    machine.warmup = 3;
    let outcome = simulate(&rows, machine);
    assert_eq!(outcome.counts.writebacks, 0, "the machine cannot know it");
    assert_eq!(
        (outcome.schemes[0].pages, outcome.schemes[1].cells),
        (Some(1), 1)
    );
}

/// Thread 1 reads page 5 before thread 0 has made the change that comes first, and page 5 leaves
/// DRAM in between.
#[test]
fn changes_are_made_in_their_order_where_clocks_change_that_of_touches() {
    let row = |thread, instruction, page, change: Option<(u32, u64)>| Row {
        access: touch(thread, instruction, page, change.is_some()),
        version: change.map_or(0, |(version, _)| version),
        words: change
            .iter()
            .map(|&(_, value)| Word { index: 0, value })
            .collect(),
    };
    let rows = [
        row(0, 1, 0, None),
        row(1, 1, 1, None),
        row(0, 1_000_000, 5, Some((1, 0xFF))),
        row(1, 2, 5, Some((2, 1))),
        row(1, 3, 2, None),
        row(1, 4, 3, None),
        row(1, 5, 4, None),
        row(0, 1_000_001, 2, None),
        row(0, 1_000_002, 3, None),
        row(0, 1_000_003, 4, None),
    ];
    let mut machine = machine(2, "dcw", "none", 6);
    machine.warmup = 8;
    let outcome = simulate(&rows, machine);
    let dcw = &outcome.schemes[0];
    // It has left with zeros in the warm-up, and leaves with what both changes together make of it.
    assert_eq!(outcome.counts.evictions, 2);
    assert_eq!((dcw.pages, dcw.cells), (Some(1), 1));
}

#[test]
fn a_trace_without_contents_is_refused() {
    let asked = machine(1, "dcw", "none", 2);
    let refused = run(workload(&two_pages(), false), vec![asked], None, |_| {});
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("terrace record --contents"), "{error}");
}
