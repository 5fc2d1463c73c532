//! The bytes that loads see, and the stores that a crash could take back.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::{io, slice};

use super::super::Counts;
use super::super::lines::{lines, pieces};
use super::super::reservation::Reservation;
use super::super::words::word_at;
use super::{Granule, spare};
use crate::error::{Error, Result};

/// One store to one word.
#[derive(Clone, Copy)]
pub(super) struct Store {
    pub offset: u64,
    pub old: u64,
    pub new: u64,
}

/// A granule that a crash could leave in another state than it has now.
#[derive(Default)]
struct Unfenced {
    /// The stores since it was durable for certain, in order.
    stores: Vec<Store>,
    /// Number of stores that the next fence makes durable.
    flushed: usize,
}

/// A pool's bytes. The default has none.
#[derive(Default)]
pub(super) struct Memory {
    reservation: Option<Reservation>,
    len: u64,
    /// Number of bytes that are mapped: an image that has grown is shorter again when it is reset.
    mapped: u64,
    /// In ascending order, so that images come in the same order each time.
    unfenced: BTreeMap<u64, Unfenced>,
    /// Granules with something flushed.
    flushed: Vec<u64>,
    pub counts: Counts,
    /// An image before it was used: its length, and the words that were changed since.
    origin: Option<Origin>,
}

struct Origin {
    len: u64,
    changed: Vec<Store>,
}

fn no_memory(reason: io::Error) -> Error {
    Error::system("there is no memory for a simulated one", reason)
}

impl Memory {
    /// Returns a memory of `len` bytes, all zeros, of at most `max_len`; both multiples of a page.
    pub fn new(len: u64, max_len: u64) -> Result<Self> {
        let mut memory = Self::default();
        if let Some(reservation) = spare::take(len, max_len) {
            memory.reservation = Some(reservation);
            (memory.len, memory.mapped) = (len, len);
            return Ok(memory);
        }
        memory.reservation = Some(Reservation::new(max_len).map_err(no_memory)?);
        memory.grow(len)?;
        Ok(memory)
    }

    pub fn base(&self) -> *mut u8 {
        let none = std::ptr::null_mut();
        self.reservation.as_ref().map_or(none, Reservation::base)
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn max_len(&self) -> u64 {
        self.reservation.as_ref().map_or(0, Reservation::len)
    }

    /// Grows it to at least `len` bytes, a multiple of a page; returns its length.
    pub fn grow(&mut self, len: u64) -> Result<u64> {
        let (Some(reservation), true) = (&self.reservation, len > self.len) else {
            return Ok(self.len);
        };
        if len > reservation.len() {
            return Err(Error::full(format!(
                "{len} bytes are more than was reserved"
            )));
        }
        let mapped = reservation.map_anonymous(self.len..len);
        mapped.map_err(no_memory)?;
        self.len = len;
        self.mapped = self.mapped.max(len);
        Ok(len)
    }

    /// Overwrites the first bytes, durably.
    pub fn fill(&mut self, bytes: &[u8]) {
        assert!(bytes.len() as u64 <= self.len);
        // SAFETY: they fit, and `self` is borrowed alone.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.base(), bytes.len()) };
    }

    pub fn bytes(&self) -> Vec<u8> {
        let Some(reservation) = &self.reservation else {
            return Vec::new();
        };
        // SAFETY: `len` bytes are mapped, and only written through `&mut self`.
        unsafe { slice::from_raw_parts(reservation.base(), self.len as usize) }.to_vec()
    }

    /// Returns the stores that a crash could take back, for each granule in their order.
    pub fn unfenced(&self) -> impl Iterator<Item = &[Store]> {
        self.unfenced.values().map(|unfenced| &unfenced.stores[..])
    }

    /// Stores at most 8 bytes at the beginning of a word.
    pub fn store(&mut self, offset: u64, piece: &[u8], granule: Granule) {
        let old = self.load(offset);
        let mut word = old.to_ne_bytes();
        word[..piece.len()].copy_from_slice(piece);
        let new = u64::from_ne_bytes(word);
        // A store that changes nothing leaves no other image.
        if new == old {
            return;
        }
        let store = Store { offset, old, new };
        self.set(offset, new);
        let unfenced = self.unfenced.entry(offset / granule.bytes()).or_default();
        unfenced.stores.push(store);
        if let Some(origin) = &mut self.origin {
            origin.changed.push(store);
        }
    }

    pub fn flush(&mut self, offset: u64, len: u64, granule: Granule) {
        let lines = lines(offset, len);
        self.counts.lines += lines.end - lines.start;
        let pieces = pieces(offset, len, granule.bytes());
        for (&number, unfenced) in self.unfenced.range_mut(pieces) {
            unfenced.flushed = unfenced.stores.len();
            self.flushed.push(number);
        }
    }

    pub fn fence(&mut self) {
        self.counts.fences += 1;
        for number in self.flushed.drain(..) {
            // A granule that was flushed twice is done with already.
            let Some(unfenced) = self.unfenced.get_mut(&number) else {
                continue;
            };
            unfenced.stores.drain(..unfenced.flushed);
            unfenced.flushed = 0;
            if unfenced.stores.is_empty() {
                self.unfenced.remove(&number);
            }
        }
    }

    /// Remembers its current state.
    pub fn remember(&mut self) {
        let (len, changed) = (self.len, Vec::new());
        self.origin = Some(Origin { len, changed });
    }

    /// Restores the remembered state.
    pub fn reset(&mut self) {
        self.unfenced.clear();
        self.flushed.clear();
        self.counts = Counts::default();
        let Some(mut origin) = self.origin.take() else {
            return;
        };
        for store in origin.changed.drain(..).rev() {
            self.set(store.offset, store.old);
        }
        // The bytes by which it grew are zeros again; growing anew maps new pages there.
        self.len = origin.len;
        self.origin = Some(origin);
    }

    /// Sets one word, durably.
    pub fn set(&mut self, offset: u64, word: u64) {
        assert!(offset < self.len);
        // SAFETY: it lies within the pool, on a word's boundary.
        unsafe { word_at(self.base(), offset) }.store(word, Ordering::Release);
    }

    fn load(&self, offset: u64) -> u64 {
        assert!(offset < self.len);
        // SAFETY: same as in `set`.
        unsafe { word_at(self.base(), offset) }.load(Ordering::Relaxed)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            spare::keep(reservation, self.mapped);
        }
    }
}
