//! Reading the native format.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::FOOTER_SIZE;
use parquet::file::metadata::{
    ColumnChunkMetaData, FooterTail, ParquetMetaData, ParquetMetaDataReader,
};
use parquet::file::statistics::Statistics;
use terrace_base::{Context, Error, Result};

use super::allocations;
use super::column::{Column, general, reason, unpanicked};
use super::layout::{COLUMNS, DEPENDS, DIGEST_KEY, INDEX, Layout, NAME, VALUE, VERSION_KEY, ZEROS};
use super::lists::Lists;
use super::table::{self, Event};
use crate::access::{Block, Columns};
use crate::allocation::Allocations;
use crate::digest::Digest;
use crate::discard::Discard;
use crate::objects::{self, Objects};
use crate::order::Order;
use crate::ranges::{self, Ranges};
use crate::source::{Meta, Source, made};
use crate::tally::Tally;
use crate::text;

/// Accesses in a block: few enough that their columns stay in a core's second-level
/// cache.
const BLOCK: usize = 1 << 14;

/// Bytes before the first column: Parquet's magic number.
const MAGIC_BYTES: u64 = 4;

/// Keys of our own about the layout, and of what is not metadata.
const OWN_KEYS: [&str; 9] = [
    VERSION_KEY,
    DIGEST_KEY,
    Discard::KEY,
    Discard::CHECKSUM_KEY,
    Order::KEY,
    Order::CHECKSUM_KEY,
    allocations::OBJECTS_KEY,
    allocations::SITES_KEY,
    allocations::CHECKSUM_KEY,
];
/// Keys of other writers about their own types.
const FOREIGN_KEYS: [&str; 2] = ["ARROW:schema", "pandas"];

/// Reads a Parquet file, a row group after the other.
struct Reader {
    path: PathBuf,
    ranges: Arc<dyn Ranges>,
    parquet: ParquetMetaData,
    /// What was given back before rows that were not read yet, in their order.
    discards: std::iter::Peekable<std::vec::IntoIter<Discard>>,
    /// How threads are ordered before such rows.
    orders: std::iter::Peekable<std::vec::IntoIter<Order>>,
    /// Rows that were read.
    rows_read: u64,
    /// Whether our own writer wrote the file.
    own: bool,
    /// The columns to fill; contents only where the file has them.
    wanted: Columns,
    next_group: usize,
    group: Group,
    /// What went wrong, after which nothing is read.
    failure: Option<Error>,
}

/// The open row group. Columns that are not wanted are `None`.
#[derive(Default)]
struct Group {
    rows_left: usize,
    instruction: Option<Column>,
    address: Option<Column>,
    ip: Option<Column>,
    process: Option<Column>,
    thread: Option<Column>,
    size: Option<Column>,
    write: Option<Column>,
    depends: Option<Column>,
    zeros: Option<Column>,
    changes: Option<Lists>,
}

/// Opens a trace.
pub(super) fn open(
    path: &Path,
    ranges: Arc<dyn Ranges>,
    wanted: Columns,
) -> Result<Box<dyn Source>> {
    let bytes = ranges.length().or_fail(|| super::cannot(path))?;
    let (parquet, description) = description(path, &*ranges, bytes)?;
    check(path, &parquet, bytes)?;
    let allocations = allocations_of(path, &parquet)?;
    // The description of another trace says something else: of its columns by their digest.
    let has_digest = is_own(&parquet) && value(&parquet, DIGEST_KEY).is_some();
    let digest = has_digest.then(|| Digest::of(&description));
    let meta = meta(&parquet, digest, allocations);
    let discards: Vec<Discard> = events(path, &parquet)?;
    let orders: Vec<Order> = events(path, &parquet)?;
    let mut reader = Reader {
        path: path.to_owned(),
        ranges,
        own: is_own(&parquet),
        parquet,
        discards: discards.into_iter().peekable(),
        orders: orders.into_iter().peekable(),
        rows_read: 0,
        wanted: Columns {
            contents: wanted.contents && meta.has_contents,
            ..wanted
        },
        next_group: 0,
        group: Group::default(),
        failure: None,
    };
    Ok(made(meta, move |block| reader.read(block)))
}

