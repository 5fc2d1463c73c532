//! One column of one row group, read into the vectors of a block.

use std::mem;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::basic::{ConvertedType, EncodingMask};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::ColumnDescriptor;

use crate::text;

/// The unread part of a column of a row group.
pub(super) struct Column {
    values: ColumnReader,
    /// Definition levels, which mark nulls in files of other writers.
    levels: Option<Vec<i16>>,
    /// Whether its integers have a sign: such a file of other writers may hold values below 0.
    signed: bool,
    /// 32-bit values on their way to their own type.
    narrow: Vec<i32>,
}

impl Column {
    /// Takes the bytes of the column, and looks at nothing. The pages of a file of our `own` are in
    /// the encodings that its description names.
    pub(super) fn open(
        bytes: Vec<u8>,
        chunk: &ColumnChunkMetaData,
        rows: usize,
        own: bool,
    ) -> Result<Self> {
        let descriptor = chunk.column_descr_ptr();
        if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
            return Err(general("it is nested, and not one value a row"));
        }
        let levels = (descriptor.max_def_level() > 0).then(Vec::new);
        Ok(Self {
            values: values(bytes, chunk, rows, own)?,
            levels,
            signed: !own && is_signed(&descriptor),
            narrow: Vec::new(),
        })
    }

    /// The same of a column with a list a row.
    pub(super) fn of_lists(
        bytes: Vec<u8>,
        chunk: &ColumnChunkMetaData,
        rows: usize,
        own: bool,
    ) -> Result<ColumnReader> {
        let descriptor = chunk.column_descr();
        if (descriptor.max_rep_level(), descriptor.max_def_level()) != (1, 1) {
            return Err(general("it is not a list a row"));
        }
        values(bytes, chunk, rows, own)
    }

    /// Replaces `into` by the next `rows` values of 64 bits.
    pub(super) fn u64(&mut self, rows: usize, into: &mut Vec<u64>) -> Result<()> {
        match &mut self.values {
            ColumnReader::Int64ColumnReader(values) => {
                // Both collects keep the allocation and cost nothing.
                let mut signed: Vec<i64> =
                    mem::take(into).into_iter().map(u64::cast_signed).collect();
                let read = exactly::<Int64Type>(values, &mut self.levels, rows, &mut signed);
                let negative = self.signed && signed.iter().any(|value| *value < 0);
                *into = signed.into_iter().map(i64::cast_unsigned).collect();
                read.and_then(|()| expect_none(negative))
            }
            ColumnReader::Int32ColumnReader(values) => {
                exactly::<Int32Type>(values, &mut self.levels, rows, &mut self.narrow)?;
                expect_none(self.signed && self.narrow.iter().any(|value| *value < 0))?;
                into.clear();
                into.extend(self.narrow.iter().map(|v| u64::from(v.cast_unsigned())));
                Ok(())
            }
            _ => Err(general("it is not a column of integers")),
        }
    }

    /// Replaces `into` by the next `rows` values of 32 bits.
    pub(super) fn u32(&mut self, rows: usize, into: &mut Vec<u32>) -> Result<()> {
        if let ColumnReader::Int32ColumnReader(values) = &mut self.values {
            let mut signed: Vec<i32> = mem::take(into).into_iter().map(u32::cast_signed).collect();
            let read = exactly::<Int32Type>(values, &mut self.levels, rows, &mut signed);
            let negative = self.signed && signed.iter().any(|value| *value < 0);
            *into = signed.into_iter().map(i32::cast_unsigned).collect();
            return read.and_then(|()| expect_none(negative));
        }
        self.narrowed(rows, into)
    }

    /// Replaces `into` by the next `rows` values of 16 bits.
    pub(super) fn u16(&mut self, rows: usize, into: &mut Vec<u16>) -> Result<()> {
        if let ColumnReader::Int32ColumnReader(values) = &mut self.values {
            exactly::<Int32Type>(values, &mut self.levels, rows, &mut self.narrow)?;
            expect_none(self.signed && self.narrow.iter().any(|value| *value < 0))?;
            let bits = self.narrow.iter().fold(0, |bits, value| bits | value);
            if bits & !0xffff != 0 {
                return Err(general("a value is larger than 65535"));
            }
            into.clear();
            into.extend(self.narrow.iter().map(|value| *value as u16));
            return Ok(());
        }
        self.narrowed(rows, into)
    }

    /// Replaces `into` by the next `rows` values of 8 bits.
    pub(super) fn u8(&mut self, rows: usize, into: &mut Vec<u8>) -> Result<()> {
        self.narrowed(rows, into)
    }

    /// Narrows values that other writers stored as 64 bits.
    fn narrowed<T: TryFrom<u64>>(&mut self, rows: usize, into: &mut Vec<T>) -> Result<()> {
        let mut wide = Vec::new();
        self.u64(rows, &mut wide)?;
        into.clear();
        for value in wide {
            into.push(T::try_from(value).map_err(|_| general("a value is too large"))?);
        }
        Ok(())
    }

    /// Replaces `into` by the next `rows` truth values: also numbers 0 and 1, and texts such as `r`
    /// and `w`, as other writers have them.
    pub(super) fn bool(&mut self, rows: usize, into: &mut Vec<bool>) -> Result<()> {
        let no_truth = || general("it is not a column of truth values");
        match &mut self.values {
            ColumnReader::BoolColumnReader(values) => exactly(values, &mut self.levels, rows, into),
            ColumnReader::ByteArrayColumnReader(values) => {
                let mut texts = Vec::new();
                exactly::<ByteArrayType>(values, &mut self.levels, rows, &mut texts)?;
                into.clear();
                for value in &texts {
                    into.push(text::writes(value.data()).ok_or_else(no_truth)?);
                }
                Ok(())
            }
            _ => {
                let mut numbers = Vec::new();
                self.u64(rows, &mut numbers).map_err(|_| no_truth())?;
                if numbers.iter().any(|number| *number > 1) {
                    return Err(no_truth());
                }
                into.clear();
                into.extend(numbers.iter().map(|number| *number == 1));
                Ok(())
            }
        }
    }
}

