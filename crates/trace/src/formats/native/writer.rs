//! Writing the native format.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use terrace_base::{Error, Output, Result, output};

use super::allocations;
use super::chunk::{Chunk, Packer};
use super::layout::{COLUMNS, DIGEST_KEY, Layout, VERSION_KEY};
use super::table;
use crate::access::Block;
use crate::allocation::Allocations;
use crate::digest::Digest;
use crate::discard::Discard;
use crate::lost::{Loss, Lost};
use crate::order::Order;
use crate::source::Sink;

/// Accesses in a row group: enough that its overhead does not matter, few enough that several can
/// be read at once.
const ROW_GROUP: usize = 1 << 20;
/// Words of changes at which a row group ends, too.
const WORDS: usize = 1 << 22;

/// Writes a Parquet file, a row group at a time.
pub(super) struct Writer {
    path: PathBuf,
    file: Stage,
    /// What the file says of the trace.
    about: Vec<(String, String)>,
    packers: [Packer; 2],
    /// The accesses of the next row group.
    rows: Block,
    /// Accesses that were written to the file before them.
    before: u64,
    discards: table::Writer<Discard>,
    orders: table::Writer<Order>,
    lost: Lost,
    /// The digests of all columns that were written, in their order.
    digests: Vec<Digest>,
}

/// The file, whose columns are known with the first accesses.
enum Stage {
    Empty(Output),
    Begun {
        file: SerializedFileWriter<Output>,
        layout: Layout,
    },
    /// It could not be begun.
    Failed,
}

impl Writer {
    /// Begins a trace, which is packed at this level of zstd.
    pub(super) fn create(path: &Path, about: &[(String, String)], level: i32) -> Result<Self> {
        let packer = || Packer::new(level).map_err(|e| failure(path, &e));
        Ok(Self {
            path: path.to_owned(),
            file: Stage::Empty(Output::create(path)?),
            about: about.to_vec(),
            packers: [packer()?, packer()?],
            rows: Block::default(),
            before: 0,
            discards: table::Writer::default(),
            orders: table::Writer::default(),
            lost: Lost::default(),
            digests: Vec::new(),
        })
    }

    /// Begins the file with this layout, unless it is begun. Returns the layout that it has.
    fn begin(&mut self, layout: Layout) -> Result<Layout> {
        let output = match std::mem::replace(&mut self.file, Stage::Failed) {
            Stage::Empty(output) => output,
            Stage::Begun { file, layout } => {
                self.file = Stage::Begun { file, layout };
                return Ok(layout);
            }
            Stage::Failed => return Err(self.unbegun()),
        };
        let properties = Arc::new(properties(layout.version(), &self.about));
        let schema = parse_message_type(&layout.schema());
        let file = schema
            .and_then(|schema| SerializedFileWriter::new(output, Arc::new(schema), properties))
            .map_err(|e| failure(&self.path, &e))?;
        self.file = Stage::Begun { file, layout };
        Ok(layout)
    }

    fn unbegun(&self) -> Error {
        Error::failure(format!(
            "the trace `{}` could not be begun",
            self.path.display()
        ))
    }

