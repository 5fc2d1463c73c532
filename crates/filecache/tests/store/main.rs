//! The store beside a map of what the source holds: no page that it returns may be another one,
//! whatever is lost.

mod recorded;
mod rules;
mod sizes;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use recorded::{Recorded, Source};
use terrace_base::Bytes;
use terrace_filecache::{Identity, Medium, Page, Reading, Store};
use terrace_policy::admission::rules::Rule;

const FILES: u64 = 4;
const PAGES: u64 = 12;

fn identity(inode: u64) -> Identity {
    Identity {
        file_system: 1,
        inode,
    }
}

fn open(medium: &Recorded) -> Store {
    Store::open(Box::new(medium.clone()), None).unwrap()
}

fn reading(store: &Store, source: &Source, inode: u64) -> Option<Reading> {
    store
        .reading(identity(inode), || Ok(source.files[&inode].0))
        .unwrap()
}

/// Reads pages from the store, which must be those of the source; returns which ones it had.
fn read(store: &Store, source: &Source, inode: u64, first: u64, pages: u64) -> Vec<bool> {
    let Some(reading) = reading(store, source, inode) else {
        return vec![false; pages as usize];
    };
    let mut into = terrace_filecache::page::zeroed(pages as usize);
    let found = store.get(&reading, first, &mut into);
    for (at, page) in into.iter().enumerate().filter(|(at, _)| found[*at]) {
        let right = source.page(inode, first + at as u64);
        assert!(
            page.0 == right.0,
            "file {inode}, page {}",
            first + at as u64
        );
    }
    found
}

/// A store, its source, and the draws of a run.
struct Run {
    medium: Recorded,
    store: Store,
    source: Source,
    draw: Xoshiro256PlusPlus,
}

