//! What is counted of a simulation of files.

use std::ops::Sub;

use terrace_base::schema::{Field, Unit};

/// Counts declared once: each with its help.
macro_rules! counts {
    ($($(#[doc = $help:literal])+ $name:ident;)*) => {
        /// Counts of pages and requests.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $help])+ pub $name: u64,)*
        }

        impl Sub for Counts {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self { $($name: self.$name - other.$name,)* }
            }
        }

        /// Returns the fields of the counts.
        pub(super) fn fields() -> Vec<Field<Counts>> {
            vec![$(Field::new(
                stringify!($name),
                Unit::None,
                concat!($($help),+).trim_ascii(),
                |counts: &Counts| counts.$name,
            )),*]
        }
    };
}

counts! {
    /// requests
    requests;
    /// pages read
    reads;
    /// pages written
    writes;
    /// pages read that were in DRAM
    dram_hits;
    /// pages read that were on flash
    flash_hits;
    /// pages read from the disk, read ahead or not
    disk_reads;
    /// requests of the disk that read; each is for pages in a row
    disk_requests;
    /// pages written to the disk
    disk_writes;
    /// reads and writes of the disk that did not follow the one before
    seeks;
    /// pages written to flash
    flash_writes;
    /// pages that were offered to flash and refused
    refused;
    /// pages on flash that were dropped because they were written
    stale;
    /// pages that were read ahead: from the disk, before they were asked for
    ahead;
    /// pages read ahead that were read later, in DRAM
    ahead_used;
    /// those of them that the reader had to wait for, as they were still on their way
    ahead_late;
    /// pages read ahead that left DRAM, or were written, before they were read; flash is not
    /// offered them
    ahead_wasted;
}
