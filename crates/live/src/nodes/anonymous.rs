//! The anonymous pages of a program that are in memory.

use std::fs::File;
use std::ops::Range;

use terrace_policy::Page;

use crate::watch::pagemap::{is_anonymous, pages};

/// Returns the anonymous pages of a range that are in memory, with their entries.
pub(super) fn anonymous_pages(tables: &File, range: Range<u64>) -> Vec<(Page, u64)> {
    let all = pages(tables, range);
    all.filter(|(_, entry)| is_anonymous(*entry)).collect()
}
