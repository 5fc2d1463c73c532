//! Options of a new pool.

use crate::error::{Error, Result, ensure};
use crate::layout::{AllocatorKind, Geometry, header};
use crate::medium::Kind;

/// Options of a new pool.
///
/// ```
/// use terrace_heap::Options;
///
/// let options = Options::default().chunk_bytes(1 << 20).lanes(16);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Options {
    chunk_bytes: u64,
    lanes: u16,
    allocator: AllocatorKind,
    seed: Option<u64>,
    checksums: Option<bool>,
}

impl Default for Options {
    /// Returns chunks of 64 KiB, for objects up to 508 MiB, 64 lanes, a random seed, and checksums
    /// of contents where the pool lies on a plain file.
    fn default() -> Self {
        Self {
            chunk_bytes: 1 << 16,
            lanes: 64,
            allocator: AllocatorKind::Nvwa,
            seed: None,
            checksums: None,
        }
    }
}

impl Options {
    /// Sets the unit in which the pool is divided: a power of two from 4 KiB to 16 MiB. Smaller
    /// objects share a chunk, and no object is larger than about `chunk_bytes`² / 8.
    #[must_use]
    pub fn chunk_bytes(mut self, bytes: u64) -> Self {
        self.chunk_bytes = bytes;
        self
    }

    /// Sets how many threads can work at the same time without waiting for each other: 1 to 256.
    #[must_use]
    pub fn lanes(mut self, lanes: u16) -> Self {
        self.lanes = lanes;
        self
    }

    /// Sets the seed of the hashes of the pool's hash maps, a random number by default. An attacker
    /// who knows the seed can choose keys that collide.
    #[must_use]
    pub fn hash_seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets whether the contents of containers have checksums: then what a container returns is
    /// what was written to it, or an error of [`Cause::Damaged`](crate::Cause::Damaged), whatever
    /// the medium does to the pool. By default they have them on plain files, where each put waits
    /// for the device, and not on memory. Objects that a program reaches by its own pointers have
    /// none.
    #[must_use]
    pub fn checksums(mut self, checksums: bool) -> Self {
        self.checksums = Some(checksums);
        self
    }

    /// Sets the allocator of the pool.
    #[cfg(feature = "experiments")]
    #[must_use]
    pub fn allocator(mut self, allocator: AllocatorKind) -> Self {
        self.allocator = allocator;
        self
    }

    /// Returns the parameters of a pool on a medium of some kind.
    ///
    /// # Errors
    ///
    /// The options are invalid.
    pub(crate) fn geometry(&self, kind: Kind) -> Result<Geometry> {
        let (chunk_bytes, lanes) = (self.chunk_bytes, self.lanes);
        let shift = chunk_bytes.trailing_zeros();
        ensure(
            chunk_bytes.is_power_of_two() && header::SHIFTS.contains(&shift),
            || {
                Error::usage(format!(
                    "a chunk has a power of two from 4096 to 16777216 bytes, not {chunk_bytes}"
                ))
            },
        )?;
        ensure((1..=256).contains(&lanes), || {
            Error::usage(format!("a pool has 1 to 256 lanes, not {lanes}"))
        })?;
        Ok(Geometry {
            shift,
            lanes,
            intents: INTENTS,
            allocator: self.allocator,
            seed: self.seed.unwrap_or_else(random),
            checksums: self.checksums.unwrap_or(kind == Kind::Synced),
        })
    }
}

/// Returns a number that cannot be foreseen.
fn random() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// Lines in a lane's ring of intents: with the line of its state 1 KiB.
const INTENTS: u8 = 15;
