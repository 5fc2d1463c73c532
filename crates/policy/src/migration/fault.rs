//! `fault`: a page cache, which every page has to be in to be used.
//!
//! An access to slow memory is a fault, which brings the page in; the replacement policy chooses
//! what leaves.

use super::{Entry, Make};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "fault",
    summary: "a page cache: every page that is used comes in by a fault",
    paper: "Oskin & Loh 2015, IV",
    when: "Slow memory that processors cannot address, and programs that use a page often before they leave it.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|_, _| Ok(None)),
};
