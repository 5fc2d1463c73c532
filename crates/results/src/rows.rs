//! Rows of results with typed columns, as CSV, Parquet and Arrow of the same values.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
    UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Schema};
use indexmap::IndexMap;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use terrace_base::schema::{Field, Kind, Value, columns};
use terrace_base::{Error, Result};

/// Key of the units and meanings of columns in the metadata of Parquet files: an object of JSON
/// with `unit` and `help` for each column, each of them only where there is one.
const COLUMNS: &str = "terrace.columns";

/// Makes an entry of the metadata of what stands before it in a file.
pub type Seal<'a> = &'a dyn Fn(&[u8]) -> (&'static str, String);

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
        self.write(message, metadata, None).map_err(told)
    }

    /// Returns the same for one of many files: its columns are described once, and not a second
    /// time in Arrow's words. The last entry of its metadata is made of what stands before all
    /// metadata: the rows as the file has them.
    ///
    /// # Errors
    /// A failure if the file cannot be made.
    pub fn sealed(
        &self,
        message: &str,
        metadata: &[(&str, &str)],
        seal: Seal<'_>,
    ) -> Result<Vec<u8>> {
        self.write(message, metadata, Some(seal)).map_err(told)
    }

    fn write(
        &self,
        message: &str,
        metadata: &[(&str, &str)],
        seal: Option<Seal<'_>>,
    ) -> std::result::Result<Vec<u8>, ParquetError> {
        let legend = KeyValue::new(COLUMNS.to_owned(), self.legend());
        let metadata = metadata.iter();
        let metadata = metadata.map(|(key, v)| KeyValue::new((*key).to_owned(), (*v).to_owned()));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(metadata.chain([legend]).collect()))
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(seal.is_some())
            .with_schema_root(message.to_owned());
        let batch = self.batch()?;
        let mut writer = ArrowWriter::try_new_with_options(Vec::new(), batch.schema(), options)?;
        writer.write(&batch)?;
        writer.flush()?;
        writer.sync()?;
        if let Some(seal) = seal {
            let (key, value) = seal(writer.inner());
            writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        writer.into_inner()
    }

    /// Returns the rows as Arrow has them. The metadata of a column are its `unit` and its `help`,
    /// each only where there is one.
    ///
    /// # Errors
    /// Arrow's if a row lacks a value that its column demands.
    pub fn batch(&self) -> std::result::Result<RecordBatch, ArrowError> {
        let fields: Vec<_> = self.columns.iter().map(Column::field).collect();
        let arrays = self.columns.iter().enumerate();
        let arrays = arrays.map(|(at, column)| column.array(self.rows.iter().map(|row| &row[at])));
        // Without columns, too, there are as many rows.
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, arrays.collect(), &options)
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

fn told(error: ParquetError) -> Error {
    Error::failure(format!("cannot make the Parquet file: {error}"))
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

    /// Returns the column as Arrow declares it.
    fn field(&self) -> arrow_schema::Field {
        let kind = match self.kind {
            Kind::Text | Kind::Nested => DataType::Utf8,
            Kind::Integer => DataType::Int64,
            Kind::Unsigned => DataType::UInt64,
            Kind::Float => DataType::Float64,
            Kind::Flag => DataType::Boolean,
        };
        let about = [("unit", &self.unit), ("help", &self.help)];
        let about = about.into_iter().filter(|(_, text)| !text.is_empty());
        let about = about.map(|(key, text)| (key.to_owned(), text.clone()));
        arrow_schema::Field::new(&self.name, kind, self.optional)
            .with_metadata(about.collect::<HashMap<_, _>>())
    }

    /// Returns values of the column as Arrow has them.
    fn array<'v>(&self, values: impl Iterator<Item = &'v Value>) -> ArrayRef {
        let values = values.map(|value| self.bounded(value));
        macro_rules! array {
            ($array:ty: $kind:ident($value:ident) => $plain:expr) => {
                Arc::new(<$array>::from_iter(values.map(|value| match value {
                    Value::$kind($value) => Some($plain),
                    _ => None,
                })))
            };
        }
        match self.kind {
            Kind::Text | Kind::Nested => Arc::new(StringArray::from_iter(
                values.map(|value| (value != Value::Null).then(|| value.to_string())),
            )),
            Kind::Integer => array!(Int64Array: Integer(it) => it.cast_signed()),
            Kind::Unsigned => array!(UInt64Array: Integer(it) => it),
            Kind::Float => array!(Float64Array: Float(it) => it),
            Kind::Flag => array!(BooleanArray: Flag(it) => it),
        }
    }
}
