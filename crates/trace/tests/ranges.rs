//! The native format over bytes that lie anywhere: it is read as from a file, only what is needed
//! is asked for, and whatever the bytes do is told.

mod common;
#[path = "common/drawn.rs"]
mod drawn;
#[cfg(feature = "object-store")]
#[path = "ranges/store.rs"]
mod store;

use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use common::{block, read_as, write};
use drawn::accesses;
use parquet::data_type::{BoolType, Int64Type};
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use terrace_base::Result;
use terrace_trace::changes::{Change, Word};
use terrace_trace::discard::Discard;
use terrace_trace::formats::native;
use terrace_trace::order::{Event, Order, Point};
use terrace_trace::{Access, Block, Columns, Meta, Ranges, Source, create, open_as, open_ranges};

/// The name of objects in errors.
const NAME: &str = "s3://traces/a.parquet";

/// Bytes in memory that note what is asked of them.
#[derive(Default)]
struct Object {
    bytes: Mutex<Vec<u8>>,
    /// The length that it says, where that is not the right one.
    said: Option<usize>,
    /// The number of the read that fails, from 0.
    failing: Option<usize>,
    /// The number of the read of which only the first half comes, as if it were all.
    halved: Option<usize>,
    asked: Mutex<Vec<Range<u64>>>,
}

impl Object {
    fn of(bytes: &[u8]) -> Self {
        Self {
            bytes: Mutex::new(bytes.to_vec()),
            ..Self::default()
        }
    }

    /// What was asked so far, in this order.
    fn asked(&self) -> Vec<Range<u64>> {
        self.asked.lock().unwrap().clone()
    }
}

impl Ranges for Object {
    fn length(&self) -> io::Result<u64> {
        let length = self.said.unwrap_or(self.bytes.lock().unwrap().len());
        Ok(length as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset + buffer.len() as u64;
        assert!(!buffer.is_empty() && end <= self.length().unwrap());
        let mut asked = self.asked.lock().unwrap();
        let number = Some(asked.len());
        asked.push(offset..end);
        if number == self.failing {
            return Err(io::Error::other("the store does not answer"));
        }
        let bytes = self.bytes.lock().unwrap();
        let from = bytes.get(offset as usize..).unwrap_or_default();
        let from = from.get(..buffer.len());
        let from = from.ok_or(io::ErrorKind::UnexpectedEof)?;
        let filled = match number == self.halved {
            true => buffer.len() / 2,
            false => buffer.len(),
        };
        buffer[..filled].copy_from_slice(&from[..filled]);
        Ok(())
    }
}

/// All that is read of a trace: what is known of it, its blocks, and the error at which it ends.
#[derive(Debug, PartialEq)]
struct Read {
    meta: Option<Meta>,
    blocks: Vec<Block>,
    error: Option<String>,
}

impl Read {
    fn of(source: Result<Box<dyn Source>>) -> Self {
        let mut read = Self {
            meta: None,
            blocks: Vec::new(),
            error: None,
        };
        let pass = || -> Result<()> {
            let mut source = source?;
            read.meta = Some(source.meta().clone());
            let mut block = Block::default();
            while source.next_block(&mut block)? {
                read.blocks.push(block.clone());
            }
            Ok(())
        };
        read.error = pass().err().map(|error| error.to_string());
        read
    }

