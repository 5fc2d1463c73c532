//! The native format: what is written is read, and what is damaged is named.
//! Long: a case for each column.

mod common;
#[path = "common/drawn.rs"]
mod drawn;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use common::{block, read_as, sound, write};
use drawn::accesses;
use parquet::basic::Compression;
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use terrace_trace::changes::{Change, Word};
use terrace_trace::contents::{Memory, checksum};
use terrace_trace::discard::Discard;
use terrace_trace::formats::{csv, native};
use terrace_trace::{Access, Block, Columns, Selection, create, open};

/// A trace with jumps, runs and constants, larger than a row group.
fn long(count: u64) -> Vec<Access> {
    let access = |index: u64| Access {
        instruction: index * 9 + index % 7,
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
    fn what_is_written_is_read(accesses in accesses(300), piece in 1usize..500) {
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), "a.parquet", &accesses, piece).unwrap();
        let (meta, read) = read_as(&path, native::FORMAT).unwrap();
        prop_assert_eq!(meta.accesses, Some(accesses.len() as u64));
        prop_assert_eq!(read, accesses);
    }

    #[test]
    fn a_damaged_byte_is_an_error_or_no_matter(
        accesses in accesses(8),
        place in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), "a.parquet", &accesses, 10).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        fs::write(&path, &bytes).unwrap();
        if let Ok((_, read)) = read_as(&path, native::FORMAT) {
            prop_assert_eq!(read, accesses, "byte {} of {}", place, bytes.len());
        }
    }
}

/// Returns the value of `terrace.digest` in a file, and what it should be: the slow twin.
fn column_digests(path: &Path) -> (String, String) {
    let bytes = fs::read(path).unwrap();
    let file = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let mut all = Vec::new();
    for group in file.metadata().row_groups() {
        for column in group.columns() {
            let (begin, length) = column.byte_range();
            let column = &bytes[begin as usize..(begin + length) as usize];
            all.extend(blake3::hash(column).as_bytes());
        }
    }
    let metadata = file.metadata().file_metadata().key_value_metadata();
    let mut said = metadata.unwrap().iter();
    let said = said.find(|pair| pair.key == "terrace.digest");
    let said = said.unwrap().value.clone().unwrap();
    (said, blake3::hash(&all).to_hex().to_string())
}

/// Writes the same columns with the same metadata, as a program does that keeps what it does not
/// know.
fn write_anew(path: &Path, to: &Path) {
    let file = fs::File::open(path).unwrap();
    let read = SerializedFileReader::new(file.try_clone().unwrap()).unwrap();
    let about = read.metadata().file_metadata();
    let properties = WriterProperties::builder()
        .set_created_by("another program".into())
        .set_key_value_metadata(about.key_value_metadata().cloned())
        .build();
    let schema = about.schema_descr().root_schema_ptr();
    let to = fs::File::create(to).unwrap();
    let mut writer = SerializedFileWriter::new(to, schema, Arc::new(properties)).unwrap();
    for group in read.metadata().row_groups() {
        let mut written = writer.next_row_group().unwrap();
        for column in group.columns() {
            let closed = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            written.append_column(&file, closed).unwrap();
        }
        written.close().unwrap();
    }
    writer.close().unwrap();
}

