//! The formats of others: what they say is read, what is written is read, what is damaged is
//! named.

mod common;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::{read_as, sound, write};
use proptest::prelude::*;
use terrace_trace::formats::{caffeine, champsim, csv, lackey, oracle_general};
use terrace_trace::{Access, Columns, Format, open};

fn access(instruction: u64, address: u64, ip: u64, size: u32, write: bool) -> Access {
    Access {
        instruction,
        address,
        ip,
        size,
        write,
        ..Access::default()
    }
}

/// Reads `bytes` as a file of any name.
fn read(bytes: &[u8], format: Format) -> Result<Vec<Access>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some-trace");
    fs::write(&path, bytes).unwrap();
    let read = read_as(&path, format);
    read.map(|(_, accesses)| accesses).map_err(|error| {
        let error = error.to_string();
        assert!(error.contains("some-trace"), "{error}");
        error
    })
}

/// The format that shows in `bytes`, in a file called `name`.
fn detect(name: &str, bytes: &[u8]) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, bytes).unwrap();
    open(&path, Columns::ALL)
        .map(|source| source.meta().format.clone())
        .map_err(|error| error.to_string())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 1);
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

const LACKEY: &str = "==7== Lackey\nI  0401b770,3\n L 1fff000748,8\n S 1fff000740,4\nI  0401b773,5\n M 0421C7CC,4\n==7== \n";
const CAFFEINE: &str = "s 0x1fffff50 1\nl 0x1fffff58 1\nl 0x1fffff88 6\n";
const CSV: &str = "op,Address, size\nr,0x10,8\nw,32,4\n";

/// One instruction of ChampSim's.
fn champsim(ip: u64, stores: [u64; 2], loads: [u64; 4]) -> Vec<u8> {
    let mut record = ip.to_le_bytes().to_vec();
    record.extend([1, 0, 25, 0, 6, 25, 0, 0]);
    for address in stores.iter().chain(&loads) {
        record.extend(address.to_le_bytes());
    }
    record
}

fn champsim_trace() -> Vec<u8> {
    [
        champsim(0x400, [0, 0], [0, 0, 0, 0]),
        champsim(0x404, [0x30, 0], [0x10, 0, 0x20, 0]),
        champsim(0x408, [0, 0], [0x40, 0, 0, 0]),
    ]
    .concat()
}

