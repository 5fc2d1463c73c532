//! A store whose size changes while it is used, and one that is emptied.

use super::*;

/// Bytes of a medium of so many segments.
fn bytes(segments: u64) -> Bytes {
    Bytes(4096 * (1 + 8 * segments))
}

/// Returns a store of eight segments, and how many pages of its file it has.
fn filled() -> (Run, usize) {
    let mut run = Run::new(1, 8);
    run.source = Source::new(2, 400);
    for page in 0..30 {
        run.read(1, page, 1);
        run.read(1, page, 1);
    }
    run.store.flush();
    let found = there(&run);
    assert!(found >= 25, "{found}");
    (run, found)
}

fn there(run: &Run) -> usize {
    let found = read(&run.store, &run.source, 1, 0, 30);
    found.iter().filter(|found| **found).count()
}

#[test]
fn a_store_that_grows_keeps_its_pages_and_takes_more() {
    let (mut run, before) = filled();
    let room = run.store.held().room;
    run.store.resize(bytes(20)).unwrap();
    assert_eq!(run.store.held().room, room / 8 * 20);
    assert_eq!(there(&run), before);
    for page in 0..40 {
        run.read(0, page, 1);
        run.read(0, page, 1);
    }
    // Places that were added are filled first.
    assert_eq!(there(&run), before);
    run.store.flush();
    run.store = open(&run.medium);
    assert_eq!(run.store.held().room, room / 8 * 20);
    assert_eq!(there(&run), before);
}

#[test]
fn a_store_that_shrinks_keeps_what_lies_below() {
    let (mut run, before) = filled();
    run.store.resize(bytes(5)).unwrap();
    assert_eq!(run.medium.bytes(), bytes(5).0);
    let after = there(&run);
    assert!(after > 5 && after < before, "{after} of {before}");
    assert!(run.store.held().pages <= run.store.held().room);
    for page in 0..100 {
        run.read(0, page, 1);
    }
    run.store = open(&run.medium);
    there(&run);
    assert!(run.store.resize(bytes(3)).is_err());
}

/// A medium that is opened in another size.
#[test]
fn a_store_is_found_again_in_another_size() {
    for segments in [5, 8, 12] {
        let (mut run, before) = filled();
        run.medium.resize(bytes(segments).0).unwrap();
        run.store = open(&run.medium);
        let found = there(&run);
        assert!(segments < 8 || found == before, "{found} of {before}");
    }
}

/// Places that come back have pages of before: changes since were not noted for them.
#[test]
fn what_lay_beyond_a_smaller_size_never_comes_back() {
    for seed in 0..50 {
        let mut run = Run::new(seed, 7);
        for _ in 0..60 {
            run.step();
        }
        run.store.flush();
        let whole = run.medium.after(run.medium.acts(), || true);
        let cut = bytes(4).0 as usize;
        let small = Recorded::new(whole[..cut.min(whole.len())].to_vec());
        run.store = open(&small);
        run.medium = small;
        for inode in 0..FILES {
            run.write(inode, 0, 3);
        }
        run.store.flush();
        let mut grown = run.medium.after(run.medium.acts(), || true);
        grown.truncate(cut);
        grown.extend(whole.get(cut..).unwrap_or_default());
        run.store = open(&Recorded::new(grown));
        for inode in 0..FILES {
            read(&run.store, &run.source, inode, 0, PAGES);
        }
    }
}

/// A store of a part of a file grows over what a larger one has left behind it.
#[test]
fn what_lay_beyond_is_wiped_when_a_store_grows_over_it() {
    for seed in 0..50 {
        let mut run = Run::new(seed, 7);
        for _ in 0..60 {
            run.step();
        }
        run.store.flush();
        let whole = run.medium.after(run.medium.acts(), || true);
        let cut = bytes(4).0 as usize;
        run.medium = Recorded::new(whole[..cut.min(whole.len())].to_vec());
        run.store = open(&run.medium);
        for inode in 0..FILES {
            run.write(inode, 0, 3);
        }
        run.medium.set_file(whole);
        run.store.resize(bytes(7)).unwrap();
        run.store.flush();
        run.store = open(&run.medium);
        for inode in 0..FILES {
            read(&run.store, &run.source, inode, 0, PAGES);
        }
    }
}

#[test]
fn a_store_that_is_emptied_stays_empty() {
    let (mut run, _) = filled();
    run.store.clear().unwrap();
    assert_eq!((there(&run), run.store.held().pages), (0, 0));
    run.store = open(&run.medium);
    assert_eq!(there(&run), 0);
    run.read(1, 0, 4);
    run.store.flush();
    run.store = open(&run.medium);
    assert_eq!(there(&run), 4);
}
