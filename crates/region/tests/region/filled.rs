//! Pages that are filled ahead cost nothing but their faults: what nobody writes is not written.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Bytes;
use terrace_region::{Extension, Figures, Region};

use crate::oracle::{PAGE, contents};
use crate::settings;

const DRAM: u64 = 640;
const PAGES: usize = 4000;
/// The last faults may not have been counted yet.
const UNCOUNTED: u64 = 40;

/// Writes pages of a region in this order, has all others read, and returns the figures before that
/// and after.
fn write(order: &[usize]) -> [Figures; 2] {
    let extension = Extension::start(settings(DRAM, "pcm")).unwrap();
    let mut region = extension.map(Bytes::of_pages(PAGES as u64)).unwrap();
    let (pages, _) = region.as_mut_slice().as_chunks_mut::<PAGE>();
    order
        .iter()
        .for_each(|page| pages[*page] = contents(*page, 1));
    let written = extension.figures();
    expect(&region, order);
    [written, extension.figures()]
}

fn expect(region: &Region, written: &[usize]) {
    let mut expected = vec![0; PAGES];
    written.iter().for_each(|page| expected[*page] = 1);
    let (pages, _) = region.as_slice().as_chunks::<PAGE>();
    for (page, version) in expected.into_iter().enumerate() {
        assert!(pages[page] == contents(page, version), "page {page}");
    }
}

/// Half of the pages, drawn, in an order that is drawn.
#[test]
#[ignore = "needs root: userfaultfd"]
fn pages_here_and_there_are_written_alone() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut all: Vec<usize> = (0..PAGES).collect();
    for at in (1..PAGES).rev() {
        all.swap(at, (random.next_u64() % (at as u64 + 1)) as usize);
    }
    let [written, after] = write(&all[..PAGES / 2]);
    let touches = PAGES as u64 / 2;
    // Few are next to one of the latest.
    let ahead = written.first_touches.abs_diff(touches);
    assert!(ahead < UNCOUNTED, "{written:?}");
    // Some come back while they are being written, and are written again.
    assert!(after.pages_written <= touches + after.returns, "{after:?}");
}

/// The last pages of each run are filled for nothing, and not written.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_is_filled_behind_the_end_of_a_run_is_not_written() {
    let runs = PAGES / 100;
    let order: Vec<usize> = (0..runs)
        .flat_map(|run| run * 100..run * 100 + 50)
        .collect();
    let [written, after] = write(&order);
    assert!(written.filled_unused > runs as u64, "{written:?}");
    // Ten pages are filled at a time, but for the first of a run, and the last ones are in DRAM.
    assert!(
        written.first_touches <= order.len() as u64 + DRAM / 5,
        "{written:?}"
    );
    assert!(after.pages_written <= order.len() as u64, "{after:?}");
}

/// Pages that are filled ahead and written save faults.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_run_is_filled_ahead() {
    let [written, after] = write(&(0..PAGES).collect::<Vec<_>>());
    let touches = written.first_touches + UNCOUNTED;
    assert!(touches >= PAGES as u64, "{written:?}");
    assert_eq!(written.first_writes, 0, "{written:?}");
    assert_eq!(after.filled_unused, 0);
    assert!(after.pages_written <= PAGES as u64, "{after:?}");
}