/// Reads the description at the end: its length and a mark come last, behind it. Returns its bytes
/// as well.
fn description(path: &Path, ranges: &dyn Ranges, bytes: u64) -> Result<(ParquetMetaData, Vec<u8>)> {
    let absent = || no_parquet(path, bytes);
    let before = |end: u64, length: usize| -> Result<(u64, Vec<u8>)> {
        let begin = end.checked_sub(length as u64).ok_or_else(absent)?;
        let read = ranges::read(ranges, begin, length).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => absent(),
            _ => Error::failure(format!("{}: {e}", super::cannot(path))),
        })?;
        Ok((begin, read))
    };
    let (end, tail) = before(bytes, FOOTER_SIZE)?;
    let tail = FooterTail::try_from(&tail[..]).map_err(|_| absent())?;
    if tail.is_encrypted_footer() {
        return Err(absent());
    }
    let (_, description) = before(end, tail.metadata_length())?;
    let parsed = unpanicked(|| ParquetMetaDataReader::decode_metadata(&description));
    let parsed = parsed.map_err(|_| absent())?;
    Ok((parsed, description))
}

impl Reader {
    /// Reads the next rows. An error comes again with every further read: what follows would not be
    /// the next rows.
    fn read(&mut self, block: &mut Block) -> Result<()> {
        let read = match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => self.next_rows(block),
        };
        if let Err(failure) = &read {
            block.clear();
            self.failure = Some(failure.clone());
        }
        read
    }

    fn next_rows(&mut self, block: &mut Block) -> Result<()> {
        while self.group.rows_left == 0 {
            if !self.next_group()? {
                block.clear();
                return Ok(());
            }
        }
        let rows = self.group.rows_left.min(BLOCK);
        self.group.rows_left -= rows;
        let wanted = self.wanted;
        self.group
            .read(rows, wanted, block)
            .map_err(|(name, e)| self.corrupt(self.next_group - 1, name, &e))?;
        let (first, end) = (self.rows_read, self.rows_read + rows as u64);
        self.rows_read = end;
        block.discards.clear();
        while let Some(discard) = self.discards.next_if(|discard| discard.row < end) {
            let row = discard.row - first;
            block.discards.push(Discard { row, ..discard });
        }
        block.orders.clear();
        while let Some(order) = self.orders.next_if(|order| order.row < end) {
            let row = order.row - first;
            block.orders.push(Order { row, ..order });
        }
        Ok(())
    }

    /// Opens the next row group; returns false if there is none.
    fn next_group(&mut self) -> Result<bool> {
        if self.next_group == self.parquet.num_row_groups() {
            return Ok(false);
        }
        let index = self.next_group;
        self.next_group += 1;
        let wanted = self.wanted;
        self.group = Group {
            rows_left: self.parquet.row_group(index).num_rows() as usize,
            instruction: self.column(index, "instruction", wanted.instruction)?,
            address: self.column(index, "address", true)?,
            ip: self.column(index, "ip", wanted.ip)?,
            process: self.column(index, "process", wanted.thread)?,
            thread: self.column(index, "thread", wanted.thread)?,
            size: self.column(index, "size", wanted.size)?,
            write: self.column(index, "write", true)?,
            depends: self.column(index, DEPENDS, wanted.depends)?,
            zeros: self.column(index, ZEROS, wanted.zeros)?,
            changes: self.lists(index)?,
        };
        Ok(true)
    }

    fn column(&self, group: usize, name: &str, wanted: bool) -> Result<Option<Column>> {
        let Some(chunk) = chunk(&self.parquet, group, name).filter(|_| wanted) else {
            return Ok(None);
        };
        let rows = self.parquet.row_group(group).num_rows() as usize;
        Column::open(self.bytes(group, name, chunk)?, chunk, rows, self.own)
            .map(Some)
            .map_err(|e| self.corrupt(group, name, &e))
    }

    /// Opens the columns of contents, if they are wanted.
    fn lists(&self, group: usize) -> Result<Option<Lists>> {
        if !self.wanted.contents {
            return Ok(None);
        }
        let rows = self.parquet.row_group(group).num_rows() as usize;
        let column = |name| -> Result<Option<ColumnReader>> {
            let Some(chunk) = chunk(&self.parquet, group, name) else {
                return Ok(None);
            };
            Column::of_lists(self.bytes(group, name, chunk)?, chunk, rows, self.own)
                .map(Some)
                .map_err(|e| self.corrupt(group, name, &e))
        };
        let plain = |name| self.column(group, name, true);
        let (version, checksum) = (plain("version")?, plain("checksum")?);
        Ok(Lists::of(version, checksum, column(INDEX)?, column(VALUE)?))
    }

    /// Reads a column of a row group, all of it at once.
    fn bytes(&self, group: usize, name: &str, chunk: &ColumnChunkMetaData) -> Result<Vec<u8>> {
        let (offset, length) = chunk.byte_range();
        let read = ranges::read(&*self.ranges, offset, length as usize);
        read.map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.corrupt(group, name, &general("it ends too early"))
            }
            _ => Error::failure(format!(
                "{} in its column {name} at offset {offset}: {e}",
                super::cannot(&self.path)
            )),
        })
    }

    fn corrupt(&self, group: usize, name: &str, error: &ParquetError) -> Error {
        let offset = chunk(&self.parquet, group, name).map_or(0, |chunk| chunk.byte_range().0);
        Error::failure(format!(
            "the trace `{}` is wrong in its column {name} at offset {offset}: {}",
            self.path.display(),
            reason(error)
        ))
    }
}

