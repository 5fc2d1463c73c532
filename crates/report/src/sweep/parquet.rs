//! The table as a Parquet file.

use std::fs::File;
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use terrace_base::Error;

use crate::rows::Rows;

/// The schema of the table, in the file's metadata; the number grows with every change that
/// breaks readers.
const SCHEMA: (&str, &str) = ("terrace.schema", "terrace.sweep/1");

/// Of which options the results are, in the file's metadata.
const OPTIONS: &str = "terrace.options";

/// Returns the table as a Parquet file that says to which options it belongs.
///
/// # Errors
/// A failure if it cannot be made.
pub fn parquet(table: &Rows, options: &str) -> terrace_base::Result<Vec<u8>> {
    table.parquet("sweep", &[SCHEMA, (OPTIONS, options)])
}

/// Checks that neither file is there, or that both are results of a sweep with these options.
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

/// Of which options a file of results is; none where it is something else.
fn options_of(path: &Path) -> Option<String> {
    let file = SerializedFileReader::new(File::open(path).ok()?).ok()?;
    let metadata = file.metadata().file_metadata().key_value_metadata()?;
    let options = metadata.iter().find(|entry| entry.key == OPTIONS)?;
    options.value.clone()
}
