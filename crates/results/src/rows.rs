//! Rows of results with typed columns, as CSV and Parquet of the same values.

use std::sync::Arc;

use indexmap::IndexMap;
use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use terrace_base::schema::{Field, Kind, Value, columns};
use terrace_base::{Error, Result};

/// Key of the units and meanings of columns in the metadata of Parquet files: an object of JSON
/// with `unit` and `help` for each column, each of them only where there is one.
const COLUMNS: &str = "terrace.columns";

/// A column of [`Rows`].
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Unit of its values; empty where there is none.
    pub unit: String,
    /// Meaning, without the unit.
    pub help: String,
    /// Type of its values.
    pub kind: Kind,
    /// Whether a row may have no value.
    pub optional: bool,
}

/// Results as rows.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Columns in their order.
    pub columns: Vec<Column>,
    /// Values, one a column in each row.
    pub rows: Vec<Vec<Value>>,
}

impl Rows {
    /// The columns among `fields`, with a row for each of the records.
    pub fn of<R>(fields: Vec<Field<R>>, records: &[R]) -> Self {
        let fields = columns(fields);
        let row = |record| fields.iter().map(|field| field.value(record)).collect();
        Self {
            rows: records.iter().map(row).collect(),
            columns: fields.iter().map(Column::of).collect(),
        }
    }

    /// Returns the rows as CSV with a head. Floats have the digits that identify them.
    ///
    /// # Errors
    /// A failure if there is no memory for it.
    pub fn csv(&self) -> Result<Vec<u8>> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let names = self.columns.iter().map(|column| &column.name);
        let mut written = writer.write_record(names);
        for row in &self.rows {
            let values = self.columns.iter().zip(row);
            let values = values.map(|(column, value)| column.bounded(value).to_string());
            written = written.and_then(|()| writer.write_record(values));
        }
        let written = written.map_err(|error| error.to_string());
        written
            .and_then(|()| writer.into_inner().map_err(|error| error.to_string()))
            .map_err(|error| Error::failure(format!("cannot make the CSV: {error}")))
    }

    /// Returns the rows as a Parquet file of one row group. `message` is the schema's name in the
    /// file, `metadata` its keys and values beside those of the columns.
    ///
    /// # Errors
    /// A failure if the file cannot be made.
    pub fn parquet(&self, message: &str, metadata: &[(&str, &str)]) -> Result<Vec<u8>> {
        self.write(message, metadata)
            .map_err(|e| Error::failure(format!("cannot make the Parquet file: {e}")))
    }

    fn write(
        &self,
        message: &str,
        metadata: &[(&str, &str)],
    ) -> std::result::Result<Vec<u8>, ParquetError> {
        let fields: String = self.columns.iter().map(Column::declared).collect();
        let schema = parse_message_type(&format!("message {message} {{ {fields} }}"))?;
        let legend = KeyValue::new(COLUMNS.to_owned(), self.legend());
        let metadata = metadata.iter();
        let metadata = metadata.map(|(key, v)| KeyValue::new((*key).to_owned(), (*v).to_owned()));
        let metadata = metadata.chain([legend]);
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata.collect()))
            .build();
        let mut file =
            SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
        let mut group = file.next_row_group()?;
        for (at, column) in self.columns.iter().enumerate() {
            let missing = || ParquetError::General("a column is missing".to_owned());
            let mut writer = group.next_column()?.ok_or_else(missing)?;
            let values = self.rows.iter().map(|row| column.bounded(&row[at]));
            column.write(values, &mut writer)?;
            writer.close()?;
        }
        group.close()?;
        file.into_inner()
    }

    /// Returns units and meanings of the columns as JSON.
    fn legend(&self) -> String {
        let columns = self.columns.iter().map(|column| {
            let about = [("unit", &column.unit), ("help", &column.help)];
            let about = about.into_iter().filter(|(_, text)| !text.is_empty());
            (&column.name, about.collect())
        });
        let columns: IndexMap<_, IndexMap<_, _>> = columns.collect();
        serde_json::to_string(&columns).expect("plain data serializes")
    }
}

impl Column {
    fn of<R>(field: &Field<R>) -> Self {
        Self {
            name: field.name.to_string(),
            unit: field.unit.name().to_owned(),
            help: field.help.to_owned(),
            kind: field.kind,
            optional: field.optional,
        }
    }

    /// Returns the meaning with the unit.
    pub fn described(&self) -> String {
        match &*self.unit {
            "" | "pages" => self.help.clone(),
            unit => format!("{}, in {unit}", self.help),
        }
    }

    /// Returns the value as the column can hold it.
    fn bounded(&self, value: &Value) -> Value {
        const MOST: u64 = i64::MAX.cast_unsigned();
        match (self.kind, value) {
            (Kind::Integer, Value::Integer(number)) => Value::Integer(MOST.min(*number)),
            (_, value) => value.clone(),
        }
    }

    /// Returns the column's declaration in a Parquet schema.
    fn declared(&self) -> String {
        let repetition = match self.optional {
            true => "optional",
            false => "required",
        };
        let (kind, annotation) = match self.kind {
            Kind::Text | Kind::Nested => ("binary", "(STRING)"),
            Kind::Integer => ("int64", ""),
            Kind::Unsigned => ("int64", "(INTEGER(64, false))"),
            Kind::Float => ("double", ""),
            Kind::Flag => ("boolean", ""),
        };
        format!("{repetition} {kind} {} {annotation};", self.name)
    }

    fn write(
        &self,
        values: impl Iterator<Item = Value>,
        into: &mut SerializedColumnWriter,
    ) -> std::result::Result<(), ParquetError> {
        let values: Vec<Value> = values.collect();
        let levels = values.iter().map(|value| i16::from(*value != Value::Null));
        let levels: Vec<i16> = levels.collect();
        let levels = self.optional.then_some(&*levels);
        macro_rules! batch {
            ($type:ty: $kind:ident($value:ident) => $plain:expr) => {
                batch::<$type>(&values, levels, into, |value| match value {
                    Value::$kind($value) => Some($plain),
                    _ => None,
                })
            };
        }
        match self.kind {
            Kind::Text | Kind::Nested => batch::<ByteArrayType>(&values, levels, into, |value| {
                (*value != Value::Null).then(|| ByteArray::from(value.to_string().into_bytes()))
            }),
            Kind::Integer | Kind::Unsigned => batch!(Int64Type: Integer(it) => it.cast_signed()),
            Kind::Float => batch!(DoubleType: Float(it) => *it),
            Kind::Flag => batch!(BoolType: Flag(it) => *it),
        }
    }
}

/// Writes the values that are not missing; `levels` are 1 in rows with a value.
fn batch<P: DataType>(
    values: &[Value],
    levels: Option<&[i16]>,
    into: &mut SerializedColumnWriter,
    convert: impl Fn(&Value) -> Option<P::T>,
) -> std::result::Result<(), ParquetError> {
    let values: Vec<P::T> = values.iter().filter_map(convert).collect();
    into.typed::<P>().write_batch(&values, levels, None)?;
    Ok(())
}
