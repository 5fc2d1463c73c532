//! Writing the native format.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use terrace_base::{Error, Output, Result, output};

use super::chunk::Packer;
use super::layout::{SCHEMA, VERSION, VERSION_KEY};
use crate::access::Block;
use crate::source::Sink;

/// Accesses in a row group: enough that its overhead does not matter, few enough that several can
/// be read at once.
const ROW_GROUP: usize = 1 << 20;

/// Writes a Parquet file, a row group at a time.
pub(super) struct Writer {
    file: SerializedFileWriter<Output>,
    packers: [Packer; 2],
    /// The accesses of the next row group.
    rows: Block,
}

impl Writer {
    pub(super) fn create(path: &Path, about: &[(String, String)]) -> Result<Self> {
        let output = Output::create(path)?;
        let schema = parse_message_type(SCHEMA).map_err(|e| failure(path, &e))?;
        let properties = Arc::new(properties(about));
        let packer = || Packer::new().map_err(|e| failure(path, &e));
        let file = SerializedFileWriter::new(output, Arc::new(schema), properties)
            .map_err(|e| failure(path, &e))?;
        Ok(Self {
            file,
            packers: [packer()?, packer()?],
            rows: Block::default(),
        })
    }

    /// Writes the collected accesses as a row group.
    fn end_group(&mut self) -> Result<()> {
        let written = self.write_group();
        written.map_err(|e| failure(self.file.inner().path(), &e))?;
        self.rows.clear();
        Ok(())
    }

    fn write_group(&mut self) -> parquet::errors::Result<()> {
        let schema = self.file.schema_descr();
        let columns: [_; 7] = std::array::from_fn(|index| schema.column(index));
        let ([packer, other], rows) = (&mut self.packers, &self.rows);
        // Half of the work each: a recording leaves a core idle as long as the writer is slower.
        let (first, second) = thread::scope(|scope| {
            let second = scope.spawn(|| {
                Ok([
                    other.u64(&columns[2], &rows.ip)?,
                    other.u32(&columns[3], &rows.process)?,
                    other.u32(&columns[4], &rows.thread)?,
                    other.u32(&columns[5], &rows.size)?,
                    other.bool(&columns[6], &rows.write)?,
                ])
            });
            let first = [
                packer.u64(&columns[0], &rows.instruction),
                packer.u64(&columns[1], &rows.address),
            ];
            (first, second.join())
        });
        let second: parquet::errors::Result<_> =
            second.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let mut group = self.file.next_row_group()?;
        for chunk in first.into_iter().chain(second?.map(Ok)) {
            let chunk = chunk?;
            group.append_column(&chunk.bytes, chunk.closed)?;
        }
        group.close().map(drop)
    }
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        let mut begin = 0;
        while begin < block.len() {
            let end = block.len().min(begin + ROW_GROUP - self.rows.len());
            append(&mut self.rows, block, begin..end);
            begin = end;
            if self.rows.len() == ROW_GROUP {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn note(&mut self, key: &str, value: &str) {
        let value = KeyValue::new(key.into(), value.to_string());
        self.file.append_key_value_metadata(value);
    }

    fn bytes(&self) -> u64 {
        self.file.bytes_written() as u64
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        if !self.rows.is_empty() {
            self.end_group()?;
        }
        let path = self.file.inner().path().to_owned();
        self.file.finish().map_err(|e| failure(&path, &e))?;
        let flushed = self.file.flush();
        flushed.map_err(|e| output::failed(&path.display().to_string(), &e))?;
        self.file.inner_mut().complete()
    }
}

/// Appends the accesses `range` of `block` to `rows`.
fn append(rows: &mut Block, block: &Block, range: Range<usize>) {
    rows.instruction.extend(&block.instruction[range.clone()]);
    rows.address.extend(&block.address[range.clone()]);
    rows.ip.extend(&block.ip[range.clone()]);
    rows.process.extend(&block.process[range.clone()]);
    rows.thread.extend(&block.thread[range.clone()]);
    rows.size.extend(&block.size[range.clone()]);
    rows.write.extend(&block.write[range]);
}

fn properties(about: &[(String, String)]) -> WriterProperties {
    let mut metadata = vec![KeyValue::new(VERSION_KEY.into(), VERSION.to_string())];
    metadata.extend(
        about
            .iter()
            .map(|(key, value)| KeyValue::new(key.clone(), value.clone())),
    );
    WriterProperties::builder()
        .set_key_value_metadata(Some(metadata))
        .build()
}

fn failure(path: &Path, error: &ParquetError) -> Error {
    let name = path.display();
    if let ParquetError::External(error) = error
        && let Some(error) = error.downcast_ref::<io::Error>()
    {
        return output::failed(&name.to_string(), error);
    }
    Error::failure(format!("cannot write the trace `{name}`: {error}"))
}
