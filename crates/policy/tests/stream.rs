//! `stream` on whole programs, over a memory that is obviously right.

mod model;

use model::Model;
use terrace_policy::prefetch::{LifeStory, stream};

const PAGES: u64 = 4096;
const DRAM: usize = 1024;
const PAGE: u64 = 4096;

fn model() -> Model {
    // A depth that suits a DRAM this small.
    let settings = stream::StreamSettings {
        depth: 128,
        ..stream::StreamSettings::default()
    };
    let mut model = Model::new(Box::new(stream::Stream::new(settings)), DRAM, 4);
    model.populate(0..PAGES);
    model
}

/// Runs one thread over `addresses`; returns the faults and the life story.
fn run(addresses: impl Iterator<Item = u64>) -> (u64, LifeStory) {
    let mut model = model();
    addresses.for_each(|address| model.access(1, address));
    (model.faults, model.finish())
}

fn accuracy(story: &LifeStory) -> f64 {
    (story.used + story.late) as f64 / story.issued as f64
}

#[test]
fn a_sequential_pass_faults_for_its_start_alone() {
    let (faults, story) = run((0..PAGES).map(|page| page * PAGE));
    assert!(faults <= 4, "{faults} faults");
    assert!(story.used > PAGES - 16, "{story:?}");
    assert!(accuracy(&story) > 0.99, "{story:?}");
}

#[test]
fn backwards_is_no_different() {
    let (faults, _) = run((0..PAGES).rev().map(|page| page * PAGE + 77));
    // The last DRAM pages are resident from the start; what comes after them is foreseen.
    assert!(faults <= 4, "{faults} faults");
}

#[test]
fn the_columns_of_a_matrix_with_rows_of_no_whole_number_of_pages() {
    let row = 17 * PAGE + 1234;
    let rows = PAGES * PAGE / row;
    let passes = 0..17u64;
    let addresses = passes.flat_map(|column| (0..rows).map(move |k| column * PAGE + k * row));
    let total = 17 * rows;
    let (faults, story) = run(addresses);
    assert!(faults * 20 < total, "{faults} faults of {total} accesses");
    assert!(accuracy(&story) > 0.8, "{story:?}");
}

#[test]
fn interleaved_streams_of_two_strides_and_directions() {
    let up = (0..600u64).map(|k| k * 3 * PAGE);
    let down = (0..600u64).map(|k| (PAGES - 1 - k * 3) * PAGE);
    let (faults, story) = run(up.zip(down).flat_map(|(a, b)| [a, b]));
    assert!(faults <= 60, "{faults} faults");
    assert!(accuracy(&story) > 0.6, "{story:?}");
}

#[test]
fn threads_do_not_disturb_each_other() {
    let mut model = model();
    for k in 0..800 {
        model.access(1, k * PAGE);
        model.access(2, (k * 2 + 1000) * PAGE);
    }
    assert!(model.faults_of[&1] <= 8, "{:?}", model.faults_of);
    assert!(model.faults_of[&2] <= 8, "{:?}", model.faults_of);
}

#[test]
fn a_random_walk_is_left_alone() {
    let mut state = 88_172_645_463_325_252u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % (PAGES * PAGE)
    };
    let mut model = model();
    for _ in 0..20_000 {
        model.access(1, random());
    }
    let faults = model.faults;
    let story = model.finish();
    assert!(
        story.issued * 10 < faults,
        "{} fetched for {faults} faults",
        story.issued
    );
}

#[test]
fn first_touches_are_not_acted_on() {
    let mut model = model();
    for page in PAGES..3 * PAGES {
        model.access(1, page * PAGE);
    }
    assert_eq!(model.faults, 0);
    assert_eq!(model.finish().issued, 0);
}

#[test]
fn the_end_of_a_stream_is_not_run_over_for_ever() {
    // Streams of 40 pages, far apart: none may waste more pages than it is long.
    let starts = (0..40u64).map(|n| n * 97);
    let (_, story) = run(starts.flat_map(|start| (start..start + 40).map(|page| page * PAGE)));
    assert!(story.wasted < 40 * 40, "{story:?}");
}

/// Bytes of a row of a matrix, no whole number of pages.
const ROW: u64 = 16 * PAGE + 1536;

/// The addresses of a column, of which a page holds eight.
fn column(number: u64) -> impl Iterator<Item = u64> {
    (0..PAGES * PAGE / ROW).map(move |row| row * ROW + number * 512)
}

#[test]
fn the_next_columns_are_foreseen() {
    let (faults, story) = run((0..128).flat_map(column));
    assert!(faults <= 40, "{faults} faults");
    assert!(accuracy(&story) > 0.95, "{story:?}");
}

#[test]
fn the_next_columns_to_the_left_are_foreseen() {
    let (faults, story) = run((0..128).rev().flat_map(column));
    assert!(faults <= 40, "{faults} faults");
    assert!(accuracy(&story) > 0.95, "{story:?}");
}

#[test]
fn the_columns_of_two_threads_are_foreseen() {
    let mut model = model();
    let rows = column(0).count() / 2;
    for number in 0..128 {
        for (one, other) in column(number).zip(column(number).skip(rows)) {
            model.access(1, one);
            model.access(2, other);
        }
    }
    assert!(model.faults <= 80, "{:?}", model.faults_of);
}

#[test]
fn a_cyclic_pass_starts_over_without_a_fault() {
    let (faults, story) = run((0..10 * PAGES).map(|k| k % PAGES * PAGE));
    // Three faults in each pass until the distance of two passes is known.
    assert!(faults <= 12, "{faults} faults");
    assert!(accuracy(&story) > 0.99, "{story:?}");
}

#[test]
fn a_pass_that_is_longer_than_the_last_goes_on() {
    let lengths = [2000, 2000, 2000, 3000, 3000, 3000];
    let (faults, story) = run(lengths
        .into_iter()
        .flat_map(|n| (0..n).map(|page| page * PAGE)));
    assert!(faults <= 24, "{faults} faults");
    assert!(accuracy(&story) > 0.95, "{story:?}");
}

#[test]
fn the_ends_of_passes_waste_a_prediction_each() {
    let passes = (0..5 * 1500u64).map(|k| k % 1500 * PAGE);
    let elsewhere = (0..2000u64).map(|k| (2000 + k) * PAGE);
    let (_, story) = run(passes.chain(elsewhere));
    assert!(story.wasted <= 6 * 128, "{story:?}");
}
