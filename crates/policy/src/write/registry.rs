//! Every write scheme, by the name that users write.

use super::make::{Entry, Make};
use super::{best, dcw, flip_n_write, lines, lz4, mfwr, page, same_filled, zstd};
use crate::params::Params;
use crate::registry;

/// Every scheme, by name.
pub const REGISTRY: &[Entry] = &[
    page::ENTRY,
    page::INCLUSIVE,
    lines::LINES,
    lines::SECTORS,
    same_filled::ENTRY,
    mfwr::ENTRY,
    mfwr::COMPARED,
    lz4::ENTRY,
    zstd::ENTRY,
    dcw::ENTRY,
    flip_n_write::ENTRY,
    best::ENTRY,
];

impl registry::Kind for Make {
    const NOUN: &'static str = "write scheme";
    const ENTRIES: &'static [Entry] = REGISTRY;

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        self.scheme(params).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheme_is_documented_and_made_of_its_name() {
        registry::check::<Make>();
    }
}
