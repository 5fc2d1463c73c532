//! The anonymous pages of a program that are in memory.

use std::fs::File;
use std::ops::Range;

use terrace_policy::Page;

use crate::watch::pagemap::{is_anonymous, read_entries};

/// Page-table entries that are read at once.
const SLICE: usize = 512;

/// Returns the anonymous pages of a range that are in memory, with their entries.
pub(super) fn anonymous_pages(tables: &File, range: Range<u64>) -> Vec<(Page, u64)> {
    let mut pages = Vec::new();
    let mut entries = [0; SLICE];
    let mut first = range.start;
    while first < range.end {
        let count = SLICE.min((range.end - first) as usize);
        let Some(read) = read_entries(tables, first, &mut entries[..count]) else {
            break;
        };
        let numbered = (first..).map(Page).zip(entries[..read].iter().copied());
        pages.extend(numbered.filter(|(_, entry)| is_anonymous(*entry)));
        first += read as u64;
    }
    pages
}
