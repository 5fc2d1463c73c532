//! What is written is read again, and what a format cannot hold is refused.

use std::fs;

use proptest::prelude::*;
use terrace_trace::Access;
use terrace_trace::formats::{champsim, csv, oracle_general};

use crate::common::{read_as, sound, write};
use crate::examples::access;

#[test]
fn champsim_traces_have_one_thread() {
    let directory = tempfile::tempdir().unwrap();
    let mut accesses = [access(0, 1, 0, 0, false); 2];
    accesses[1].thread = 1;
    let error = write(directory.path(), "a.champsim", &accesses, 9).unwrap_err();
    assert!(error.to_string().contains("pick one"), "{error}");
    accesses[1] = access(1 << 40, 1, 0, 0, false);
    let error = write(directory.path(), "a.champsim", &accesses, 9).unwrap_err();
    assert!(error.to_string().contains("too many"), "{error}");
    accesses[1] = Access::default();
    let error = write(directory.path(), "a.champsim", &accesses, 9).unwrap_err();
    assert!(error.to_string().contains("address 0"), "{error}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn names_that_cannot_be_written_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for (name, what) in [
        ("a.txt", "names no trace format"),
        ("a.lackey", "only read"),
        ("a.parquet.gz", "leave the ending away"),
        ("none/a.csv", "cannot write"),
    ] {
        let error = write(directory.path(), name, &[], 1)
            .unwrap_err()
            .to_string();
        assert!(error.contains(what), "{name}: {error}");
    }
}

/// Instructions that fit into a record: their distances, ips, loads and stores.
fn instructions() -> impl Strategy<Value = Vec<Access>> {
    let address = 1u64..;
    let instruction = (
        1u64..20,
        any::<u64>(),
        prop::collection::vec(address.clone(), 0..5),
        prop::collection::vec(address, 0..3),
    );
    prop::collection::vec(instruction, 0..60).prop_map(|instructions| {
        let mut number = 0;
        let mut accesses = Vec::new();
        for (distance, ip, loads, stores) in instructions {
            number += distance;
            let load = |address| access(number, address, ip, 0, false);
            let store = |address| access(number, address, ip, 0, true);
            accesses.extend(loads.into_iter().map(load));
            accesses.extend(stores.into_iter().map(store));
        }
        accesses
    })
}

fn any_access() -> impl Strategy<Value = Access> {
    (
        any::<(u64, u64, u64)>(),
        any::<(u16, u16)>(),
        any::<(u32, bool)>(),
    )
        .prop_map(
            |((instruction, address, ip), (process, thread), (size, write))| Access {
                // All threads together have executed fewer than 2^64.
                instruction: instruction >> 16,
                address,
                ip,
                process,
                thread,
                size,
                write,
            },
        )
}

proptest! {
    #[test]
    fn champsim_keeps_instructions_that_fit_a_record(accesses in instructions()) {
        prop_assume!(!accesses.is_empty());
        let directory = tempfile::tempdir().unwrap();
        let first = accesses[0].instruction;
        for name in ["a.champsim", "a.champsimtrace.xz", "a.champsim.gz"] {
            let path = write(directory.path(), name, &accesses, 7).unwrap();
            let (_, mut read) = read_as(&path, champsim::FORMAT).unwrap();
            read.iter_mut().for_each(|access| access.instruction += first);
            prop_assert_eq!(&read, &accesses);
        }
    }

    #[test]
    fn champsim_keeps_the_order_whatever_the_instructions(
        accesses in prop::collection::vec((0u64..3, 1u64..9, 0u64..2, any::<bool>()), 1..80),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut instruction = 0;
        let accesses: Vec<_> = accesses.into_iter().map(|(distance, address, ip, write)| {
            instruction += distance;
            access(instruction, address, ip, 0, write)
        }).collect();
        let path = write(directory.path(), "a.champsim", &accesses, 7).unwrap();
        let (_, read) = read_as(&path, champsim::FORMAT).unwrap();
        let what = |access: &Access| (access.address, access.ip, access.write);
        let expected: Vec<_> = accesses.iter().map(what).collect();
        prop_assert_eq!(read.iter().map(what).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn csv_keeps_everything(accesses in prop::collection::vec(any_access(), 1..50)) {
        let accesses = sound(accesses);
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.csv", "a.csv.gz", "a.csv.zst"] {
            let path = write(directory.path(), name, &accesses, 7).unwrap();
            prop_assert_eq!(&read_as(&path, csv::FORMAT).unwrap().1, &accesses);
        }
    }

    #[test]
    fn oracle_general_keeps_pages_and_knows_the_next_request(
        pages in prop::collection::vec(0u64..20, 1..100),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let accesses: Vec<_> = pages
            .iter()
            .map(|page| access(3, page << 12 | 0x123, 9, 8, true))
            .collect();
        let path = write(directory.path(), "a.oracleGeneral.bin", &accesses, 7).unwrap();
        let (meta, read) = read_as(&path, oracle_general::FORMAT).unwrap();
        prop_assert_eq!(meta.accesses, Some(pages.len() as u64));
        let expected: Vec<_> = pages.iter().map(|page| access(0, page << 12, 0, 4096, false)).collect();
        prop_assert_eq!(read, expected);
        for (index, record) in fs::read(&path).unwrap().chunks(24).enumerate() {
            let later = pages[index + 1..].iter().position(|page| *page == pages[index]);
            let next = later.map_or(-1, |distance| (index + 1 + distance) as i64);
            prop_assert_eq!(&record[16..], next.to_le_bytes());
        }
    }
}
