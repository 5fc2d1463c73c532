//! Where segments lie: a file, a block device, or an emulated memory.

mod disk;
mod emulated;

use std::io;

pub use disk::Disk;
pub use emulated::{Emulated, Slowdown};

/// A medium of a fixed size, which several threads read and write.
///
/// Offsets, lengths and buffers are multiples of a page. What was written is durable after the next
/// [`Medium::sync`]; before that, any part of it may be.
pub trait Medium: Send + Sync {
    /// Returns the size in bytes.
    fn bytes(&self) -> u64;

    /// Fills `into` from `offset` on.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes `from` at `offset`.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()>;

    /// Whether its size can be changed.
    fn is_resizable(&self) -> bool {
        false
    }

    /// Changes its size. What lies below both sizes stays, and zeros are added.
    ///
    /// # Errors
    /// Returns the error of the system; a size that cannot be had is not taken in part.
    fn resize(&self, _bytes: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes durable what was written.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn sync(&self) -> io::Result<()>;
}
