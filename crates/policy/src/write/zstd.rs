//! `zstd`: each dirty page packed by Zstandard, which packs closer than LZ4 and takes longer.

use zstd::bulk;

use super::packed::{Compressor, Packed};
use super::{Coder, Contents, Entry, Make};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "zstd",
    summary: "each dirty page packed by Zstandard, in whole lines",
    paper: "RFC 8878; Linux, zram",
    when: "The fewest bytes where a page may take tens of microseconds.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 34_000,
        coder: &make,
    },
};

settings! {
    /// Settings of `zstd`.
    pub struct ZstdSettings {
        /// level of compression
        level: i32 = 3, 1..=19;
    }
}

fn make(params: &mut Params) -> Result<Box<dyn Coder>, String> {
    let level = ZstdSettings::take(params)?.level;
    Ok(Box::new(Packed(Zstd { level })))
}

struct Zstd {
    level: i32,
}

impl Compressor for Zstd {
    fn pack(&self, page: &Contents, packed: &mut [u8]) -> Option<usize> {
        bulk::compress_to_buffer(page, packed, self.level).ok()
    }

    fn unpack(&self, packed: &[u8], page: &mut Contents) {
        // Fails only on bytes that `pack` did not write.
        let _ = bulk::decompress_to_buffer(packed, page);
    }
}
