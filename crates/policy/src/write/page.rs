//! `page` and `inclusive`: all of a page is written, of each that leaves DRAM or of dirty ones
//! alone.
//!
//! Awad 2016, section 4: a memory extension without the inclusion property writes every page that
//! leaves DRAM, since the slow memory gave up its copy. With inclusion it keeps the copy, so that a
//! clean page need not be written. What is measured there is relative to `page`.

use super::{Coder, Contents, Depends, Entry, Make, Place, Written};

/// The registry's entry of the baseline.
pub const ENTRY: Entry = Entry {
    name: "page",
    summary: "every page that leaves DRAM, all of it",
    paper: "Awad 2016, section 4: the non-inclusive extension",
    when: "A baseline, to which the other schemes are compared.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: false,
        nanos: 300,
        coder: &|_| Ok(Box::new(Page)),
    },
};

/// The registry's entry with the inclusion property.
pub const INCLUSIVE: Entry = Entry {
    name: "inclusive",
    summary: "every dirty page that leaves DRAM, all of it",
    paper: "Awad 2016, section 4.1",
    when: "Block devices; what every other scheme improves on.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 300,
        coder: &|_| Ok(Box::new(Page)),
    },
};

/// Writes pages as they are.
pub struct Page;

impl Coder for Page {
    fn depends(&self) -> Depends {
        Depends::OnPage
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        *place = Place::holding(*page);
        Written::page()
    }
}
