//! The types that every policy shares: pages, address spaces, faults, and residence.

/// Bytes in a page (x86-64 base pages).
pub const PAGE_BYTES: u64 = 4096;

/// A virtual page number: an address divided by [`PAGE_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Page(pub u64);

impl Page {
    /// Returns the page of a byte address.
    #[inline]
    pub const fn of(address: u64) -> Self {
        Self(address / PAGE_BYTES)
    }

    /// Returns the address of the first byte. Pages that no address has, from 2^52 on, wrap around.
    pub const fn start(self) -> u64 {
        self.0.wrapping_mul(PAGE_BYTES)
    }

    /// Returns the distance in pages from `other`, negative if this page lies before it. The two
    /// pages must be less than 2^63 apart, as pages of one address space are.
    pub fn distance_from(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// Returns the page at `distance` pages from this one, if there is one.
    pub fn at_distance(self, distance: i64) -> Option<Self> {
        self.0.checked_add_signed(distance).map(Self)
    }
}

/// An address space: the process id on a live machine, the trace's process in a simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Space(pub u32);

/// A thread of execution, with a number that is unique over all address spaces.
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
    /// Makes the location of `page` in `space`.
    pub fn new(space: Space, page: Page) -> Self {
        Self { space, page }
    }
}

/// A demand fault on a page that lay in the slower tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Thread that waits for the page.
    pub thread: Thread,
    /// Faulted page.
    pub at: Location,
    /// Byte within the page that was touched, 0 if the driver does not know it. It distinguishes a
    /// stride of 17.3 pages from one of 17.
    pub offset: u16,
}

impl Fault {
    /// Describes a fault of `thread` on the byte `address` of `space`.
    pub fn new(thread: Thread, space: Space, address: u64) -> Self {
        Self {
            thread,
            at: Location::new(space, Page::of(address)),
            offset: (address % PAGE_BYTES) as u16,
        }
    }

    /// Returns the byte address that faulted. Pages that no address has, from 2^52 on, wrap around.
    pub fn address(&self) -> u64 {
        self.at.page.start().wrapping_add(u64::from(self.offset))
    }
}

/// Residence of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residence {
    /// In DRAM and mapped: a touch costs nothing.
    InMemory,
    /// In the slower tier, or fetched from it and not touched since.
    InTier,
    /// Nowhere: never touched, or not part of the address space.
    Nowhere,
}

/// A slot of the tier that holds a page. The slots of one area are numbered in their order; those
/// of different areas are far apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u64);

/// Queries of a policy to its driver about memory.
pub trait Memory {
    /// Returns the residence of a page.
    fn residence(&mut self, at: Location) -> Residence;

    /// Returns the residence of a page as it was a moment ago, if that is cheaper to know. It is
    /// enough where an error costs little: to fetch a page that is in memory does nothing.
    fn residence_lately(&mut self, at: Location) -> Residence {
        self.residence(at)
    }

    /// Returns the slot of the page's copy in the tier, if it has one and the driver knows it.
    fn slot(&mut self, _at: Location) -> Option<Slot> {
        None
    }

    /// Returns the page whose copy lies in a slot of the tier, if the driver knows it.
    fn page_in(&mut self, _slot: Slot) -> Option<Location> {
        None
    }
}
