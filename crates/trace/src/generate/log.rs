//! The log of the accesses of a kernel.

use terrace_base::bytes::PAGE_BYTES;

use crate::access::Block;
use crate::discard::Discard;

/// Where the arrays begin.
const HEAP: u64 = 0x1000_0000_0000;
/// Where the code begins; an access has 8 bytes of it.
const CODE: u64 = 0x40_1000;

/// The accesses of a kernel and its count of instructions.
#[derive(Debug, Default)]
pub(super) struct Log {
    block: Block,
    instructions: u64,
    /// What was given back since the last access.
    given_back: Vec<Discard>,
}

impl Log {
    /// Logs into `block` from now on, from its beginning.
    pub(super) fn begin(&mut self, block: &mut Block) {
        std::mem::swap(&mut self.block, block);
        self.block.clear();
    }

    /// Returns the block with at most `most` accesses, and their number.
    pub(super) fn end(&mut self, block: &mut Block, most: u64) -> u64 {
        let len = usize::try_from(most).map_or(self.len(), |most| most.min(self.len()));
        self.block.resize(len);
        self.block.depends.truncate(len);
        std::mem::swap(&mut self.block, block);
        len as u64
    }

    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// Logs a load of `size` bytes, which is number `site` of the accesses in the code.
    pub(super) fn load(&mut self, site: u64, address: u64, size: u64) {
        self.note(site, address, size, false);
    }

    /// Logs a store of `size` bytes, which is number `site` of the accesses in the code.
    pub(super) fn store(&mut self, site: u64, address: u64, size: u64) {
        self.note(site, address, size, true);
    }

    /// Logs a store, number 1 in the code, or a load, number 0, of `size` bytes.
    pub(super) fn access(&mut self, write: bool, address: u64, size: u64) {
        self.note(write.into(), address, size, write);
    }

    /// Logs a load of `size` bytes, number `site`, whose address comes from a load so many
    /// instructions before.
    pub(super) fn dependent_load(&mut self, site: u64, address: u64, size: u64, before: u8) {
        self.load(site, address, size);
        self.block.depends.resize(self.block.address.len() - 1, 0);
        self.block.depends.push(before);
    }

    /// Gives back `pages` pages from an address on, before the next access.
    pub(super) fn give_back(&mut self, address: u64, pages: u64) {
        self.given_back.push(Discard {
            page: address / PAGE_BYTES,
            pages,
            ..Discard::default()
        });
    }

    /// Counts instructions that touch no memory.
    pub(super) fn work(&mut self, instructions: u64) {
        self.instructions += instructions;
    }

    fn note(&mut self, site: u64, address: u64, size: u64, write: bool) {
        let row = self.block.len() as u64;
        let given_back = self.given_back.drain(..);
        let discards = given_back.map(|discard| Discard { row, ..discard });
        self.block.discards.extend(discards);
        self.block.instruction.push(self.instructions);
        self.block.address.push(address);
        self.block.ip.push(CODE + 8 * site);
        self.block.size.push(size as u32);
        self.block.write.push(write);
        self.instructions += 1;
    }
}

/// Allocates addresses of arrays, each at the beginning of a page, as an allocator does with large
/// arrays.
#[derive(Debug)]
pub(super) struct Heap(u64);

impl Heap {
    pub(super) fn new() -> Self {
        Self(HEAP)
    }

    /// Returns the address of a new array of `bytes`.
    pub(super) fn array(&mut self, bytes: u64) -> u64 {
        let address = self.0;
        self.0 += bytes.next_multiple_of(PAGE_BYTES);
        address
    }
}