impl Run {
    fn new(seed: u64, segments: usize) -> Self {
        let medium = Recorded::new(vec![0; 4096 * (1 + 8 * segments)]);
        Self {
            store: open(&medium),
            medium,
            source: Source::new(FILES, PAGES as usize),
            draw: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.draw.next_u64() % bound
    }

    fn step(&mut self) {
        let inode = self.below(FILES);
        let first = self.below(PAGES);
        let pages = 1 + self.below((PAGES - first).min(5));
        match self.below(24) {
            0 => self.source.write(inode, 0..PAGES as usize),
            1 => drop(self.store.forget(identity(inode))),
            2 => self.store.flush(),
            20 => {
                let segments = 4 + self.below(4);
                let _ = self.store.resize(Bytes(4096 * (1 + 8 * segments)));
            }
            21 => drop(self.store.clear()),
            22 => self.store.pin(identity(inode), pages.is_multiple_of(2)),
            23 => drop(self.store.keep_notes(&vec![inode as u8; 1000])),
            3..=7 => self.write(inode, first, pages.min(2)),
            _ => self.read(inode, first, pages),
        }
    }

    /// Reads through the store, which gets what it lacks.
    fn read(&mut self, inode: u64, first: u64, pages: u64) {
        let found = read(&self.store, &self.source, inode, first, pages);
        let Some(mut reading) = reading(&self.store, &self.source, inode) else {
            return;
        };
        if inode == 3 {
            reading.set_rule(Rule::Pinned);
        }
        for (page, _) in (first..).zip(found).filter(|(_, found)| !found) {
            self.store
                .put(&reading, page, &self.source.page(inode, page));
        }
    }

    fn write(&mut self, inode: u64, first: u64, pages: u64) {
        let source = std::cell::RefCell::new(&mut self.source);
        let version = || Ok(Some(source.borrow().files[&inode].0));
        let range = first..first + pages;
        self.store
            .change(identity(inode), range.clone(), version, || {
                let range = range.start as usize..range.end as usize;
                source.borrow_mut().write(inode, range);
            });
    }

    /// Opens what a crash has left and reads everything; returns the number of pages that were
    /// found.
    fn crash(&mut self, acts: usize) -> usize {
        let odds = self.below(4);
        let draw = &mut self.draw;
        let image = self.medium.after(acts, || draw.next_u64() % 4 < 1 + odds);
        let store = open(&Recorded::new(image));
        let found = (0..FILES).map(|inode| read(&store, &self.source, inode, 0, PAGES));
        found.flatten().filter(|found| *found).count()
    }
}

#[test]
fn no_crash_brings_back_another_page() {
    let (mut crashes, mut found) = (0, 0);
    for seed in 0..24 {
        let mut run = Run::new(seed, 4 + seed as usize % 3);
        for _ in 0..150 {
            let before = run.medium.acts();
            run.step();
            for acts in before..=run.medium.acts() {
                found += run.crash(acts);
                crashes += 1;
            }
        }
    }
    assert!(found > 4 * crashes, "{found} pages in {crashes} crashes");
}

/// A process that goes on after a crash, crashes again.
#[test]
fn crashes_in_a_row_bring_back_no_other_page() {
    for seed in 0..100 {
        let mut run = Run::new(seed, 5);
        for _ in 0..12 {
            for _ in 0..1 + run.below(25) {
                run.step();
            }
            let draw = &mut run.draw;
            let image = run
                .medium
                .after(run.medium.acts(), || draw.next_u64().is_multiple_of(2));
            run.medium = Recorded::new(image);
            run.store = open(&run.medium);
        }
    }
}

#[test]
fn what_was_flushed_is_found_again() {
    let mut run = Run::new(1, 24);
    for inode in 0..FILES {
        run.read(inode, 0, PAGES);
    }
    run.store.flush();
    run.store = open(&run.medium);
    for inode in 0..FILES {
        let found = read(&run.store, &run.source, inode, 0, PAGES);
        assert!(found.iter().all(|found| *found));
    }
    let counts = run.store.counts();
    assert_eq!((counts.hits, counts.misses), (FILES * PAGES, 0));
}

#[test]
fn a_damaged_page_is_a_miss_and_the_others_are_found() {
    // A byte of the third page of the first segment.
    const DAMAGED: usize = 4096 * (1 + 2) + 77;
    for opened_before in [true, false] {
        let mut run = Run::new(1, 8);
        run.read(0, 0, 4);
        run.store.flush();
        if !opened_before {
            run.medium.damage(DAMAGED);
        }
        run.store = open(&run.medium);
        if opened_before {
            run.medium.damage(DAMAGED);
        }
        assert_eq!(
            read(&run.store, &run.source, 0, 0, 4),
            [true, true, false, true]
        );
        // It is not looked for again, and not once it is whole again either.
        run.medium.damage(DAMAGED);
        assert_eq!(read(&run.store, &run.source, 0, 2, 1), [false]);
        run.store.flush();
        run.store = open(&run.medium);
        assert_eq!(
            read(&run.store, &run.source, 0, 0, 4),
            [true, true, false, true]
        );
    }
}

/// DRAM may have pages of a file that has none here, by the number that it is known as.
#[test]
fn a_file_without_pages_is_known_however_many_segments_come() {
    let mut run = Run::new(1, 8);
    let before = reading(&run.store, &run.source, 1);
    for _ in 0..20 {
        run.source.write(0, 0..1);
        run.read(0, 0, PAGES);
        run.store.flush();
    }
    assert!(run.store.counts().segments > 16);
    assert_eq!(reading(&run.store, &run.source, 1), before);
}

#[test]
fn a_change_behind_our_back_drops_the_file() {
    let mut run = Run::new(1, 8);
    run.read(0, 0, 4);
    run.read(1, 0, 2);
    run.source.write(0, 1..2);
    assert_eq!(read(&run.store, &run.source, 0, 0, 4), [false; 4]);
    assert_eq!(read(&run.store, &run.source, 1, 0, 2), [true; 2]);
    assert_eq!(run.store.counts().changed_behind, 1);
}

/// The segment has pages of a file that is not known any more when it is written: a file that is
/// met after a restart does not get them.
#[test]
fn pages_of_a_forgotten_file_are_no_other_files() {
    let mut run = Run::new(1, 8);
    run.read(0, 0, 4);
    run.source.write(0, 0..4);
    assert_eq!(read(&run.store, &run.source, 0, 0, 4), [false; 4]);
    for _ in 0..2 {
        run.store.flush();
        run.store = open(&run.medium);
        run.read(1, 0, 1);
    }
    let found = read(&run.store, &run.source, 1, 0, 4);
    assert_eq!(found, [true, false, false, false]);
}

/// A new file with the identity of one that is gone is no change behind our back, also across a
/// restart; and the new file's own pages are found.
#[test]
fn a_file_that_is_gone_makes_room_for_another() {
    for restarts in 0..3 {
        let mut run = Run::new(1, 8);
        run.read(0, 0, 4);
        run.read(1, 0, 2);
        run.store.flush();
        run.store.forget(identity(0));
        if restarts > 1 {
            run.store.flush();
            run.store = open(&run.medium);
        }
        run.source.write(0, 0..4);
        assert_eq!(read(&run.store, &run.source, 0, 0, 4), [false; 4]);
        run.read(0, 0, 3);
        if restarts > 0 {
            run.store.flush();
            run.store = open(&run.medium);
        }
        let found = read(&run.store, &run.source, 0, 0, 4);
        assert_eq!(found, [true, true, true, false], "{restarts} restarts");
        assert_eq!(read(&run.store, &run.source, 1, 0, 2), [true; 2]);
        assert_eq!(run.store.counts().changed_behind, 0);
    }
}

#[test]
fn a_write_of_ours_drops_its_pages_alone_across_a_restart() {
    let mut run = Run::new(1, 8);
    run.read(0, 0, 4);
    run.store.flush();
    run.write(0, 1, 1);
    run.store.flush();
    for _ in 0..2 {
        assert_eq!(
            read(&run.store, &run.source, 0, 0, 4),
            [true, false, true, true]
        );
        run.store = open(&run.medium);
    }
}

#[test]
fn a_page_that_was_read_before_a_write_is_not_put_after_it() {
    let mut run = Run::new(1, 8);
    run.read(0, 0, 1);
    let before = reading(&run.store, &run.source, 0).unwrap();
    let old = run.source.page(0, 2);
    run.write(0, 2, 1);
    assert!(!run.store.put(&before, 2, &old).admitted);
    assert_eq!(run.store.counts().refused_changed, 1);
}

#[test]
fn a_file_that_has_just_changed_is_not_admitted() {
    let run = Run::new(1, 8);
    let version = terrace_filecache::Version {
        changed: terrace_filecache::file::now() - 1_000_000,
        ..Default::default()
    };
    let reading = run
        .store
        .reading(identity(9), || Ok(version))
        .unwrap()
        .unwrap();
    assert!(!run.store.put(&reading, 0, &run.source.page(0, 0)).admitted);
}

#[test]
fn used_pages_stay_and_others_leave() {
    let mut run = Run::new(1, 4);
    let mut source = Source::new(1, 200);
    std::mem::swap(&mut run.source, &mut source);
    for page in 0..200 {
        run.read(0, page, 1);
        assert!(
            read(&run.store, &run.source, 0, 0, 1)[0],
            "page 0 left at {page}"
        );
    }
    assert!(!read(&run.store, &run.source, 0, 1, 1)[0]);
    assert!(run.store.counts().kept > 0);
}

#[test]
fn a_medium_that_cannot_be_written_loses_pages_only() {
    for seed in 0..20 {
        let mut run = Run::new(seed, 6);
        for step in 0..100 {
            run.medium
                .set_failing(run.draw.next_u64().is_multiple_of(4));
            run.step();
            let acts = run.medium.acts();
            run.crash(acts);
            assert!(step < 99 || run.store.counts().write_errors > 0);
        }
    }
}

/// Threads read and write pages of a source that each of them locks for a moment; what they get is
/// what it has.
#[test]
fn threads_get_no_other_page() {
    use std::sync::RwLock;
    let medium = Recorded::new(vec![0; 4096 * (1 + 8 * 6)]);
    let store = open(&medium);
    let source = RwLock::new(Source::new(FILES, PAGES as usize));
    let version = |inode: u64| Ok(source.read().unwrap().files[&inode].0);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (store, source) = (&store, &source);
            scope.spawn(move || {
                let mut draw = Xoshiro256PlusPlus::seed_from_u64(seed);
                for _ in 0..3000 {
                    let (inode, page) = (draw.next_u64() % FILES, draw.next_u64() % PAGES);
                    if draw.next_u64().is_multiple_of(10) {
                        store.change(
                            identity(inode),
                            page..page + 1,
                            || version(inode).map(Some),
                            || {
                                source
                                    .write()
                                    .unwrap()
                                    .write(inode, page as usize..page as usize + 1);
                            },
                        );
                        continue;
                    }
                    let before = source.read().unwrap().files[&inode].1[page as usize];
                    let Ok(Some(reading)) = store.reading(identity(inode), || version(inode))
                    else {
                        continue;
                    };
                    let mut into: [Page; 1] = [terrace_filecache::page::zeroed(1)[0]];
                    if store.get(&reading, page, &mut into)[0] {
                        let written = u64::from_le_bytes(into[0].0[16..24].try_into().unwrap());
                        assert!(
                            written >= before,
                            "file {inode}, page {page}: {written} of {before}"
                        );
                    } else {
                        let contents = source.read().unwrap().page(inode, page);
                        store.put(&reading, page, &contents);
                    }
                }
            });
        }
    });
    let source = source.into_inner().unwrap();
    let found = (0..FILES).map(|inode| read(&store, &source, inode, 0, PAGES));
    assert!(found.flatten().any(|found| found));
}
