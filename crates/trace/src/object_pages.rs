//! Traces of requests for objects: each object gets pages of its own.

use rustc_hash::FxHashMap;

use crate::access::Block;
use crate::objects::{Extent, KEY, Objects};
use crate::source::{Source, made};

/// Bits of an address that tell a byte of its page.
const PAGE_BITS: u32 = 12;
/// Bytes in a page.
const PAGE: u32 = 1 << PAGE_BITS;
/// The first name that is no page number, and the first page of objects that have no page of their
/// name.
const RENUMBERED: u64 = 1 << 51;
/// What is said of objects that were moved.
const OUTGROWN: &str = "objects had become larger than before, and were read as new ones";

/// What is said of large objects that are units.
const UNITS: &str =
    "requests were for more than a page, and were read as for one: objects are units";

/// Returns the trace whose addresses are the places of the objects that those of `source` name.
///
/// An object of one page gets the page that its name is the number of. A larger one, and one whose
/// name is 2^51 or more (a hash, mostly), gets as many pages as it needs from page 2^51 on, in the
/// order of appearance. An object that has become larger than its place gets another one.
pub(crate) fn placed(mut source: Box<dyn Source>, extent: Extent) -> Box<dyn Source> {
    let mut meta = source.meta().clone();
    meta.objects = Objects::Placed;
    meta.about.retain(|(key, _)| key != KEY);
    meta.about.push((KEY.into(), extent.name().into()));
    let (tally, mut places) = (meta.tally.clone(), Places::default());
    made(meta, move |block| {
        source.read(block)?;
        match extent {
            Extent::Unit => {
                let names = block.address.iter_mut();
                names.for_each(|name| *name = places.of(*name, 1) << PAGE_BITS);
                let mut larger = 0;
                for size in block.size.iter_mut().filter(|size| **size > PAGE) {
                    *size = PAGE;
                    larger += 1;
                }
                tally.add(UNITS, larger);
            }
            Extent::Sized if places.are_names(block) => {
                block.size.resize(block.address.len(), 0);
                block
                    .address
                    .iter_mut()
                    .for_each(|name| *name <<= PAGE_BITS);
            }
            Extent::Sized => {
                block.size.resize(block.address.len(), 0);
                for (name, size) in block.address.iter_mut().zip(&block.size) {
                    let pages = u64::from(size.div_ceil(PAGE)).max(1);
                    *name = places.of(*name, pages) << PAGE_BITS;
                }
            }
        }
        tally.add(OUTGROWN, std::mem::take(&mut places.outgrown));
        Ok(())
    })
}

/// The pages of objects.
#[derive(Default)]
struct Places {
    /// The first page of each object that is not that of its name, and the number of its pages.
    regions: FxHashMap<u64, (u64, u64)>,
    /// Pages of all these objects.
    given: u64,
    /// How often an object had become larger than its place.
    outgrown: u64,
}

impl Places {
    /// Returns whether all objects so far, those of a block too, have the pages of their names.
    fn are_names(&self, block: &Block) -> bool {
        // All are looked at, which takes less time than to stop at the first other one. The first
        // name that is no page number is a power of two, so that bits tell of all names together.
        let large = |any, size: &u32| any | (*size > PAGE);
        let high = |all, name: &u64| all | *name;
        self.regions.is_empty()
            && !block.size.iter().fold(false, large)
            && block.address.iter().fold(0, high) < RENUMBERED
    }

    /// Returns the first page of an object that has so many pages now.
    fn of(&mut self, name: u64, pages: u64) -> u64 {
        match self.regions.get(&name) {
            Some((first, room)) if pages <= *room => return *first,
            Some(_) => self.outgrown += 1,
            None if pages == 1 && name < RENUMBERED => return name,
            None => {}
        }
        let first = RENUMBERED + self.given;
        self.given += pages;
        self.regions.insert(name, (first, pages));
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access;
    use crate::testing::{accesses, listed};

    /// The first page and the size of each request, and what was counted.
    fn read(requests: &[(u64, u32)], extent: Extent) -> (Vec<(u64, u32)>, u64) {
        let request = |&(address, size): &(u64, u32)| Access {
            address,
            size,
            ..Access::default()
        };
        let source = placed(listed(requests.iter().map(request).collect()), extent);
        let tally = source.meta().tally.clone();
        let all = accesses(source);
        let pages = all.iter().map(|it| (it.address >> PAGE_BITS, it.size));
        let counts = tally.counts();
        (
            pages.collect(),
            counts.first().map_or(0, |(_, count)| *count),
        )
    }

    #[test]
    fn objects_do_not_share_pages() {
        let requests = [
            (7, 100),
            (8, 9000),
            (9, 4096),
            (u64::MAX, 1),
            (8, 4097),
            (10, 8192),
        ];
        let (far, sized) = (RENUMBERED, read(&requests, Extent::Sized));
        let expected = [
            (7, 100),
            (far, 9000),
            (9, 4096),
            (far + 3, 1),
            (far, 4097),
            (far + 4, 8192),
        ];
        assert_eq!(sized, (expected.to_vec(), 0));
        let units = [
            (7, 100),
            (8, 4096),
            (9, 4096),
            (far, 1),
            (8, 4096),
            (10, 4096),
        ];
        assert_eq!(read(&requests, Extent::Unit), (units.to_vec(), 3));
    }

    #[test]
    fn an_object_that_has_grown_is_a_new_one_and_counted() {
        let requests = [(7, 9000), (7, 100), (7, 9001), (7, 20_000), (7, 1)];
        let (far, moved) = (RENUMBERED, RENUMBERED + 3);
        let expected = [
            (far, 9000),
            (far, 100),
            (far, 9001),
            (moved, 20_000),
            (moved, 1),
        ];
        assert_eq!(read(&requests, Extent::Sized), (expected.to_vec(), 1));
    }
}
