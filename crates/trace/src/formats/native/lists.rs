//! The columns of contents of one row group, read into the changes of a block.

use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};

use super::column::{Column, general, unpanicked};
use super::layout::{INDEX, VALUE};
use crate::changes::{Changes, Word};
use crate::contents::WORDS;

/// The unread part of the columns.
pub(super) struct Lists {
    version: Column,
    checksum: Column,
    index: ColumnReader,
    value: ColumnReader,
    places: List<i32>,
    values: List<i64>,
}

/// Lists of some rows, one after the other, as Parquet has them.
#[derive(Default)]
struct List<T> {
    values: Vec<T>,
    /// By entry: whether it is a value, which the only entry of an empty list is not.
    definition: Vec<i16>,
    /// By entry: whether it goes on with the list of the entry before.
    repetition: Vec<i16>,
}

impl Lists {
    /// Returns the columns version, checksum, and the lists of places and values, if all are there.
    pub(super) fn of(
        version: Option<Column>,
        checksum: Option<Column>,
        index: Option<ColumnReader>,
        value: Option<ColumnReader>,
    ) -> Option<Self> {
        Some(Self {
            version: version?,
            checksum: checksum?,
            index: index?,
            value: value?,
            places: List::default(),
            values: List::default(),
        })
    }

    /// Replaces `changes` by those of the next `rows` rows; an error goes with its column.
    pub(super) fn read(
        &mut self,
        rows: usize,
        changes: &mut Changes,
    ) -> std::result::Result<(), (&'static str, ParquetError)> {
        let version = self.version.u32(rows, &mut changes.versions);
        version.map_err(|e| ("version", e))?;
        let checksum = self.checksum.u64(rows, &mut changes.checksums);
        checksum.map_err(|e| ("checksum", e))?;
        self.read_lists(rows)?;
        self.join(changes).map_err(|e| (INDEX, e))
    }

    fn read_lists(&mut self, rows: usize) -> std::result::Result<(), (&'static str, ParquetError)> {
        let no_integers = || general("it is not a column of integers");
        match &mut self.index {
            ColumnReader::Int32ColumnReader(column) => self.places.read(column, rows),
            _ => Err(no_integers()),
        }
        .map_err(|e| (INDEX, e))?;
        match &mut self.value {
            ColumnReader::Int64ColumnReader(column) => self.values.read(column, rows),
            _ => Err(no_integers()),
        }
        .map_err(|e| (VALUE, e))
    }

    /// Makes words of both lists.
    fn join(&self, changes: &mut Changes) -> Result<()> {
        let (places, values) = (&self.places, &self.values);
        if places.repetition != values.repetition || places.definition != values.definition {
            return Err(general(
                "its lists are not as long as those of the other column",
            ));
        }
        let outside = |place: &i32| usize::try_from(*place).map_or(true, |place| place >= WORDS);
        if places.values.iter().any(outside) {
            return Err(general("a word lies outside of its page"));
        }
        changes.words.clear();
        let words = places.values.iter().zip(&values.values);
        changes.words.extend(words.map(|(place, value)| Word {
            index: *place as u16,
            value: value.cast_unsigned(),
        }));
        places.ends(&mut changes.ends);
        Ok(())
    }
}

impl<T> List<T> {
    /// Replaces the lists by those of exactly `rows` rows.
    fn read<D: DataType<T = T>>(
        &mut self,
        column: &mut ColumnReaderImpl<D>,
        rows: usize,
    ) -> Result<()> {
        self.values.clear();
        self.definition.clear();
        self.repetition.clear();
        let (definition, repetition) = (&mut self.definition, &mut self.repetition);
        let values = &mut self.values;
        let (read, present, entries) =
            unpanicked(|| column.read_records(rows, Some(definition), Some(repetition), values))?;
        let is_whole = read == rows
            && present == self.values.len()
            && entries == self.definition.len()
            && entries == self.repetition.len()
            && self.is_lists(present, rows);
        match is_whole {
            true => Ok(()),
            false => Err(general("it ends too early")),
        }
    }

    /// Whether the levels are those of so many rows and values: an entry that goes on with a list
    /// is a value, and so is the one before.
    fn is_lists(&self, values: usize, rows: usize) -> bool {
        let entries = self.repetition.iter().zip(&self.definition);
        let begun = self.repetition.iter().filter(|level| **level == 0).count();
        let present = self.definition.iter().filter(|level| **level == 1).count();
        let mut before = 0;
        let is_in_order = entries.into_iter().all(|(repetition, definition)| {
            let goes_on = *repetition == 1;
            let is_right = !goes_on || (before == 1 && *definition == 1);
            before = *definition;
            is_right
        });
        (begun, present) == (rows, values) && is_in_order
    }

    /// Replaces `ends` by the number of values up to the end of each row.
    fn ends(&self, ends: &mut Vec<u32>) {
        ends.clear();
        let mut values = 0;
        for (repetition, definition) in self.repetition.iter().zip(&self.definition) {
            values += u32::from(*definition == 1);
            match (*repetition, ends.last_mut()) {
                (1, Some(end)) => *end = values,
                _ => ends.push(values),
            }
        }
    }
}