proptest! {
    #[test]
    fn the_digest_tells_traces_apart(
        accesses in accesses(40),
        piece in 1usize..50,
        place in any::<prop::sample::Index>(),
        change in 0..7,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let digest = |path: &Path| open(path, Columns::PAGES).map(|source| source.meta().digest);
        let path = write(directory.path(), "a.parquet", &accesses, piece).unwrap();
        let (said, twin) = column_digests(&path);
        prop_assert_eq!(said, twin);
        let known = digest(&path).unwrap();
        prop_assert!(known.is_some());
        let same = write(directory.path(), "b.parquet", &accesses, 7).unwrap();
        prop_assert_eq!(digest(&same).unwrap(), known);
        let anew = directory.path().join("c.parquet");
        write_anew(&path, &anew);
        prop_assert_ne!(digest(&anew).unwrap(), known);
        let mut others = accesses.clone();
        if let Some(access) = others.get_mut(place.index(accesses.len().max(1))) {
            match change {
                0 => access.instruction ^= 1,
                1 => access.address ^= 1,
                2 => access.ip ^= 1,
                3 => access.process ^= 1,
                4 => access.thread ^= 1,
                5 => access.size ^= 1,
                _ => access.write ^= true,
            }
            let other = write(directory.path(), "d.parquet", &others, piece).unwrap();
            prop_assert_ne!(digest(&other).unwrap(), known);
        }
        let noted = directory.path().join("e.parquet");
        let mut sink = create(&noted, &[("program".into(), "a".into())]).unwrap();
        sink.write(&block(&accesses)).unwrap();
        sink.finish().unwrap();
        prop_assert_ne!(digest(&noted).unwrap(), known);
    }
}

#[test]
fn a_part_of_a_trace_is_another() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "a.parquet", &sound(long(3)), 10).unwrap();
    let digest = |selection: Selection| {
        let whole = open(&path, Columns::ALL).unwrap();
        selection.of(whole).meta().digest
    };
    assert!(digest(Selection::default()).is_some());
    let part = |skip, limit| Selection {
        skip,
        limit,
        ..Selection::default()
    };
    assert_eq!(digest(part(1, None)), None);
    assert_eq!(digest(part(0, Some(2))), None);
}

/// The bits that turned one encoding, codec or offset into another without notice before these were
/// held against what the writer writes: no checksum covers a page's header and the description at
/// the end.
#[test]
fn a_damaged_header_or_description_is_an_error_or_no_matter() {
    let directory = tempfile::tempdir().unwrap();
    let accesses = sound(long(3));
    let path = write(directory.path(), "a.parquet", &accesses, 10).unwrap();
    let whole = fs::read(&path).unwrap();
    for place in 0..whole.len() {
        for flip in [1, 2, 10, 12, 24, 82, 108] {
            let mut bytes = whole.clone();
            bytes[place] ^= flip;
            fs::write(&path, &bytes).unwrap();
            if let Ok((_, read)) = read_as(&path, native::FORMAT) {
                assert_eq!(read, accesses, "byte {place} of {}, {flip}", bytes.len());
            }
        }
    }
}

#[test]
fn traces_of_several_row_groups_and_only_some_columns() {
    let directory = tempfile::tempdir().unwrap();
    let accesses = long((1 << 20) + 12_345);
    let path = write(directory.path(), "a.parquet", &accesses, 70_001).unwrap();
    assert!(read_as(&path, native::FORMAT).unwrap().1 == accesses);
    let mut source = open(&path, Columns::ADDRESSES).unwrap();
    let mut block = Block::default();
    let mut expected = accesses.iter();
    while source.next_block(&mut block).unwrap() {
        assert!(block.ip.is_empty() && block.thread.is_empty() && block.size.is_empty());
        for index in 0..block.len() {
            let access = expected.next().unwrap();
            let read = block.get(index);
            assert_eq!((read.address, read.write), (access.address, access.write));
        }
    }
    assert_eq!(expected.next(), None);
}

/// It is packed less, and is read as any.
#[test]
fn a_passing_trace_is_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let accesses = long((1 << 20) + 1000);
    let path = directory.path().join("passing.parquet");
    let mut sink = native::create_passing(&path).unwrap();
    sink.write(&block(&accesses)).unwrap();
    sink.finish().unwrap();
    let (meta, read) = read_as(&path, native::FORMAT).unwrap();
    assert!(meta.digest.is_some());
    assert_eq!(read, accesses);
    let usual = write(directory.path(), "usual.parquet", &accesses, accesses.len()).unwrap();
    let bytes = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(bytes(&usual) < bytes(&path));
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

