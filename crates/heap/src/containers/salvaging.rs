//! What salvaging a container takes: where its entries go, and what could not be read.

use crate::error::{Cause, Result};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::operation::Operation;
use crate::survey::Finding;

use super::inspecting::{Order, order_of};
use super::types::Types;

/// Takes the key and the value of an entry that could be read.
pub(super) type Take<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// Most findings whose sentence is kept.
pub(crate) const KEPT: usize = 100;

/// What could not be read.
#[derive(Default)]
pub(crate) struct Lost {
    /// Entries and elements.
    pub entries: u64,
    /// Parts of containers, each of a number of entries that is not known.
    pub parts: u64,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// All findings.
    pub found: u64,
}

impl Lost {
    /// Notes an entry that cannot be read.
    pub fn entry(&mut self, at: u64, what: String) {
        self.entries += 1;
        self.note(at, what);
    }

    /// Notes a part of a container that cannot be read.
    pub fn part(&mut self, at: u64, what: String) {
        self.parts += 1;
        self.note(at, what);
    }

    fn note(&mut self, offset: u64, what: String) {
        self.found += 1;
        if self.findings.len() < KEPT {
            self.findings.push(Finding { offset, what });
        }
    }
}

/// Carries out one operation of a heap that no other thread knows; the pool grows if it is full.
///
/// # Errors
///
/// The pool cannot grow, or a fence failed.
pub(super) fn operate<M: Medium, R>(
    heap: &Heap<M>,
    mut work: impl FnMut(&mut Operation<M>) -> Result<R>,
) -> Result<R> {
    let core = heap.core();
    loop {
        let done = core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            let done = work(&mut operation)?;
            operation.commit()?;
            Ok(done)
        });
        match done {
            Err(error) if error.cause() == Cause::Full => heap.grow(heap.len() / 4 * 5)?,
            done => return done,
        }
    }
}

/// A container of a damaged pool.
pub(super) struct Found {
    pub table: u64,
    pub types: Types,
}

impl Found {
    /// Returns the bytes of keys and values, or of elements twice, as tables have them.
    pub fn sizes(&self) -> [u32; 2] {
        let mut sizes = self.types.0.iter().map(|of| of.bytes);
        let first = sizes.next();
        let last = sizes.next_back().or(first);
        [first, last].map(|size| size.unwrap_or(0))
    }

    /// Returns the order of keys, if it is known.
    pub fn order(&self) -> Option<Order> {
        order_of(&self.types)
    }
}

/// Returns the guard of a container that no other thread knows.
pub(super) fn guard() -> Guard {
    Guard::new(None)
}
