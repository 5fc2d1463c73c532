//! What is asked for on the command line.

use std::path::PathBuf;
use std::str::FromStr;

use crate::Outcome;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Sized,
    Growing,
    Synchronous,
    Batched,
    Allocator,
}

const WAYS: [(&str, Way); 5] = [
    ("sized", Way::Sized),
    ("growing", Way::Growing),
    ("synchronous", Way::Synchronous),
    ("batched", Way::Batched),
    ("allocator", Way::Allocator),
];

pub struct Options {
    pub pool: PathBuf,
    pub way: Way,
    /// For how many the table is made.
    pub entries: u64,
    /// The index of the first key of the operations.
    pub first: u64,
    /// How many keys.
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
            way: Way::Sized,
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
                "--way" => options.way = way(&value()?)?,
                "--entries" => options.entries = number(&value()?)?,
                "--keys" => (options.first, options.count) = keys(&value()?)?,
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

    pub fn way_name(&self) -> &'static str {
        WAYS.iter()
            .find(|(_, way)| *way == self.way)
            .map_or("", |(name, _)| name)
    }

    /// As large as the peers' pools.
    pub fn pool_bytes(&self) -> u64 {
        (256 << 20) + 400 * self.entries
    }

    /// The index that comes so many turns after the first in another order than that of putting.
    pub fn scattered(&self, turn: u64) -> u64 {
        self.first + turn.wrapping_mul(2_654_435_761) % self.count
    }
}

fn way(name: &str) -> Outcome<Way> {
    let found = WAYS.iter().find(|(known, _)| *known == name);
    let ways = || WAYS.map(|(name, _)| name).join(", ");
    Ok(found.ok_or_else(|| format!("ways are {}", ways()))?.1)
}

fn keys(text: &str) -> Outcome<(u64, u64)> {
    let (first, count) = text.split_once(':').ok_or("--keys is FIRST:COUNT")?;
    Ok((number(first)?, number(count)?))
}

fn number(text: &str) -> Outcome<u64> {
    u64::from_str(text).map_err(|_| format!("{text} is no number").into())
}
