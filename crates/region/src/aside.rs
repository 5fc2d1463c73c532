//! A range in which pages lie aside: in DRAM, and not at the addresses at which the program has
//! them, so that its next touch of one is a fault.

use std::io;
use std::ops::Range;

use rustix::mm::{Advice, madvise};
use terrace_base::{Context, Result};
use terrace_policy::page::PAGE_BYTES;
use terrace_policy::write::Contents;

use crate::mapping::Mapping;
use crate::uffd::{Uffd, feature};

/// Slots for pages. Who has it knows which of them hold one.
pub(crate) struct Aside {
    /// A userfaultfd of its own, without events: dropping pages must not wait for their reader,
    /// which is the thread that drops them.
    uffd: Uffd,
    mapping: Mapping,
}

impl Aside {
    /// Maps a range of this many slots, at least one.
    ///
    /// # Errors
    /// Returns a failure if there is no userfaultfd or no memory for it.
    pub fn new(slots: usize) -> Result<Self> {
        let mapping = Mapping::new(slots);
        let mapping = mapping.or_fail(|| "cannot map a range for pages that lie aside".into())?;
        let aside = Self {
            uffd: open(&mapping)?,
            mapping,
        };
        // A child has no use for it unless it is followed.
        aside.advise(Advice::LinuxDontFork);
        Ok(aside)
    }

    /// Goes on in a forked process, which has a copy of the range.
    ///
    /// # Errors
    /// Returns those of [`Aside::new`].
    pub fn begin_anew(&mut self) -> Result<()> {
        self.uffd = open(&self.mapping)?;
        Ok(())
    }

    /// Lets children have the range, or keeps them from it.
    pub fn advise(&self, advice: Advice) {
        let (start, bytes) = (self.mapping.start().cast(), self.mapping.bytes());
        // SAFETY: the mapping is ours, and the advice leaves its contents as they are.
        let advised = unsafe { madvise(start, bytes, advice) };
        advised.expect("the kernel takes advice on a mapping that is there");
    }

    /// Moves this many pages in a row from an address to empty slots from `slot` on, and returns
    /// how many were moved.
    ///
    /// # Errors
    /// Returns that of [`Uffd::move_pages`].
    pub fn take(&self, from: u64, slot: usize, pages: usize) -> io::Result<usize> {
        let bytes = pages as u64 * PAGE_BYTES;
        let moved = self.uffd.move_pages(from, self.address(slot), bytes)?;
        Ok((moved / PAGE_BYTES) as usize)
    }

    /// Returns the address of a slot.
    pub fn address(&self, slot: usize) -> u64 {
        self.mapping.address() + slot as u64 * PAGE_BYTES
    }

    /// Returns the contents of a slot that holds a page. A read of an empty one would wait for
    /// ever.
    pub fn contents(&self, slot: usize) -> &Contents {
        // SAFETY: the slot lies within the mapping, and a page is mapped there, which nobody but
        // this thread writes or drops.
        unsafe { &*self.mapping.start().cast::<Contents>().add(slot) }
    }

    /// Drops what slots hold.
    pub fn drop_pages(&self, slots: Range<usize>) {
        if slots.is_empty() {
            return;
        }
        let start = self
            .mapping
            .start()
            .wrapping_add(slots.start * PAGE_BYTES as usize);
        let bytes = slots.len() * PAGE_BYTES as usize;
        // SAFETY: the slots are ours; no reference to their contents is left.
        let dropped = unsafe { madvise(start.cast(), bytes, Advice::LinuxDontNeed) };
        dropped.expect("the kernel drops pages of a mapping that is there");
    }
}

/// Opens a userfaultfd for the range of this process.
fn open(mapping: &Mapping) -> Result<Uffd> {
    let uffd = Uffd::open(0, feature::MOVE)?;
    uffd.register(mapping.address(), mapping.bytes() as u64)
        .or_fail(|| "cannot register a range for pages that lie aside".into())?;
    Ok(uffd)
}