/// Pages that were given back come before the same rows again, however the rows are cut into
/// blocks.
#[test]
fn what_was_given_back_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let accesses = long((1 << 20) + 50_000);
    let rows = [0, 0, 3, 16_384, (1 << 20) - 1, 1 << 20, (1 << 20) + 49_999];
    let all: Vec<Discard> = (0..)
        .zip(rows)
        .map(|(process, row)| Discard {
            row,
            process,
            page: row * 77,
            pages: 1 << process,
        })
        .collect();
    let mut sink = create(&path, &[]).unwrap();
    let mut first = 0;
    for piece in accesses.chunks(70_001) {
        let mut block = block(piece);
        let end = first + piece.len() as u64;
        let own = all.iter().filter(|one| (first..end).contains(&one.row));
        block.discards = own
            .map(|one| Discard {
                row: one.row - first,
                ..*one
            })
            .collect();
        sink.write(&block).unwrap();
        first = end;
    }
    sink.finish().unwrap();
    for columns in [Columns::ALL, Columns::ADDRESSES] {
        let mut source = open(&path, columns).unwrap();
        assert_eq!(source.meta().about, []);
        let (mut block, mut first, mut read) = (Block::default(), 0, Vec::new());
        while source.next_block(&mut block).unwrap() {
            read.extend(block.discards.iter().map(|one| Discard {
                row: first + one.row,
                ..*one
            }));
            first += block.len() as u64;
        }
        assert_eq!(read, all);
    }

    // A digit more or less is told.
    let mut bytes = fs::read(&path).unwrap();
    let line = b"1048576,5,";
    let place = bytes
        .windows(line.len())
        .position(|window| window == line)
        .unwrap();
    bytes[place + 3] ^= 1;
    fs::write(&path, bytes).unwrap();
    let error = open(&path, Columns::ALL).err().unwrap().to_string();
    assert!(
        error.contains("`terrace.discards` is not what was written"),
        "{error}"
    );
}

#[test]
fn zeros_cost_nearly_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut accesses = long(1 << 20);
    let full = write(directory.path(), "full.parquet", &accesses, 1 << 16).unwrap();
    assert!(
        read_as(&full, native::FORMAT)
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
        !read_as(&path, native::FORMAT)
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
        let error = read_as(&path, native::FORMAT).unwrap_err().to_string();
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

/// Writes a Parquet file of another writer: optional columns, all of 64 bits.
fn write_foreign(path: &Path, columns: &[(&str, &[Option<i64>])]) {
    write_packed(path, columns, Compression::UNCOMPRESSED);
}

/// The same, packed.
fn write_packed(path: &Path, columns: &[(&str, &[Option<i64>])], compression: Compression) {
    let fields: String = columns
        .iter()
        .map(|(name, _)| format!("optional int64 {name};"))
        .collect();
    let schema = parse_message_type(&format!("message schema {{ {fields} }}")).unwrap();
    let file = fs::File::create(path).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut writer =
        SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, column) in columns {
        let values: Vec<i64> = column.iter().copied().flatten().collect();
        let levels: Vec<i16> = column
            .iter()
            .map(|value| i16::from(value.is_some()))
            .collect();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int64Type>()
            .write_batch(&values, Some(&levels), None)
            .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

/// As pandas, polars, DuckDB and Spark pack them.
#[test]
fn files_of_others_are_read_however_they_are_packed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let values: Vec<_> = (0..1000).map(|index| Some(index * 64)).collect();
    for compression in [
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
    ] {
        write_packed(&path, &[("address", &values)], compression);
        let (_, read) = read_as(&path, native::FORMAT).unwrap();
        assert_eq!(read.len(), 1000, "{compression:?}");
        assert_eq!(read[999].address, 999 * 64, "{compression:?}");
    }
}

/// What the parquet crate says of damage is of its own parts: people are told where it is.
#[test]
fn damage_is_said_in_our_own_words() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "a.parquet", &long(20_000), 5000).unwrap();
    let whole = fs::read(&path).unwrap();
    let damage = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = read_as(&path, native::FORMAT).unwrap_err().to_string();
        assert!(error.contains(" offset "), "{error}");
        for raw in [
            "failed to fill",
            "Size is",
            "Disabled",
            "Parquet error",
            "EOF",
            "External",
        ] {
            assert!(!error.contains(raw), "{error}");
        }
    };
    for cut in [12, whole.len() / 2, whole.len() - 1] {
        damage(&whole[..cut]);
    }
    for place in [4, 40, 400, whole.len() / 2] {
        let mut bytes = whole.clone();
        bytes[place..place + 8].fill(0xff);
        damage(&bytes);
    }
}

