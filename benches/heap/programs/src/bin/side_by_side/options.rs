//! Options of the command line.

use std::path::PathBuf;
use std::str::FromStr;

use crate::Outcome;

/// Entries that a scan visits.
const SCANNED: u64 = 100;

pub struct Options {
    pub pool: PathBuf,
    pub way: String,
    /// Whether keys and values are bytes of any length.
    pub bytes: bool,
    /// Number of entries for which the table is made.
    pub entries: u64,
    /// The index of the first key of the operations.
    pub first: u64,
    /// Number of keys.
    pub count: u64,
    pub threads: u64,
    /// Whether signals say where operations begin and end.
    pub signals: bool,
    pub operations: Vec<String>,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Self {
            pool: PathBuf::new(),
            way: String::new(),
            bytes: false,
            entries: 0,
            first: 0,
            count: 0,
            threads: 1,
            signals: false,
            operations: Vec::new(),
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
            match name.as_str() {
                "--pool" => options.pool = value()?.into(),
                "--way" => options.way = value()?,
                "--entries" => options.entries = number(&value()?)?,
                "--keys" => (options.first, options.count) = keys(&value()?)?,
                "--bytes" => options.bytes = true,
                "--threads" => options.threads = number(&value()?)?,
                "--signals" => options.signals = true,
                _ => options.operations.push(name),
            }
        }
        if options.pool.as_os_str().is_empty() || options.entries == 0 || options.threads == 0 {
            return Err("--pool FILE and --entries N are needed, and a thread".into());
        }
        if options.count == 0 {
            options.count = options.entries;
        }
        Ok(options)
    }

    /// Returns the index at a turn of another order than that of putting.
    pub fn scattered(&self, turn: u64) -> u64 {
        self.first + turn.wrapping_mul(2_654_435_761) % self.count
    }

    /// Returns how many scans visit about as many entries as there are keys.
    pub fn scans(&self) -> u64 {
        self.count.div_ceil(SCANNED)
    }

    /// Returns how many entries a scan visits.
    pub fn scanned(&self) -> usize {
        SCANNED as usize
    }
}

fn keys(text: &str) -> Outcome<(u64, u64)> {
    let (first, count) = text.split_once(':').ok_or("--keys is FIRST:COUNT")?;
    Ok((number(first)?, number(count)?))
}

fn number(text: &str) -> Outcome<u64> {
    u64::from_str(text).map_err(|_| format!("{text} is no number").into())
}
