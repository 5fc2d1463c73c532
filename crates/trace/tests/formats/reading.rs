//! What each format says.

use std::path::{Path, PathBuf};

use terrace_trace::formats::{caffeine, champsim, csv, lackey, oracle_general};
use terrace_trace::{Access, Columns, Format, open};

use crate::common::read_as;
use crate::examples::{
    CAFFEINE, CSV, LACKEY, access, champsim_trace, oracle_general, read, request,
};

#[test]
fn lackey_counts_instructions_and_a_modification_writes() {
    assert_eq!(
        read(LACKEY.as_bytes(), lackey::FORMAT).unwrap(),
        [
            access(0, 0x1f_ff00_0748, 0x401_b770, 8, false),
            access(0, 0x1f_ff00_0740, 0x401_b770, 4, true),
            access(1, 0x421_c7cc, 0x401_b773, 4, true),
        ]
    );
}

#[test]
fn caffeine_sums_the_instructions_between_accesses() {
    assert_eq!(
        read(CAFFEINE.as_bytes(), caffeine::FORMAT).unwrap(),
        [
            access(1, 0x1fff_ff50, 0, 0, true),
            access(2, 0x1fff_ff58, 0, 0, false),
            access(8, 0x1fff_ff88, 0, 0, false),
        ]
    );
}

#[test]
fn csv_columns_stand_in_any_order() {
    assert_eq!(
        read(CSV.as_bytes(), csv::FORMAT).unwrap(),
        [access(0, 16, 0, 8, false), access(0, 32, 0, 4, true)]
    );
    let all = "thread,process,ip,write,instruction,address\r\n3,2,0x9,1,8,7\r\n";
    let read = read(all.as_bytes(), csv::FORMAT).unwrap();
    let expected = Access {
        thread: 3,
        process: 2,
        ..access(8, 7, 9, 0, true)
    };
    assert_eq!(read, [expected]);
}

#[test]
fn champsim_loads_come_before_stores() {
    assert_eq!(
        read(&champsim_trace(), champsim::FORMAT).unwrap(),
        [
            access(1, 0x10, 0x404, 0, false),
            access(1, 0x20, 0x404, 0, false),
            access(1, 0x30, 0x404, 0, true),
            access(2, 0x40, 0x408, 0, false),
        ]
    );
}

#[test]
fn oracle_general_objects_are_pages_and_large_ids_are_renumbered() {
    let pages = [7, 1 << 51, 7, (1 << 51) + 1];
    let read = read(&oracle_general(), oracle_general::FORMAT).unwrap();
    assert_eq!(
        read.iter().map(|a| a.address >> 12).collect::<Vec<_>>(),
        pages
    );
    assert_eq!(
        read.iter().map(|a| a.size).collect::<Vec<_>>(),
        [512, 100, 512, 1]
    );
}

/// An object of several pages keeps its place where a later block has small requests alone.
#[test]
fn oracle_general_objects_keep_their_pages_from_block_to_block() {
    let small = (0..50_000).map(|name| (10 + name, 100));
    let requests = [(5, 3 * 4096)].into_iter().chain(small).chain([(5, 100)]);
    let records = requests.flat_map(|(name, size)| request(0, name, size, -1));
    let all = read(&records.collect::<Vec<_>>(), oracle_general::FORMAT).unwrap();
    let page = |access: Option<&Access>| access.map(|access| access.address >> 12);
    assert_eq!(page(all.get(1)), Some(10));
    assert_eq!(
        (page(all.first()), page(all.last())),
        (Some(1 << 51), Some(1 << 51))
    );
}

#[test]
fn oracle_general_records_go_on_across_blocks_and_buffers() {
    let expected: Vec<(u64, u32)> = (0..100_000)
        .map(|index| (index * 7 % 1000, 1 + index as u32 % 4096))
        .collect();
    let records: Vec<u8> = expected
        .iter()
        .flat_map(|&(name, size)| request(0, name, size, -1))
        .collect();
    let all = read(&records, oracle_general::FORMAT).unwrap();
    let found: Vec<_> = all
        .iter()
        .map(|access| (access.address >> 12, access.size))
        .collect();
    assert!(found == expected);
    let cut = read(&records[..records.len() - 5], oracle_general::FORMAT);
    let error = cut.unwrap_err().to_string();
    assert!(
        error.contains("it ends within a record: 19 bytes of 24"),
        "{error}"
    );
}

#[test]
#[ignore = "needs the traces of other people; run by make test-data"]
fn shared_data_is_read_whole() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let data = std::env::var_os("TERRACE_DATA").map_or(beside, PathBuf::from);
    assert!(
        data.is_dir(),
        "this test needs {} (TERRACE_DATA)",
        data.display()
    );
    for (name, format, count) in [
        ("address_gcc.trace.gz", "caffeine", 515_683),
        ("address_gzip.trace.gz", "caffeine", 481_044),
        ("address_mcf.trace.gz", "caffeine", 727_230),
        (
            "cloudPhysicsIO.oracleGeneral.bin",
            "oracle-general",
            113_872,
        ),
    ] {
        let path = data.join(name);
        let source = open(&path, Columns::ALL).unwrap();
        assert_eq!(source.meta().format, format);
        let (_, read) = read_as(&path, Format::parse(format).unwrap()).unwrap();
        assert_eq!(read.len(), count, "{name}");
    }
}
