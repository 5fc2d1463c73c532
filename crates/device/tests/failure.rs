//! Runs until a memory fails, against memories that are written line by line until they do.

use proptest::prelude::*;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_device::feistel::Feistel;
use terrace_device::{LINE_CELLS, Levelling, Wear};

const SEED: u64 = 5;

/// A memory of physical places: the line that each holds, and its wear in cells.
struct Memory {
    held: Vec<Option<usize>>,
    wear: Vec<u64>,
    endured: u64,
    failed: u64,
}

impl Memory {
    fn new(held: Vec<Option<usize>>, endurance: u64) -> Self {
        Self {
            wear: vec![0; held.len()],
            held,
            endured: endurance * u64::from(LINE_CELLS),
            failed: 0,
        }
    }

    fn place(&self, line: Option<usize>) -> usize {
        self.held
            .iter()
            .position(|held| *held == line)
            .expect("it lies somewhere")
    }

    /// A spare takes the place of a line that fails, and what was too much for that wears it.
    fn program(&mut self, place: usize, cells: u32) {
        self.wear[place] += u64::from(cells);
        if self.wear[place] >= self.endured {
            self.wear[place] -= self.endured;
            self.failed += 1;
        }
    }
}

/// A run: the lines that it writes, each with the cells that it programs.
type Run = Vec<(usize, u32)>;

/// Runs until a memory under start-gap fails, which is written line by line. Each region is a
/// memory of its own, of the lines that are mapped to it.
fn until_failure(
    run: &Run,
    regions: &[Vec<usize>],
    psi: u64,
    moved: u32,
    endurance: u64,
    spares: u64,
) -> f64 {
    let mut memories: Vec<(Memory, u64)> = regions
        .iter()
        .map(|lines| {
            let held = lines.iter().copied().map(Some).chain([None]);
            (Memory::new(held.collect(), endurance), 0)
        })
        .collect();
    for writes in 0.. {
        let (line, cells) = run[writes % run.len()];
        let own = regions
            .iter()
            .position(|lines| lines.contains(&line))
            .expect("a region");
        let (memory, counted) = &mut memories[own];
        memory.program(memory.place(Some(line)), cells);
        *counted += 1;
        if counted.is_multiple_of(psi) {
            let gap = memory.place(None);
            let from = gap.checked_sub(1).unwrap_or(memory.held.len() - 1);
            memory.held.swap(gap, from);
            memory.program(gap, moved);
        }
        let failed: u64 = memories.iter().map(|(memory, _)| memory.failed).sum();
        if failed > spares {
            return writes as f64 / run.len() as f64;
        }
    }
    unreachable!("a run writes something")
}

/// Lines by region, in the order in which they are mapped to places.
fn regions(lines: usize, count: usize, random: bool) -> Vec<Vec<usize>> {
    let feistel = Feistel::new(lines as u64, SEED);
    let mut mapped: Vec<usize> = (0..lines).collect();
    if random {
        mapped.sort_by_key(|line| feistel.map(*line as u64));
    }
    let count = count.clamp(1, lines);
    let mut regions = vec![Vec::new(); count];
    for (at, line) in mapped.into_iter().enumerate() {
        regions[at * count / lines].push(line);
    }
    regions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Each region has as many writes in a run, and psi is a number of them, so that the closed
    /// form is exact but for the order within a run.
    #[test]
    fn start_gap_lasts_until_a_line_fails(
        lines in 1..24_usize,
        count in 0..6_usize,
        random: bool,
        writes in prop::collection::vec((0..24_usize, 1..=LINE_CELLS), 1..12),
        periods in 1..4_u32,
        moved in 1..=LINE_CELLS,
        endurance in 20..200_u64,
        spares in 0..6_u64,
    ) {
        let regions = regions(lines, count, random);
        let mut run: Run = writes.iter().map(|(line, cells)| (line % lines, *cells)).collect();
        let of_region = |run: &Run, lines: &[usize]| run.iter().filter(|(line, _)| lines.contains(line)).count();
        let most = regions.iter().map(|lines| of_region(&run, lines)).max().unwrap();
        for lines in &regions {
            let missing = most - of_region(&run, lines);
            run.extend(std::iter::repeat_n((lines[0], 100), missing));
        }
        let psi = most as u32 * periods;
        let levelling = Levelling::StartGap { psi, regions: count as u32, random };
        let mut wear = Wear::new(levelling, lines as u64, SEED).unwrap();
        for _ in 0..periods {
            for (line, cells) in &run {
                wear.write(*line as u64, *cells);
                wear.settle(|_| moved);
            }
        }
        let found = wear.runs(endurance as f64, spares).unwrap() * f64::from(periods);
        let expected = until_failure(&run, &regions, psi.into(), moved, endurance, spares);
        prop_assert!((found - expected).abs() < 1.0 + 1e-6 * expected, "{} {}", found, expected);
    }
}

