//! Parquet files of one peer's day from RIPE RIS, as the `prefix-trie` crate's benchmarks use them
//! (<https://github.com/tiborschneider/prefix-trie>): a column `prefix` with the table, or
//! `operation` and `prefix` with the updates, in the order of time. They have no times and no next
//! hops.

use bytes::Bytes;
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use terrace_base::{Error, Result};

use super::NextHop;
use super::file::Input;
use super::statement::{Said, Statement};
use crate::Prefix;

/// Hands each row to `take`.
pub(super) fn read(mut input: Input, take: &mut dyn FnMut(Statement) -> Result<()>) -> Result<()> {
    let bytes = input.whole()?;
    let end = bytes.len() as u64;
    let file = unpanicked(|| SerializedFileReader::new(Bytes::from(bytes)));
    let file = file.map_err(|_| {
        input.corrupt(
            end,
            "no description of a Parquet file is there; it was cut short or damaged",
        )
    })?;
    let columns = Columns::of(&file, &input)?;
    for index in 0..file.num_row_groups() {
        let group = unpanicked(|| file.get_row_group(index));
        let group =
            group.map_err(|_| input.corrupt(end, &format!("row group {index} {DAMAGED}")))?;
        let operations = match columns.operation {
            Some(column) => Some(texts(&*group, column, &input)?),
            None => None,
        };
        let prefixes = texts(&*group, columns.prefix, &input)?;
        for (row, prefix) in prefixes.iter().enumerate() {
            let operation = operations.as_ref().map(|operations| &operations[row]);
            let statement = statement(operation, prefix).map_err(|what| {
                let offset = offset(group.metadata().column(columns.prefix));
                input.corrupt(offset, &format!("row {row} of the columns there: {what}"))
            })?;
            take(statement)?;
        }
    }
    Ok(())
}

/// The columns that are read, by their places in the file.
struct Columns {
    operation: Option<usize>,
    prefix: usize,
}

impl Columns {
    fn of(file: &SerializedFileReader<Bytes>, input: &Input) -> Result<Self> {
        let schema = file.metadata().file_metadata().schema_descr();
        let place = |name| {
            let mut columns = schema.columns().iter();
            columns.position(|column| column.path().string() == name)
        };
        let prefix = place("prefix").ok_or_else(|| {
            Error::failure(format!(
                "`{}` is a Parquet file without a column `prefix`",
                input.path.display()
            ))
        })?;
        Ok(Self {
            operation: place("operation"),
            prefix,
        })
    }
}

/// Reads a column of texts, one a row.
fn texts(group: &dyn RowGroupReader, column: usize, input: &Input) -> Result<Vec<ByteArray>> {
    let chunk = group.metadata().column(column);
    let name = chunk.column_path().string();
    let wrong = |what: &str| {
        let what = format!("the column {name} there: {what}");
        input.corrupt(offset(chunk), &what)
    };
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let descriptor = chunk.column_descr();
    if descriptor.max_rep_level() > 0 || descriptor.max_def_level() > 1 {
        return Err(wrong("it is nested, and not one value a row"));
    }
    let mut levels = (descriptor.max_def_level() > 0).then(Vec::new);
    let mut values = Vec::new();
    let read = unpanicked(|| {
        let ColumnReader::ByteArrayColumnReader(mut reader) = group.get_column_reader(column)?
        else {
            return Ok(None);
        };
        reader
            .read_records(rows, levels.as_mut(), None, &mut values)
            .map(Some)
    });
    match read {
        Ok(Some((read, present, _))) if read == rows && present == rows => Ok(values),
        Ok(Some(_)) => Err(wrong("a value is missing")),
        Ok(None) => Err(wrong("it is not a column of texts")),
        Err(_) => Err(wrong(&format!("it {DAMAGED}"))),
    }
}

/// Returns where a column begins; 0 if it says that it begins before the file, on which
/// `byte_range` panics.
fn offset(chunk: &ColumnChunkMetaData) -> u64 {
    let begin = chunk
        .dictionary_page_offset()
        .unwrap_or(chunk.data_page_offset());
    u64::try_from(begin).unwrap_or(0)
}

const DAMAGED: &str = "is damaged";

/// Reads a row.
fn statement(
    operation: Option<&ByteArray>,
    prefix: &ByteArray,
) -> std::result::Result<Statement, String> {
    let prefix = str::from_utf8(prefix.data()).map_err(|_| "the prefix is not UTF-8")?;
    let prefix: Prefix = prefix.parse().map_err(|e: Error| e.to_string())?;
    let said = match operation.map(ByteArray::data) {
        None | Some(b"A") => Said::Announced(prefix, NextHop::Unknown),
        Some(b"W") => Said::Withdrawn(prefix),
        Some(_) => return Err("the operation is neither A nor W".into()),
    };
    Ok(Statement {
        peer: None,
        at: None,
        of_table: operation.is_none(),
        said,
    })
}

/// Makes a panic an error: on some damaged pages the parquet crate panics, and its state is not
/// used after that.
fn unpanicked<T>(
    parquet: impl FnOnce() -> std::result::Result<T, ParquetError>,
) -> std::result::Result<T, ParquetError> {
    let done = terrace_base::unpanicked(parquet);
    done.unwrap_or_else(|| Err(ParquetError::General(DAMAGED.to_owned())))
}
