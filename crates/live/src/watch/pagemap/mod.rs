//! Residence of pages, from `/proc/PID/pagemap`.
//!
//! Linux, Documentation/admin-guide/mm/pagemap.rst: 8 bytes a page, bit 63 present, bit 62 swapped.
//! A page that was fetched into the swap cache counts as swapped until it is touched, which makes
//! its first use visible.

mod cache;
mod processes;
mod scan;
mod shared;
mod table;

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use terrace_policy::{Location, Memory, Page, Residence, Slot, Space};

use crate::watch::slots::Slots;
use cache::Cache;
use processes::Processes;
use shared::Shared;
use table::Table;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Pages that are read together, because neighbours are mostly asked about together.
const BLOCK: usize = 1;
/// Pages that are read together if a table cannot be read as a whole.
const WIDE_BLOCK: usize = 64;
/// Pages between two that are read together where only some are asked about: as long as another
/// read takes.
const GAP: u64 = 16;
/// Pages that a survey reads together.
const SLICE: u64 = 512;
/// Pages that can be read in the time of reading the mappings of a process.
const LISTING: u64 = 1024;

/// Reader of the page tables of any number of processes, with a cache.
pub struct Pagemap {
    processes: Processes,
    cache: Cache,
    /// What page tables do not tell.
    shared: Shared,
    /// Whether the kernel can read whole tables (`PAGEMAP_SCAN`), as far as is known.
    scans: bool,
    slots: Slots,
    /// Whether a predictor has asked for places since the latest round of the survey began.
    slots_wanted: bool,
    /// Remaining work of the survey: pages of address spaces, and address spaces whose pages are
    /// not known yet.
    unsurveyed: VecDeque<(Space, Range<u64>)>,
    unlisted: Vec<Space>,
}

impl Default for Pagemap {
    fn default() -> Self {
        Self {
            processes: Processes::default(),
            cache: Cache::default(),
            shared: Shared::default(),
            scans: true,
            slots: Slots::default(),
            slots_wanted: false,
            unsurveyed: VecDeque::new(),
            unlisted: Vec::new(),
        }
    }
}

impl Pagemap {
    /// Begins another look, in a `generation`: a time in which few pages of DRAM are replaced.
    pub fn refresh(&mut self, generation: u64) {
        self.cache.refresh(generation);
        self.shared.refresh();
    }

    /// Handles a fault on a page, which shows what has left memory.
    pub fn faulted(&mut self, at: Location) {
        self.cache.faulted(at);
    }

    /// Checks the next `count` known processes in turn; returns those that have ended, and those
    /// that have replaced their memory since.
    pub fn gone(&mut self, count: usize) -> Vec<Space> {
        self.processes.gone(count)
    }

    /// Adds a process to those that are checked.
    pub fn know(&mut self, space: Space) {
        self.processes.know(space);
    }

    /// Returns the number of known processes.
    pub fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Whether a process is known.
    pub fn knows(&self, space: Space) -> bool {
        self.processes.knows(space)
    }

    /// Forgets a process that has ended.
    pub fn forget(&mut self, space: Space) {
        self.processes.forget(space);
        self.cache.forget(space);
        self.shared.forget(space);
        self.unsurveyed.retain(|(of, _)| *of != space);
        self.slots.forget(space);
    }

    /// Continues the survey of places in the tier by about `pages` pages, in turn over all
    /// processes. Reads nothing if no predictor has asked for places.
    pub fn survey(&mut self, pages: u64) {
        self.slots.tidy(pages);
        if self.unsurveyed.is_empty() && self.unlisted.is_empty() {
            if !self.slots_wanted {
                return;
            }
            // The next round needs another question of a predictor.
            self.slots_wanted = false;
            self.unlisted = self.processes.spaces().collect();
        }
        let mut left = pages;
        while left > 0 {
            if let Some((space, range)) = self.unsurveyed.pop_front() {
                let slice = range.start..range.end.min(range.start + SLICE.min(left));
                left -= slice.end - slice.start;
                self.note(space, &slice, slice.clone());
                if slice.end < range.end {
                    self.unsurveyed.push_front((space, slice.end..range.end));
                }
            } else if let Some(space) = self.unlisted.pop() {
                left = left.saturating_sub(LISTING);
                if self.processes.knows(space) {
                    let mapped = private(space).into_iter().map(|range| (space, range));
                    self.unsurveyed.extend(mapped);
                }
            } else {
                return;
            }
        }
    }

    /// Reads the places of pages of one process, sorted by address, that are about to be fetched.
    /// Reads nothing if no predictor has asked for places.
    pub fn note_places(&mut self, pages: &[Location]) {
        if !self.slots_wanted {
            return;
        }
        let pages = pages.iter().copied();
        let unknown: Vec<Location> = pages.filter(|&at| !self.cache.is_noted(at)).collect();
        let mut rest = &unknown[..];
        while let Some(first) = rest.first() {
            let end = first.page.0 + SLICE;
            let follows =
                |(a, b): (&Location, &Location)| b.page.0 <= (a.page.0 + GAP).min(end - 1);
            let near = 1 + rest
                .iter()
                .zip(&rest[1..])
                .take_while(|&pair| follows(pair))
                .count();
            let (near, others) = rest.split_at(near);
            let last = near.last().unwrap_or(first);
            let slice = first.page.0..last.page.0 + 1;
            self.note(first.space, &slice, near.iter().map(|at| at.page.0));
            rest = others;
        }
    }

