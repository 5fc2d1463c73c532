//! Where a kernel notes what it touches.

use crate::access::Block;

/// Where the arrays begin.
const HEAP: u64 = 0x1000_0000_0000;
/// Where the code begins.
const CODE: u64 = 0x40_1000;
const PAGE_BYTES: u64 = 4096;

/// The address of the `number`th load or store of a kernel's code.
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
    /// Notes into `block` from now on, from its beginning.
    pub(super) fn begin(&mut self, block: &mut Block) {
        std::mem::swap(&mut self.block, block);
        self.block.clear();
    }

    /// Gives the block back with at most `most` accesses, and says how many they are.
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

    /// An instruction at `ip` that loads `size` bytes.
    pub(super) fn load(&mut self, ip: u64, address: u64, size: u32) {
        self.note(ip, address, size, false);
    }

    /// An instruction at `ip` that stores `size` bytes.
    pub(super) fn store(&mut self, ip: u64, address: u64, size: u32) {
        self.note(ip, address, size, true);
    }

    /// Instructions that touch no memory.
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

/// Hands out addresses for arrays, each from a page's beginning, as an allocator does with large
/// ones.
#[derive(Debug)]
pub(super) struct Heap(u64);

impl Heap {
    pub(super) fn new() -> Self {
        Self(HEAP)
    }

    /// The address of an array of `bytes`.
    pub(super) fn array(&mut self, bytes: u64) -> u64 {
        let address = self.0;
        self.0 += bytes.next_multiple_of(PAGE_BYTES);
        address
    }
}
