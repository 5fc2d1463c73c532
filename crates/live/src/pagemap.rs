//! Where pages lie, from `/proc/PID/pagemap`.
//!
//! Linux, Documentation/admin-guide/mm/pagemap.rst: 8 bytes a page, bit 63 present, bit 62
//! swapped. A page that was fetched into the swap cache still counts as swapped until it is
//! touched, which is what makes first use visible.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustc_hash::FxHashMap;
use terrace_policy::{Location, Memory, PAGE_BYTES, Page, Residence, Slot, Space};

use crate::slots::Slots;

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Pages that are read at once: neighbours are mostly asked for together.
const BLOCK: usize = 64;
/// Pages that are read at once by a survey.
const SLICE: u64 = 512;

/// Reads the page tables of any number of processes; what it has read it remembers until
/// [`Pagemap::refresh`].
#[derive(Default)]
pub struct Pagemap {
    files: FxHashMap<Space, Option<File>>,
    blocks: FxHashMap<(Space, u64), [u64; BLOCK]>,
    slots: Slots,
    /// Whether somebody has asked for places since the survey began its latest round.
    slots_wanted: bool,
    /// What a survey still has to read: pages of address spaces.
    unsurveyed: VecDeque<(Space, Range<u64>)>,
}

impl Pagemap {
    /// Forgets what was read: time has passed.
    pub fn refresh(&mut self) {
        self.blocks.clear();
    }

    /// Processes that have ended since they were asked about.
    pub fn ended(&self) -> Vec<Space> {
        let runs = |space: &Space| Path::new(&format!("/proc/{}", space.0)).exists();
        self.files.keys().copied().filter(|s| !runs(s)).collect()
    }

    /// Closes what belongs to a process that has ended.
    pub fn forget(&mut self, space: Space) {
        self.files.remove(&space);
        self.blocks.retain(|(of, _), _| *of != space);
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

    fn read(&mut self, space: Space, block: u64) -> [u64; BLOCK] {
        let file = self.files.entry(space).or_insert_with(|| open(space));
        let Some(entries) = file.as_ref().and_then(|file| read_block(file, block)) else {
            // The process has ended, or has replaced its memory by exec: look anew.
            *file = open(space);
            return file
                .as_ref()
                .and_then(|file| read_block(file, block))
                .unwrap_or([0; BLOCK]);
        };
        entries
    }
}

impl Memory for Pagemap {
    fn residence(&mut self, at: Location) -> Residence {
        let key = (at.space, at.page.0 / BLOCK as u64);
        let entries = match self.blocks.get(&key) {
            Some(entries) => entries,
            None => {
                let entries = self.read(key.0, key.1);
                self.blocks.entry(key).or_insert(entries)
            }
        };
        match entries[(at.page.0 % BLOCK as u64) as usize] {
            entry if entry & PRESENT != 0 => Residence::InMemory,
            entry if entry & SWAPPED != 0 => Residence::InTier,
            _ => Residence::Nowhere,
        }
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

fn read_block(file: &File, block: u64) -> Option<[u64; BLOCK]> {
    let mut entries = [0u64; BLOCK];
    read_entries(file, block.checked_mul(BLOCK as u64)?, &mut entries)?;
    Some(entries)
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