    /// Records the places of those `pages` of a slice that lie in the tier.
    fn note(&mut self, space: Space, slice: &Range<u64>, pages: impl Iterator<Item = u64>) {
        let mut entries = [0u64; SLICE as usize];
        let entries = &mut entries[..(slice.end - slice.start) as usize];
        let tables = self.processes.tables(space);
        let read = tables.and_then(|tables| read_entries(tables, slice.start, entries));
        let read = &entries[..read.unwrap_or(0)];
        for page in pages {
            if let Some(&entry) = read.get((page - slice.start) as usize)
                && let Some(slot) = place_of(entry)
            {
                let at = Location::new(space, Page(page));
                self.slots.note(at, slot);
            }
        }
    }

    /// Reads a few pages around one; the whole table where that takes less time.
    fn read(&mut self, at: Location) {
        let (place, page) = cache::place(at);
        let (space, number) = place;
        if self.scans
            && self.cache.wants_whole(place)
            && let Some(file) = self.processes.tables(space)
        {
            self.scans = scan_table(file, number, self.cache.whole_table(place)).is_ok();
        }
        let table = self.cache.table(place);
        if table.residence(page).is_none() {
            let block = if self.scans { BLOCK } else { WIDE_BLOCK };
            let first = page / block * block;
            let mut read = |processes: &mut Processes| {
                read_pages(processes.tables(space), number, first, block, table)
            };
            let mut entries = read(&mut self.processes);
            if entries.is_none() && self.processes.renew(space) {
                entries = read(&mut self.processes);
            }
            table.was_read(first, first + block);
            if self.slots_wanted
                && let Some(entries) = entries
                && let Some(slot) = place_of(entries[page - first])
            {
                self.slots.note(at, slot);
                table.note(page);
            }
        }
    }

    /// Returns the residence of a page that is `known` from its table, or read now. A page that is
    /// nowhere may be shared.
    fn look(&mut self, at: Location, known: Option<Residence>) -> Residence {
        let found = known.or_else(|| {
            self.read(at);
            self.cache.residence(at)
        });
        match found {
            None | Some(Residence::Nowhere) => {
                let found = self.shared.residence(at);
                let (table, page) = cache::place(at);
                self.cache.table(table).found(page, page + 1, found);
                found
            }
            Some(found) => found,
        }
    }
}

impl Memory for Pagemap {
    fn residence(&mut self, at: Location) -> Residence {
        let known = self.cache.residence(at);
        self.look(at, known)
    }

    fn residence_lately(&mut self, at: Location) -> Residence {
        let known = self.cache.residence_lately(at);
        self.look(at, known)
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        self.slots_wanted = true;
        self.processes.know(at.space);
        self.slots.slot(at)
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        self.slots.page_in(slot)
    }
}

/// Returns the place that the entry of a swapped page names; `None` of another page.
pub(crate) fn place_of(entry: u64) -> Option<Slot> {
    (entry & (PRESENT | SWAPPED) == SWAPPED).then(|| Slots::named(entry))
}

/// Returns the number of the frame that holds the page of an entry, if it is in memory (bits 0 to
/// 54). The kernel shows it to root alone, and 0 to others.
pub(crate) fn frame_of(entry: u64) -> Option<u64> {
    const FRAME: u64 = (1 << 55) - 1;
    (entry & PRESENT != 0).then_some(entry & FRAME)
}

/// Whether an entry is that of an anonymous page in memory (Linux, admin-guide/mm/pagemap.rst: bit
/// 61).
pub(crate) fn is_anonymous(entry: u64) -> bool {
    const FILE_OR_SHARED: u64 = 1 << 61;
    entry & (PRESENT | FILE_OR_SHARED) == PRESENT
}

/// Whether an entry is that of an anonymous page in memory that no other process maps (bit 56).
pub(crate) fn is_own_alone(entry: u64) -> bool {
    const EXCLUSIVE: u64 = 1 << 56;
    is_anonymous(entry) && entry & EXCLUSIVE != 0
}

/// Returns the private writable mappings of a process as pages: only these are swapped.
pub(crate) fn private(space: Space) -> Vec<Range<u64>> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", space.0)).unwrap_or_default();
    maps.lines().filter_map(private_mapping).collect()
}

/// Parses a line of `/proc/PID/maps`: `start-end rwxp offset device inode path`.
fn private_mapping(line: &str) -> Option<Range<u64>> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let page = |text| Some(Page::of(u64::from_str_radix(text, 16).ok()?).0);
    (permissions.get(1) == Some(&b'w') && permissions.get(3) == Some(&b'p'))
        .then_some(page(start)?..page(end)?)
}

