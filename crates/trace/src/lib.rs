//! What programs did: traces, read, written, generated and recorded.
//!
//! A trace is a sequence of [`Access`]es. Readers hand it out in [`Block`]s, a column a field,
//! so that who needs only addresses pays only for addresses ([`Columns`]). Every format has one
//! file with its layout and where it comes from.

pub mod access;
pub mod format;
pub mod generate;
pub mod info;
pub mod native;
mod output;
pub mod reuse;
pub mod selection;
pub mod source;
#[cfg(test)]
mod testing;

use std::path::Path;

use terrace_base::{Error, Result};

pub use access::{Access, Block, Columns};
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
    open_as(path, Format::Native, columns)
}

/// Opens a trace of the format `format`.
///
/// # Errors
/// A failure where the file cannot be read or is not of this format.
pub fn open_as(path: &Path, format: Format, columns: Columns) -> Result<Box<dyn Source>> {
    match format {
        Format::Native => Ok(Box::new(native::Reader::open(path, columns)?)),
        _ => Err(Error::usage(format!("{format} cannot be read yet"))),
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

/// Begins a trace of the format `format`, as [`create`] does.
///
/// # Errors
/// A usage error where the format cannot be written; a failure where the file cannot be made.
pub fn create_as(path: &Path, format: Format, about: &[(String, String)]) -> Result<Box<dyn Sink>> {
    match format {
        Format::Native => Ok(Box::new(native::Writer::create(path, about)?)),
        _ => Err(Error::usage(format!("{format} cannot be written"))),
    }
}
