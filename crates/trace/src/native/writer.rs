//! Writing the native format.

use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{BoolType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;
use terrace_base::{Error, Result};

use super::{SCHEMA, VERSION, VERSION_KEY};
use crate::access::Block;
use crate::output::Output;
use crate::source::Sink;

/// Accesses in a row group: many enough that what it costs apiece is nothing, few enough that
/// a reader needs only some 10 MB for one.
const ROW_GROUP: usize = 1 << 20;
/// Bytes in a page.
const PAGE: usize = 1 << 20;

/// Writes a Parquet file, a row group at a time.
pub(crate) struct Writer {
    file: SerializedFileWriter<Output>,
    rows: Rows,
}

/// The accesses of the next row group, as Parquet types them.
#[derive(Default)]
struct Rows {
    instruction: Vec<i64>,
    address: Vec<i64>,
    ip: Vec<i64>,
    process: Vec<i32>,
    thread: Vec<i32>,
    size: Vec<i32>,
    write: Vec<bool>,
}

impl Writer {
    pub(crate) fn create(path: &Path, about: &[(String, String)]) -> Result<Self> {
        let output = Output::create(path)?;
        let schema = parse_message_type(SCHEMA).map_err(|e| failure(path, &e))?;
        let properties = Arc::new(properties(about));
        let file = SerializedFileWriter::new(output, Arc::new(schema), properties)
            .map_err(|e| failure(path, &e))?;
        Ok(Self {
            file,
            rows: Rows::default(),
        })
    }

    fn write_rows(&mut self) -> Result<()> {
        let written = self
            .file
            .next_row_group()
            .and_then(|group| self.rows.write(group));
        written.map_err(|e| failure(self.file.inner().path(), &e))?;
        self.rows.clear();
        Ok(())
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        let mut from = 0;
        while from < block.len() {
            let to = block.len().min(from + ROW_GROUP - self.rows.len());
            self.rows.append(block, from..to);
            from = to;
            if self.rows.len() == ROW_GROUP {
                self.write_rows()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if self.rows.len() > 0 {
            self.write_rows()?;
        }
        let path = self.file.inner().path().to_owned();
        let output = self.file.into_inner();
        output.map_err(|e| failure(&path, &e))?.complete()
    }
}

impl Rows {
    fn len(&self) -> usize {
        self.address.len()
    }

    /// Appends the accesses `range` of `block`.
    fn append(&mut self, block: &Block, range: std::ops::Range<usize>) {
        let long = |to: &mut Vec<i64>, from: &[u64]| {
            to.extend(from[range.clone()].iter().map(|value| value.cast_signed()));
        };
        long(&mut self.instruction, &block.instruction);
        long(&mut self.address, &block.address);
        long(&mut self.ip, &block.ip);
        let short = |to: &mut Vec<i32>, from: &[u16]| {
            to.extend(from[range.clone()].iter().map(|value| i32::from(*value)));
        };
        short(&mut self.process, &block.process);
        short(&mut self.thread, &block.thread);
        let sizes = &block.size[range.clone()];
        self.size
            .extend(sizes.iter().map(|size| size.cast_signed()));
        self.write.extend_from_slice(&block.write[range]);
    }

    fn clear(&mut self) {
        self.instruction.clear();
        self.address.clear();
        self.ip.clear();
        self.process.clear();
        self.thread.clear();
        self.size.clear();
        self.write.clear();
    }

    /// Writes them as `group`, the columns in the order of the schema.
    fn write(
        &self,
        mut group: SerializedRowGroupWriter<'_, Output>,
    ) -> parquet::errors::Result<()> {
        column::<Int64Type>(&mut group, &self.instruction)?;
        column::<Int64Type>(&mut group, &self.address)?;
        column::<Int64Type>(&mut group, &self.ip)?;
        column::<Int32Type>(&mut group, &self.process)?;
        column::<Int32Type>(&mut group, &self.thread)?;
        column::<Int32Type>(&mut group, &self.size)?;
        column::<BoolType>(&mut group, &self.write)?;
        group.close().map(drop)
    }
}

/// Writes `values` as the next column of `group`.
fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Output>,
    values: &[T::T],
) -> parquet::errors::Result<()> {
    let Some(mut column) = group.next_column()? else {
        return Err(ParquetError::General("a column too many".into()));
    };
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

fn properties(about: &[(String, String)]) -> WriterProperties {
    let mut metadata = vec![KeyValue::new(VERSION_KEY.into(), VERSION.to_string())];
    metadata.extend(
        about
            .iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone())),
    );
    let delta = |builder: parquet::file::properties::WriterPropertiesBuilder, name: &str| {
        builder
            .set_column_dictionary_enabled(ColumnPath::from(name), false)
            .set_column_encoding(ColumnPath::from(name), Encoding::DELTA_BINARY_PACKED)
    };
    let builder = WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_data_page_size_limit(PAGE)
        .set_data_page_row_count_limit(ROW_GROUP)
        .set_key_value_metadata(Some(metadata));
    ["instruction", "address", "ip"]
        .into_iter()
        .fold(builder, delta)
        .build()
}

fn failure(path: &Path, error: &ParquetError) -> Error {
    Error::failure(format!(
        "cannot write the trace `{}`: {error}",
        path.display()
    ))
}
