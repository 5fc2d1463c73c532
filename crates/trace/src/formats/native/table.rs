//! Events beside the rows of a trace, in the metadata of the file: a table of comma-separated
//! numbers, in the order of the rows before which they lie.

use std::fmt::Write;
use std::marker::PhantomData;

use terrace_recorder::page::checksum;

/// An event that is a line of a table.
pub(super) trait Event: Sized {
    /// The key of the table.
    const KEY: &str;
    /// The key of its [checksum], in hexadecimal digits.
    const CHECKSUM_KEY: &str;
    /// The names of the numbers of a line; the row is the first.
    const HEADER: &str;

    /// The row before which it lies.
    fn row(&self) -> u64;

    /// Returns the numbers of its line after the row.
    fn numbers(&self) -> impl IntoIterator<Item = u64>;

    /// Returns the event that the numbers after the row say, one at a time; none if there is no
    /// such event.
    fn read(row: u64, next: impl FnMut() -> Option<u64>) -> Option<Self>;
}

/// Events of a kind that are written; their rows count from the beginning of the trace.
#[derive(Debug)]
pub(super) struct Writer<E> {
    lines: String,
    kind: PhantomData<E>,
}

impl<E> Default for Writer<E> {
    fn default() -> Self {
        Self {
            lines: String::new(),
            kind: PhantomData,
        }
    }
}

impl<E: Event> Writer<E> {
    /// Appends an event before a row of the trace.
    pub(super) fn push(&mut self, row: u64, event: &E) {
        if self.lines.is_empty() {
            self.lines.push_str(E::HEADER);
        }
        // Writing to a text does not fail.
        let _ = write!(self.lines, "{row}");
        for number in event.numbers() {
            let _ = write!(self.lines, ",{number}");
        }
        self.lines.push('\n');
    }

    /// Returns the keys and values of the metadata, if there is an event.
    pub(super) fn metadata(self) -> Option<[(&'static str, String); 2]> {
        let sum = format!("{:016x}", checksum(self.lines.as_bytes()));
        (!self.lines.is_empty()).then_some([(E::KEY, self.lines), (E::CHECKSUM_KEY, sum)])
    }
}

/// Returns the events that a text says, in a trace of `rows` rows; none if it is not as it was
/// written.
pub(super) fn parse<E: Event>(text: &str, sum: &str, rows: u64) -> Option<Vec<E>> {
    if u64::from_str_radix(sum, 16) != Ok(checksum(text.as_bytes())) {
        return None;
    }
    let lines = text.strip_prefix(E::HEADER)?.lines();
    let events: Option<Vec<E>> = lines.map(line).collect();
    events.filter(|all| {
        all.is_sorted_by_key(E::row) && all.last().is_none_or(|last| last.row() < rows)
    })
}

fn line<E: Event>(line: &str) -> Option<E> {
    let mut numbers = line.split(',');
    let mut next = || numbers.next()?.parse().ok();
    let row = next()?;
    let event = E::read(row, next)?;
    numbers.next().is_none().then_some(event)
}
