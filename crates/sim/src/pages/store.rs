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

/// All pages.
#[derive(Default)]
pub(super) struct Store {
    flags: Vec<Flags>,
    /// The place in the tier of each page.
    slots: Vec<u32>,
    /// The page at each place in the tier.
    pages: Vec<Option<PageId>>,
    /// Places that were given up.
    free: Vec<u32>,
    /// How often each place was written to.
    writes: Vec<u32>,
}

impl Store {
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
        let slot = &mut self.slots[page.index()];
        if *slot == NO_SLOT {
            *slot = self.free.pop().unwrap_or_else(|| {
                self.pages.push(None);
                self.writes.push(0);
                self.pages.len() as u32 - 1
            });
            self.pages[*slot as usize] = Some(page);
        }
        let writes = &mut self.writes[*slot as usize];
        *writes = writes.saturating_add(1);
        self.set(page, Flags::TIER);
        self.clear(page, Flags::DIRTY);
    }

    /// The tier's copy of a page is given up, and its place.
    pub(super) fn give_up(&mut self, page: PageId) {
        self.clear(page, Flags::TIER);
        let slot = std::mem::replace(&mut self.slots[page.index()], NO_SLOT);
        if slot != NO_SLOT {
            self.pages[slot as usize] = None;
            self.free.push(slot);
        }
    }

    /// The pages at the aligned block of places around that of `page`, in their order.
    pub(super) fn neighbours(&self, page: PageId, cluster: u32) -> Vec<PageId> {
        let Some(slot) = self.slot(page) else {
            return Vec::new();
        };
        let begin = (slot >> cluster << cluster) as usize;
        let end = (begin + (1 << cluster)).min(self.pages.len());
        self.pages[begin..end].iter().copied().flatten().collect()
    }

    /// The place in the tier of a page, if it has one.
    pub(super) fn slot(&self, page: PageId) -> Option<u32> {
        Some(self.slots[page.index()]).filter(|slot| *slot != NO_SLOT)
    }

    /// The page at a place in the tier.
    pub(super) fn page_in(&self, slot: usize) -> Option<PageId> {
        self.pages.get(slot).copied().flatten()
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
