//! The table as a Parquet file.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use terrace_base::Error;

use super::{COLUMNS, Column, Get, Row, Values, signed};

/// The schema of the table, in the file's metadata; the number grows with every change that
/// breaks readers.
const SCHEMA: (&str, &str) = ("terrace.schema", "terrace.sweep/1");

/// The table as a Parquet file of one row group.
///
/// # Errors
/// A failure where it cannot be made.
pub fn parquet(rows: &[Row]) -> terrace_base::Result<Vec<u8>> {
    write(rows).map_err(|e| Error::failure(format!("cannot make the Parquet file: {e}")))
}

fn write(rows: &[Row]) -> Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type(&schema())?);
    let metadata = KeyValue::new(SCHEMA.0.to_owned(), SCHEMA.1.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![metadata]))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in COLUMNS {
        let mut writer = group
            .next_column()?
            .ok_or_else(|| ParquetError::General("a column is missing".to_owned()))?;
        column.write(rows, &mut writer)?;
        writer.close()?;
    }
    group.close()?;
    file.into_inner()
}

/// The columns as Parquet declares them.
fn schema() -> String {
    let fields = COLUMNS.iter().map(Column::field);
    format!("message sweep {{ {} }}", fields.collect::<String>())
}

impl Column {
    fn field(&self) -> String {
        let (repetition, kind, annotation) = match &self.values {
            Values::Text(get) => (get.repetition(), "binary", "(STRING)"),
            Values::Integer(get) => (get.repetition(), "int64", ""),
            Values::Unsigned(get) => (get.repetition(), "int64", "(INTEGER(64, false))"),
            Values::Float(get) => (get.repetition(), "double", ""),
            Values::Flag(get) => (get.repetition(), "boolean", ""),
        };
        format!("{repetition} {kind} {} {annotation};", self.name)
    }

    fn write(&self, rows: &[Row], into: &mut SerializedColumnWriter) -> Result<()> {
        match &self.values {
            Values::Text(get) => {
                get.write::<ByteArrayType>(rows, |text| ByteArray::from(text.into_bytes()), into)
            }
            Values::Integer(get) => get.write::<Int64Type>(rows, signed, into),
            Values::Unsigned(get) => get.write::<Int64Type>(rows, u64::cast_signed, into),
            Values::Float(get) => get.write::<DoubleType>(rows, |value| value, into),
            Values::Flag(get) => get.write::<BoolType>(rows, |value| value, into),
        }
    }
}

impl<T> Get<T> {
    fn repetition(&self) -> &'static str {
        match self {
            Self::Always(_) => "required",
            Self::Maybe(_) => "optional",
        }
    }

    /// Writes the values there are; levels say which rows have none.
    fn write<P: DataType>(
        &self,
        rows: &[Row],
        convert: impl Fn(T) -> P::T,
        into: &mut SerializedColumnWriter,
    ) -> Result<()> {
        let values: Vec<Option<T>> = rows.iter().map(|row| self.of(row)).collect();
        let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
        let levels = matches!(self, Self::Maybe(_)).then_some(&*levels);
        let values: Vec<P::T> = values.into_iter().flatten().map(convert).collect();
        into.typed::<P>().write_batch(&values, levels, None)?;
        Ok(())
    }
}
