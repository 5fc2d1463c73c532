//! Residence of pages of shared memory (`shmem`: anonymous shared mappings, memfd, System V,
//! tmpfs).
//!
//! A page table says nothing of a shared page that was reclaimed: its entry is empty, as if it had
//! never been touched. The file behind the mapping knows: `cachestat` (Linux 6.5) tells of a range
//! of it how many pages are in memory and how many were evicted, which of shared memory means to
//! the tier. A page that another process has in memory is in memory.
//!
//! The file is opened through `/proc/PID/map_files` and closed with the cache at the next step: an
//! open descriptor would keep memory that the program gives up.

use std::fs::{self, File};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use terrace_policy::{Location, PAGE_BYTES, Residence, Space};

/// `cachestat`, the same on all architectures.
const CACHESTAT: libc::c_long = 451;
/// Magic number of the file system of shared memory (linux/magic.h).
const TMPFS: u64 = 0x0102_1994;
/// Part of the time in which mappings are listed, at most, and the shortest pause between two
/// lists.
const LISTING_SHARE: u32 = 64;
const PAUSE: Duration = Duration::from_millis(10);

/// The shared mappings of any number of processes.
#[derive(Default)]
pub struct Shared {
    /// The shared mappings of each process when they were listed, in the order of their addresses.
    lists: FxHashMap<Space, Vec<Mapping>>,
    /// When mappings of any process may be listed again.
    due: Option<Instant>,
    /// The file of the latest question.
    open: Option<(Space, Mapping, File)>,
}

/// A shared mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    pages: Range<u64>,
    /// Page of the file at the start of the mapping.
    first: u64,
}

impl Shared {
    /// Returns the residence of a page whose page table entry is empty.
    pub fn residence(&mut self, at: Location) -> Residence {
        let Some(mapping) = self.mapping(at) else {
            return Residence::Nowhere;
        };
        if self.file(at.space, &mapping).is_none() {
            // No shared memory, or no longer mapped: not asked about again before the next list.
            self.drop_mapping(at.space, &mapping);
            return Residence::Nowhere;
        }
        let page = at.page.0 - mapping.pages.start + mapping.first;
        let file = self.open.as_ref().map(|(.., file)| file);
        match file.and_then(|file| cachestat(file, page)) {
            Some(found) if found.cached > 0 => Residence::InMemory,
            Some(found) if found.evicted > 0 => Residence::InTier,
            _ => Residence::Nowhere,
        }
    }

    /// Closes what is open, because time has passed.
    pub fn refresh(&mut self) {
        self.open = None;
    }

    /// Forgets a process that has ended.
    pub fn forget(&mut self, space: Space) {
        self.lists.remove(&space);
        self.refresh();
    }

    /// Returns the shared mapping that has this page.
    fn mapping(&mut self, at: Location) -> Option<Mapping> {
        let find = |mappings: &Vec<Mapping>| {
            let next = mappings.partition_point(|it| it.pages.end <= at.page.0);
            let found = mappings.get(next);
            found.filter(|it| it.pages.contains(&at.page.0)).cloned()
        };
        let known = self.lists.get(&at.space).and_then(find);
        let started = Instant::now();
        if known.is_some() || self.due.is_some_and(|due| started < due) {
            return known;
        }
        let mappings = shared_mappings(at.space);
        let found = find(&mappings);
        self.lists.insert(at.space, mappings);
        let pause = (started.elapsed() * LISTING_SHARE).max(PAUSE);
        self.due = Some(Instant::now() + pause);
        found
    }

    /// Opens the file of a mapping, unless it is the one that is open; `None` if it is no shared
    /// memory.
    fn file(&mut self, space: Space, mapping: &Mapping) -> Option<()> {
        let is_open = |(of, open, _): &(Space, Mapping, File)| *of == space && open == mapping;
        if !self.open.as_ref().is_some_and(is_open) {
            let Range { start, end } = mapping.pages;
            let (start, end) = (start * PAGE_BYTES, end * PAGE_BYTES);
            let path = format!("/proc/{}/map_files/{start:x}-{end:x}", space.0);
            let file = File::open(path).ok()?;
            let system = rustix::fs::fstatfs(&file).ok()?;
            let is_shared_memory = system.f_type as u64 == TMPFS;
            self.open = is_shared_memory.then(|| (space, mapping.clone(), file));
        }
        self.open.is_some().then_some(())
    }

    fn drop_mapping(&mut self, space: Space, mapping: &Mapping) {
        if let Some(list) = self.lists.get_mut(&space) {
            list.retain(|known| known != mapping);
        }
    }
}

/// Lists the shared mappings of a process; none if it has ended.
fn shared_mappings(space: Space) -> Vec<Mapping> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", space.0)).unwrap_or_default();
    maps.lines().filter_map(Mapping::parse).collect()
}

