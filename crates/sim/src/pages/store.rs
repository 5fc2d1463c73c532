//! State and place in the tier of every page.

use terrace_policy::cache::prefetch;
use terrace_policy::replacement::PageId;

use super::places::Places;

/// Flags of a page. Residence in DRAM is not among them: the replacement policy keeps it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u16);

impl Flags {
    /// The page was touched and has contents.
    pub(super) const KNOWN: Self = Self(1);
    /// The page was written to since it was last written out.
    pub(super) const DIRTY: Self = Self(1 << 1);
    /// The tier has a copy of the page, up to date unless the page is dirty.
    pub(super) const TIER: Self = Self(1 << 2);
    /// The page is being read from the tier.
    pub(super) const FLIGHT: Self = Self(1 << 3);
    /// The page was fetched ahead and not touched since.
    pub(super) const AHEAD: Self = Self(1 << 4);
    /// The page waits in the eviction buffer.
    pub(super) const WAITING: Self = Self(1 << 5);
    /// The page is being written to the tier from the eviction buffer.
    pub(super) const WRITING: Self = Self(1 << 6);

    /// The read in progress was not requested by a fault.
    pub(super) const FETCH: Self = Self(1 << 7);
    /// The page is in the staging part of DRAM.
    pub(super) const STAGED: Self = Self(1 << 8);

    /// The page lies in DRAM, where the tier serves lines.
    pub(super) const FAST: Self = Self(1 << 9);
    /// What was written of the page while it was in DRAM has gone to the tier, where the tier
    /// serves no lines, whose bit it has.
    pub(super) const SAVED: Self = Self::FAST;
    /// The page was accessed since the last scan of accessed bits, where the tier serves lines.
    pub(super) const ACCESSED: Self = Self(1 << 10);
    /// The page holds nothing but zeros, and the tier needs no copy of it. Where the tier serves
    /// lines, the bit means that instead.
    pub(super) const ZEROS: Self = Self::ACCESSED;
    /// The next access to the page is a hint fault.
    pub(super) const HINT: Self = Self(1 << 11);
    /// The page was given back by control and not touched since, where the tier serves no lines,
    /// whose bit it has.
    pub(super) const GIVEN: Self = Self::HINT;
    /// The page is known by touches of placed objects alone: no migration policy knows it.
    pub(super) const PLACED: Self = Self(1 << 12);

    /// The page is as it began, zeros: it was never written.
    pub(super) const ZERO: Self = Self(1 << 13);
    /// The page was written since the last scan of accessed bits, where the tier serves lines, and
    /// no page begins as anything.
    pub(super) const WRITTEN: Self = Self::ZERO;
    /// The page holds what its file does: it was never written.
    pub(super) const FILE: Self = Self(1 << 14);
    /// The page was given back, and does not hold what it held at first.
    pub(super) const RETURNED: Self = Self(1 << 15);
    /// The page was never written.
    pub(super) const UNWRITTEN: Self = Self::ZERO.and(Self::FILE);

    /// The page is in DRAM and is not mapped: it is being read, or was not touched since.
    pub(super) const FETCHED: Self = Self::FLIGHT.and(Self::AHEAD).and(Self::GIVEN);

    /// The page has left the lists of DRAM, and is in DRAM still.
    pub(super) const IN_DRAM: Self = Self::WAITING.and(Self::WRITING).and(Self::STAGED);

    /// Returns the union of two sets of flags.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether the page is nothing but zeros in the tier, if it is there: a file that was
    /// not read holds its own.
    #[inline]
    pub(super) fn are_zeros_of_tier(self) -> bool {
        self.any(Self::ZEROS) && !self.any(Self::FILE)
    }

    /// Returns whether a page that leaves need not be written: the tier has a copy that is up to
    /// date, or the page is as it began.
    #[inline]
    pub(super) fn need_no_write(self) -> bool {
        self.any(Self::TIER) && !self.any(Self::DIRTY) || self.any(Self::UNWRITTEN)
    }

    /// Returns whether any of the flags `these` is set.
    #[inline]
    pub(super) fn any(self, these: Self) -> bool {
        self.0 & these.0 != 0
    }
}

/// Slot number of a page without a place in the tier.
const NO_SLOT: u32 = u32::MAX;

/// Bits of a slot number within its device, as predictors see it: slots of different devices are
/// far apart.
const DEVICE_BITS: u32 = 40;

/// Flags and places of all pages.
#[derive(Default)]
pub(super) struct Store {
    flags: Vec<Flags>,
    /// Place in the tier of each page.
    slots: Vec<u32>,
    /// Page at each place in the tier. With `n` devices, place `p` is number `p / n` of device `p %
    /// n`.
    pages: Vec<Option<PageId>>,
    devices: Vec<Places>,
    /// Device that gets the next page without a place.
    turn: usize,
    /// Number of writes to each place.
    writes: Vec<u32>,
}

impl Store {
    /// Returns an empty store on `devices` devices, of which each has a swap area if they `swap`.
    pub(super) fn new(devices: u32, swap: bool) -> Self {
        Self {
            devices: vec![Places::new(swap); devices.max(1) as usize],
            ..Self::default()
        }
    }

    /// Makes room for pages numbered below `count`.
    pub(super) fn cover(&mut self, count: usize) {
        if count > self.flags.len() {
            self.flags.resize(count, Flags::default());
            self.slots.resize(count, NO_SLOT);
        }
    }

    /// Prefetches the flags of these pages into the processor's cache.
    pub(super) fn expect(&self, pages: &[PageId]) {
        for page in pages {
            prefetch(&self.flags, page.index());
        }
    }