/// A line that is written and never moved fails by itself, and its spares one after the other.
#[test]
fn without_levelling_spares_last_as_long_as_the_first() {
    let mut wear = Wear::new(Levelling::None, 10, 1).unwrap();
    (0..4).for_each(|_| wear.write(7, LINE_CELLS));
    wear.write(2, LINE_CELLS);
    let close = |spares, runs: f64| {
        let found = wear.runs(1000.0, spares).unwrap();
        assert!((found / runs - 1.0).abs() < 1e-8, "{found} {runs}");
    };
    close(0, 250.0);
    close(1, 500.0);
    // Line 2 and the third spare of line 7 fail at the same time.
    close(3, 1000.0);
    close(4, 1000.0);
    close(5, 1250.0);
}

/// The gap of a memory of 10,000 lines passes a hot line after 999,700 writes at the earliest.
#[test]
fn start_gap_is_too_slow_for_a_hot_line_of_a_large_memory() {
    let levelling = |regions| Levelling::StartGap {
        psi: 100,
        regions,
        random: false,
    };
    let runs = |regions| {
        let mut wear = Wear::new(levelling(regions), 10_000, 1).unwrap();
        for _ in 0..1000 {
            wear.write(3, LINE_CELLS);
            wear.settle(|_| LINE_CELLS);
        }
        wear.runs(252_000.0, 0).unwrap()
    };
    assert!((runs(1) - 252.0).abs() < 1e-6, "{}", runs(1));
    // A region of 100 lines is passed every 10,100 writes; 101 places share what is written.
    let even = 252_000.0 * 101.0 / (1000.0 * 1.01);
    assert!(
        (0.95..1.0).contains(&(runs(100) / even)),
        "{} {even}",
        runs(100)
    );
}

/// Swaps after each write with the same chance, until a place has had so many writes; the mean of
/// many memories.
fn swapped_until_failure(weights: &[u64], psi: u64, endurance: u64, spares: u64) -> f64 {
    let lines: Vec<usize> = (0..weights.len())
        .flat_map(|line| std::iter::repeat_n(line, weights[line] as usize))
        .collect();
    let once = |seed| {
        let mut random = SplitMix64::seed_from_u64(seed);
        let mut below = |count: u64| (random.next_u64() % count) as usize;
        let mut memory = Memory::new((0..weights.len()).map(Some).collect(), endurance);
        let mut places: Vec<usize> = (0..weights.len()).collect();
        let mut writes = 0;
        while memory.failed <= spares {
            let line = lines[writes % lines.len()];
            memory.program(places[line], LINE_CELLS);
            writes += 1;
            let other = below(weights.len() as u64);
            if below(psi) == 0 && other != line {
                places.swap(line, other);
                memory.program(places[line], LINE_CELLS);
                memory.program(places[other], LINE_CELLS);
            }
        }
        writes as f64 / lines.len() as f64
    };
    (0..30).map(once).sum::<f64>() / 30.0
}

#[test]
fn random_swaps_last_until_a_line_fails() {
    let one = |line: usize| u64::from(line == 5) * 10;
    let some = |line: usize| 1 + u64::from(line < 10) * 20;
    let many = |line: usize| 100 / (line as u64 + 1);
    for (weights, psi, endurance, spares) in [
        ((0..40).map(one).collect::<Vec<_>>(), 10, 400, 0),
        ((0..40).map(one).collect(), 10, 2000, 3),
        ((0..100).map(some).collect(), 20, 1000, 0),
        ((0..100).map(some).collect(), 50, 3000, 5),
        ((0..60).map(many).collect(), 10, 2000, 0),
        ((0..60).map(many).collect(), 30, 2000, 0),
        (vec![1; 50], 10, 500, 0),
    ] {
        let mut wear = Wear::new(Levelling::Randomised { psi }, weights.len() as u64, 1).unwrap();
        for (line, writes) in weights.iter().enumerate() {
            (0..*writes).for_each(|_| wear.write(line as u64, LINE_CELLS));
        }
        let found = wear.runs(endurance as f64, spares).unwrap();
        let expected = swapped_until_failure(&weights, psi.into(), endurance, spares);
        assert!(
            (found / expected - 1.0).abs() < 0.05,
            "{psi} {endurance} {spares}: {found} {expected}"
        );
    }
}

#[test]
fn what_is_not_written_or_endures_nothing_does_not_last() {
    for levelling in [
        Levelling::None,
        Levelling::StartGap {
            psi: 1,
            regions: 2,
            random: true,
        },
        Levelling::Randomised { psi: 1 },
    ] {
        let mut wear = Wear::new(levelling, 4, 1).unwrap();
        assert_eq!(wear.runs(1e7, 0), None);
        wear.write(1, LINE_CELLS);
        assert!(wear.runs(1e7, u64::MAX >> 12).is_some_and(f64::is_finite));
        for endurance in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(wear.runs(endurance, 0), None, "{levelling:?} {endurance}");
        }
        wear.renew();
        assert_eq!(wear.runs(1e7, 0), None);
    }
}
