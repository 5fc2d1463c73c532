//! The words every policy shares: pages, address spaces, faults, and where a page lies.

/// Bytes in a page (x86-64 base pages).
pub const PAGE_BYTES: u64 = 4096;

/// A virtual page number: an address divided by [`PAGE_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(pub u64);

impl Page {
    /// How many pages it lies behind `other`; below zero, before it. Any two pages are taken to be
    /// less than 2^63 apart, as those of one address space are.
    pub fn distance_from(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// The page so many pages on, or back below zero, if there is one.
    pub fn at_distance(self, distance: i64) -> Option<Self> {
        self.0.checked_add_signed(distance).map(Self)
    }
}

/// An address space: the process id on a live machine, the trace's process in a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u32);

/// A thread of execution; its numbers are unique over all spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread(pub u32);

/// A page of one address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The address space.
    pub space: Space,
    /// The page within it.
    pub page: Page,
}

impl Location {
    /// The page `page` of `space`.
    pub fn new(space: Space, page: Page) -> Self {
        Self { space, page }
    }
}

/// A demand fault on a page that lay in the slower tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who waits for the page.
    pub thread: Thread,
    /// The page.
    pub at: Location,
    /// The byte within the page that was touched, 0 where the driver does not know it.
    /// It tells a stride of 17.3 pages from one of 17.
    pub offset: u16,
}

impl Fault {
    /// The byte address that faulted. Pages that no address has, from 2^52 on, wrap around.
    pub fn address(&self) -> u64 {
        let start = self.at.page.0.wrapping_mul(PAGE_BYTES);
        start.wrapping_add(u64::from(self.offset))
    }
}

/// Where a page lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
    /// In DRAM and mapped: a touch costs nothing.
    InMemory,
    /// In the slower tier, or fetched from it and not touched since.
    InTier,
    /// Nowhere yet: never touched, or not part of the address space.
    Nowhere,
}

/// A place in the tier that holds a page. The places of one area are numbered in their order;
/// those of different areas are far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u64);

/// What a policy may ask its driver about memory.
pub trait Memory {
    /// Where `at` lies now.
    fn residence(&mut self, at: Location) -> Residence;

    /// The place of the page's copy in the tier, if it has one and the driver knows it.
    fn slot(&mut self, _at: Location) -> Option<Slot> {
        None
    }

    /// The page whose copy lies in a place of the tier, if the driver knows one.
    fn page_in(&mut self, _slot: Slot) -> Option<Location> {
        None
    }
}
