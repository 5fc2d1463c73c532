//! Passes of sweeps as Parquet files in a folder, which any number of sweeps share, from any host.
//!
//! A file is named by the keys of its workload and of its pass. Its rows are those of the table of
//! a sweep, for any program that reads Parquet. A later sweep needs more than what is in them, with
//! every figure as it was: that is in the metadata as text of base 64, in postcard's format, which
//! unlike JSON has infinities. A digest of the rows and of this tells what is damaged.

use std::collections::HashSet;
use std::fmt;
use std::path::Path;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::file::metadata::KeyValue;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::SchemaRef;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use terrace_base::{Error, Result, unpanicked};
use terrace_sim::sweep::{Archive, Kept, Pass, version};
use terrace_trace::Digest;
use terrace_trace::store::Folder;

use super::parquet::SCHEMA;
use super::{Row, table};

/// Ending of the names.
const ENDING: &str = ".parquet";
/// Files that are read at once.
const AT_ONCE: usize = 256;

/// Keys of the metadata: the versions of simulator and package, what later sweeps need, and the
/// length of the rows in bytes with the digest of all.
const VERSION: &str = "terrace.version";
const KEPT: &str = "terrace.pass";
const DIGEST: &str = "terrace.digest";

/// A folder of passes.
#[derive(Debug)]
pub struct Passes(Folder);

/// The rows of all passes of a folder.
#[derive(Debug)]
pub struct Collected {
    /// The rows, those of a trace together; a machine is there once for each trace.
    pub batches: Vec<RecordBatch>,
    /// The columns.
    pub schema: SchemaRef,
    /// Files that are not used: they are damaged or of another version.
    pub skipped: usize,
}

impl Passes {
    /// Finds the folder of a path, or of a URI in a store. A directory need not be there.
    ///
    /// # Errors
    /// A usage error if it is a file, or a URI that names no folder; a failure if the settings of
    /// its store are wrong.
    pub fn of(name: &Path) -> Result<Self> {
        Folder::of(name).map(Self)
    }

    /// Reads the rows of all passes.
    ///
    /// # Errors
    /// A failure where something cannot be read, or there is no pass.
    pub fn collect(&self) -> Result<Collected> {
        let names = self.0.names("", ENDING)?;
        if names.is_empty() {
            return Err(Error::failure(format!(
                "there are no results of sweeps in `{self}`"
            )));
        }
        let schema = table(&[]).batch().expect("no row lacks a value").schema();
        let (mut parts, mut known, mut skipped) = (Vec::new(), HashSet::new(), 0);
        self.files(names, |bytes| match decode(bytes, Some(&schema)) {
            Some(file) => parts.extend(file.parts(&mut known)),
            None => skipped += 1,
        })?;
        parts.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Collected {
            batches: parts.into_iter().map(|(_, batch)| batch).collect(),
            schema,
            skipped,
        })
    }

    /// Reads files in the order of their names; those that somebody removes meanwhile are left out.
    fn files(&self, names: Vec<String>, mut each: impl FnMut(Vec<u8>)) -> Result<()> {
        for names in names.chunks(AT_ONCE) {
            let mut read = self.0.read(names.to_vec())?;
            names
                .iter()
                .filter_map(|name| read.remove(name))
                .for_each(&mut each);
        }
        Ok(())
    }
}

impl fmt::Display for Passes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Archive for Passes {
    fn read(&self, workloads: &HashSet<Digest>) -> Result<(Vec<Kept>, usize)> {
        let begins: HashSet<_> = workloads.iter().map(short).collect();
        // A worker has a single trace, and the folder may have the passes of many.
        let only = begins.iter().next().filter(|_| begins.len() == 1);
        let mut names = self.0.names(only.map_or("", String::as_str), ENDING)?;
        names.retain(|name| {
            name.split_once('-')
                .is_some_and(|(begin, _)| begins.contains(begin))
        });
        let (mut passes, mut skipped) = (Vec::new(), 0);
        self.files(names, |bytes| match decode(bytes, None) {
            Some(file) if workloads.contains(&file.kept.workload) => passes.push(file.kept),
            Some(_) => {}
            None => skipped += 1,
        })?;
        Ok((passes, skipped))
    }

    fn add(&self, pass: &Pass) -> Result<()> {
        let (workload, key) = (short(&pass.workload), short(&pass.key()));
        self.0
            .write(&format!("{workload}-{key}{ENDING}"), encode(pass)?)
    }
}