#[test]
fn files_of_others_are_traces_as_far_as_their_columns_have_the_names() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let address = [Some(1 << 62), Some(4096)];
    let read = || read_as(&path, native::FORMAT).map_err(|error| error.to_string());
    write_foreign(
        &path,
        &[("thread", &[Some(1), Some(65535)]), ("address", &address)],
    );
    let access = |address, thread| Access {
        address,
        thread,
        ..Access::default()
    };
    assert_eq!(read().unwrap().1, [access(1 << 62, 1), access(4096, 65535)]);
    for (columns, what) in [
        (&[("address", &[Some(1), None][..])][..], "missing (null)"),
        (
            &[("address", &address), ("thread", &[Some(0), Some(65536)])],
            "too large",
        ),
        (
            &[("address", &address), ("write", &address)],
            "truth values",
        ),
        (&[("address", &[Some(-4096), Some(0)])], "negative"),
        (
            &[("address", &address), ("sise", &address)],
            "`sise` that is not known",
        ),
        (
            &[("address", &address), ("op", &address), ("Write", &address)],
            "two columns for `write`",
        ),
        (&[("addresses", &address)], "without a column `address`"),
    ] {
        write_foreign(&path, columns);
        let error = read().unwrap_err();
        assert!(
            error.contains("a.parquet") && error.contains(what),
            "{error}"
        );
    }
}