    fn accesses(&self) -> Vec<Access> {
        self.blocks.iter().flat_map(Block::iter).collect()
    }
}

fn from_file(path: &Path, columns: Columns) -> Read {
    Read::of(open_as(path, native::FORMAT, columns))
}

/// Reads an object that is called as a file is.
fn from_object(path: &Path, object: &Arc<Object>, columns: Columns) -> Read {
    Read::of(open_ranges(path.to_str().unwrap(), object.clone(), columns))
}

fn open_object(object: &Arc<Object>) -> Result<Box<dyn Source>> {
    open_ranges(NAME, object.clone(), Columns::ALL)
}

/// Rows of any version of the layout, with events before some of them.
fn rows() -> impl Strategy<Value = Block> {
    (accesses(40), 1..=4).prop_map(|(accesses, version)| {
        let mut rows = block(&accesses);
        for (row, access) in (0..).zip(&accesses) {
            let words = (0..access.thread % 4).map(|index| Word {
                index: 100 * index,
                value: access.ip.rotate_left(index.into()),
            });
            match version {
                2 => rows.changes.push(Change {
                    words: &words.collect::<Vec<_>>(),
                    version: access.size,
                    checksum: access.ip,
                }),
                3 => rows.depends.push(access.ip as u8),
                4 => rows.zeros.push(access.ip.is_multiple_of(2)),
                _ => {}
            }
            let (process, thread) = (access.process, access.thread);
            if access.thread.is_multiple_of(5) {
                rows.discards.push(Discard {
                    row,
                    process,
                    page: access.address >> 12,
                    pages: 3,
                });
                rows.orders.push(Order {
                    row,
                    process,
                    thread,
                    event: Event::Release(Point(access.ip)),
                });
            }
        }
        rows
    })
}

/// Columns that may be wanted: instructions are counted by thread.
fn columns() -> impl Strategy<Value = Columns> {
    any::<[bool; 7]>().prop_map(
        |[instruction, ip, thread, size, contents, depends, zeros]| Columns {
            instruction,
            ip,
            thread: thread || instruction,
            size,
            contents,
            depends,
            zeros,
        },
    )
}

fn is_needed(name: &str, columns: Columns) -> bool {
    match name {
        "address" | "write" => true,
        "instruction" => columns.instruction,
        "ip" => columns.ip,
        "process" | "thread" => columns.thread,
        "size" => columns.size,
        "depends" => columns.depends,
        "zeros" => columns.zeros,
        _ => columns.contents,
    }
}

/// The ranges of the columns that are needed, row group by row group in the order of the file, as
/// the parquet crate finds them by itself.
fn needed(path: &Path, columns: Columns) -> Vec<Vec<Range<u64>>> {
    let file = fs::File::open(path).unwrap();
    let parquet = ParquetMetaDataReader::new();
    let parquet = parquet.parse_and_finish(&file).unwrap();
    let groups = parquet.row_groups().iter().map(|group| {
        let chunks = group.columns().iter();
        let needed = chunks.filter(|chunk| is_needed(&chunk.column_path().string(), columns));
        let range = needed.map(|chunk| {
            let (offset, length) = chunk.byte_range();
            offset..offset + length
        });
        range.collect()
    });
    groups.collect()
}

/// The ranges of the description: the length of it, and what it says.
fn description(bytes: &[u8]) -> [Range<u64>; 2] {
    let end = bytes.len() - 8;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap());
    let end = end as u64;
    [end..end + 8, end - u64::from(length)..end]
}

fn sorted(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    ranges
}

