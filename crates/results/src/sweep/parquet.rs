//! The table as a Parquet file.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use terrace_base::Error;

use crate::rows::Rows;

/// The schema of the table, in the file's metadata; the number grows with every change that
/// breaks readers.
pub(super) const SCHEMA: (&str, &str) = ("terrace.schema", "terrace.sweep/1");

/// Key of the sweep's options in the file's metadata.
const OPTIONS: &str = "terrace.options";

/// Returns the table as a Parquet file with the options of the sweep.
///
/// # Errors
/// A failure if it cannot be made.
pub fn parquet(table: &Rows, options: &str) -> terrace_base::Result<Vec<u8>> {
    table.parquet("sweep", &[SCHEMA, (OPTIONS, options)])
}

/// Checks that neither file exists, or that both are results of a sweep with these options.
///
/// # Errors
/// A usage error that names the file.
pub fn may_replace(parquet: &Path, csv: &Path, options: &str) -> terrace_base::Result<()> {
    let found = match (parquet.exists(), csv.exists()) {
        (false, false) => return Ok(()),
        (false, true) => csv,
        (true, _) if options_of(parquet).as_deref() == Some(options) => return Ok(()),
        (true, _) => parquet,
    };
    Err(Error::usage(format!(
        "`{}` is there and is not the result of a sweep with these options; give another -o, or remove it",
        found.display()
    )))
}

/// Returns the options of the sweep that wrote a file; `None` if it is not such a file.
fn options_of(path: &Path) -> Option<String> {
    let file = SerializedFileReader::new(File::open(path).ok()?).ok()?;
    let metadata = file.metadata().file_metadata().key_value_metadata()?;
    let options = metadata.iter().find(|entry| entry.key == OPTIONS)?;
    options.value.clone()
}