/// A Parquet file of one column `address`, int32 of this kind, and one of texts.
fn write_texts(path: &Path, kind: &str, name: &str, rows: &[(i32, &str)]) {
    let schema = format!(
        "message schema {{ required int32 address {kind}; required binary {name} (UTF8); }}"
    );
    let schema = parse_message_type(&schema).unwrap();
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let addresses: Vec<i32> = rows.iter().map(|row| row.0).collect();
    let texts: Vec<ByteArray> = rows.iter().map(|row| row.1.into()).collect();
    let mut column = group.next_column().unwrap().unwrap();
    let integers = column.typed::<Int32Type>();
    integers.write_batch(&addresses, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let bytes = column.typed::<ByteArrayType>();
    bytes.write_batch(&texts, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn a_table_means_the_same_as_parquet_and_as_csv() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let rows = [(0, "w"), (4096, "r"), (8192, "Store"), (1, "load")];
    for name in ["op", "OP", "is_write", "write"] {
        write_texts(&path, "", name, &rows);
        let lines: String = rows.iter().map(|(at, op)| format!("{at},{op}\n")).collect();
        let csv = directory.path().join("a.csv");
        fs::write(&csv, format!("address,{name}\n{lines}")).unwrap();
        let (_, of_parquet) = read_as(&path, native::FORMAT).unwrap();
        let (_, of_csv) = read_as(&csv, csv::FORMAT).unwrap();
        assert_eq!(of_parquet, of_csv, "{name}");
        assert_eq!(of_parquet.iter().filter(|access| access.write).count(), 2);
    }
    write_texts(&path, "", "op", &[(0, "x")]);
    let error = read_as(&path, native::FORMAT).unwrap_err().to_string();
    assert!(error.contains("column write"), "{error}");
    // What is unsigned says so.
    write_texts(&path, "(INTEGER(32,false))", "op", &[(-1, "r")]);
    let (_, read) = read_as(&path, native::FORMAT).unwrap();
    assert_eq!(read[0].address, u64::from(u32::MAX));
    write_texts(&path, "", "op", &[(-1, "r")]);
    let error = read_as(&path, native::FORMAT).unwrap_err().to_string();
    assert!(error.contains("negative"), "{error}");
}

/// What rows change: for each its words, by place, and whether it has a checksum.
type Changed = Vec<(std::collections::BTreeMap<u16, u64>, bool)>;

fn changed(most: usize) -> impl Strategy<Value = Changed> {
    let words = prop_oneof![
        4 => prop::collection::btree_map(0..512_u16, any::<u64>(), 0..4),
        1 => prop::collection::btree_map(0..512_u16, 0..3_u64, 0..600),
    ];
    prop::collection::vec((words, any::<bool>()), 1..most)
}

/// Rows that touch pages in turn and change them so, with the versions and checksums that a
/// recorder gives.
fn with_changes(changed: &Changed) -> Block {
    let mut block = Block::default();
    let mut pages = [(0, [0; 4096]); 3];
    for (row, (words, sampled)) in changed.iter().enumerate() {
        let (version, contents) = &mut pages[row % 3];
        block.push(Access {
            address: 4096 * (row % 3) as u64,
            instruction: row as u64,
            ..Access::default()
        });
        for (index, value) in words {
            contents[usize::from(*index) * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        let words: Vec<_> = words
            .iter()
            .map(|(&index, &value)| Word { index, value })
            .collect();
        let reported = !words.is_empty() || *sampled;
        *version += u32::from(reported);
        block.changes.push(Change {
            words: &words,
            version: if reported { *version } else { 0 },
            checksum: if *sampled { checksum(&*contents) } else { 0 },
        });
    }
    block
}

/// Rows of which some leave zeros, in a file of blocks of `piece`.
fn write_zeros(path: &Path, zeros: &[bool], piece: usize) -> Block {
    let mut rows = Block::default();
    for (row, zeros) in (0..).zip(zeros) {
        rows.push(Access {
            address: row << 12,
            instruction: row,
            ..Access::default()
        });
        rows.zeros.push(*zeros);
    }
    write_blocks(path, &rows, piece);
    rows
}

/// Reads all rows with what they leave, as one block.
fn read_zeros(path: &Path, columns: Columns) -> terrace_base::Result<Block> {
    let mut source = open(path, columns)?;
    assert!(source.meta().tells_zeros && !source.meta().has_contents);
    let (mut block, mut all) = (Block::default(), Block::default());
    while source.next_block(&mut block)? {
        block.iter().for_each(|access| all.push(access));
        all.zeros.extend(&block.zeros);
    }
    Ok(all)
}

proptest! {
    #[test]
    fn which_pages_hold_zeros_is_read_as_it_was_written(
        zeros in prop::collection::vec(any::<bool>(), 1..300), piece in 1usize..400, skip in 0usize..400,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let rows = write_zeros(&path, &zeros, piece);
        prop_assert_eq!(&read_zeros(&path, Columns::ALL).unwrap(), &rows);
        let without = read_zeros(&path, Columns { zeros: false, ..Columns::ALL }).unwrap();
        prop_assert_eq!((without.zeros, without.address), (Vec::new(), rows.address));
        // A part of a trace says it of its rows.
        let selection = Selection { skip: skip as u64, ..Selection::default() };
        let mut rest = selection.of(open(&path, Columns::ALL).unwrap());
        prop_assert!(rest.meta().tells_zeros);
        let (mut block, mut left) = (Block::default(), Vec::<bool>::new());
        while rest.next_block(&mut block).unwrap() {
            left.extend(&block.zeros);
        }
        prop_assert_eq!(&left, &zeros[skip.min(zeros.len())..]);
    }

    #[test]
    fn a_damaged_byte_of_zeros_is_an_error_or_no_matter(
        zeros in prop::collection::vec(any::<bool>(), 1..20), place in any::<prop::sample::Index>(), flip in 1u8..,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let rows = write_zeros(&path, &zeros, 10);
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        fs::write(&path, &bytes).unwrap();
        if open(&path, Columns::ALL).is_ok_and(|source| source.meta().tells_zeros)
            && let Ok(read) = read_zeros(&path, Columns::ALL)
        {
            prop_assert_eq!(read, rows, "byte {} of {}", place, bytes.len());
        }
    }
}

/// Writes rows in blocks of `piece`.
fn write_blocks(path: &Path, rows: &Block, piece: usize) {
    let mut sink = create(path, &[]).unwrap();
    for begin in (0..rows.len()).step_by(piece) {
        let mut block = rows.clone();
        block.truncate(begin + piece);
        block.drain_front(begin);
        sink.write(&block).unwrap();
    }
    sink.finish().unwrap();
}

/// Reads all rows, as one block.
fn read_contents(path: &Path, columns: Columns) -> terrace_base::Result<Block> {
    let mut source = open(path, columns)?;
    assert!(source.meta().has_contents);
    let (mut block, mut all) = (Block::default(), Block::default());
    while source.next_block(&mut block)? {
        block.iter().for_each(|access| all.push(access));
        all.changes.extend(&block.changes, 0..block.changes.len());
    }
    Ok(all)
}

proptest! {
    #[test]
    fn what_rows_change_is_read_as_it_was_written(changed in changed(60), piece in 1usize..70) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let rows = with_changes(&changed);
        write_blocks(&path, &rows, piece);
        let read = read_contents(&path, Columns::ALL).unwrap();
        prop_assert_eq!(&read, &rows);
        let mut memory = Memory::default();
        (0..read.len()).for_each(|row| memory.apply(&read, row));
        let verified = memory.verified();
        let sampled = changed.iter().filter(|(_, sampled)| *sampled).count() as u64;
        prop_assert_eq!((verified.sampled, verified.held), (sampled, sampled));
        let without = read_contents(&path, Columns { contents: false, ..Columns::ALL }).unwrap();
        prop_assert!(without.changes.is_empty());
        prop_assert_eq!(without.address, rows.address);
    }

    #[test]
    fn a_damaged_byte_of_contents_is_an_error_or_no_matter(
        changed in changed(6),
        place in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let rows = with_changes(&changed);
        write_blocks(&path, &rows, 10);
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        fs::write(&path, &bytes).unwrap();
        let opened = open(&path, Columns::ALL);
        if opened.is_ok_and(|source| source.meta().has_contents)
            && let Ok(read) = read_contents(&path, Columns::ALL)
        {
            prop_assert_eq!(read, rows, "byte {} of {}", place, bytes.len());
        }
    }
}

/// More words than a page of the file and a row group have, and rows that change all of a page.
#[test]
fn contents_of_several_row_groups() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.parquet");
    let mut rows = Block::default();
    for row in 0..20_000_u64 {
        let count = if row % 3 > 0 { 512 } else { (row % 9) as u16 };
        let word = |index| Word {
            index,
            value: row.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (index % 64),
        };
        let words: Vec<_> = (0..count).map(word).collect();
        rows.push(Access {
            address: row << 12,
            instruction: row,
            ..Access::default()
        });
        let version = u32::from(count > 0);
        rows.changes.push(Change {
            words: &words,
            version,
            checksum: row % 61,
        });
    }
    write_blocks(&path, &rows, 16_380 * 8);
    assert!(read_contents(&path, Columns::ALL).unwrap() == rows);
}

/// What a trace without contents is: the same bytes as before there were traces with contents, and
/// version 1.
#[test]
fn a_trace_without_contents_has_the_first_version() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "a.parquet", &long(10), 10).unwrap();
    let bytes = fs::read(&path).unwrap();
    let has = |text: &str| {
        bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes())
    };
    assert!(has("terrace.trace") && !has("word_index") && !has("checksum"));
    assert!(!open(&path, Columns::ALL).unwrap().meta().has_contents);
}