/// Writes a Parquet file of another writer, whose row groups have `piece` rows.
fn write_groups(path: &Path, accesses: &[Access], piece: usize) {
    type Field = (&'static str, fn(&Access) -> u64);
    let fields: [Field; 6] = [
        ("instruction", |access| access.instruction),
        ("address", |access| access.address),
        ("ip", |access| access.ip),
        ("process", |access| access.process.into()),
        ("thread", |access| access.thread.into()),
        ("size", |access| access.size.into()),
    ];
    let schema: String = fields
        .iter()
        .map(|(name, _)| format!("required int64 {name} (INTEGER(64,false));"))
        .collect();
    let schema = format!("message accesses {{ {schema} required boolean write; }}");
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    for rows in accesses.chunks(piece) {
        let mut group = writer.next_row_group().unwrap();
        for (_, field) in fields {
            let values: Vec<i64> = rows.iter().map(|row| field(row).cast_signed()).collect();
            let mut column = group.next_column().unwrap().unwrap();
            let integers = column.typed::<Int64Type>();
            integers.write_batch(&values, None, None).unwrap();
            column.close().unwrap();
        }
        let writes: Vec<bool> = rows.iter().map(|row| row.write).collect();
        let mut column = group.next_column().unwrap().unwrap();
        let truths = column.typed::<BoolType>();
        truths.write_batch(&writes, None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
}

/// Accesses of one thread.
fn plain(count: u64) -> Vec<Access> {
    let access = |index: u64| Access {
        instruction: index * 9,
        address: index.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        ip: 0x40_0000 + index % 13 * 4,
        size: 1 << (index % 4),
        write: index.is_multiple_of(3),
        ..Access::default()
    };
    (0..count).map(access).collect()
}

/// Rows of a row group of [`in_groups`], which has each of the columns of accesses.
const GROUP: usize = 30;
const COLUMNS: usize = 7;

/// A trace of four row groups: its path, its accesses and its bytes.
fn in_groups(directory: &Path) -> (PathBuf, Vec<Access>, Vec<u8>) {
    let path = directory.join("a.parquet");
    let accesses = plain(4 * GROUP as u64);
    write_groups(&path, &accesses, GROUP);
    let bytes = fs::read(&path).unwrap();
    (path, accesses, bytes)
}

proptest! {
    #[test]
    fn from_memory_is_as_from_a_file(rows in rows(), columns in columns()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        let mut sink = create(&path, &[("program".into(), "ls".into())]).unwrap();
        sink.write(&rows).unwrap();
        sink.finish().unwrap();
        let bytes = fs::read(&path).unwrap();
        let object = Arc::new(Object::of(&bytes));
        let read = from_object(&path, &object, columns);
        prop_assert_eq!(&read, &from_file(&path, columns));
        prop_assert_eq!(read.error, None);
        let blocks: &[Block] = if rows.is_empty() { &[] } else { &[rows] };
        if columns == Columns::ALL {
            prop_assert_eq!(&read.blocks, blocks);
        }
        let asked = object.asked();
        let (first, then) = asked.split_at(2);
        prop_assert_eq!(first, description(&bytes));
        prop_assert_eq!(sorted(then.to_vec()), needed(&path, columns).concat());
    }

    #[test]
    fn a_row_group_is_asked_for_when_its_turn_comes(
        accesses in accesses(20), piece in 1..50_usize, columns in columns(),
    ) {
        prop_assume!(!accesses.is_empty());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.parquet");
        write_groups(&path, &accesses, piece);
        let bytes = fs::read(&path).unwrap();
        let object = Arc::new(Object::of(&bytes));
        prop_assert_eq!(&from_object(&path, &object, columns), &from_file(&path, columns));
        prop_assert_eq!(&read_as(&path, native::FORMAT).unwrap().1, &accesses);

        let object = Arc::new(Object::of(&bytes));
        let mut source = open_ranges(NAME, object.clone(), columns).unwrap();
        prop_assert_eq!(object.asked(), description(&bytes));
        let (mut block, mut before) = (Block::default(), 2);
        for group in needed(&path, columns) {
            prop_assert!(source.next_block(&mut block).unwrap());
            let asked = object.asked();
            prop_assert_eq!(sorted(asked[before..].to_vec()), group);
            before = asked.len();
        }
        prop_assert!(!source.next_block(&mut block).unwrap());
        prop_assert_eq!(object.asked().len(), before);
    }

    #[test]
    fn damage_is_told_as_of_a_file(
        accesses in accesses(8),
        place in any::<prop::sample::Index>(),
        flip in 1u8..,
        is_cut: bool,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let path = write(directory.path(), "a.parquet", &accesses, 10).unwrap();
        let mut bytes = fs::read(&path).unwrap();
        let place = place.index(bytes.len());
        match is_cut {
            true => bytes.truncate(place.max(1)),
            false => bytes[place] ^= flip,
        }
        fs::write(&path, &bytes).unwrap();
        let read = from_object(&path, &Arc::new(Object::of(&bytes)), Columns::ALL);
        prop_assert_eq!(read, from_file(&path, Columns::ALL));
    }
}

#[test]
fn a_simulation_of_pages_does_not_read_the_addresses_of_instructions() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "a.parquet", &plain(1000), 1000).unwrap();
    let object = Arc::new(Object::of(&fs::read(&path).unwrap()));
    let read = from_object(&path, &object, Columns::PAGES);
    assert_eq!(read.accesses().len(), 1000);
    let without = needed(&path, Columns::PAGES).concat();
    let all = needed(&path, Columns::ALL).concat();
    let [ip] = &all
        .iter()
        .filter(|range| !without.contains(range))
        .collect::<Vec<_>>()[..]
    else {
        panic!("one column is not needed: {all:?}, {without:?}");
    };
    let touches = |range: &Range<u64>| range.start < ip.end && ip.start < range.end;
    assert!(!object.asked().iter().any(touches));
}

/// The store answers again after each failure: rows that come then are not the next ones.
#[test]
fn a_read_that_fails_ends_the_trace_with_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let (_, accesses, bytes) = in_groups(directory.path());
    for failing in 0..2 + 4 * COLUMNS {
        let object = Arc::new(Object {
            failing: Some(failing),
            ..Object::of(&bytes)
        });
        let is_told = |error: &str| {
            let cannot = format!("cannot read the trace `{NAME}`");
            assert!(error.starts_with(&cannot), "{error}");
            assert!(error.ends_with(": the store does not answer"), "{error}");
        };
        let mut source = match open_object(&object) {
            Ok(source) => source,
            Err(error) => {
                assert!(failing < 2);
                is_told(&error.to_string());
                continue;
            }
        };
        let (mut block, mut read) = (Block::default(), Vec::new());
        let error = loop {
            match source.next_block(&mut block) {
                Ok(true) => read.extend(block.iter()),
                Ok(false) => panic!("read {failing} did not fail"),
                Err(error) => break error,
            }
        };
        is_told(&error.to_string());
        assert!(error.to_string().contains(" in its column "), "{error}");
        assert!(block.is_empty());
        let whole = (failing - 2) / COLUMNS * GROUP;
        assert!(read == accesses[..whole], "{} of {whole} rows", read.len());
        let asked = object.asked().len();
        assert_eq!(source.next_block(&mut block), Err(error));
        assert!(block.is_empty());
        assert_eq!(object.asked().len(), asked);
    }
}

