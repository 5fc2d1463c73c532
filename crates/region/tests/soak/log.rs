//! What the program means to have in its pages, in memory that the verifier owns and that outlives
//! the program.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The word of the program's first finding, and the words behind it that describe it.
const WRONG: usize = 0;
/// Words before those of pages.
const HEAD: usize = 4;
/// The page is in this version, or on its way to it if this bit is set.
const UNDER_WAY: u64 = 1 << 32;
/// The page could not be read, as a system call has said.
const LOST: u64 = 1 << 33;

/// The log, a word a page. Each page is logged by one thread.
pub struct Log {
    words: *const AtomicU64,
    number: usize,
}

// SAFETY: the words are atomic, and stay mapped as long as the log lives.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

/// A page that held something else than what the log says.
#[derive(Debug)]
pub struct Wrong {
    pub page: u32,
    pub version: u32,
    pub at: usize,
    pub found: u64,
}

impl Log {
    /// Opens the log of this many pages in a file, which becomes as long as it has to be.
    pub fn open(file: &File, pages: usize) -> Self {
        let number = HEAD + pages;
        file.set_len(number as u64 * 8).unwrap();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping, which touches no memory of ours. The file is as long as it.
        let words = unsafe { mmap(null, number * 8, access, MapFlags::SHARED, file, 0) };
        let words = words.unwrap().cast();
        Self { words, number }
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at < self.number);
        // SAFETY: the word lies in the mapping, which is aligned to pages, and is accessed
        // atomically by all.
        unsafe { &*self.words.add(at) }
    }

    fn page(&self, page: u32) -> &AtomicU64 {
        self.word(HEAD + page as usize)
    }

    /// A page is about to be brought to a version.
    pub fn begin(&self, page: u32, version: u32) {
        let word = UNDER_WAY | u64::from(version);
        self.page(page).store(word, Ordering::SeqCst);
    }

    /// A page is in a version.
    pub fn end(&self, page: u32, version: u32) {
        self.page(page).store(version.into(), Ordering::SeqCst);
    }

    /// A page could not be read.
    pub fn lose(&self, page: u32) {
        self.page(page).store(LOST, Ordering::SeqCst);
    }

    /// Returns the version of a page.
    pub fn version(&self, page: u32) -> u32 {
        self.page(page).load(Ordering::SeqCst) as u32
    }

    /// Whether a page is on its way to its version.
    pub fn is_under_way(&self, page: u32) -> bool {
        self.page(page).load(Ordering::SeqCst) & UNDER_WAY != 0
    }

    /// Whether a page could not be read.
    pub fn is_lost(&self, page: u32) -> bool {
        self.page(page).load(Ordering::SeqCst) & LOST != 0
    }

    /// Notes a page that holds something else than what the log says. The first one is kept.
    pub fn wrong(&self, wrong: &Wrong) {
        let label = u64::from(wrong.page + 1) << 32 | u64::from(wrong.version);
        let word = self.word(WRONG);
        let first = word.compare_exchange(0, label, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() {
            self.word(WRONG + 1)
                .store(wrong.at as u64, Ordering::SeqCst);
            self.word(WRONG + 2).store(wrong.found, Ordering::SeqCst);
        }
    }

    /// Returns the first page that held something else.
    pub fn first_wrong(&self) -> Option<Wrong> {
        let label = self.word(WRONG).load(Ordering::SeqCst);
        (label != 0).then(|| Wrong {
            page: (label >> 32) as u32 - 1,
            version: label as u32,
            at: self.word(WRONG + 1).load(Ordering::SeqCst) as usize,
            found: self.word(WRONG + 2).load(Ordering::SeqCst),
        })
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no reference to its words is left.
        let _ = unsafe { munmap(self.words.cast_mut().cast(), self.number * 8) };
    }
}
