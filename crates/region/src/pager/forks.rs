//! Forks: a pager rests while its process forks, and goes on in both.

use std::io;

use rustix::mm::{Advice, MsyncFlags, madvise, msync};
use terrace_policy::page::{PAGE_BYTES, Page};
use terrace_policy::replacement::PageId;
use terrace_policy::write::Contents;

use super::{Fault, Pager, State};
use crate::side::Side;
use crate::uffd::Event;

impl Pager {
    /// Ends all that is under way, and lets a child that is forked next have the memory, if that is
    /// possible. Faults wait meanwhile.
    ///
    /// # Errors
    /// Returns that of reading events.
    pub fn rest(&mut self) -> io::Result<()> {
        self.suspended = 0;
        let mut events = Vec::new();
        loop {
            self.follow_changes(&mut events)?;
            for (fault, protected) in faults(&events) {
                match protected {
                    true => self.first_write(fault),
                    false => self.waiting.push_back(fault),
                }
            }
            self.end_transfers();
            self.retry();
            if self.store.is_idle() && self.later() == 0 {
                break;
            }
        }
        if let Some(judge) = &mut self.judge {
            judge.rest();
        }
        self.shared = self.store.share().is_ok();
        if self.shared {
            self.advise(Advice::LinuxDoFork);
        }
        Ok(())
    }

    /// Whether a child that is forked now has the memory.
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Goes on after a fork.
    ///
    /// # Errors
    /// Returns the kernel's if the child cannot have userfaultfd, or the judge's thread cannot be
    /// started.
    pub fn forked(&mut self, side: Side) -> io::Result<()> {
        if std::mem::take(&mut self.shared) {
            self.store.forked(side)?;
            if side == Side::Child {
                self.begin_anew()?;
            }
            self.advise(Advice::LinuxDontFork);
        }
        match &mut self.judge {
            Some(judge) => judge.go_on(),
            None => Ok(()),
        }
    }

    /// Serves the faults of this process from now on. It has the pages that were in DRAM, without
    /// the protection of those that are clean: all are protected, and the first write of a dirty
    /// one is a fault for nothing.
    fn begin_anew(&mut self) -> io::Result<()> {
        for (start, end) in self.ranges.spans() {
            self.release_unmapped(start, end);
        }
        self.uffd = super::open().map_err(io::Error::other)?;
        self.staging.begin_anew().map_err(io::Error::other)?;
        if let Some(sampling) = &mut self.sampling {
            sampling.begin_anew().map_err(io::Error::other)?;
        }
        for (start, end) in self.ranges.spans() {
            let (start, bytes) = (start.start(), end.start() - start.start());
            self.uffd.register(start, bytes)?;
            self.uffd.protect(start, bytes)?;
        }
        self.take_filled_over();
        // The threads that wait are the parent's.
        self.waiting.clear();
        Ok(())
    }

    /// Forgets what another thread unmapped between this pager's last look at the events and the
    /// fork: that event goes to the parent, and the memory is in neither process.
    fn release_unmapped(&mut self, start: Page, end: Page) {
        if is_mapped(start, end) {
            return;
        }
        let pages = end.0 - start.0;
        if pages == 1 {
            return self.release(start, end);
        }
        let middle = Page(start.0 + pages / 2);
        self.release_unmapped(start, middle);
        self.release_unmapped(middle, end);
    }

    /// Has every touch of the ranges end with SIGSEGV, and returns whether it is so.
    pub fn withdraw(&self) -> bool {
        self.ranges.spans().into_iter().all(|(start, end)| {
            let bytes = (end.start() - start.start()) as usize;
            // SAFETY: the program does not get at the memory any more, which is what is wanted.
            unsafe { libc::mprotect(start.start() as *mut _, bytes, libc::PROT_NONE) == 0 }
        })
    }

    /// Lets children have all ranges, or keeps them from it.
    fn advise(&self, advice: Advice) {
        for (start, end) in self.ranges.spans() {
            let bytes = (end.start() - start.start()) as usize;
            // SAFETY: the advice leaves the contents as they are. It fails for parts that are
            // unmapped.
            let _ = unsafe { madvise(start.start() as *mut _, bytes, advice) };
        }
        self.staging.advise(advice);
        if let Some(sampling) = &self.sampling {
            sampling.advise(advice);
        }
    }

    /// Stages a page that the kernel does not move because it is shared since a fork: it gets a
    /// copy of its own first.
    ///
    /// # Errors
    /// Returns the kernel's.
    pub(super) fn stage_shared(&mut self, page: PageId) -> io::Result<()> {
        let slot = match self.page(page).state {
            // Nobody writes it where it lies.
            State::Sampled(_) => self.take_unshared(page)?,
            _ => self.take_unprotected(page)?,
        };
        self.staged(&[page], slot);
        Ok(())
    }

    /// Moves a page that the program may write meanwhile, and returns its slot.
    fn take_unprotected(&mut self, page: PageId) -> io::Result<usize> {
        let address = self.address(page);
        let was_clean = !self.page(page).dirty;
        let before = was_clean.then(|| read(address)).flatten();
        // From here on its writes do not show.
        self.page(page).dirty = true;
        self.uffd.unprotect(address, PAGE_BYTES)?;
        let slot = self.take_unshared(page)?;
        let same = before.is_some_and(|before| *before == *self.staging.contents(slot));
        self.page(page).dirty = !same;
        Ok(slot)
    }

    /// Gives a page a copy of its own, and moves that; returns its slot.
    fn take_unshared(&mut self, page: PageId) -> io::Result<usize> {
        let address = self.lies_at(page);
        let (start, bytes) = (address as *mut _, PAGE_BYTES as usize);
        // SAFETY: as if the program wrote a byte of the page that is there, without a change to it.
        unsafe { madvise(start, bytes, Advice::LinuxPopulateWrite)? };
        let slot = self.staging.free().start;
        match self.staging.take(address, &[page])? {
            0 => Err(io::Error::from_raw_os_error(libc::EAGAIN)),
            _ => Ok(slot),
        }
    }
}

/// Returns the faults of some events, and whether each is on a page that is there and protected.
pub(super) fn faults(events: &[Event]) -> impl Iterator<Item = (Fault, bool)> {
    let seen = std::time::Instant::now();
    events.iter().filter_map(move |event| match *event {
        Event::Fault {
            address,
            offset,
            thread,
            write,
            protected,
        } => {
            let fault = Fault {
                address,
                offset,
                thread,
                write,
                seen,
            };
            Some((fault, protected))
        }
        _ => None,
    })
}

/// Whether there is a mapping at every address.
fn is_mapped(start: Page, end: Page) -> bool {
    let bytes = (end.start() - start.start()) as usize;
    // SAFETY: anonymous memory is written nowhere: the kernel only looks whether it is mapped.
    unsafe { msync(start.start() as *mut _, bytes, MsyncFlags::ASYNC) }.is_ok()
}

/// Reads a page of the program; `None` if the kernel refuses it.
fn read(address: u64) -> Option<Box<Contents>> {
    let mut contents = Box::new([0; size_of::<Contents>()]);
    let ours = libc::iovec {
        iov_base: contents.as_mut_ptr().cast(),
        iov_len: contents.len(),
    };
    let theirs = libc::iovec {
        iov_base: address as *mut _,
        iov_len: contents.len(),
    };
    // SAFETY: the kernel writes to the buffer, which is this long. A page that is no longer mapped
    // is an error.
    let read = unsafe {
        libc::process_vm_readv(libc::getpid(), &raw const ours, 1, &raw const theirs, 1, 0)
    };
    (read == contents.len() as isize).then_some(contents)
}