#[test]
fn a_length_that_is_not_known_is_one_sentence() {
    struct Unknown;
    impl Ranges for Unknown {
        fn length(&self) -> io::Result<u64> {
            Err(io::Error::other("there is no such object"))
        }

        fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
            panic!("nothing is read")
        }
    }
    let error = open_ranges(NAME, Arc::new(Unknown), Columns::ALL)
        .err()
        .unwrap();
    let expected = format!("cannot read the trace `{NAME}`: there is no such object");
    assert_eq!(error.to_string(), expected);
}

#[test]
fn an_object_of_another_length_than_it_says_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let (path, _, bytes) = in_groups(directory.path());
    let error = |bytes: &[u8], said: usize| {
        let object = Object {
            said: Some(said),
            ..Object::of(bytes)
        };
        let error = open_object(&Arc::new(object)).err().unwrap().to_string();
        let told = format!("the trace `{NAME}` is wrong at its end, offset {said}: ");
        assert!(error.starts_with(&told), "{} bytes, {error}", bytes.len());
        error
    };
    for length in 0..bytes.len() {
        error(&bytes[..length], bytes.len());
    }
    for said in [bytes.len() + 1, 2 * bytes.len(), 1 << 62] {
        error(&bytes, said);
    }
    // What is said to be shorter is a file that was cut.
    for said in 1..bytes.len() {
        fs::write(&path, &bytes[..said]).unwrap();
        let of_file = from_file(&path, Columns::ALL).error.unwrap();
        assert_eq!(
            error(&bytes, said),
            of_file.replace(path.to_str().unwrap(), NAME)
        );
    }
}

/// As an object that is replaced by a shorter one after it was opened.
#[test]
fn content_that_ends_early_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let (path, accesses, bytes) = in_groups(directory.path());
    let groups = needed(&path, Columns::ALL);
    for length in 0..bytes.len() {
        let object = Arc::new(Object {
            said: Some(bytes.len()),
            ..Object::of(&bytes)
        });
        let source = open_object(&object);
        object.bytes.lock().unwrap().truncate(length);
        let read = Read::of(source);
        let is_there = |group: &&Vec<Range<u64>>| group.iter().all(|at| at.end <= length as u64);
        let there = groups.iter().take_while(is_there).count();
        assert!(read.accesses() == accesses[..there * GROUP], "{length}");
        let Some(error) = read.error else {
            assert_eq!(there, groups.len());
            continue;
        };
        let begin = format!("the trace `{NAME}` is wrong in its column ");
        assert!(error.starts_with(&begin), "{length}: {error}");
        assert!(error.ends_with(": it ends too early"), "{length}: {error}");
    }
}

/// The checksums of our own files tell what nobody says.
#[test]
fn a_buffer_that_is_not_filled_is_an_error_or_no_matter() {
    let directory = tempfile::tempdir().unwrap();
    let accesses = plain(1000);
    let path = write(directory.path(), "a.parquet", &accesses, 1000).unwrap();
    let bytes = fs::read(&path).unwrap();
    for halved in 0..2 + COLUMNS {
        let object = Object {
            halved: Some(halved),
            ..Object::of(&bytes)
        };
        let read = Read::of(open_object(&Arc::new(object)));
        match read.error {
            Some(error) => {
                assert!(error.contains(NAME), "{halved}: {error}");
                assert!(read.blocks.is_empty(), "{halved}");
            }
            None => assert!(read.accesses() == accesses, "{halved}"),
        }
    }
}
