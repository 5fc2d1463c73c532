//! Where pages lie, from `/proc/PID/pagemap`.
//!
//! Linux, Documentation/admin-guide/mm/pagemap.rst: 8 bytes a page, bit 63 present, bit 62
//! swapped. A page that was fetched into the swap cache still counts as swapped until it is
//! touched, which is what makes first use visible.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use terrace_policy::{Location, Memory, Residence, Space};

const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
/// Pages that are read at once: neighbours are mostly asked for together.
const BLOCK: usize = 64;

/// Reads the page tables of any number of processes; what it has read it remembers until
/// [`Pagemap::refresh`].
#[derive(Default)]
pub struct Pagemap {
    files: HashMap<Space, Option<File>>,
    blocks: HashMap<(Space, u64), [u64; BLOCK]>,
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
}

fn open(space: Space) -> Option<File> {
    File::open(format!("/proc/{}/pagemap", space.0)).ok()
}

fn read_block(file: &File, block: u64) -> Option<[u64; BLOCK]> {
    let mut bytes = [0u8; BLOCK * 8];
    let offset = block.checked_mul(bytes.len() as u64)?;
    let read = file.read_at(&mut bytes, offset).ok()?;
    if read < 8 {
        return None;
    }
    let mut entries = [0u64; BLOCK];
    for (entry, raw) in entries.iter_mut().zip(bytes[..read].as_chunks::<8>().0) {
        *entry = u64::from_ne_bytes(*raw);
    }
    Some(entries)
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
        assert_eq!(pagemap.ended(), [nobody.space]);
        pagemap.forget(nobody.space);
        assert_eq!(pagemap.ended(), []);
        let far = Location::new(Space(std::process::id()), Page(u64::MAX));
        assert_eq!(pagemap.residence(far), Residence::Nowhere);
    }
}
