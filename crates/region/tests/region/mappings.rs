//! What a program does to its mappings: dropping, unmapping, and moving.

use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::{Bytes, Nanos};
use terrace_device::Timing;
use terrace_region::slow::emulated::Emulated;
use terrace_region::slow::{Buffer, Done, Slow, Wait, Write};
use terrace_region::{Extension, Settings};

use crate::alone::alone;
use crate::faulty::{Fault, Faulty};
use crate::{emulated, forks, settings};

const PAGE: usize = 4096;

/// A mapping that the extension has adopted, and what its pages have to hold.
pub struct Adopted {
    start: *mut u8,
    pages: Vec<u64>,
}

impl Adopted {
    pub fn new(extension: &Extension, pages: usize) -> Self {
        let mapping = Self::not_yet(pages);
        mapping.adopt(extension);
        mapping
    }

    /// Makes the mapping alone. It is not memory of a heap, which would use it again as it is then.
    fn not_yet(pages: usize) -> Self {
        Self::not_yet_at(ptr::null_mut(), pages).unwrap()
    }

    /// Makes the mapping at an address, or anywhere at null; `None` if it cannot be there.
    fn not_yet_at(address: *mut u8, pages: usize) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let flags = match address.is_null() {
            true => flags & !libc::MAP_FIXED_NOREPLACE,
            false => flags,
        };
        // SAFETY: a new mapping, in place of none.
        let start = unsafe { libc::mmap(address.cast(), pages * PAGE, access, flags, -1, 0) };
        (start != libc::MAP_FAILED).then(|| Self {
            start: start.cast(),
            pages: vec![0; pages],
        })
    }

    fn adopt(&self, extension: &Extension) {
        // SAFETY: the mapping is released before it is unmapped, or events tell of that.
        let adopted = unsafe { extension.adopt(self.start, self.pages.len() * PAGE) };
        adopted.unwrap();
    }

    pub fn word(&self, page: usize) -> *mut u64 {
        assert!(page < self.pages.len());
        // SAFETY: within the mapping.
        unsafe { self.start.add(page * PAGE + 8 * (page % 500)).cast() }
    }

    pub fn write(&mut self, page: usize, word: u64) {
        // SAFETY: within the mapping, aligned.
        unsafe { self.word(page).write_volatile(word) };
        self.pages[page] = word;
    }

    fn check(&self, page: usize) {
        // SAFETY: within the mapping, aligned.
        let found = unsafe { self.word(page).read_volatile() };
        assert_eq!(found, self.pages[page], "page {page}");
    }

    pub fn check_all(&self) {
        (0..self.pages.len()).for_each(|page| self.check(page));
    }

    fn drop_contents(&mut self, from: usize, pages: usize) {
        // SAFETY: within the mapping.
        let done = unsafe {
            let start = self.start.add(from * PAGE).cast();
            libc::madvise(start, pages * PAGE, libc::MADV_DONTNEED)
        };
        assert_eq!(done, 0);
        self.pages[from..from + pages].fill(0);
    }

    /// Moves the mapping elsewhere, and grows it by `more` pages, which are adopted.
    fn relocate(&mut self, extension: &Extension, more: usize) {
        let before = self.pages.len();
        // SAFETY: a reservation, over which the mapping is moved; it has room for all of it.
        unsafe {
            let bytes = (before + more) * PAGE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let place = libc::mmap(ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0);
            assert_ne!(place, libc::MAP_FAILED);
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            let moved = extension.while_suspended(|| {
                libc::mremap(self.start.cast(), before * PAGE, bytes, flags, place)
            });
            assert_eq!(moved, place, "{}", std::io::Error::last_os_error());
            self.start = moved.cast();
            let tail = self.start.add(before * PAGE);
            if more > 0 {
                extension.adopt(tail, more * PAGE).unwrap();
            }
        }
        self.pages.resize(before + more, 0);
    }

    pub fn unmap(self, extension: &Extension, tells: bool) {
        let bytes = self.pages.len() * PAGE;
        if tells {
            extension.release(self.start, bytes);
        }
        // SAFETY: the mapping is ours, and nobody uses it any more.
        assert_eq!(unsafe { libc::munmap(self.start.cast(), bytes) }, 0);
    }
}

/// Four threads with mappings that come, go, move and are dropped, with the same few addresses.
#[test]
#[ignore = "needs root: userfaultfd"]
fn mappings_that_change() {
    alone("mappings::mappings_that_change", change_mappings_in_threads);
}

fn change_mappings_in_threads() {
    for references in [None, Some(0.5)] {
        let settings = Settings {
            references,
            ..settings(64, "pcm")
        };
        let extension = Extension::start(settings).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let extension = &extension;
                scope.spawn(move || change_mappings(extension, thread));
            }
        });
        let figures = extension.figures();
        assert_eq!(figures.references > 0, references.is_some(), "{figures:?}");
    }
}

