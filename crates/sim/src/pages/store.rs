//! Where every page lies, and what is true of it.

use terrace_policy::cache::prefetch;
use terrace_policy::replacement::PageId;

/// What is true of a page; its residence in DRAM is the replacement policy's to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags(u8);

impl Flags {
    /// It was touched: it has contents.
    pub(super) const KNOWN: Self = Self(1);
    /// It was written to since it was last written out.
    pub(super) const DIRTY: Self = Self(1 << 1);
    /// The tier has a copy, up to date unless the page is dirty.
    pub(super) const TIER: Self = Self(1 << 2);
    /// It is being read from the tier.
    pub(super) const FLIGHT: Self = Self(1 << 3);
    /// It was fetched ahead and not touched since.
    pub(super) const AHEAD: Self = Self(1 << 4);
    /// It waits in the eviction buffer.
    pub(super) const WAITING: Self = Self(1 << 5);
    /// It is being written to the tier from the eviction buffer.
    pub(super) const WRITING: Self = Self(1 << 6);

    /// The read that is under way was not asked for by a fault.
    pub(super) const FETCH: Self = Self(1 << 7);

    /// All of these.
    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether any of `these` holds.
    #[inline]
    pub(super) fn any(self, these: Self) -> bool {
        self.0 & these.0 != 0
    }
}

/// The tier has no place for it yet.
const NO_SLOT: u32 = u32::MAX;

/// Bits of a place's number within its device, as predictors see it: devices are far apart.
const DEVICE_BITS: u32 = 40;

/// The places of one device.
#[derive(Clone, Default)]
struct Device {
    /// Places that were ever in use: the first ones.
    used: u32,
    /// Places that were given up.
    free: Vec<u32>,
}

/// All pages.
pub(super) struct Store {
    flags: Vec<Flags>,
    /// The place in the tier of each page.
    slots: Vec<u32>,
    /// The page at each place in the tier. With `n` devices, place `p` is number `p / n` of device
    /// `p % n`.
    pages: Vec<Option<PageId>>,
    /// What of each device is in use.
    devices: Vec<Device>,
    /// The device that is written to next where a page has no place yet.
    turn: usize,
    /// How often each place was written to.
    writes: Vec<u32>,
}

impl Store {
    /// No pages, before so many devices.
    pub(super) fn new(devices: u32) -> Self {
        Self {
            flags: Vec::new(),
            slots: Vec::new(),
            pages: Vec::new(),
            devices: vec![Device::default(); devices.max(1) as usize],
            turn: 0,
            writes: Vec::new(),
        }
    }

    /// Makes room for pages numbered below `count`.
    pub(super) fn cover(&mut self, count: usize) {
        if count > self.flags.len() {
            self.flags.resize(count, Flags::default());
            self.slots.resize(count, NO_SLOT);
        }
    }

    /// Has the flags of these pages fetched into the processor's cache.
    pub(super) fn expect(&self, pages: &[PageId]) {
        for page in pages {
            prefetch(&self.flags, page.index());
        }
    }

    /// This page may be the next to leave.
    pub(super) fn expect_leave(&self, page: PageId) {
        prefetch(&self.flags, page.index());
        prefetch(&self.slots, page.index());
    }

    /// This page will be written out.
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

    /// A page is written to its place in the tier, a new one where it has none.
    pub(super) fn write_out(&mut self, page: PageId) {
        if self.slots[page.index()] == NO_SLOT {
            let slot = self.place();
            self.slots[page.index()] = slot;
            self.pages[slot as usize] = Some(page);
        }
        let writes = &mut self.writes[self.slots[page.index()] as usize];
        *writes = writes.saturating_add(1);
        self.set(page, Flags::TIER);
        self.clear(page, Flags::DIRTY);
    }

    /// A place that is free, on the device whose turn it is.
    fn place(&mut self) -> u32 {
        let (turn, devices) = (self.turn, self.devices.len());
        self.turn = (turn + 1) % devices;
        let device = &mut self.devices[turn];
        if let Some(slot) = device.free.pop() {
            return slot;
        }
        let slot = device.used as usize * devices + turn;
        device.used += 1;
        let places = self.pages.len().max(slot + 1);
        self.pages.resize(places, None);
        self.writes.resize(places, 0);
        slot as u32
    }

    /// The tier's copy of a page is given up, and its place.
    pub(super) fn give_up(&mut self, page: PageId) {
        self.clear(page, Flags::TIER);
        let slot = std::mem::replace(&mut self.slots[page.index()], NO_SLOT);
        if slot != NO_SLOT {
            self.pages[slot as usize] = None;
            let device = slot as usize % self.devices.len();
            self.devices[device].free.push(slot);
        }
    }

    /// The pages at the aligned block of places of its device around that of `page`, in their order.
    pub(super) fn neighbours(&self, page: PageId, cluster: u32) -> Vec<PageId> {
        let Some(slot) = self.slot(page) else {
            return Vec::new();
        };
        let begin = slot >> cluster << cluster;
        let block = begin..begin + (1 << cluster);
        block.filter_map(|slot| self.page_in(slot)).collect()
    }

    /// The device with the place of a page, if it has one.
    pub(super) fn device(&self, page: PageId) -> Option<usize> {
        let slot = Some(self.slots[page.index()]).filter(|slot| *slot != NO_SLOT)?;
        Some(match self.devices.len() {
            1 => 0,
            devices => slot as usize % devices,
        })
    }

    /// The place in the tier of a page, if it has one: those of a device in a row, those of
    /// different ones far apart.
    pub(super) fn slot(&self, page: PageId) -> Option<u64> {
        let slot = Some(self.slots[page.index()]).filter(|slot| *slot != NO_SLOT)?;
        let (slot, devices) = (u64::from(slot), self.devices.len() as u64);
        Some(((slot % devices) << DEVICE_BITS) | (slot / devices))
    }

    /// The page at a place in the tier.
    pub(super) fn page_in(&self, slot: u64) -> Option<PageId> {
        let devices = self.devices.len() as u64;
        let (device, number) = (slot >> DEVICE_BITS, slot & ((1 << DEVICE_BITS) - 1));
        if device >= devices {
            return None;
        }
        let slot = usize::try_from(number * devices + device).ok()?;
        self.pages.get(slot).copied().flatten()
    }

    /// How many places were ever in use.
    pub(super) fn places(&self) -> u64 {
        self.devices
            .iter()
            .map(|device| u64::from(device.used))
            .sum()
    }

    /// How many pages were fetched ahead and not touched since.
    pub(super) fn untouched(&self) -> u64 {
        let ahead = |flags: &&Flags| flags.any(Flags::AHEAD);
        self.flags.iter().filter(ahead).count() as u64
    }

    /// How often each place of the tier was written to.
    pub(super) fn writes(&self) -> &[u32] {
        &self.writes
    }
}
