//! Our own format: a Parquet file, one row an access.
//!
//! | column | Parquet type | |
//! |---|---|---|
//! | instruction | INT64, unsigned | [`crate::Access::instruction`], and so on |
//! | address | INT64, unsigned | |
//! | ip | INT64, unsigned | |
//! | process | INT32, unsigned 16 bits | |
//! | thread | INT32, unsigned 16 bits | |
//! | size | INT32, unsigned | |
//! | write | BOOLEAN | |
//!
//! All are required. The key-value metadata holds `terrace.trace = 1`, the version of this layout,
//! and whatever the recorder said of the recording. A row group has 2^20 rows, a page 2^16. A file
//! without the key that has a column `address` is read too: what pandas, polars or DuckDB wrote is
//! a trace if its columns have these names, `op` or `is_write` for `write`, in upper or lower case.
//! Truth values may be numbers 0 and 1, and texts as in CSV. Other columns are an error, and so are
//! values below 0.
//!
//! A trace with [contents](crate::contents) has version 2 of the layout, and four more columns:
//!
//! | column | Parquet type | |
//! |---|---|---|
//! | version | INT32, unsigned | [`crate::changes::Change::version`], 0 where nothing is reported |
//! | checksum | INT64, unsigned | [`crate::changes::Change::checksum`] |
//! | word_index | LIST of INT32, unsigned 16 bits | [`crate::changes::Word::index`] of each word |
//! | word_value | LIST of INT64, unsigned | [`crate::changes::Word::value`] of each word |
//!
//! Both lists of a row have the same length. A row group ends also where it has 2^22 words, and
//! pages of lists end where rows do.
//!
//! A trace that says where addresses come from has version 3 of the layout, and the column
//! `depends`, INT32, unsigned 8 bits: [`Block::depends`](crate::Block::depends). One that says
//! which pages hold nothing but zeros has version 4, and the column `zeros`, BOOLEAN:
//! [`Block::zeros`](crate::Block::zeros).
//!
//! Pages that were given back ([`crate::discard`]) are in the metadata of a trace of any version,
//! because they are few: `terrace.discards` is a table of comma-separated values with the header
//! `row,process,page,pages`, in the order of rows, which count from 0 for the whole trace;
//! `terrace.discards.xxh3` is the checksum of this text. A trace without the keys does not say what
//! was given back.
//!
//! So is [what orders threads](crate::order): `terrace.orders` is such a table with the header
//! `row,process,thread,acquires,point`, and `terrace.orders.xxh3` its checksum. Bit 31 of a point
//! says that a thread or process is created there ([`crate::order::Point::is_creation`]); it is 0
//! everywhere in traces of earlier versions.
//!
//! So are [allocations](crate::allocation): `terrace.allocations` is such a table with the header
//! `began,ended,process,site,address,bytes`, in the order of the first, rows as above, `ended`
//! empty where the object was never freed, `site` a place in `terrace.sites`. That is a JSON array
//! of objects
//! `{"stack":[{"module":"/bin/a","offset":4660,"functions":[{"name":"f","file":"/src/a.c","line":7}]}]}`,
//! the innermost call first, where what is not known is left out
//! ([`Call`](crate::allocation::Call)). `terrace.allocations.xxh3` is the checksum of both texts,
//! one behind the other.
//!
//! `terrace.digest` is a [digest](crate::digest) of all columns: BLAKE3 of the BLAKE3 digests of
//! each column of each row group, in the order of the file, as their bytes stand there, encoded and
//! packed. The digest of the trace is BLAKE3 of the description at the end of the file, which holds
//! this value, all other metadata, and the place and length of every column: a program that writes
//! the file anew and keeps the metadata makes another description. Copies of a file have the same
//! digest. The same accesses have another where they were packed otherwise, or other metadata was
//! noted: they count as another trace. Traces without the key are read as before. The digest of
//! columns takes 0.6 of the 28 ns that an access of `mixed` takes to write (measured: 4.5 GB a
//! second).
//!
//! Encodings: the 64-bit columns are DELTA_BINARY_PACKED, the others dictionaries of up to 256
//! values (PLAIN where there are more), truth values PLAIN; of contents, word_index is
//! DELTA_BINARY_PACKED, checksum and word_value PLAIN. Every page is packed with zstd, whose
//! checksum tells damage. All of it is standard Parquet.
//!
//! The codec was chosen by measurement, on the `mixed` trace of `cargo bench -p terrace-trace`
//! and before the encoders were our own: LZ4_RAW took 4.2 bytes an access, no compression 7.7,
//! zstd at level 1 2.6; the columns that a simulation of pages needs were read at 145, 224 and
//! 100 million accesses a second on one core. All are fast enough, so size decides.

