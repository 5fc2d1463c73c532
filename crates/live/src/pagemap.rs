//! Where pages lie, from `/proc/PID/pagemap`.
//!
//! Linux, Documentation/admin-guide/mm/pagemap.rst: 8 bytes a page, bit 63 present, bit 62
//! swapped. A page that was fetched into the swap cache still counts as swapped until it is
//! touched, which is what makes first use visible.

mod scan;
mod table;

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustc_hash::FxHashMap;
use terrace_policy::{Location, Memory, PAGE_BYTES, Page, Residence, Slot, Space};

use crate::slots::Slots;
use table::Table;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Pages that are read at once: neighbours are mostly asked for together.
const BLOCK: usize = 8;
/// The same where a table cannot be read at once.
const WIDE_BLOCK: usize = 64;
/// Pages that are read at once by a survey.
const SLICE: u64 = 512;

/// Reads the page tables of any number of processes; what it has read it remembers until
/// [`Pagemap::refresh`].
pub struct Pagemap {
    files: FxHashMap<Space, Option<File>>,
    /// What has been read, by the number of the table.
    tables: FxHashMap<(Space, u64), Table>,
    /// Whether the kernel reads whole tables at once, as far as we know.
    scans: bool,
    slots: Slots,
    /// Whether somebody has asked for places since the survey began its latest round.
    slots_wanted: bool,
    /// What a survey still has to read: pages of address spaces.
    unsurveyed: VecDeque<(Space, Range<u64>)>,
}

impl Default for Pagemap {
    fn default() -> Self {
        Self {
            files: FxHashMap::default(),
            tables: FxHashMap::default(),
            scans: true,
            slots: Slots::default(),
            slots_wanted: false,
            unsurveyed: VecDeque::new(),
        }
    }
}

impl Pagemap {
    /// Forgets what was read: time has passed.
    pub fn refresh(&mut self) {
        self.tables.clear();
    }

    /// Processes that have ended since they were asked about.
    pub fn ended(&self) -> Vec<Space> {
        let runs = |space: &Space| Path::new(&format!("/proc/{}", space.0)).exists();
        self.files.keys().copied().filter(|s| !runs(s)).collect()
    }

    /// Closes what belongs to a process that has ended.
    pub fn forget(&mut self, space: Space) {
        self.files.remove(&space);
        self.tables.retain(|(of, _), _| *of != space);
        self.unsurveyed.retain(|(of, _)| *of != space);
        self.slots.forget(space);
    }

    /// Goes on to note which page lies where in the tier, for about `pages` pages; round and round.
    /// Reads nothing where nobody has asked for places.
    pub fn survey(&mut self, pages: u64) {
        if !self.slots_wanted && self.unsurveyed.is_empty() {
            return;
        }
        if self.unsurveyed.is_empty() {
            // Another round only if somebody asks again meanwhile.
            self.slots_wanted = false;
            let spaces: Vec<Space> = self.files.keys().copied().collect();
            let mapped = |space: Space| private(space).into_iter().map(move |range| (space, range));
            self.unsurveyed = spaces.into_iter().flat_map(mapped).collect();
        }
        let mut left = pages;
        while left > 0
            && let Some((space, range)) = self.unsurveyed.pop_front()
        {
            let slice = range.start..range.end.min(range.start + SLICE.min(left));
            left -= slice.end - slice.start;
            self.note(space, &slice);
            if slice.end < range.end {
                self.unsurveyed.push_front((space, slice.end..range.end));
            }
        }
    }

    fn note(&mut self, space: Space, pages: &Range<u64>) {
        let mut entries = [0u64; SLICE as usize];
        let entries = &mut entries[..(pages.end - pages.start) as usize];
        let file = self.files.get(&space).and_then(Option::as_ref);
        let read = file.and_then(|file| read_entries(file, pages.start, entries));
        for (page, entry) in pages.clone().zip(&entries[..read.unwrap_or(0)]) {
            if entry & (PRESENT | SWAPPED) == SWAPPED {
                let at = Location::new(space, Page(page));
                self.slots.note(at, Slots::named(*entry));
            }
        }
    }

