//! The native format: what is written is read, and what is damaged is named.

mod common;

use std::fs;

use common::{block, read_as, write};
use proptest::prelude::*;
use terrace_trace::{Access, Block, Columns, Format, create, open};

fn accesses(most: usize) -> impl Strategy<Value = Vec<Access>> {
    let access = (
        any::<(u64, u64, u64)>(),
        any::<(u16, u16)>(),
        any::<u32>(),
        any::<bool>(),
    )
        .prop_map(
            |((instruction, address, ip), (process, thread), size, write)| Access {
                instruction,
                address,
                ip,
                process,
                thread,
                size,
                write,
            },
        );
    prop::collection::vec(access, 0..most)
}

/// A trace with jumps, runs and constants, larger than a row group.
fn long(count: u64) -> Vec<Access> {
    let access = |index: u64| Access {
        instruction: index * 3 + index % 7,
        address: if index % 50_000 < 30_000 {
            0x7f00_0000_0000 + index * 8
        } else {
            index.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        },
        ip: 0x40_0000 + index % 13 * 4,
        process: 0,
        thread: (index / 100_000) as u16,
        size: 1 << (index % 4),
        write: index.is_multiple_of(3),
    };
    (0..count).map(access).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read(accesses in accesses(600), piece in 1usize..50) {
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), "a.parquet", &accesses, piece).unwrap();
        let (meta, read) = read_as(&path, Format::Native).unwrap();
        prop_assert_eq!(meta.accesses, Some(accesses.len() as u64));
        prop_assert_eq!(read, accesses);
    }

    #[test]
    fn a_damaged_byte_is_an_error_or_no_matter(
        accesses in accesses(40),
        place in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), "a.parquet", &accesses, 10).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        fs::write(&path, &bytes).unwrap();
        if let Ok((_, read)) = read_as(&path, Format::Native) {
            prop_assert_eq!(read, accesses, "byte {} of {}", place, bytes.len());
        }
    }
}

#[test]
fn traces_of_several_row_groups_and_only_some_columns() {
    let directory = tempfile::tempdir().unwrap();
    let accesses = long((1 << 20) + 12_345);
    let path = write(directory.path(), "a.parquet", &accesses, 70_001).unwrap();
    assert!(read_as(&path, Format::Native).unwrap().1 == accesses);
    let mut source = open(&path, Columns::ADDRESSES).unwrap();
    let mut block = Block::default();
    let mut expected = accesses.iter();
    loop {
        source.read(&mut block).unwrap();
        if block.is_empty() {
            break;
        }
        assert!(block.ip.is_empty() && block.thread.is_empty() && block.size.is_empty());
        for index in 0..block.len() {
            let access = expected.next().unwrap();
            let read = block.get(index);
            assert_eq!((read.address, read.write), (access.address, access.write));
        }
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn what_the_recorder_said_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let about = [
        ("program".to_owned(), "ls -l".to_owned()),
        ("machine".to_owned(), "two cores".to_owned()),
    ];
    create(&path, &about).unwrap().finish().unwrap();
    let source = open(&path, Columns::ALL).unwrap();
    assert_eq!(source.meta().about, about);
    assert_eq!(source.meta().accesses, Some(0));
    assert!(!source.meta().counts_instructions);
}

#[test]
fn zeros_cost_nearly_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut accesses = long(1 << 20);
    let full = write(directory.path(), "full.parquet", &accesses, 1 << 16).unwrap();
    assert!(
        read_as(&full, Format::Native)
            .unwrap()
            .0
            .counts_instructions
    );
    accesses.iter_mut().for_each(|access| {
        *access = Access {
            address: access.address,
            ..Access::default()
        };
    });
    let path = write(directory.path(), "a.parquet", &accesses, 1 << 16).unwrap();
    assert!(
        !read_as(&path, Format::Native)
            .unwrap()
            .0
            .counts_instructions
    );
    let addresses: u64 = accesses.len() as u64 * 8;
    let bytes = fs::metadata(&path).unwrap().len();
    // Two fifths of the addresses are random and cost 8 bytes.
    assert!(bytes < addresses / 2, "{bytes} bytes");
}

#[test]
fn what_is_cut_anywhere_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "a.parquet", &long(100), 100).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let error = read_as(&path, Format::Native).unwrap_err().to_string();
        assert!(error.contains("a.parquet"), "cut to {length}: {error}");
    }
}

#[test]
fn a_file_that_is_not_finished_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let mut sink = create(&path, &[]).unwrap();
    sink.write(&block(&long(10))).unwrap();
    drop(sink);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}