mod allocations;
mod chunk;
mod column;
mod discards;
mod encoding;
mod layout;
mod lists;
mod orders;
mod reader;
mod table;
mod writer;

use std::path::Path;
use std::sync::Arc;

pub use layout::COLUMNS;
use layout::NAME;
use terrace_base::{Context, Error, Result};
use writer::Writer;

use crate::access::Columns;
use crate::compression::Compression;
use crate::format::{Content, Declaration, Field, Format};
use crate::input::{self, Input};
use crate::ranges::{self, Ranges};
use crate::source::{Sink, Source};
use crate::spooled::Spooled;

/// What Parquet files begin and end with.
const MAGIC: &[u8] = b"PAR1";

/// The declaration of the format.
pub const FORMAT: Format = Format::new(&Declaration {
    name: NAME,
    help: "our own: a Parquet file, one row an access",
    endings: &[".parquet"],
    fields: &Field::OF_ACCESSES,
    example: "terrace record -o a.parquet -- ./program\n",
    content: Content::Magic(MAGIC),
    open,
    create: Some(create),
});

fn open(input: Input, columns: Columns) -> Result<Box<dyn Source>> {
    let path = input.path.clone();
    if let Some(compression) = input.compression {
        return Err(Error::usage(format!(
            "`{}` is a Parquet file packed with {compression}; unpack it first, it is packed inside",
            path.display()
        )));
    }
    // Its description lies at its end.
    let file = match input.bytes {
        Some(_) => input::file(&path)?,
        None => Spooled::spool(&path, input)?.into_file(),
    };
    open_ranges(&path, Arc::new(file), columns)
}

/// Whether a trace ends as the native format does.
pub(super) fn ends(name: &Path, ranges: &dyn Ranges) -> Result<bool> {
    let end = || {
        let length = ranges.length()?;
        let begin = length.saturating_sub(MAGIC.len() as u64);
        ranges::read(ranges, begin, (length - begin) as usize)
    };
    Ok(end().or_fail(|| cannot(name))? == MAGIC)
}

/// Opens the trace that errors call `name`.
pub(super) fn open_ranges(
    name: &Path,
    ranges: Arc<dyn Ranges>,
    columns: Columns,
) -> Result<Box<dyn Source>> {
    reader::open(name, ranges, columns)
}

fn cannot(path: &Path) -> String {
    format!("cannot read the trace `{}`", path.display())
}

fn create(path: &Path, about: &[(String, String)]) -> Result<Box<dyn Sink>> {
    if let Some(compression) = Compression::by_name(path) {
        return Err(Error::usage(format!(
            "`{}` would be packed with {compression}, which a Parquet file is inside; leave the ending away",
            path.display()
        )));
    }
    Ok(Box::new(Writer::create(path, about, LEVEL)?))
}

/// Begins a trace that lives no longer than the process: it takes more room than others, and less
/// time to write.
///
/// # Errors
/// A failure if the file cannot be made.
pub fn create_passing(path: &Path) -> Result<Box<dyn Sink>> {
    Ok(Box::new(Writer::create(path, &[], PASSING_LEVEL)?))
}

/// The level of zstd: 1 is the fastest that packs repeated deltas well.
const LEVEL: i32 = 1;
/// The level at which zstd does little more than to copy and to make checksums.
const PASSING_LEVEL: i32 = -100;