    /// Prefetches the state of a page that may be evicted next.
    pub(super) fn expect_leave(&self, page: PageId) {
        prefetch(&self.flags, page.index());
        prefetch(&self.slots, page.index());
    }

    /// Prefetches the place of a page that will be read.
    #[inline]
    pub(super) fn expect_read(&self, page: PageId) {
        prefetch(&self.slots, page.index());
    }

    /// Prefetches the state of a page that will be written out.
    pub(super) fn expect_write(&self, page: PageId) {
        prefetch(&self.writes, self.slots[page.index()] as usize);
    }

    #[inline]
    pub(super) fn flags(&self, page: PageId) -> Flags {
        self.flags[page.index()]
    }

    #[inline]
    pub(super) fn set(&mut self, page: PageId, flags: Flags) {
        self.flags[page.index()].0 |= flags.0;
    }

    pub(super) fn clear(&mut self, page: PageId, flags: Flags) {
        self.flags[page.index()].0 &= !flags.0;
    }

    /// Has a page written by a program.
    #[inline]
    pub(super) fn write(&mut self, page: PageId) {
        let flags = &mut self.flags[page.index()].0;
        *flags = *flags & !Flags::UNWRITTEN.0 | Flags::DIRTY.0;
    }

    /// Gives a page a place in the tier if it has none, which is not a write.
    pub(super) fn settle(&mut self, page: PageId) {
        if self.slots[page.index()] == NO_SLOT {
            let slot = self.place();
            self.slots[page.index()] = slot;
            self.pages[slot as usize] = Some(page);
        }
        self.set(page, Flags::TIER);
    }

    /// Records a write of a page to its place in the tier, a new place if it has none.
    pub(super) fn write_out(&mut self, page: PageId) {
        self.settle(page);
        let writes = &mut self.writes[self.slots[page.index()] as usize];
        *writes = writes.saturating_add(1);
        self.clear(page, Flags::DIRTY);
    }

    /// Returns a free place on the next device in turn.
    fn place(&mut self) -> u32 {
        let (turn, devices) = (self.turn, self.devices.len());
        self.turn = (turn + 1) % devices;
        let slot = self.devices[turn].take() as usize * devices + turn;
        let places = self.pages.len().max(slot + 1);
        self.pages.resize(places, None);
        self.writes.resize(places, 0);
        slot as u32
    }

    /// Drops the tier's copy of a page and frees its place.
    pub(super) fn give_up(&mut self, page: PageId) {
        self.clear(page, Flags::TIER);
        self.vacate(page);
    }

    /// Frees the place of a page, whose next write goes to another.
    pub(super) fn vacate(&mut self, page: PageId) {
        let slot = std::mem::replace(&mut self.slots[page.index()], NO_SLOT);
        if slot != NO_SLOT {
            self.pages[slot as usize] = None;
            let (slot, devices) = (slot as usize, self.devices.len());
            self.devices[slot % devices].free((slot / devices) as u32);
        }
    }

    /// Returns the pages in the aligned block of places around `page` on its device, in order of
    /// place; `page` alone if it has none.
    pub(super) fn neighbours(&self, page: PageId, cluster: u32) -> Vec<PageId> {
        let Some(slot) = self.slot(page) else {
            return vec![page];
        };
        let begin = slot >> cluster << cluster;
        let block = begin..begin + (1 << cluster);
        block.filter_map(|slot| self.page_in(slot)).collect()
    }

    /// Returns the device that holds the place of a page, if the page has one.
    pub(super) fn device(&self, page: PageId) -> Option<usize> {
        let slot = Some(self.slots[page.index()]).filter(|slot| *slot != NO_SLOT)?;
        Some(match self.devices.len() {
            1 => 0,
            devices => slot as usize % devices,
        })
    }

    /// Returns the slot of a page in the tier, if it has one: slots of a device are consecutive,
    /// slots of different devices far apart.
    pub(super) fn slot(&self, page: PageId) -> Option<u64> {
        let slot = Some(self.slots[page.index()]).filter(|slot| *slot != NO_SLOT)?;
        let (slot, devices) = (u64::from(slot), self.devices.len() as u64);
        Some(((slot % devices) << DEVICE_BITS) | (slot / devices))
    }

    /// Returns the number of the place of a page among those of all devices, if the page has one.
    pub(super) fn place_of(&self, page: PageId) -> Option<u32> {
        Some(self.slots[page.index()]).filter(|slot| *slot != NO_SLOT)
    }

    /// Returns the page in a slot of the tier.
    pub(super) fn page_in(&self, slot: u64) -> Option<PageId> {
        let devices = self.devices.len() as u64;
        let (device, number) = (slot >> DEVICE_BITS, slot & ((1 << DEVICE_BITS) - 1));
        if device >= devices {
            return None;
        }
        let slot = usize::try_from(number * devices + device).ok()?;
        self.pages.get(slot).copied().flatten()
    }

    /// Returns the number of pages so far.
    pub(super) fn len(&self) -> usize {
        self.flags.len()
    }

    /// Returns the number of places that were ever in use.
    pub(super) fn places(&self) -> u64 {
        let used = self.devices.iter().map(|device| u64::from(device.used()));
        used.sum()
    }

    /// Returns the number of pages that were fetched ahead and not touched since.
    pub(super) fn untouched(&self) -> u64 {
        let ahead = |flags: &&Flags| flags.any(Flags::AHEAD);
        self.flags.iter().filter(ahead).count() as u64
    }

    /// Returns the number of writes to each place of the tier.
    pub(super) fn writes(&self) -> &[u32] {
        &self.writes
    }
}