impl Group {
    /// Replaces what is in `block` by the next `rows` rows; an error goes with its column.
    fn read(
        &mut self,
        rows: usize,
        wanted: Columns,
        block: &mut Block,
    ) -> std::result::Result<(), (&'static str, ParquetError)> {
        /// Fills a column of the block, with zeros where the file has no such column.
        macro_rules! fill {
            ($wanted:expr, $name:ident, $type:ident) => {
                match &mut self.$name {
                    Some(column) => column
                        .$type(rows, &mut block.$name)
                        .map_err(|e| (stringify!($name), e))?,
                    None => {
                        block.$name.clear();
                        if $wanted {
                            block.$name.resize(rows, $type::default());
                        }
                    }
                }
            };
        }
        fill!(wanted.instruction, instruction, u64);
        fill!(true, address, u64);
        fill!(wanted.ip, ip, u64);
        fill!(wanted.thread, process, u16);
        fill!(wanted.thread, thread, u16);
        fill!(wanted.size, size, u32);
        fill!(true, write, bool);
        fill!(false, depends, u8);
        fill!(false, zeros, bool);
        match &mut self.changes {
            Some(changes) => changes.read(rows, &mut block.changes),
            None => {
                block.changes.clear();
                Ok(())
            }
        }
    }
}

/// Returns the failure of a file whose end is no Parquet description.
fn no_parquet(path: &Path, bytes: u64) -> Error {
    Error::failure(format!(
        "the trace `{}` is wrong at its end, offset {bytes}: no description of a Parquet file is there; it was \
         cut short or damaged",
        path.display()
    ))
}

/// Returns the column `name` of a row group, if the file has it.
fn chunk<'a>(
    parquet: &'a ParquetMetaData,
    group: usize,
    name: &str,
) -> Option<&'a ColumnChunkMetaData> {
    Some(parquet.row_group(group).column(place(parquet, name)?))
}

