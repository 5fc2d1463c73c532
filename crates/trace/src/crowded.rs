//! Addresses that seem to be names of objects: a table of requests to a cache whose keys are called
//! addresses would be read as a few pages.
//!
//! Programs touch aligned bytes, mostly, and few of those twice with other first bytes. Names of
//! objects are counted one by one: half of them are odd, or each has many times the bytes up to the
//! next.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::Block;
use crate::source::{Source, made};

/// What is said of such addresses.
const CROWDED: &str = "different addresses lie in few pages, as if they were names of objects \
                       (keys of a cache): if they are, say --keys";

/// Different addresses that are looked at, the first of a trace.
const LOOKED_AT: usize = 1 << 16;
/// Addresses below which nothing is said, where sizes are known and where they are not.
const LEAST: [usize; 2] = [16, 256];
/// Addresses in a page from which they are many, where sizes are not known.
const MANY: usize = 128;
/// Times that the bytes of different accesses cover their pages from which they are many.
const COVERS: u64 = 16;
/// Bytes of a page.
const PAGE: u64 = 4096;

/// Returns the same trace; its tally has the addresses that seem to be names.
pub(crate) fn watched(mut source: Box<dyn Source>) -> Box<dyn Source> {
    let (meta, mut crowd) = (source.meta().clone(), Crowd::default());
    let tally = meta.tally.clone();
    made(meta, move |block| {
        source.read(block)?;
        if crowd.is_open() {
            crowd.add(block);
            tally.set(CROWDED, crowd.names());
        }
        Ok(())
    })
}

#[derive(Default)]
struct Crowd {
    /// The bytes of each address, of its first access.
    addresses: FxHashMap<u64, u32>,
    pages: FxHashSet<u64>,
    odd: usize,
    bytes: u64,
}

impl Crowd {
    /// Returns whether more addresses are looked at.
    fn is_open(&self) -> bool {
        self.addresses.len() < LOOKED_AT && self.pages.len() < LOOKED_AT
    }

    fn add(&mut self, block: &Block) {
        let sizes = block.size.iter().copied().chain(std::iter::repeat(0));
        for (address, size) in block.address.iter().zip(sizes) {
            if !self.is_open() {
                return;
            }
            if self.addresses.insert(*address, size).is_some() {
                continue;
            }
            self.odd += (address % 2) as usize;
            self.bytes += u64::from(size);
            let last = address.saturating_add(u64::from(size.max(1)) - 1);
            let pages = address / PAGE..=last / PAGE;
            self.pages.extend(pages);
        }
    }

    /// Returns how many addresses seem to be names.
    fn names(&self) -> u64 {
        let (addresses, pages) = (self.addresses.len(), self.pages.len());
        let seem = match self.bytes {
            0 => addresses >= LEAST[1] && addresses >= MANY * pages && self.odd * 4 >= addresses,
            bytes => addresses >= LEAST[0] && bytes >= COVERS * PAGE * pages as u64,
        };
        if seem { addresses as u64 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::testing::{accesses, listed};

    /// What is counted of accesses to these addresses with these sizes.
    fn counted(all: impl Iterator<Item = (u64, u32)>) -> u64 {
        let access = |(address, size)| Access {
            address,
            size,
            ..Access::default()
        };
        let source = watched(listed(all.map(access).collect()));
        let tally = source.meta().tally.clone();
        accesses(source);
        tally.counts().first().map_or(0, |(_, count)| *count)
    }

    #[test]
    fn names_of_objects_show_and_addresses_of_programs_do_not() {
        let keys = |n: u64| n * n % 19_369;
        assert!(counted((0..50_000).map(|n| (keys(n), 0))) > 5_000);
        assert_eq!(counted((0..1_000).map(|n| (n % 300, 0))), 300);
        assert_eq!(counted((0..1_000).map(|n| (n % 40, 9_000))), 40);
        assert_eq!(counted((0..1_000).map(|n| (n % 20, 60_000))), 20);
        // Words of an array, bytes of a text, vectors at any byte, blocks of a file.
        for size in [4, 8] {
            let word = u64::from(size);
            assert_eq!(counted((0..9_000).map(|n| (n * word, size))), 0);
            assert_eq!(counted((0..9_000).map(|n| (n * word, 0))), 0);
        }
        assert_eq!(counted((0..9_000).map(|n| (n, 1))), 0);
        assert_eq!(counted((0..9_000).map(|n| (n, 8))), 0);
        assert_eq!(counted((0..900).map(|n| (n << 20, 1 << 20))), 0);
        assert_eq!(counted((0..9_000).map(|n| (n * 4096, 4096))), 0);
        assert_eq!(counted((0..9_000).map(|n| (n * 9_999_991, 0))), 0);
    }
}
