//! One column of one row group, read into the vectors of a block.

use std::fs::File;
use std::mem;
use std::os::unix::fs::FileExt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use bytes::{Buf, Bytes};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

/// What is left to be read of a column of a row group.
pub(super) struct Column {
    values: ColumnReader,
    /// Tells where nulls are, for those who write columns that could have them.
    levels: Option<Vec<i16>>,
    /// 32-bit values on their way to their own type.
    narrow: Vec<i32>,
}

impl Column {
    /// Reads the bytes of the column, which are checked to lie in `file`, and looks at nothing.
    pub(super) fn open(file: &File, chunk: &ColumnChunkMetaData, rows: usize) -> Result<Self> {
        let descriptor = chunk.column_descr_ptr();
        if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
            return Err(general("it is nested, and not one value a row"));
        }
        let (start, length) = chunk.byte_range();
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, start)?;
        let chunk_bytes = Arc::new(Chunk {
            start,
            bytes: bytes.into(),
        });
        let levels = (descriptor.max_def_level() > 0).then(Vec::new);
        let pages = unpanicked(|| SerializedPageReader::new(chunk_bytes, chunk, rows, None))?;
        Ok(Self {
            values: get_column_reader(descriptor, Box::new(pages)),
            levels,
            narrow: Vec::new(),
        })
    }

    /// Replaces `into` by the next `rows` values of 64 bits.
    pub(super) fn u64(&mut self, rows: usize, into: &mut Vec<u64>) -> Result<()> {
        match &mut self.values {
            ColumnReader::Int64ColumnReader(values) => {
                // Both collects keep the allocation and cost nothing.
                let mut signed: Vec<i64> =
                    mem::take(into).into_iter().map(u64::cast_signed).collect();
                let read = exactly::<Int64Type>(values, &mut self.levels, rows, &mut signed);
                *into = signed.into_iter().map(i64::cast_unsigned).collect();
                read
            }
            ColumnReader::Int32ColumnReader(values) => {
                exactly::<Int32Type>(values, &mut self.levels, rows, &mut self.narrow)?;
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
            *into = signed.into_iter().map(i32::cast_unsigned).collect();
            return read;
        }
        self.narrowed(rows, into)
    }

    /// Replaces `into` by the next `rows` values of 16 bits.
    pub(super) fn u16(&mut self, rows: usize, into: &mut Vec<u16>) -> Result<()> {
        if let ColumnReader::Int32ColumnReader(values) = &mut self.values {
            exactly::<Int32Type>(values, &mut self.levels, rows, &mut self.narrow)?;
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

    /// Values that others wrote as 64 bits, in fewer.
    fn narrowed<T: TryFrom<u64>>(&mut self, rows: usize, into: &mut Vec<T>) -> Result<()> {
        let mut wide = Vec::new();
        self.u64(rows, &mut wide)?;
        into.clear();
        for value in wide {
            into.push(T::try_from(value).map_err(|_| general("a value is too large"))?);
        }
        Ok(())
    }

    /// Replaces `into` by the next `rows` truth values.
    pub(super) fn bool(&mut self, rows: usize, into: &mut Vec<bool>) -> Result<()> {
        match &mut self.values {
            ColumnReader::BoolColumnReader(values) => exactly(values, &mut self.levels, rows, into),
            _ => Err(general("it is not a column of truth values")),
        }
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
    let caught = panic::catch_unwind(AssertUnwindSafe(parquet));
    caught.unwrap_or_else(|_| Err(general("what it says contradicts itself")))
}

fn general(what: &str) -> ParquetError {
    ParquetError::General(what.into())
}

/// The bytes of a column of a row group, at their place in the file.
struct Chunk {
    start: u64,
    bytes: Bytes,
}

impl Chunk {
    /// Where offset `at` of the file lies in `bytes`.
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
            .ok_or_else(|| general("a page ends outside of it"))?;
        Ok(self.bytes.slice(from..to))
    }
}
