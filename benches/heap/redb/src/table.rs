//! The table, and transactions on it.

use std::ops::Range;

use redb::{Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use crate::Outcome;
use crate::measure::Visited;
use crate::options::Options;
use crate::pair::{Pair, sum_of};

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("bytes");

pub struct Table {
    database: Database,
    durability: Durability,
    /// Puts or deletes of a transaction.
    batch: u64,
}

impl Table {
    /// Opens the table, made if it is not there.
    pub fn open(options: &Options) -> Outcome<Self> {
        let (durability, batch) = match options.way.as_str() {
            "none" => (Durability::None, 1),
            "immediate" => (Durability::Immediate, 1),
            "batched" => (Durability::Immediate, 100),
            "filling" => (Durability::Immediate, 1000),
            _ => return Err("ways are none, immediate, batched and filling".into()),
        };
        let fresh = !options.pool.exists();
        let table = Self {
            database: Database::create(&options.pool)?,
            durability,
            batch,
        };
        if fresh {
            let writing = table.database.begin_write()?;
            writing.open_table(TABLE)?;
            writing.commit()?;
        }
        Ok(table)
    }

    pub fn put(&self, options: &Options, turns: Range<u64>) -> Outcome {
        self.change(turns, |table, turn| {
            let pair = Pair::of(options.first + turn);
            match table.insert(pair.key(), pair.value())? {
                None => Ok(()),
                Some(_) => Err("a key is there already".into()),
            }
        })
    }

    pub fn delete(&self, options: &Options, turns: Range<u64>) -> Outcome {
        self.change(turns, |table, turn| {
            let pair = Pair::of(options.scattered(turn));
            right(
                &pair,
                table
                    .remove(pair.key())?
                    .as_ref()
                    .map(|value| value.value()),
            )
        })
    }

    fn change(
        &self,
        turns: Range<u64>,
        change: impl Fn(&mut redb::Table<&[u8], &[u8]>, u64) -> Outcome,
    ) -> Outcome {
        for from in turns.clone().step_by(self.batch as usize) {
            let mut writing = self.database.begin_write()?;
            writing.set_durability(self.durability)?;
            let mut table = writing.open_table(TABLE)?;
            for turn in from..turns.end.min(from + self.batch) {
                change(&mut table, turn)?;
            }
            drop(table);
            writing.commit()?;
        }
        Ok(())
    }

    /// Has durable what nobody waited for.
    pub fn synchronise(&self) -> Outcome {
        if matches!(self.durability, Durability::None) {
            self.database.begin_write()?.commit()?;
        }
        Ok(())
    }

    /// Each sees what is there then.
    pub fn get(&self, options: &Options, turns: Range<u64>) -> Outcome {
        turns
            .into_iter()
            .try_for_each(|turn| get_in(&self.reading()?, options.scattered(turn)))
    }

    /// All see what was there at the beginning.
    pub fn get_batch(&self, options: &Options, mut turns: Range<u64>) -> Outcome {
        let table = self.reading()?;
        turns.try_for_each(|turn| get_in(&table, options.scattered(turn)))
    }

    pub fn iterate(&self) -> Outcome<Visited> {
        let mut visited = Visited::default();
        for entry in self.reading()?.iter()? {
            let (key, value) = entry?;
            visited.add(sum_of(key.value(), value.value()));
        }
        Ok(visited)
    }

    /// Visits the entries from each of some keys on.
    pub fn scan(&self, options: &Options) -> Outcome<Visited> {
        let mut visited = Visited::default();
        for turn in 0..options.scans() {
            let table = self.reading()?;
            let pair = Pair::of(options.scattered(turn));
            for entry in table.range(pair.key()..)?.take(options.scanned()) {
                let (key, value) = entry?;
                visited.add(sum_of(key.value(), value.value()));
            }
        }
        Ok(visited)
    }

    fn reading(&self) -> Outcome<ReadOnlyTable<&'static [u8], &'static [u8]>> {
        Ok(self.database.begin_read()?.open_table(TABLE)?)
    }
}

fn get_in(table: &impl ReadableTable<&'static [u8], &'static [u8]>, index: u64) -> Outcome {
    let pair = Pair::of(index);
    right(
        &pair,
        table.get(pair.key())?.as_ref().map(|value| value.value()),
    )
}

fn right(pair: &Pair, found: Option<&[u8]>) -> Outcome {
    match found {
        Some(value) if value == pair.value() => Ok(()),
        _ => Err("a key is lost".into()),
    }
}
