//! A place of the slow memory that holds one page.

use crate::page::PAGE_BYTES;

/// Bytes of a line, the unit in which memory on the memory bus is written (Awad 2016, 5.1.1).
pub const LINE_BYTES: usize = 64;
/// Bytes of a sector, the unit in which block devices are written.
pub const SECTOR_BYTES: usize = 512;

/// The bytes of a page.
pub type Contents = [u8; PAGE_BYTES as usize];

/// How the bytes of a place are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The page as it is.
    Plain,
    /// The page in the coding of the scheme, shorter than a page.
    Coded,
    /// The same in the coding of one of several schemes, by its number among them.
    CodedBy(u8),
    /// The page with some of its words inverted: a bit for each word of 4 bytes, from the lowest bit
    /// of the first word on. Each is a cell beside the word that it is about.
    Flipped([u64; 16]),
}

/// A place of the slow memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What its cells hold.
    pub bytes: Contents,
    /// How they are to be read.
    pub form: Form,
}

impl Place {
    /// Returns a place that holds these bytes as they are: a page that was written, or what another
    /// page left there.
    pub fn holding(bytes: Contents) -> Self {
        let form = Form::Plain;
        Self { bytes, form }
    }
}
