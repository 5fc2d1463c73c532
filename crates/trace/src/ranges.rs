//! Bytes that are read at any place: those of a file, or of an object in a store.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a known length that are read at any place, for traces that do not lie in a file
/// ([`open_ranges`](crate::open_ranges)).
///
/// The description at the end of a trace is read first, in two reads, and then a column of a row
/// group at a time. Of 2^20 rows, which a row group of ours has, that is about 8 MiB at most, 32
/// MiB of the words of contents, and half a KiB where all values are equal. Columns that are not
/// wanted are never asked for. A read comes after the one before has ended, and an error ends the
/// trace: an implementation for a network tries again by itself.
///
/// ```
/// use std::io;
/// use std::sync::Arc;
///
/// use terrace_trace::{Columns, Ranges, open_ranges};
///
/// struct Memory(Vec<u8>);
///
/// impl Ranges for Memory {
///     fn length(&self) -> io::Result<u64> {
///         Ok(self.0.len() as u64)
///     }
///
///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
///         let from = self.0.get(offset as usize..).unwrap_or_default();
///         let from = from.get(..buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
///         buffer.copy_from_slice(from);
///         Ok(())
///     }
/// }
///
/// let cut = Arc::new(Memory(b"PAR1".to_vec()));
/// let error = open_ranges("memory", cut, Columns::ALL).err().unwrap();
/// assert!(error.to_string().starts_with("the trace `memory` is wrong at its end, offset 4"));
/// ```
pub trait Ranges: Send + Sync {
    /// Returns the length in bytes. It is asked for once, when a trace is opened.
    ///
    /// # Errors
    /// The reason why it is not known, for people.
    fn length(&self) -> io::Result<u64>;

    /// Fills all of `buffer`, which is never empty, with the bytes from `offset` on. They lie
    /// within the length.
    ///
    /// # Errors
    /// The reason why they cannot be read, for people; [`io::ErrorKind::UnexpectedEof`] if the
    /// bytes end before the buffer is full.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}

impl Ranges for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }
}

/// Returns the `length` bytes from `offset` on; where that is 0, nothing is asked for.
pub(crate) fn read(ranges: &dyn Ranges, offset: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    if length > 0 {
        ranges.read_at(&mut bytes, offset)?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_asked_for_where_nothing_is() {
        struct Unasked;
        impl Ranges for Unasked {
            fn length(&self) -> io::Result<u64> {
                Ok(4)
            }

            fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
                panic!("a store may refuse an empty range")
            }
        }
        assert!(read(&Unasked, 4, 0).unwrap().is_empty());
    }
}