/// Whether integers of a column have a sign, as they have unless the file says otherwise.
fn is_signed(descriptor: &ColumnDescriptor) -> bool {
    let unsigned = [
        ConvertedType::UINT_8,
        ConvertedType::UINT_16,
        ConvertedType::UINT_32,
        ConvertedType::UINT_64,
    ];
    !unsigned.contains(&descriptor.converted_type())
}

/// Checks that no value is below 0.
fn expect_none(negative: bool) -> Result<()> {
    match negative {
        true => Err(general("a value is negative")),
        false => Ok(()),
    }
}

/// Returns a reader of the pages of a column.
fn values(
    bytes: Vec<u8>,
    chunk: &ColumnChunkMetaData,
    rows: usize,
    own: bool,
) -> Result<ColumnReader> {
    let chunk_bytes = Arc::new(Chunk {
        start: chunk.byte_range().0,
        bytes: bytes.into(),
    });
    let pages = unpanicked(|| SerializedPageReader::new(chunk_bytes, chunk, rows, None))?;
    let pages: Box<dyn PageReader> = match own {
        true => Box::new(Declared {
            pages,
            encodings: *chunk.encodings_mask(),
        }),
        false => Box::new(pages),
    };
    Ok(get_column_reader(chunk.column_descr_ptr(), pages))
}

/// The pages of a column, each in an encoding that the file's description names: no checksum covers
/// what a page says of itself.
struct Declared {
    pages: SerializedPageReader<Chunk>,
    encodings: EncodingMask,
}

impl Iterator for Declared {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Declared {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match &page {
            Some(page) if page.is_data_page() && !self.encodings.is_set(page.encoding()) => {
                Err(general("a page is encoded otherwise than the column"))
            }
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

/// Replaces `into` by exactly `rows` values.
fn exactly<T: DataType>(
    values: &mut ColumnReaderImpl<T>,
    levels: &mut Option<Vec<i16>>,
    rows: usize,
    into: &mut Vec<T::T>,
) -> Result<()> {
    into.clear();
    if let Some(levels) = levels {
        levels.clear();
    }
    let (read, present, _) = unpanicked(|| values.read_records(rows, levels.as_mut(), None, into))?;
    if present < read {
        return Err(general("a value is missing (null)"));
    }
    if read < rows || into.len() != rows {
        return Err(general("it ends too early"));
    }
    Ok(())
}

/// Makes a panic an error: on some damaged pages the parquet crate panics, and its state is not
/// used after that.
pub(super) fn unpanicked<T>(parquet: impl FnOnce() -> Result<T>) -> Result<T> {
    let done = terrace_base::unpanicked(parquet);
    done.unwrap_or_else(|| Err(general("what it says contradicts itself")))
}

/// Returns what is wrong, in our own words.
const OWN: [&str; 14] = [
    "a value is negative",
    "a page is encoded otherwise than the column",
    "it is nested, and not one value a row",
    "it is not a list a row",
    "its lists are not as long as those of the other column",
    "a word lies outside of its page",
    "it is not a column of integers",
    "a value is larger than 65535",
    "a value is too large",
    "it is not a column of truth values",
    "a value is missing (null)",
    "it ends too early",
    "what it says contradicts itself",
    "a page lies outside of it",
];

pub(super) fn general(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// Returns the message of an error for users: messages of the parquet crate about damaged bytes
/// name its internals.
pub(super) fn reason(error: &ParquetError) -> String {
    match error {
        ParquetError::General(what) if OWN.contains(&&**what) => what.clone(),
        ParquetError::NYI(_) => "it is encoded or packed in a way that is not read".to_owned(),
        ParquetError::EOF(_) | ParquetError::NeedMoreData(_) => "it ends too early".to_owned(),
        _ => "its bytes are damaged".to_owned(),
    }
}

/// The bytes of a column of a row group, addressed by offsets in the file.
struct Chunk {
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    /// Returns the place in `bytes` of offset `at` of the file.
    fn index(&self, at: u64) -> Result<usize> {
        at.checked_sub(self.start)
            .and_then(|index| usize::try_from(index).ok())
            .filter(|index| *index <= self.bytes.len())
            .ok_or_else(|| general("a page lies outside of it"))
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = bytes::buf::Reader<Bytes>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(self.bytes.slice(self.index(start)?..).reader())
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let from = self.index(start)?;
        let to = from
            .checked_add(length)
            .filter(|to| *to <= self.bytes.len())
            .ok_or_else(|| general("a page lies outside of it"))?;
        Ok(self.bytes.slice(from..to))
    }
}
