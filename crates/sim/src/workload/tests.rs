//! Threads, spaces, discards and write-backs of small traces in memory.

use super::batch::MAX_INSTRUCTIONS;
use super::*;
use proptest::prelude::*;
use terrace_trace::{Access, Meta};

/// A trace in memory.
pub struct Recorded(pub Meta, pub Vec<Block>);

impl Source for Recorded {
    fn meta(&self) -> &Meta {
        &self.0
    }
    fn read(&mut self, block: &mut Block) -> Result<()> {
        *block = if self.1.is_empty() {
            Block::default()
        } else {
            self.1.remove(0)
        };
        Ok(())
    }
}

fn workload(accesses: &[Access], limit: Option<u64>) -> Workload {
    let mut block = Block::default();
    accesses.iter().for_each(|access| block.push(*access));
    Workload::new(vec![Box::new(Recorded(counted(), vec![block]))], limit).unwrap()
}

/// Metadata of a trace that counts instructions.
fn counted() -> Meta {
    Meta {
        counts_instructions: true,
        ..Meta::default()
    }
}

fn access(thread: u16, address: u64, instruction: u64) -> Access {
    Access {
        thread,
        process: thread / 2,
        address,
        instruction,
        size: 8,
        ..Access::default()
    }
}

#[test]
fn a_reference_holds_what_it_was_made_of() {
    let all = Reference::new(u64::MAX, true).of(PageId(u32::MAX));
    assert_eq!((all.page(), all.write()), (PageId(u32::MAX), true));
    assert_eq!(all.instructions(), MAX_INSTRUCTIONS);
    let little = Reference::new(3, false).of(PageId(9)).of(PageId(7));
    assert_eq!(
        (little.page(), little.instructions(), little.write()),
        (PageId(7), 3, false)
    );
}

#[test]
fn threads_and_address_spaces_are_kept_apart() {
    let accesses = [
        access(0, 0, 10),
        access(1, 0, 20),
        access(2, 0, 30),
        access(0, 9000, 14),
    ];
    let mut workload = workload(&accesses, None);
    let batch = workload.read(0).unwrap().unwrap();
    let threads: Vec<_> = batch.runs.iter().map(|run| (run.thread, run.end)).collect();
    assert_eq!(threads, [(0, 1), (1, 2), (2, 3), (0, 4)]);
    let pages: Vec<_> = batch.references.iter().map(|r| r.page().0).collect();
    assert_eq!(
        pages,
        [0, 0, 1, 2],
        "threads 0 and 1 share a space, 2 has its own"
    );
    let instructions: Vec<_> = batch.references.iter().map(|r| r.instructions()).collect();
    assert_eq!(instructions, [0, 0, 0, 4]);
    assert!(workload.read(0).unwrap().is_none());
}

#[test]
fn an_access_that_crosses_pages_touches_all_of_them() {
    let mut long = access(0, 4090, 0);
    long.size = 4096 + 7;
    let mut workload = workload(&[long, access(0, 4088, 0)], None);
    let batch = workload.read(0).unwrap().unwrap();
    assert_eq!(batch.references.len(), 4);
    assert_eq!(workload.pages().len(), 3);
}

#[test]
fn what_is_given_back_comes_between_touches() {
    let mut block = Block::default();
    let accesses = [
        access(0, 0, 0),
        access(0, 4096, 0),
        access(2, 0, 0),
        access(0, 0, 9),
    ];
    accesses.iter().for_each(|access| block.push(*access));
    let discard = |row, process, page, pages| Discard {
        row,
        process,
        page,
        pages,
    };
    // Before the third access process 0 gives a page back, before the last process 1 ends.
    block.discards = vec![
        discard(1, 0, 5, 9),
        discard(2, 0, 1, 7),
        discard(3, 1, 0, 1 << 36),
    ];
    let source = Box::new(Recorded(counted(), vec![block]));
    let mut workload = Workload::new(vec![source], None).unwrap();
    let batch = workload.read(0).unwrap().unwrap();
    let runs = batch
        .runs
        .iter()
        .map(|run| (run.thread, run.end, run.discards));
    let made = [
        (0, 1, 0),
        (0, 1, 0),
        (0, 2, 0),
        (0, 2, 1),
        (1, 3, 1),
        (1, 3, 2),
        (0, 4, 2),
    ];
    assert_eq!(runs.collect::<Vec<_>>(), made);
    assert_eq!(batch.discards, [PageId(1), PageId(2)]);
    assert_eq!(workload.pages().footprint(), 2);
}

