//! The results of a sweep as flat tables: Parquet and CSV of the same columns.
//!
//! All times are virtual: what machines of these settings would take, not what one has taken.

mod columns;
mod parquet;

use terrace_base::{Error, Result};

use crate::sim::Run;
pub use columns::COLUMNS;
pub use parquet::parquet;

/// A row of the tables: one machine and one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// The trace, as it was named.
    pub trace: String,
    /// DRAM, as it was asked for.
    pub dram: String,
    /// The machine and what was found.
    pub run: Run,
}

/// A column of the tables.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds, with its unit.
    pub doc: &'static str,
    values: Values,
}

/// The type of a column, and where its values are found.
#[derive(Debug)]
enum Values {
    Text(Get<String>),
    /// Signed in Parquet, so that one can be taken from another; cut to 2^63 - 1.
    Integer(Get<u64>),
    /// What may be any number.
    Unsigned(Get<u64>),
    Float(Get<f64>),
    Flag(Get<bool>),
}

/// Finds a value in a row.
#[derive(Debug)]
enum Get<T> {
    Always(fn(&Row) -> T),
    Maybe(fn(&Row) -> Option<T>),
}

impl<T> Get<T> {
    fn of(&self, row: &Row) -> Option<T> {
        match self {
            Self::Always(get) => Some(get(row)),
            Self::Maybe(get) => get(row),
        }
    }
}

/// An integer as both tables hold it.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Column {
    /// A value as the CSV has it: nothing where there is none, and floats with as many digits as
    /// it takes to read the same number again.
    fn text(&self, row: &Row) -> String {
        let text = match &self.values {
            Values::Text(get) => get.of(row),
            Values::Integer(get) => get.of(row).map(|value| signed(value).to_string()),
            Values::Unsigned(get) => get.of(row).map(|value| value.to_string()),
            Values::Float(get) => get.of(row).map(|value| format!("{value:?}")),
            Values::Flag(get) => get.of(row).map(|value| value.to_string()),
        };
        text.unwrap_or_default()
    }
}

/// The table as CSV with a head.
///
/// # Errors
/// A failure where there is no memory for it.
pub fn csv(rows: &[Row]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let failed = |error: String| Error::failure(format!("cannot make the CSV: {error}"));
    let names = COLUMNS.iter().map(|column| column.name);
    writer
        .write_record(names)
        .map_err(|e| failed(e.to_string()))?;
    for row in rows {
        let values = COLUMNS.iter().map(|column| column.text(row));
        writer
            .write_record(values)
            .map_err(|e| failed(e.to_string()))?;
    }
    writer.into_inner().map_err(|e| failed(e.to_string()))
}