/// A file of a pass.
struct PassFile {
    kept: Kept,
    /// The rows, unless nobody asked for them.
    rows: Option<RecordBatch>,
}

impl PassFile {
    /// Returns the rows of machines that are not known yet, with the trace's name.
    fn parts(self, known: &mut HashSet<(Digest, Digest)>) -> Vec<(String, RecordBatch)> {
        let Some(rows) = self.rows.filter(|rows| rows.num_rows() > 0) else {
            return Vec::new();
        };
        let traces = rows.column(0).as_string::<i32>();
        let trace = traces.value(0).to_owned();
        let (mut parts, mut at) = (Vec::new(), 0);
        let mut begin = None;
        for (machine, rows_of_it) in self
            .kept
            .machines
            .iter()
            .map(|(key, outcome)| (key, outcome.rows()))
        {
            if known.insert((self.kept.workload, *machine)) {
                begin.get_or_insert(at);
            } else if let Some(begin) = begin.take() {
                parts.push((begin, at));
            }
            at += rows_of_it;
        }
        parts.extend(begin.map(|begin| (begin, at)));
        let parts = parts.into_iter();
        let part = |(begin, end)| (trace.clone(), rows.slice(begin, end - begin));
        parts.map(part).collect()
    }
}

/// Returns the beginning of a key, which is enough to tell it from others.
fn short(key: &Digest) -> String {
    key.to_string()[..32].to_owned()
}

fn encode(pass: &Pass) -> Result<Vec<u8>> {
    let rows = pass.machines.iter().map(|(_, simulated)| Row {
        trace: pass.trace.clone(),
        simulated: simulated.clone(),
    });
    let table = table(&rows.collect::<Vec<_>>());
    let kept = postcard::to_stdvec(&pass.kept()).expect("plain data serializes");
    let kept = BASE64_STANDARD.encode(kept);
    let version = version();
    let metadata = [SCHEMA, (VERSION, &version), (KEPT, &kept)];
    table.sealed("sweep", &metadata, &|rows| (DIGEST, digest(rows, &kept)))
}

/// Returns the length of the rows, and the digest of them and of what is kept.
fn digest(rows: &[u8], kept: &str) -> String {
    let all = [Digest::of(rows), Digest::of(kept.as_bytes())];
    format!("{} {}", rows.len(), Digest::of_all(&all))
}

/// Returns the pass in the bytes of a file, with its rows if their columns are given; none if they
/// are not all that was written, or of another version.
fn decode(bytes: Vec<u8>, columns: Option<&SchemaRef>) -> Option<PassFile> {
    unpanicked(|| decoded(bytes.into(), columns)).flatten()
}

fn decoded(bytes: Bytes, columns: Option<&SchemaRef>) -> Option<PassFile> {
    let file = SerializedFileReader::new(bytes.clone()).ok()?;
    let metadata = file.metadata().file_metadata().key_value_metadata()?;
    let text = |key| value(metadata, key);
    if text(VERSION)? != version() {
        return None;
    }
    let (kept, seal) = (text(KEPT)?, text(DIGEST)?);
    let length = seal.split_once(' ')?.0.parse().ok()?;
    if digest(bytes.get(..length)?, kept) != seal {
        return None;
    }
    let kept: Kept = postcard::from_bytes(&BASE64_STANDARD.decode(kept).ok()?).ok()?;
    let rows = match columns {
        Some(columns) => Some(rows(bytes, columns, &kept)?),
        None => None,
    };
    Some(PassFile { kept, rows })
}

fn value<'m>(metadata: &'m [KeyValue], key: &str) -> Option<&'m str> {
    let entry = metadata.iter().find(|entry| entry.key == key)?;
    entry.value.as_deref()
}

/// Returns the rows of a file, if they have these columns and are those of the machines.
fn rows(bytes: Bytes, columns: &SchemaRef, kept: &Kept) -> Option<RecordBatch> {
    let number: usize = kept
        .machines
        .iter()
        .map(|(_, outcome)| outcome.rows())
        .sum();
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).ok()?;
    let mut reader = reader.with_batch_size(number.max(1)).build().ok()?;
    let batch = reader.next()?.ok()?;
    let found = batch.schema();
    let names = found.fields().iter().map(|field| field.name());
    let is_all = batch.num_rows() == number && names.eq(columns.fields().iter().map(|f| f.name()));
    // Fails where a column has another type.
    is_all.then(|| RecordBatch::try_new(columns.clone(), batch.columns().to_vec()).ok())?
}
