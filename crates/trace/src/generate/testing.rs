//! Helpers of the tests of kernels.

use terrace_base::Bytes;

use super::kernel::KernelSettings;
use crate::source::Source;
pub(super) use crate::testing::accesses;

pub(super) fn settings(accesses: u64, footprint: u64, seed: u64) -> KernelSettings {
    KernelSettings {
        accesses,
        footprint: Bytes(footprint),
        seed,
    }
}

/// Address, size, and whether it stores.
pub(super) type Touch = (u64, u32, bool);

pub(super) fn touches(source: Box<dyn Source>) -> Vec<Touch> {
    let all = accesses(source);
    all.iter().map(|a| (a.address, a.size, a.write)).collect()
}

/// The log of a naive twin.
#[derive(Default)]
pub(super) struct Twin(pub(super) Vec<Touch>);

impl Twin {
    pub(super) fn load(&mut self, address: u64, size: u32) {
        self.0.push((address, size, false));
    }

    pub(super) fn store(&mut self, address: u64, size: u32) {
        self.0.push((address, size, true));
    }
}

/// Address of the first array.
pub(super) const HEAP: u64 = 0x1000_0000_0000;

/// Returns the address of the array behind one of `bytes` at `address`.
pub(super) fn behind(address: u64, bytes: u64) -> u64 {
    (address + bytes).next_multiple_of(4096)
}
