//! Objects of any size, and objects that are changed directly: at their address, past the heap, as
//! programs in other languages do.

use crate::error::{Error, Result};
use crate::heap::{Heap, ObjectInfo};
use crate::medium::Medium;
use crate::operation::{Contents, Publication};
use crate::ptr::{Place, Ptr};
use crate::transaction::Transaction;

impl<M: Medium> Heap<M> {
    /// As [`Heap::publish`], of bytes, filled with zeros to 16.
    ///
    /// # Errors
    ///
    /// As [`Heap::publish`].
    pub fn publish_bytes(&self, place: Place<u8>, bytes: &[u8]) -> Result<Ptr<u8>> {
        self.publish_sized(place, Contents::Parts(&[bytes]))
    }

    /// As [`Heap::publish`], of so many zeros; one more fence. The object may be changed directly
    /// ([`Heap::persist`]).
    ///
    /// # Errors
    ///
    /// As [`Heap::publish`].
    pub fn publish_zeros(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.expect_room(bytes)?;
        self.publish_sized(place, Contents::Zeros(bytes.max(1)))
    }

    fn publish_sized(&self, place: Place<u8>, contents: Contents) -> Result<Ptr<u8>> {
        self.expect_null(place)?;
        let publication = Publication {
            destination: place.offset(),
            upper: 0,
            kind: 0,
            contents,
        };
        self.core().publish(&publication).map(Ptr::at)
    }

    /// The object that begins there.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn object<T>(&self, at: Ptr<T>) -> Result<ObjectInfo> {
        let found = self.core().object(at.offset())?;
        Ok(ObjectInfo {
            offset: found.offset,
            bytes: found.bytes,
        })
    }

    /// Makes the object to which `place` points larger or smaller, durably. Where its slot has room,
    /// and is not more than twice as large, nothing is done; otherwise it moves: 4 lines besides its
    /// own, one fence. After a crash `place` points to it at its old or at its new place, and the
    /// other one is free. It holds the same, as far as that fits; what is new is zeros where it moved
    /// and anything where it did not.
    ///
    /// # Errors
    ///
    /// `place` points to no object; there is no room, or a fence failed.
    pub fn resize(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.transaction(|tx| tx.resize(place, bytes))
    }

    /// Makes durable what was changed directly; of more than one word any may be durable before the
    /// others. One fence, and two more if one of the last operations changed the same.
    ///
    /// Only roots' words, and objects made by [`Heap::publish_zeros`] or in a transaction that says so
    /// ([`Transaction::change_directly`]), may be changed directly: of others a check of what they held
    /// when they were made is kept, and a crash could take them for objects that were never whole.
    ///
    /// # Errors
    ///
    /// It is not wholly in the pool, or a fence failed.
    pub fn persist(&self, offset: u64, len: u64) -> Result<()> {
        let first = offset & !7;
        let end = offset
            .checked_add(len)
            .and_then(|end| end.checked_next_multiple_of(8));
        let words = end.unwrap_or(u64::MAX) - first;
        self.core()
            .space
            .pool
            .check(first, words, "what was changed")?;
        self.core().persist(first, words)
    }

    /// Whether an object of this size could be in the pool at all.
    fn expect_room(&self, bytes: u64) -> Result<()> {
        let all = self.len();
        match bytes <= all {
            true => Ok(()),
            false => Err(Error::full(format!(
                "an object of {bytes} bytes is larger than the pool of {all}"
            ))),
        }
    }
}

impl<M: Medium> Transaction<'_, M> {
    /// Makes an object of so many zeros, which may be changed directly
    /// ([`Transaction::change_directly`]).
    ///
    /// # Errors
    ///
    /// As [`Transaction::alloc`].
    pub fn alloc_zeros(&self, bytes: u64) -> Result<Ptr<u8>> {
        self.heap().expect_room(bytes)?;
        self.change_directly()?;
        self.alloc_bytes(&vec![0; bytes as usize]).map(Ptr::at)
    }

    /// As [`Heap::resize`], at the commit.
    ///
    /// # Errors
    ///
    /// As [`Heap::resize`].
    pub fn resize(&self, place: Place<u8>, bytes: u64) -> Result<Ptr<u8>> {
        self.heap().expect_room(bytes)?;
        let old = self.read(place)?;
        let room = self.bytes_of(old)?;
        if bytes <= room && (bytes > room / 2 || room <= 32) {
            return Ok(old);
        }
        let mut contents = vec![0; bytes as usize];
        let kept = room.min(bytes) as usize;
        self.read_bytes(old.offset(), &mut contents[..kept])?;
        let new = Ptr::at(self.alloc_bytes(&contents)?);
        if let Err(error) = self.write(place, &new) {
            // The transaction may go on without it.
            self.free(new)?;
            return Err(error);
        }
        self.free(old)?;
        Ok(new)
    }
}