fn change_mappings(extension: &Extension, thread: u64) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(thread);
    let mut mappings: Vec<Adopted> = Vec::new();
    for step in 0..6000 {
        let mut below = |limit: usize| random.next_u64() as usize % limit;
        if mappings.len() < 2 {
            mappings.push(Adopted::new(extension, 20 + below(100)));
            continue;
        }
        let at = below(mappings.len());
        let pages = mappings[at].pages.len();
        let (page, number) = (below(pages), below(pages));
        match below(100) {
            0..2 if mappings.len() < 6 => mappings.push(Adopted::new(extension, 20 + number)),
            2..4 => {
                let mapping = mappings.swap_remove(at);
                mapping.check_all();
                mapping.unmap(extension, step % 2 == 0);
            }
            4..8 => mappings[at].drop_contents(page, number.min(pages - page)),
            8..14 if pages < 300 => mappings[at].relocate(extension, number % 20),
            14..55 => mappings[at].check(page),
            _ => mappings[at].write(page, random.next_u64()),
        }
    }
    mappings.iter().for_each(Adopted::check_all);
}

/// Pages whose write fails after their contents were dropped do not come back.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_is_dropped_stays_dropped_if_its_write_fails() {
    let slow = Faulty::new(*emulated("pcm"), Fault::LateWrites);
    let settings = Settings::new(Bytes::of_pages(64), Box::new(slow));
    let extension = Extension::start(settings).unwrap();
    let mut mapping = Adopted::new(&extension, 64);
    for word in 1..50 {
        (0..64).for_each(|page| mapping.write(page, word));
        mapping.drop_contents(0, 64);
        mapping.check_all();
        assert_eq!(extension.figures().kept, 0);
    }
    assert!(extension.figures().write_errors > 0);
    mapping.unmap(&extension, true);
}

/// A page that is on its way while its contents are dropped does not come.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_is_dropped_on_its_way_is_zeros() {
    let timing = Timing {
        read: Nanos(2_000_000),
        ..Timing::default()
    };
    let slow = Box::new(Emulated::new(timing));
    let extension = Extension::start(Settings::new(Bytes::of_pages(16), slow)).unwrap();
    let mut mapping = Adopted::new(&extension, 100);
    (0..100).for_each(|page| mapping.write(page, page as u64 + 1));
    for page in 0..20 {
        let fetches = extension.figures().fetches;
        // SAFETY: within the mapping, which outlives the thread; the word is not written meanwhile.
        let word = unsafe { AtomicU64::from_ptr(mapping.word(page)) };
        std::thread::scope(|scope| {
            scope.spawn(|| word.load(Ordering::Relaxed));
            while extension.figures().fetches == fetches {
                std::hint::spin_loop();
            }
            mapping.drop_contents(page, 1);
            mapping.check(page);
        });
    }
    mapping.unmap(&extension, true);
}

/// Memory that may be freed (`MADV_FREE`) is zeros, or what it was, until it is written.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_may_be_freed_can_be_written_again() {
    let extension = Extension::start(settings(16, "pcm")).unwrap();
    let mut mapping = Adopted::new(&extension, 40);
    (0..40).for_each(|page| mapping.write(page, page as u64 + 1));
    mapping.check_all();
    // SAFETY: within the mapping.
    let freed = unsafe { libc::madvise(mapping.start.cast(), 40 * PAGE, libc::MADV_FREE) };
    assert_eq!(freed, 0);
    (0..40).for_each(|page| mapping.write(page, page as u64 + 2));
    mapping.check_all();
    assert!(extension.figures().peak_footprint <= 40);
    mapping.unmap(&extension, true);
}

/// Pages that are staged while the program forks come back, dirty or clean, read or written.
#[test]
#[ignore = "needs root: userfaultfd"]
fn staged_pages_come_back_after_a_fork() {
    let extension = Extension::start(settings(128, "pcm")).unwrap();
    let mut mapping = Adopted::new(&extension, 300);
    (0..300).for_each(|page| mapping.write(page, page as u64 + 1));
    let forking = forks::FORKING.read();
    // SAFETY: the child makes no call but to end.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: as above.
        unsafe { libc::_exit(0) };
    }
    drop(forking);
    // SAFETY: waits for a child of ours.
    let waited = unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    assert_eq!(waited, child);
    // From the youngest on, so that nothing leaves before the staged pages are touched.
    for page in (0..300).rev() {
        mapping.check(page);
        mapping.write(page, page as u64 + 2);
    }
    assert!(extension.figures().returns > 0);
    mapping.check_all();
    mapping.unmap(&extension, true);
}

