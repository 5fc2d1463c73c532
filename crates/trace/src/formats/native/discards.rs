//! The discards of a trace, as a table.

use super::table::Event;
use crate::discard::Discard;

impl Event for Discard {
    const KEY: &str = "terrace.discards";
    const CHECKSUM_KEY: &str = "terrace.discards.xxh3";
    const HEADER: &str = "row,process,page,pages\n";

    fn row(&self) -> u64 {
        self.row
    }

    fn numbers(&self) -> impl IntoIterator<Item = u64> {
        [self.process.into(), self.page, self.pages]
    }

    fn read(row: u64, mut next: impl FnMut() -> Option<u64>) -> Option<Self> {
        Some(Self {
            row,
            process: u16::try_from(next()?).ok()?,
            page: next()?,
            pages: next()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use terrace_recorder::page::checksum;

    use super::*;
    use crate::formats::native::table::parse;

    proptest! {
        #[test]
        fn any_text_has_an_answer(text in "(row,process,page,pages\n)?[0-9,\n-]{0,40}", sum in "[0-9a-f]{0,17}") {
            let right = format!("{:x}", checksum(text.as_bytes()));
            prop_assert!(parse::<Discard>(&text, &sum, 5).is_none() || sum.trim_start_matches('0') == right);
            let _ = parse::<Discard>(&text, &right, 5);
        }
    }
}
