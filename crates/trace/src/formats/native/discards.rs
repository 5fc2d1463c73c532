//! The discards of a trace, in the metadata of the file: lines of comma-separated numbers.

use std::fmt::Write;

use terrace_recorder::page::checksum;

use crate::discard::Discard;

/// The key of the discards.
pub(super) const KEY: &str = "terrace.discards";
/// The key of their [checksum], in hexadecimal digits.
pub(super) const CHECKSUM_KEY: &str = "terrace.discards.xxh3";

/// The names of the numbers of a line.
const HEADER: &str = "row,process,page,pages\n";

/// Discards that are written; their rows count from the beginning of the trace.
#[derive(Debug, Default)]
pub(super) struct Writer {
    lines: String,
}

impl Writer {
    /// Appends a discard before a row of the trace.
    pub(super) fn push(&mut self, row: u64, discard: &Discard) {
        if self.lines.is_empty() {
            self.lines.push_str(HEADER);
        }
        let Discard {
            process,
            page,
            pages,
            ..
        } = discard;
        // Writing to a text does not fail.
        let _ = writeln!(self.lines, "{row},{process},{page},{pages}");
    }

    /// Returns the keys and values of the metadata, if there is a discard.
    pub(super) fn metadata(self) -> Option<[(&'static str, String); 2]> {
        let sum = format!("{:016x}", checksum(self.lines.as_bytes()));
        (!self.lines.is_empty()).then_some([(KEY, self.lines), (CHECKSUM_KEY, sum)])
    }
}

/// Returns the discards that a text says, in a trace of so many rows; none if it is not as it was written.
pub(super) fn parse(text: &str, sum: &str, rows: u64) -> Option<Vec<Discard>> {
    if u64::from_str_radix(sum, 16) != Ok(checksum(text.as_bytes())) {
        return None;
    }
    let lines = text.strip_prefix(HEADER)?.lines();
    let discards: Option<Vec<Discard>> = lines.map(line).collect();
    discards.filter(|all| {
        all.is_sorted_by_key(|discard| discard.row) && all.last().is_none_or(|last| last.row < rows)
    })
}

fn line(line: &str) -> Option<Discard> {
    let mut numbers = line.split(',');
    let mut number = || numbers.next()?.parse::<u64>().ok();
    let (row, process, page, pages) = (number()?, number()?, number()?, number()?);
    let process = u16::try_from(process).ok()?;
    numbers.next().is_none().then_some(Discard {
        row,
        process,
        page,
        pages,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in "(row,process,page,pages\n)?[0-9,\n-]{0,40}", sum in "[0-9a-f]{0,17}") {
            let right = format!("{:x}", checksum(text.as_bytes()));
            prop_assert!(parse(&text, &sum, 5).is_none() || sum.trim_start_matches('0') == right);
            let _ = parse(&text, &right, 5);
        }
    }
}