    /// Reads a few pages of a table; all of it when it is asked about again.
    fn read(&mut self, (space, number): (Space, u64), page: usize) {
        let file = self.files.entry(space).or_insert_with(|| open(space));
        let known = self.tables.entry((space, number));
        let again = matches!(known, Entry::Occupied(_));
        let table = known.or_default();
        if again
            && self.scans
            && let Some(file) = file.as_ref()
        {
            self.scans = scan_table(file, number, table).is_ok();
        }
        if table.residence(page).is_none() {
            let block = if self.scans { BLOCK } else { WIDE_BLOCK };
            let first = page / block * block;
            if read_pages(file.as_ref(), number, first, block, table).is_none() {
                // The process has ended, or has replaced its memory by exec: look anew.
                *file = open(space);
                read_pages(file.as_ref(), number, first, block, table);
            }
            table.was_read(first, first + block);
        }
    }
}

impl Memory for Pagemap {
    fn residence(&mut self, at: Location) -> Residence {
        let table = (at.space, at.page.0 / table::PAGES as u64);
        let page = (at.page.0 % table::PAGES as u64) as usize;
        let look = |tables: &FxHashMap<_, Table>| tables.get(&table)?.residence(page);
        look(&self.tables)
            .or_else(|| {
                self.read(table, page);
                look(&self.tables)
            })
            .unwrap_or(Residence::Nowhere)
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        self.slots_wanted = true;
        self.files.entry(at.space).or_insert_with(|| open(at.space));
        self.slots.slot(at)
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        self.slots.page_in(slot)
    }
}

fn open(space: Space) -> Option<File> {
    File::open(format!("/proc/{}/pagemap", space.0)).ok()
}

/// The private mappings of a process that can be written to, as pages: what is swapped lies there.
fn private(space: Space) -> Vec<Range<u64>> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", space.0)).unwrap_or_default();
    maps.lines().filter_map(private_mapping).collect()
}

/// A line of `/proc/PID/maps`: `start-end rwxp offset device inode path`.
fn private_mapping(line: &str) -> Option<Range<u64>> {
    let mut fields = line.split_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?.as_bytes();
    let page = |text| Some(u64::from_str_radix(text, 16).ok()? / PAGE_BYTES);
    (permissions.get(1) == Some(&b'w') && permissions.get(3) == Some(&b'p'))
        .then_some(page(start)?..page(end)?)
}

/// Reads a whole table; an error where the kernel cannot.
fn scan_table(file: &File, number: u64, table: &mut Table) -> io::Result<()> {
    scan::scan(file, number, |first, end, residence| {
        table.found(first, end, residence);
    })?;
    table.was_read(0, table::PAGES);
    Ok(())
}

/// Reads `count` pages of a table from `first` on; none where there is nothing to be read.
fn read_pages(
    file: Option<&File>,
    number: u64,
    first: usize,
    count: usize,
    table: &mut Table,
) -> Option<()> {
    let mut entries = [0u64; WIDE_BLOCK];
    let entries = &mut entries[..count];
    let start = number.checked_mul(table::PAGES as u64)? + first as u64;
    let read = read_entries(file?, start, entries)?;
    for (page, entry) in (first..).zip(&entries[..read]) {
        let residence = match *entry {
            entry if entry & PRESENT != 0 => Residence::InMemory,
            entry if entry & SWAPPED != 0 => Residence::InTier,
            _ => Residence::Nowhere,
        };
        table.found(page, page + 1, residence);
    }
    Some(())
}

/// Reads the entries of the pages from `first` on; returns how many there were, at least one.
fn read_entries(file: &File, first: u64, entries: &mut [u64]) -> Option<usize> {
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
    use terrace_policy::{PAGE_BYTES, Page};

    #[test]
    fn own_pages_are_in_memory_and_untouched_ones_nowhere() {
        let here = Space(std::process::id());
        let data = vec![1u8; 1 << 20];
        let untouched = vec![0u8; 64 << 20];
        let page = |address: *const u8| Page((address as u64 + (1 << 19)) / PAGE_BYTES);
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
        assert_eq!(pagemap.ended(), [nobody.space]);
        pagemap.forget(nobody.space);
        assert_eq!(pagemap.ended(), []);
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