/// Returns the place of the column `name`, if the file has it.
fn place(parquet: &ParquetMetaData, name: &str) -> Option<usize> {
    let schema = parquet.file_metadata().schema_descr();
    let own = is_own(parquet);
    let mut columns = schema.columns().iter();
    columns.position(|column| {
        let path = column.path().string();
        path == name || !own && text::column(&path) == name
    })
}

/// Checks that this is a trace of a known version whose columns lie in the file, and that the
/// description has what our writer always writes: no checksum covers the description at the end of
/// the file.
fn check(path: &Path, parquet: &ParquetMetaData, file_bytes: u64) -> Result<()> {
    let wrong = |what: String| Error::failure(format!("the trace `{}` {what}", path.display()));
    let schema = parquet.file_metadata().schema_descr();
    let names: Vec<String> = schema.columns().iter().map(|c| c.path().string()).collect();
    let version = value(parquet, VERSION_KEY);
    if let Some(version) = &version {
        let layout = Layout::of(version).ok_or_else(|| {
            wrong(format!(
                "has version {version} of the layout; this program reads versions 1 to 4"
            ))
        })?;
        let columns = layout.columns();
        if names != columns {
            return Err(wrong(format!(
                "is corrupt: its columns are {}, not {}",
                names.join(", "),
                columns.join(", ")
            )));
        }
    }
    if version.is_none() {
        check_foreign(&names).map_err(wrong)?;
    }
    let groups = parquet.row_groups();
    let rows: i128 = groups.iter().map(|g| i128::from(g.num_rows())).sum();
    if rows != i128::from(parquet.file_metadata().num_rows()) {
        return Err(wrong(
            "is corrupt: its row groups do not have as many rows as it".into(),
        ));
    }
    let mut own_end = is_own(parquet).then_some(MAGIC_BYTES);
    for group in groups {
        for chunk in group.columns() {
            let offset = chunk.dictionary_page_offset();
            let offset = offset.unwrap_or(chunk.data_page_offset());
            let end = offset.checked_add(chunk.compressed_size());
            let inside = offset >= 0
                && chunk.compressed_size() >= 0
                && end.is_some_and(|end| end.cast_unsigned() <= file_bytes);
            let is_whole = match chunk.column_descr().max_rep_level() {
                0 => chunk.num_values() == group.num_rows(),
                _ => chunk.num_values() >= group.num_rows(),
            };
            if !inside || group.num_rows() < 0 || !is_whole {
                return Err(wrong(format!(
                    "is corrupt: its column {} at offset {offset} is not in the file, or not whole",
                    chunk.column_path()
                )));
            }
            if let Some(end) = &mut own_end {
                let (start, bytes) = chunk.byte_range();
                let packed = matches!(chunk.compression(), Compression::ZSTD(_));
                if start != *end || !packed {
                    return Err(wrong(format!(
                        "is corrupt: its column {} at offset {start} is not where, or not packed as, it was \
                         written",
                        chunk.column_path()
                    )));
                }
                *end = start + bytes;
            }
        }
    }
    Ok(())
}

/// Checks that the columns of a file of another writer are those of a trace; says what is wrong
/// with them.
fn check_foreign(names: &[String]) -> std::result::Result<(), String> {
    let there_are = [&COLUMNS[..], &[DEPENDS, ZEROS]].concat();
    let known: Vec<_> = names.iter().map(|name| text::column(name)).collect();
    if !known.iter().any(|name| name == "address") {
        return Err("is a Parquet file without a column `address`".into());
    }
    for (index, (name, meant)) in names.iter().zip(&known).enumerate() {
        if !there_are.contains(&&**meant) {
            return Err(format!(
                "has a column {} that is not known; there are {}, and op and is_write for write",
                text::quote(name.as_bytes()),
                there_are.join(", ")
            ));
        }
        if known[..index].contains(meant) {
            return Err(format!("has two columns for `{meant}`"));
        }
    }
    Ok(())
}

/// Returns the value of a key, if the file has it.
fn value(parquet: &ParquetMetaData, wanted: &str) -> Option<String> {
    let found = key_values(parquet).find(|(key, _)| key == wanted);
    found.map(|(_, value)| value)
}

