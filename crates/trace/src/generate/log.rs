//! The log of the accesses of a kernel.

use terrace_base::bytes::PAGE_BYTES;

use crate::access::Block;

/// Where the arrays begin.
const HEAP: u64 = 0x1000_0000_0000;
/// Where the code begins.
const CODE: u64 = 0x40_1000;

/// Returns the address of the `number`th load or store in the code of a kernel.
pub(super) const fn site(number: u64) -> u64 {
    CODE + 8 * number
}

/// The accesses of a kernel and its count of instructions.
#[derive(Debug, Default)]
pub(super) struct Log {
    block: Block,
    instructions: u64,
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
        self.block.truncate(len);
        self.block.process.resize(len, 0);
        self.block.thread.resize(len, 0);
        std::mem::swap(&mut self.block, block);
        len as u64
    }

    pub(super) fn len(&self) -> usize {
        self.block.len()
    }

    /// Logs an instruction at `ip` that loads `size` bytes.
    pub(super) fn load(&mut self, ip: u64, address: u64, size: u32) {
        self.note(ip, address, size, false);
    }

    /// Logs an instruction at `ip` that stores `size` bytes.
    pub(super) fn store(&mut self, ip: u64, address: u64, size: u32) {
        self.note(ip, address, size, true);
    }

    /// Counts instructions that touch no memory.
    pub(super) fn work(&mut self, instructions: u64) {
        self.instructions += instructions;
    }

    fn note(&mut self, ip: u64, address: u64, size: u32, write: bool) {
        self.block.instruction.push(self.instructions);
        self.block.address.push(address);
        self.block.ip.push(ip);
        self.block.size.push(size);
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
