//! Slow memories, which hold the pages that are not in DRAM.
//!
//! A slow memory is an array of places of one page each, numbered from 0. Transfers take their
//! time: one is begun, and asked for when it may have ended. To add a slow memory: implement
//! [`Slow`] in a file here.

mod blocks;
pub mod device;
pub mod disk;
pub mod emulated;
mod layers;
mod nameless;

use std::io;
use std::os::fd::RawFd;
use std::time::Instant;

use terrace_policy::write::Contents;

pub use crate::side::Side;

/// A page outside of programs' reach, aligned as devices need it.
#[derive(Clone)]
#[repr(C, align(4096))]
pub struct Buffer(pub Contents);

impl Buffer {
    /// Returns a page of zeros.
    pub fn zeroed() -> Box<Self> {
        Box::new(Self([0; size_of::<Contents>()]))
    }
}

/// A read of one place.
pub struct Read {
    /// A number that is unique among transfers under way.
    pub ticket: u32,
    /// The place.
    pub place: u32,
    /// Where its contents come.
    pub buffer: Box<Buffer>,
}

/// A write of one place.
pub struct Write {
    /// What the place is to hold.
    pub buffer: Box<Buffer>,
    /// The lines of 64 bytes that are written, a bit each; the others hold the same already, or are
    /// not needed.
    pub lines: u64,
}

/// The end of a transfer.
pub struct Done {
    /// The number that it was begun with.
    pub ticket: u32,
    /// The buffer that it was begun with; after a read, what the place holds.
    pub buffer: Box<Buffer>,
    /// Whether it succeeded. What the buffer of a failed read, or the place of a failed write,
    /// holds is unknown.
    pub result: io::Result<()>,
}

/// What a driver may do until another transfer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing is under way.
    Idle,
    /// Look again at this time.
    Until(Instant),
    /// Look again when the descriptor can be read.
    Descriptor(RawFd),
}

/// A slow memory.
///
/// A driver begins no transfer of a place while another of that place is under way.
pub trait Slow: Send {
    /// Begins to read a place. `ticket` is unique among transfers under way.
    fn read(&mut self, ticket: u32, place: u32, buffer: Box<Buffer>);

    /// Begins to read places that no thread waits for, in their order.
    fn read_ahead(&mut self, reads: Vec<Read>) {
        for read in reads {
            self.read(read.ticket, read.place, read.buffer);
        }
    }

    /// Tells that a thread waits for a read that [`Slow::read_ahead`] has begun. A memory that
    /// serves all reads in their turn has nothing to do.
    fn promote(&mut self, _ticket: u32) {}

    /// Begins to write a place.
    fn write(&mut self, ticket: u32, place: u32, write: Write);

    /// Returns a transfer that has ended, each once.
    fn done(&mut self) -> Option<Done>;

    /// Returns what may be done until another transfer ends.
    fn wait(&self) -> Wait;

    /// Returns what a place holds if that is known without a read: a device that compares before it
    /// writes. `None` if it has to be read.
    fn holds(&self, _place: u32) -> Option<&Contents> {
        None
    }

    /// Gets ready for a fork, after which two processes have this memory, each as if it had it
    /// alone. No transfer is under way, and none begins before [`Slow::forked`].
    ///
    /// # Errors
    /// Returns why a child cannot have the memory.
    fn share(&mut self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Goes on in a process after [`Slow::share`] and a fork.
    ///
    /// # Errors
    /// Returns why it cannot.
    fn forked(&mut self, _side: Side) -> io::Result<()> {
        Ok(())
    }
}
