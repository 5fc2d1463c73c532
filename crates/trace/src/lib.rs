//! What programs did: traces, read, written, generated and recorded.
//!
//! A trace is a sequence of [`Access`]es. Readers hand it out in [`Block`]s, a column a field,
//! so that who needs only addresses pays only for addresses ([`Columns`]). Every format has one
//! file with its layout and where it comes from.

pub mod access;
pub mod ahead;
pub mod caffeine;
pub mod champsim;
pub mod channel;
mod compression;
pub mod csv;
pub mod format;
pub mod generate;
pub mod info;
mod input;
pub mod lackey;
pub mod native;
pub mod oracle_general;
mod output;
pub mod record;
mod rest;
pub mod reuse;
pub mod selection;
pub mod source;
mod stream;
#[cfg(test)]
mod testing;
mod text;

use std::path::Path;

use terrace_base::{Error, Result};

use compression::Compression;
use input::Input;

pub use access::{Access, Block, Columns};
pub use ahead::ahead;
pub use channel::channel;
pub use format::Format;
pub use info::Info;
pub use selection::{Level, Selection};
pub use source::{Meta, Sink, Source};

/// Opens a trace, whose format is told by what is in the file, or else by its name.
///
/// # Errors
/// A failure where the file cannot be read or is corrupt; a usage error where its format cannot
/// be told.
pub fn open(path: &Path, columns: Columns) -> Result<Box<dyn Source>> {
    let input = Input::open(path)?;
    let format = Format::detect(path, &input)?;
    source(path, input, format, columns)
}

/// Opens a trace of the format `format`.
///
/// # Errors
/// A failure where the file cannot be read or is not of this format.
pub fn open_as(path: &Path, format: Format, columns: Columns) -> Result<Box<dyn Source>> {
    source(path, Input::open(path)?, format, columns)
}

/// Opens a trace of a format that may have been named: as [`open_as`], or else as [`open`].
///
/// # Errors
/// Those of the two.
pub fn open_in(path: &Path, format: Option<Format>, columns: Columns) -> Result<Box<dyn Source>> {
    match format {
        Some(format) => open_as(path, format, columns),
        None => open(path, columns),
    }
}

fn source(path: &Path, input: Input, format: Format, columns: Columns) -> Result<Box<dyn Source>> {
    if let (Format::Native, Some(compression)) = (format, input.compression()) {
        return Err(Error::usage(format!(
            "`{}` is a Parquet file packed with {compression}; unpack it first, it is packed inside",
            path.display()
        )));
    }
    match format {
        Format::Native => Ok(Box::new(native::Reader::open(path, columns)?)),
        Format::ChampSim => Ok(champsim::source(input)),
        Format::Lackey => Ok(lackey::source(input)),
        Format::OracleGeneral => Ok(oracle_general::source(input)),
        Format::Caffeine => Ok(caffeine::source(input)),
        Format::Csv => csv::source(input),
    }
}

/// Begins a trace, whose format is told by the ending of its name. It appears under this name
/// when it is finished; until then a file that has the name stays.
///
/// `about` says what was recorded, how and on what; only the native format keeps it.
///
/// # Errors
/// A usage error where the name does not tell the format; a failure where the file cannot be
/// made.
pub fn create(path: &Path, about: &[(String, String)]) -> Result<Box<dyn Sink>> {
    let format = Format::by_name(path).ok_or_else(|| {
        Error::usage(format!(
            "the ending of `{}` names no trace format; use .parquet, .champsim, .oracleGeneral or .csv",
            path.display()
        ))
    })?;
    create_as(path, format, about)
}

/// Begins a trace of the format `format`, as [`create`] does. One of ChampSim or CSV is packed
/// where its name ends in .gz, .xz or .zst.
///
/// # Errors
/// A usage error where the format cannot be written; a failure where the file cannot be made.
pub fn create_as(path: &Path, format: Format, about: &[(String, String)]) -> Result<Box<dyn Sink>> {
    let packs = matches!(format, Format::ChampSim | Format::Csv);
    if let (false, Some(compression)) = (packs, Compression::by_name(path)) {
        return Err(Error::usage(format!(
            "`{}` would be packed with {compression}, which the format {format} is not; leave the ending away",
            path.display()
        )));
    }
    match format {
        Format::Native => Ok(Box::new(native::Writer::create(path, about)?)),
        Format::ChampSim => Ok(Box::new(champsim::Writer::create(path)?)),
        Format::OracleGeneral => Ok(Box::new(oracle_general::Writer::create(path)?)),
        Format::Csv => Ok(Box::new(csv::Writer::create(path)?)),
        Format::Lackey | Format::Caffeine => Err(Error::usage(format!(
            "the format {format} is only read; write native, champsim, oracle-general or csv"
        ))),
    }
}