/// Returns the events of a kind that the file tells of.
fn events<E: Event>(path: &Path, parquet: &ParquetMetaData) -> Result<Vec<E>> {
    let (text, sum) = (value(parquet, E::KEY), value(parquet, E::CHECKSUM_KEY));
    if text.is_none() && sum.is_none() {
        return Ok(Vec::new());
    }
    let rows = u64::try_from(parquet.file_metadata().num_rows()).unwrap_or(0);
    let all = table::parse(&text.unwrap_or_default(), &sum.unwrap_or_default(), rows);
    all.ok_or_else(|| not_as_written(path, E::KEY))
}

/// Returns what the file says was allocated, if it says.
fn allocations_of(path: &Path, parquet: &ParquetMetaData) -> Result<Option<Allocations>> {
    let keys = [
        allocations::OBJECTS_KEY,
        allocations::SITES_KEY,
        allocations::CHECKSUM_KEY,
    ];
    let values = keys.map(|key| value(parquet, key));
    if values.iter().all(Option::is_none) {
        return Ok(None);
    }
    let [objects, sites, sum] = values.map(Option::unwrap_or_default);
    let all = allocations::parse(&objects, &sites, &sum);
    let all = all.ok_or_else(|| not_as_written(path, allocations::OBJECTS_KEY));
    all.map(Some)
}

fn not_as_written(path: &Path, key: &str) -> Error {
    Error::failure(format!(
        "the trace `{}` is corrupt: its metadata `{key}` is not what was written",
        path.display(),
    ))
}

fn meta(
    parquet: &ParquetMetaData,
    digest: Option<Digest>,
    allocations: Option<Allocations>,
) -> Meta {
    let groups = 0..parquet.num_row_groups();
    let is = |layout| {
        value(parquet, VERSION_KEY).is_some_and(|version| Layout::of(&version) == Some(layout))
    };
    let columns = parquet.file_metadata().schema_descr().columns().iter();
    let mut objects = key_values(parquet).filter(|(key, _)| key == objects::KEY);
    let objects = match objects.next() {
        Some((_, value)) if value == objects::DISK => Objects::Disk,
        Some(_) => Objects::Placed,
        None => Objects::None,
    };
    Meta {
        format: NAME.to_owned(),
        digest,
        objects,
        is_table: !is_own(parquet),
        columns: columns.map(|column| column.path().string()).collect(),
        ignored: Vec::new(),
        tally: Tally::default(),
        accesses: u64::try_from(parquet.file_metadata().num_rows()).ok(),
        counts_instructions: groups
            .filter_map(|group| chunk(parquet, group, "instruction"))
            .any(|chunk| !always_zero(chunk)),
        has_contents: is(Layout::Contents),
        tells_zeros: is(Layout::Zeros) || !is_own(parquet) && place(parquet, ZEROS).is_some(),
        allocations: allocations.map(Arc::new),
        about: key_values(parquet)
            .filter(|(key, _)| {
                !OWN_KEYS.contains(&key.as_str()) && !FOREIGN_KEYS.contains(&key.as_str())
            })
            .collect(),
    }
}

/// Returns whether the statistics say that every value is 0.
fn always_zero(chunk: &ColumnChunkMetaData) -> bool {
    match chunk.statistics() {
        Some(Statistics::Int64(values)) => values.max_opt() == Some(&0),
        Some(Statistics::Int32(values)) => values.max_opt() == Some(&0),
        _ => false,
    }
}

/// Returns whether our own writer wrote it.
fn is_own(parquet: &ParquetMetaData) -> bool {
    key_values(parquet).any(|(key, _)| key == VERSION_KEY)
}

fn key_values(parquet: &ParquetMetaData) -> impl Iterator<Item = (String, String)> {
    let pairs = parquet
        .file_metadata()
        .key_value_metadata()
        .into_iter()
        .flatten();
    pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
}