/// Whether the kernel can read whole tables (`PAGEMAP_SCAN`, Linux 6.7).
pub(crate) fn scans_tables() -> bool {
    let tables = File::open("/proc/self/pagemap");
    tables.is_ok_and(|tables| scan::scan(&tables, 0, |_, _, _| ()).is_ok())
}

/// Reads a whole table; an error if the kernel cannot.
fn scan_table(file: &File, number: u64, table: &mut Table) -> io::Result<()> {
    scan::scan(file, number, |first, end, residence| {
        table.found(first, end, residence);
    })?;
    table.was_read(0, table::PAGES);
    Ok(())
}

/// Reads `count` pages of a table from `first` on; returns their entries, or `None` if the process
/// has ended.
fn read_pages(
    file: Option<&File>,
    number: u64,
    first: usize,
    count: usize,
    table: &mut Table,
) -> Option<[u64; WIDE_BLOCK]> {
    let mut entries = [0u64; WIDE_BLOCK];
    let start = number.checked_mul(table::PAGES as u64)? + first as u64;
    let read = read_entries(file?, start, &mut entries[..count])?;
    for (page, entry) in (first..).zip(&entries[..read]) {
        let residence = match *entry {
            entry if entry & PRESENT != 0 => Residence::InMemory,
            entry if entry & SWAPPED != 0 => Residence::InTier,
            _ => Residence::Nowhere,
        };
        table.found(page, page + 1, residence);
    }
    Some(entries)
}

/// Returns the pages of a range with their entries, which are read a slice at a time as they are
/// asked for; they end early with their process.
pub(crate) fn pages(tables: &File, range: Range<u64>) -> impl Iterator<Item = (Page, u64)> {
    let mut first = range.start;
    let slices = std::iter::from_fn(move || {
        let mut entries = [0; SLICE as usize];
        let count = SLICE.min(range.end - first) as usize;
        let read = read_entries(tables, first, &mut entries[..count])?;
        let slice = (first..).map(Page).zip(entries).take(read);
        first += read as u64;
        Some(slice)
    });
    slices.flatten()
}

/// Reads the entries of the pages from `first` on, of `SLICE` pages at most; returns their number,
/// at least one.
pub(crate) fn read_entries(file: &File, first: u64, entries: &mut [u64]) -> Option<usize> {
    let mut bytes = [0u8; SLICE as usize * 8];
    let bytes = &mut bytes[..entries.len() * 8];
    let read = file.read_at(bytes, first.checked_mul(8)?).ok()?;
    let (raw, _) = bytes[..read].as_chunks::<8>();
    for (entry, raw) in entries.iter_mut().zip(raw) {
        *entry = u64::from_ne_bytes(*raw);
    }
    (!raw.is_empty()).then_some(raw.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_policy::Page;

    #[test]
    fn own_pages_are_in_memory_and_untouched_ones_nowhere() {
        let here = Space(std::process::id());
        let data = vec![1u8; 1 << 20];
        let untouched = vec![0u8; 64 << 20];
        let page = |address: *const u8| Page::of(address as u64 + (1 << 19));
        let mut pagemap = Pagemap::default();
        assert_eq!(
            pagemap.residence(Location::new(here, page(data.as_ptr()))),
            Residence::InMemory
        );
        assert_eq!(
            pagemap.residence(Location::new(here, page(untouched.as_ptr()))),
            Residence::Nowhere
        );
    }

    #[test]
    fn a_process_that_does_not_exist_has_nothing() {
        let mut pagemap = Pagemap::default();
        let nobody = Location::new(Space(u32::MAX), Page(1));
        assert_eq!(pagemap.residence(nobody), Residence::Nowhere);
        assert_eq!(pagemap.slot(nobody), None);
        pagemap.survey(1000);
        assert_eq!(pagemap.gone(1), [nobody.space]);
        pagemap.forget(nobody.space);
        assert_eq!(pagemap.gone(1), []);
        let far = Location::new(Space(std::process::id()), Page(u64::MAX));
        assert_eq!(pagemap.residence(far), Residence::Nowhere);
    }

    #[test]
    fn private_writable_mappings_are_what_can_be_swapped() {
        let line = "7f0000001000-7f0000004000 rw-p 00000000 00:00 0";
        assert_eq!(private_mapping(line), Some(0x7f0000001..0x7f0000004));
        for other in [
            "7f0000001000-7f0000004000 r--p 00000000 08:01 77 /lib/x.so",
            "7f0000001000-7f0000004000 rw-s 00000000 00:05 12 /dev/shm/x",
            "",
            "nonsense",
        ] {
            assert_eq!(private_mapping(other), None, "{other}");
        }
        assert!(!private(Space(std::process::id())).is_empty());
    }

    #[test]
    fn a_survey_goes_round_all_that_is_mapped() {
        let here = Space(std::process::id());
        let mut pagemap = Pagemap::default();
        pagemap.survey(100);
        assert!(pagemap.unsurveyed.is_empty(), "nobody has asked for places");
        pagemap.slot(Location::new(here, Page(1)));
        pagemap.survey(100);
        assert!(!pagemap.unsurveyed.is_empty());
        pagemap.survey(u64::MAX);
        assert!(pagemap.unsurveyed.is_empty());
    }
}