#[test]
fn rows_that_write_are_write_backs_where_the_trace_has_passed_caches() {
    let mut rows = [access(0, 0, 10), access(0, 0, 14), access(0, 4096, 20)];
    (rows[0].size, rows[1].size, rows[1].write) = (0, 64, true);
    let kinds = |about: &[(&str, &str)]| {
        let mut block = Block::default();
        rows.iter().for_each(|row| block.push(*row));
        // The page of the first two rows is given back before the second.
        block.discards = vec![Discard {
            row: 1,
            process: 0,
            page: 0,
            pages: 1,
        }];
        let known = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let meta = Meta {
            about: about.iter().map(known).collect(),
            ..counted()
        };
        let source = Box::new(Recorded(meta, vec![block]));
        let mut workload = Workload::new(vec![source], None).unwrap();
        let batch = workload.read(0).unwrap().unwrap();
        let kind = |row: &Reference| (row.is_write_back(), row.write(), row.instructions());
        let kinds: Vec<_> = batch.references.iter().map(kind).collect();
        assert_eq!(batch.touches() + batch.write_backs, 3);
        (kinds, batch.touches(), workload.pages().footprint())
    };
    let (no, yes) = (false, true);
    let accesses = (vec![(no, no, 0), (no, yes, 4), (no, no, 6)], 3, 2);
    assert_eq!(kinds(&[]), accesses);
    let filtered = ("recorded.filter", "l1l2");
    assert_eq!(
        kinds(&[filtered]),
        (vec![(no, no, 0), (yes, no, 4), (no, no, 6)], 2, 1)
    );
    assert_eq!(kinds(&[filtered, ("level", "pages")]), accesses);
    let requests = (vec![(no, yes, 0), (yes, no, 4), (no, no, 6)], 2, 1);
    assert_eq!(kinds(&[("terrace.llc.requests", "64")]), requests);
}

#[test]
fn no_more_than_the_limit_is_read() {
    let mut workload = workload(&[access(0, 0, 0); 5], Some(3));
    assert_eq!(workload.read(0).unwrap().unwrap().references.len(), 3);
    assert!(workload.read(0).unwrap().is_none());
}

prop_compose! {
    fn plain_access()(
        thread in 0u16..3,
        page in 0u64..5,
        offset in prop_oneof![0u64..4096, 4090u64..4096],
        size in prop_oneof![0u32..9, 4000u32..20_000],
        write in any::<bool>(),
    ) -> Access {
        Access { size, write, ..access(thread, page * 4096 + offset, 0) }
    }
}

proptest! {
    /// The slow twin is the conversion of all columns, which lines ask for.
    #[test]
    fn plain_accesses_are_converted_as_others_are(
        accesses in prop::collection::vec(plain_access(), 1..60),
        has_sizes in any::<bool>(),
        has_threads in any::<bool>(),
    ) {
        let read = |keeps_lines: bool| {
            let mut block = Block::default();
            accesses.iter().for_each(|access| block.push(*access));
            if !has_sizes {
                block.size.clear();
            }
            if !has_threads {
                block.process.clear();
                block.thread.clear();
            }
            let source = Box::new(Recorded(Meta::default(), vec![block]));
            let mut workload = Workload::new(vec![source], None).unwrap();
            workload.keeps_lines = keeps_lines;
            prop_assert_eq!(workload.is_plain(0), !keeps_lines);
            let batch = workload.read(0).unwrap().unwrap();
            Ok((batch.references, batch.runs, batch.write_backs))
        };
        prop_assert_eq!(read(false)?, read(true)?);
    }
}