    /// Writes the collected accesses as a row group.
    fn end_group(&mut self) -> Result<()> {
        let Stage::Begun { file, layout } = &mut self.file else {
            return Err(self.unbegun());
        };
        let written = write_group(file, *layout, &mut self.packers, &self.rows);
        self.digests
            .extend(written.map_err(|e| failure(&self.path, &e))?);
        self.before += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}

/// Writes a row group; returns the digests of its columns.
fn write_group(
    file: &mut SerializedFileWriter<Output>,
    layout: Layout,
    [packer, other]: &mut [Packer; 2],
    rows: &Block,
) -> parquet::errors::Result<Vec<Digest>> {
    let schema = file.schema_descr();
    let columns: Vec<_> = (0..schema.num_columns())
        .map(|index| schema.column(index))
        .collect();
    let (columns, more) = columns.split_at(COLUMNS.len());
    // Half of the work each: a recording leaves a core idle as long as the writer is slower.
    let (first, second) = thread::scope(|scope| {
        let second = scope.spawn(|| {
            let mut chunks = vec![
                other.u64(&columns[2], &rows.ip)?,
                other.u32(&columns[3], &rows.process)?,
                other.u32(&columns[4], &rows.thread)?,
                other.u32(&columns[5], &rows.size)?,
                other.bool(&columns[6], &rows.write)?,
            ];
            match layout {
                Layout::Plain => {}
                Layout::Contents => {
                    chunks.push(other.u32(&more[0], &rows.changes.versions)?);
                    chunks.push(other.u64_plain(&more[1], &rows.changes.checksums)?);
                }
                Layout::Depends => chunks.push(other.u32(&more[0], &rows.depends)?),
                Layout::Zeros => chunks.push(other.bool(&more[0], &rows.zeros)?),
            }
            Ok(chunks)
        });
        let mut first = || -> parquet::errors::Result<Vec<Chunk>> {
            let mut chunks = vec![
                packer.u64(&columns[0], &rows.instruction)?,
                packer.u64(&columns[1], &rows.address)?,
            ];
            if layout == Layout::Contents {
                chunks.push(packer.word_indexes(&more[2], &rows.changes)?);
                chunks.push(packer.word_values(&more[3], &rows.changes)?);
            }
            Ok(chunks)
        };
        (first(), second.join())
    });
    let mut chunks: Vec<_> = first?;
    let second: parquet::errors::Result<_> =
        second.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    // Behind the first two; the lists come last.
    chunks.splice(2..2, second?);
    let digests = chunks.iter().map(|chunk| chunk.digest).collect();
    let mut group = file.next_row_group()?;
    for chunk in chunks {
        group.append_column(&chunk.bytes, chunk.closed)?;
    }
    group.close()?;
    Ok(digests)
}

impl Sink for Writer {
    fn write(&mut self, block: &Block) -> Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let layout = self.begin(Layout::of_block(block))?;
        self.lost.note(block, layout.unkept());
        let first = self.before + self.rows.len() as u64;
        for discard in &block.discards {
            self.discards.push(first + discard.row, discard);
        }
        for order in &block.orders {
            self.orders.push(first + order.row, order);
        }
        let mut begin = 0;
        while begin < block.len() {
            let end = block.len().min(begin + ROW_GROUP - self.rows.len());
            append(&mut self.rows, block, begin..end);
            match layout {
                Layout::Plain => {}
                Layout::Contents => self.rows.changes.extend(&block.changes, begin..end),
                Layout::Depends => append_or_fill(
                    &mut self.rows.depends,
                    &block.depends,
                    begin..end,
                    self.rows.address.len(),
                ),
                Layout::Zeros => append_or_fill(
                    &mut self.rows.zeros,
                    &block.zeros,
                    begin..end,
                    self.rows.address.len(),
                ),
            }
            begin = end;
            if self.rows.len() == ROW_GROUP || self.rows.changes.words.len() >= WORDS {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn note(&mut self, key: &str, value: &str) {
        match &mut self.file {
            Stage::Begun { file, .. } => {
                let value = KeyValue::new(key.into(), value.to_string());
                file.append_key_value_metadata(value);
            }
            _ => self.about.push((key.to_owned(), value.to_owned())),
        }
    }

    fn keeps_contents(&self) -> bool {
        true
    }

    fn keeps_dependences(&self) -> bool {
        true
    }

    fn keeps_allocations(&self) -> bool {
        true
    }

    fn allocations(&mut self, allocations: Allocations) {
        for (key, value) in allocations::metadata(&allocations) {
            self.note(key, &value);
        }
    }

    fn lost(&self) -> Vec<Loss> {
        self.lost.losses()
    }

    fn bytes(&self) -> u64 {
        match &self.file {
            Stage::Begun { file, .. } => file.bytes_written() as u64,
            _ => 0,
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.begin(Layout::Plain)?;
        if !self.rows.is_empty() {
            self.end_group()?;
        }
        let discards = std::mem::take(&mut self.discards).metadata();
        let orders = std::mem::take(&mut self.orders).metadata();
        for (key, value) in discards.into_iter().chain(orders).flatten() {
            self.note(key, &value);
        }
        let digest = Digest::of_all(&self.digests);
        self.note(DIGEST_KEY, &digest.to_string());
        let Stage::Begun { file, .. } = &mut self.file else {
            return Err(self.unbegun());
        };
        file.finish().map_err(|e| failure(&self.path, &e))?;
        let flushed = file.flush();
        flushed.map_err(|e| output::failed(&self.path.display().to_string(), &e))?;
        file.inner_mut().complete()
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

/// Appends what a column of a block, which may be empty, says of the accesses `range`, and fills it
/// up to `len`.
fn append_or_fill<T: Copy + Default>(to: &mut Vec<T>, from: &[T], range: Range<usize>, len: usize) {
    to.extend_from_slice(from.get(range).unwrap_or_default());
    to.resize(len, T::default());
}

fn properties(version: &str, about: &[(String, String)]) -> WriterProperties {
    let mut metadata = vec![KeyValue::new(VERSION_KEY.into(), version.to_owned())];
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