/// A page that comes while a mapping moves waits until one that has left before is written. If none
/// has, it comes.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_comes_while_a_mapping_moves_waits_for_what_has_left() {
    let timing = Timing {
        write: Nanos(300_000),
        ..Timing::default()
    };
    let slow = Box::new(Emulated::new(timing));
    let extension = Extension::start(Settings::new(Bytes::of_pages(1600), slow)).unwrap();
    let mut mapping = Adopted::new(&extension, 3000);
    let mut write =
        |pages: Range<usize>| pages.for_each(|page| mapping.write(page, page as u64 + 1));
    write(0..2950);
    extension.while_suspended(|| write(2950..3000));
    let figures = extension.figures();
    assert!(figures.peak_dram <= 1600, "{figures:?}");
    extension.while_suspended(|| mapping.check_all());
    mapping.unmap(&extension, true);
}

/// The kernel moves no pages of two mappings at once. Each by itself, they leave.
#[test]
#[ignore = "needs root: userfaultfd"]
fn neighbours_of_two_mappings_leave() {
    let extension = Extension::start(settings(1000, "pcm")).unwrap();
    let mut mapping = Adopted::new(&extension, 4000);
    // SAFETY: within the mapping, whose contents stay as they are.
    let parted = unsafe { libc::madvise(mapping.start.cast(), 2000 * PAGE, libc::MADV_DONTDUMP) };
    assert_eq!(parted, 0);
    for word in 1..4 {
        (0..4000).for_each(|page| mapping.write(page, word));
        mapping.check_all();
    }
    let figures = extension.figures();
    assert_eq!(figures.kept, 0, "{figures:?}");
    mapping.unmap(&extension, true);
}

/// Pages that were there before are not lost.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_is_present_is_adopted() {
    let extension = Extension::start(settings(16, "pcm")).unwrap();
    let mut mapping = Adopted::not_yet(150);
    (0..150)
        .step_by(2)
        .for_each(|page| mapping.write(page, page as u64 + 1));
    mapping.adopt(&extension);
    mapping.check_all();
    let figures = extension.figures();
    assert!(figures.evicted_dirty >= 75 - 16, "{figures:?}");
    mapping.unmap(&extension, true);
}

/// A memory that begins no write while the test holds the gate, so that the pager reads no event.
struct Gated(Emulated, Arc<Mutex<()>>);

impl Slow for Gated {
    fn read(&mut self, ticket: u32, place: u32, buffer: Box<Buffer>) {
        self.0.read(ticket, place, buffer);
    }

    fn write(&mut self, ticket: u32, place: u32, write: Write) {
        drop(self.1.lock().unwrap());
        self.0.write(ticket, place, write);
    }

    fn done(&mut self) -> Option<Done> {
        self.0.done()
    }

    fn wait(&self) -> Wait {
        self.0.wait()
    }

    fn share(&mut self) -> std::io::Result<()> {
        self.0.share()
    }
}

/// Memory is unmapped without a word, and another extension has memory there before the first
/// has read the event: it is the second one's alone, in children too.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_another_extension_has_there_is_not_kept() {
    alone(
        "mappings::what_another_extension_has_there_is_not_kept",
        || {
            let gate = Arc::new(Mutex::new(()));
            let slow = Box::new(Gated(*emulated("pcm"), Arc::clone(&gate)));
            let first = Extension::start(Settings::new(Bytes::of_pages(16), slow)).unwrap();
            let second = Extension::start(settings(50, "pcm")).unwrap();
            let unmapped = Adopted::new(&first, 100);
            let start = unmapped.start.expose_provenance();
            let closed = gate.lock().unwrap();
            let mut mapping = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut other = Adopted::new(&first, 100);
                    (0..100).for_each(|page| other.write(page, page as u64 + 1));
                    other.check_all();
                    other.unmap(&first, true);
                });
                // The pager waits at the gate once this does not grow.
                let mut before = 0;
                while first.figures().first_touches > before || before == 0 {
                    before = first.figures().first_touches;
                    std::thread::sleep(Duration::from_millis(100));
                }
                // SAFETY: nobody uses the mapping.
                scope.spawn(move || unsafe {
                    libc::munmap(ptr::with_exposed_provenance_mut(start), 100 * PAGE)
                });
                let mapping = loop {
                    let address = ptr::with_exposed_provenance_mut(start);
                    if let Some(mapping) = Adopted::not_yet_at(address, 100) {
                        break mapping;
                    }
                };
                mapping.adopt(&second);
                drop(closed);
                mapping
            });
            (0..100).for_each(|page| mapping.write(page, page as u64 + 7));
            let child = forks::Child::run(|| mapping.check_all());
            mapping.check_all();
            child.expect_success();
            mapping.unmap(&second, true);
        },
    );
}