impl Mapping {
    /// Parses a line of `/proc/PID/maps`: `start-end rwxs offset device inode path`; `None` of a
    /// private mapping, or one of a file on a device with a major number, which is a disk's.
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let shared = fields.next()?.ends_with('s');
        let offset = fields.next()?;
        let nameless = fields.next()?.starts_with("00:");
        let page = |text| Some(u64::from_str_radix(text, 16).ok()? / PAGE_BYTES);
        let pages = page(start)?..page(end)?;
        let first = page(offset)?;
        (shared && nameless).then_some(Self { pages, first })
    }
}

/// `struct cachestat`: pages of a range of a file.
#[repr(C)]
#[derive(Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Asks about one page of a file; `None` if the kernel cannot tell.
fn cachestat(file: &File, page: u64) -> Option<Pages> {
    let range = [page.checked_mul(PAGE_BYTES)?, PAGE_BYTES];
    let mut pages = Pages::default();
    // SAFETY: reads the range, two numbers, and writes the pages, laid out as the kernel wants
    // them; both live through the call.
    let done = unsafe {
        libc::syscall(
            CACHESTAT,
            file.as_raw_fd(),
            range.as_ptr(),
            &raw mut pages,
            0,
        )
    };
    (done == 0).then_some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_policy::Page;

    use crate::system::memory::Mapping as Memory;

    #[test]
    fn a_line_of_a_shared_mapping() {
        let line = "7f0000001000-7f0000004000 rw-s 00002000 00:01 12 /memfd:x (deleted)";
        let expected = Mapping {
            pages: 0x0007_f000_0001..0x0007_f000_0004,
            first: 2,
        };
        assert_eq!(Mapping::parse(line), Some(expected));
        for other in [
            "7f0000001000-7f0000004000 rw-p 00000000 00:00 0",
            "7f0000001000-7f0000004000 rw-s 00000000 fe:01 77 /a/file",
            "7f0000001000-7f0000004000 rw-s",
            "",
        ] {
            assert_eq!(Mapping::parse(other), None, "{other}");
        }
    }

    #[test]
    fn shared_pages_are_known_without_a_page_table() {
        let memory = Memory::new(64 << 12, libc::MAP_SHARED).unwrap();
        let start = memory.start().as_ptr() as u64;
        let at = |page| {
            Location::new(
                Space(std::process::id()),
                Page::of(start + page * PAGE_BYTES),
            )
        };
        // SAFETY: the fifth page of our mapping, of bytes.
        unsafe { memory.start().as_ptr().cast::<u8>().add(5 << 12).write(1) };
        let mut shared = Shared::default();
        // Others than root may not open it.
        let known = match crate::system::privilege::is_root() {
            true => Residence::InMemory,
            false => Residence::Nowhere,
        };
        assert_eq!(shared.residence(at(5)), known);
        assert_eq!(shared.residence(at(6)), Residence::Nowhere);
        shared.refresh();
        assert_eq!(shared.residence(at(5)), known);
        assert_eq!(shared.residence(at(1 << 20)), Residence::Nowhere);
    }

    #[test]
    fn a_mapping_may_begin_anywhere_in_its_file() {
        // SAFETY: takes a name and flags; a new descriptor is ours.
        let file = unsafe {
            let fd = libc::memfd_create(c"test".as_ptr(), libc::MFD_CLOEXEC);
            assert!(fd >= 0);
            std::os::fd::FromRawFd::from_raw_fd(fd)
        };
        let file: File = file;
        file.set_len(64 << 12).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, &[1], 5 << 12).unwrap();
        let (access, shared) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping, which touches no memory of ours, and stays to the end of the
        // test's process.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                8 << 12,
                access,
                shared,
                file.as_raw_fd(),
                3 << 12,
            )
        };
        assert_ne!(start, libc::MAP_FAILED);
        let first = Page::of(start as u64).0;
        let at = |page| Location::new(Space(std::process::id()), Page(first + page));
        let mut shared = Shared::default();
        let known = match crate::system::privilege::is_root() {
            true => Residence::InMemory,
            false => Residence::Nowhere,
        };
        assert_eq!(shared.residence(at(2)), known);
        for other in [1, 3, 5] {
            assert_eq!(shared.residence(at(other)), Residence::Nowhere);
        }
    }

    #[test]
    fn memory_that_is_given_up_is_not_kept() {
        let memory = Memory::new(64 << 12, libc::MAP_SHARED).unwrap();
        let start = memory.start().as_ptr() as u64;
        let at = Location::new(Space(std::process::id()), Page::of(start));
        let mut shared = Shared::default();
        shared.residence(at);
        shared.refresh();
        assert!(shared.open.is_none());
        drop(memory);
        assert_eq!(shared.residence(at), Residence::Nowhere);
        shared.forget(at.space);
        assert!(shared.lists.is_empty());
    }
}