fn request(time: u32, id: u64, size: u32, next: i64) -> Vec<u8> {
    let mut record = time.to_le_bytes().to_vec();
    record.extend(id.to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend(next.to_le_bytes());
    record
}

fn oracle_general() -> Vec<u8> {
    [
        request(5, 7, 512, 2),
        request(5, u64::MAX, 100, -1),
        request(6, 7, 512, i64::MAX),
        request(6, 1 << 51, 1, -1),
    ]
    .concat()
}

/// An example of every format of others.
fn examples() -> [(Format, Vec<u8>); 5] {
    [
        (lackey::FORMAT, LACKEY.into()),
        (caffeine::FORMAT, CAFFEINE.into()),
        (csv::FORMAT, CSV.into()),
        (champsim::FORMAT, champsim_trace()),
        (oracle_general::FORMAT, oracle_general()),
    ]
}

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

#[test]
fn what_is_in_a_file_tells_its_format_packed_or_not() {
    for (format, bytes) in examples() {
        for bytes in [gzip(&bytes), xz(&bytes), zstd(&bytes), bytes] {
            // The content counts for more than the name.
            for name in ["trace", "trace.csv", "trace.lackey", "trace.parquet"] {
                assert_eq!(detect(name, &bytes), Ok(format.to_string()), "{name}");
            }
        }
    }
}

#[test]
fn the_name_tells_where_the_content_does_not() {
    // Records that both binary formats could have.
    let both = request(1, 0, 0, 1 << 40).repeat(8);
    assert!(
        detect("trace.bin", &both)
            .unwrap_err()
            .contains("give it the ending")
    );
    assert_eq!(detect("trace.champsim", &both).unwrap(), "champsim");
    assert_eq!(
        detect("a.oracleGeneral.bin", &both).unwrap(),
        "oracle-general"
    );
    assert!(
        detect("notes.txt", b"Some text.\n")
            .unwrap_err()
            .contains("give it the ending")
    );
    for &format in Format::ALL {
        assert_eq!(Format::parse(&format.to_string()), Ok(format));
    }
    assert!(
        Format::parse("elf")
            .unwrap_err()
            .to_string()
            .contains("oracle-general")
    );
}

#[test]
fn wrong_lines_and_records_are_named_with_their_offset() {
    let champsim = [champsim_trace(), vec![9; 64]].concat();
    let oracle_general = [oracle_general(), request(7, 7, 1, 3)].concat();
    for (format, bytes, offset, what) in [
        (
            lackey::FORMAT,
            b"I  0401b770,3\n X 5,1\n".to_vec(),
            14,
            "` X 5,1`",
        ),
        (lackey::FORMAT, b"\n".to_vec(), 0, "``"),
        (
            lackey::FORMAT,
            b" L 10,8\n L 10,4294967296\n".to_vec(),
            8,
            "no line",
        ),
        (caffeine::FORMAT, b"l 0x1 1\nl 1 1\n".to_vec(), 8, "`l 1 1`"),
        (
            caffeine::FORMAT,
            b"l 0x1 18446744073709551615\nl 0x1 1\n".to_vec(),
            27,
            "no line",
        ),
        (
            csv::FORMAT,
            b"address,size\n1,2\n1,-2\n".to_vec(),
            17,
            "line 3 has `-2` for Size",
        ),
        (
            csv::FORMAT,
            b"address,thread\n1,65536\n".to_vec(),
            15,
            "Thread",
        ),
        (
            csv::FORMAT,
            b"address,size\n1,2\n1\n".to_vec(),
            17,
            "1 values where the header has 2",
        ),
        (
            csv::FORMAT,
            b"write,address\n0,1\n0,\"4096\n".to_vec(),
            18,
            "line 3 has a quote that is not closed",
        ),
        (
            csv::FORMAT,
            b"write,address\n0,1\n0,\"4096".to_vec(),
            18,
            "line 3 has a quote that is not closed",
        ),
        (csv::FORMAT, b"size\n".to_vec(), 0, "no column `address`"),
        (csv::FORMAT, b"address,sise\n".to_vec(), 0, "`sise`"),
        (csv::FORMAT, b"address,op,write\n".to_vec(), 0, "twice"),
        (champsim::FORMAT, champsim, 192, "branch flag"),
        (oracle_general::FORMAT, oracle_general, 96, "number 4"),
    ] {
        let error = read(&bytes, format).unwrap_err();
        assert!(error.contains(&format!("at offset {offset}: ")), "{error}");
        assert!(error.contains(what), "{error}");
        let error = read(&gzip(&bytes), format).unwrap_err();
        let of = format!("at offset {offset} of the unpacked gzip stream: ");
        assert!(error.contains(&of), "{error}");
    }
}

#[test]
fn a_cut_file_is_an_error_except_between_records() {
    for (format, bytes) in examples() {
        let borders: Vec<usize> = match format.name() {
            "champsim" => (0..=bytes.len()).step_by(64).collect(),
            "oracle-general" => (0..=bytes.len()).step_by(24).collect(),
            _ => (1..=bytes.len())
                .filter(|end| bytes[end - 1] == b'\n')
                .collect(),
        };
        for length in 0..bytes.len() {
            let read = read(&bytes[..length], format);
            let border = length > 0 && borders.contains(&length);
            let none = |error: &String| error.contains("there is no access");
            let whole = read.as_ref().map_or_else(none, |_| true);
            assert_eq!(whole, border, "{format} cut to {length}: {read:?}");
        }
    }
}

#[test]
fn a_cut_packed_file_is_an_error_everywhere() {
    for (format, bytes) in examples() {
        for packed in [gzip(&bytes), xz(&bytes), zstd(&bytes)] {
            assert!(read(&packed, format).is_ok());
            for length in 0..packed.len() {
                let read = read(&packed[..length], format);
                assert!(read.is_err(), "{format} cut to {length}: {read:?}");
            }
        }
    }
}

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
                instruction,
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

proptest! {
    // Thrice the readers there are for each.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_bytes_make_a_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        magic in prop::sample::select(vec![
            &b""[..], b"PAR1", b"\x1f\x8b\x08", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"address\n", b"l 0x", b" L ",
        ]),
    ) {
        let bytes = [magic, &bytes].concat();
        for &format in Format::ALL {
            for bytes in [&bytes, &gzip(&bytes), &xz(&bytes)] {
                let _ = read(bytes, format);
            }
        }
        let _ = detect("trace", &bytes);
    }

}

proptest! {
    #[test]
    fn no_damage_makes_a_reader_panic(
        example in 0usize..5,
        place in any::<prop::sample::Index>(),
        byte: u8,
    ) {
        let (format, mut bytes) = examples()[example].clone();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = read(&bytes, format);
    }
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
