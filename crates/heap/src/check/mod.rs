//! Whether a pool is sound: everything that the format protects is looked at, and everything that is
//! wrong is said, each in a sentence with its place.
//!
//! First the pool is read as it lies there. What a crash can leave is not wrong: a record, an intent
//! or a root that was not stored wholly is none. Then it is recovered as when it is opened, on the
//! medium that was given (a private mapping or a copy), and its roots are followed.
//!
//! What cannot be found: the contents of objects have no checksum once they may have been changed,
//! and an intent that was damaged looks as if it had been torn.

mod chunks;
mod header;
mod lanes;
mod records;
mod roots;

use std::fmt;

use crate::allocator::Space;
use crate::error::Error;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::recovery;

pub(crate) use header::open;

/// Something that is wrong in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Where, in bytes from the beginning of the pool.
    pub offset: u64,
    /// What, without the offset.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}, {}", self.offset, self.what)
    }
}

/// All that is wrong.
#[derive(Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    pub fn add(&mut self, offset: u64, what: impl Into<String>) {
        let what = what.into();
        self.0.push(Finding { offset, what });
    }

    pub fn into_vec(self) -> Vec<Finding> {
        self.0
    }

    fn error(&mut self, offset: u64, error: &Error) {
        self.add(offset, error.to_string());
    }
}

/// All that is wrong with the pool on a medium, in the order in which it was found; nothing, if it is
/// sound.
///
/// The medium is recovered: give a private mapping
/// ([`Mode::Private`](crate::medium::mapped::Mode::Private)) or a copy.
pub fn check<M: Medium>(medium: M) -> Vec<Finding> {
    let mut findings = Findings::default();
    if let Some(pool) = open(medium, &mut findings) {
        let space = recovery::space(pool);
        as_it_lies_there(&space, &mut findings);
        recovered(space.pool.medium.into_medium(), &mut findings);
    }
    findings.into_vec()
}

fn as_it_lies_there<M: Medium>(space: &Space<M>, findings: &mut Findings) {
    let mut chunks = chunks::read(&space.pool, findings);
    let mut lanes = lanes::read(space, findings);
    records::check(&space.pool, &mut chunks, &mut lanes, findings);
    lanes::check(space, &lanes, findings);
    chunks::check_overlaps(&space.pool, &chunks, findings);
    roots::check(&space.pool, &chunks.roots, findings);
}

/// Opens the pool as programs do.
fn recovered<M: Medium>(medium: M, findings: &mut Findings) {
    match Heap::open_on(medium) {
        Ok(heap) => roots::follow(&heap, findings),
        // What keeps it from being opened has been found already, and is said better there.
        Err(error) if findings.0.is_empty() => findings.error(0, &error),
        Err(_) => {}
    }
}

#[cfg(test)]
mod tests;
