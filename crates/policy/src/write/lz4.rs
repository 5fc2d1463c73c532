//! `lz4`: each dirty page packed by LZ4, the compressor that zram and zswap use most.

use super::packed::{Compressor, Packed};
use super::{Contents, Entry, Make};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "lz4",
    summary: "each dirty page packed by LZ4, in whole lines",
    paper: "Collet, LZ4 block format; Linux, zram",
    when: "Pages with repeated parts that are longer than a word; a software peer of mfwr.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 10_500,
        coder: &|_| Ok(Box::new(Packed(Lz4))),
    },
};

struct Lz4;

impl Compressor for Lz4 {
    fn pack(&self, page: &Contents, packed: &mut [u8]) -> Option<usize> {
        lz4_flex::block::compress_into(page, packed).ok()
    }

    fn unpack(&self, packed: &[u8], page: &mut Contents) {
        // Fails only on bytes that `pack` did not write.
        let _ = lz4_flex::block::decompress_into(packed, page);
    }
}
