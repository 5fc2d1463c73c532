//! The page in each place of the swap areas: an array an area, in chunks, so that it grows without
//! being copied and takes no memory for places that were never used.

use terrace_policy::{Page, Slot};

/// Distance of the swap types of areas as bits of a place.
pub(super) const TYPE_SHIFT: u32 = 56;
/// Places in a chunk, as in a cluster of the kernel.
const CHUNK: u64 = 512;
/// Largest number of places of an area: its header counts them in 32 bits (Linux, `union
/// swap_header`).
const AREA: u64 = 1 << 32;
/// Marks the absence of a chunk.
const NONE: u32 = u32::MAX;
/// Marks the absence of a page.
const EMPTY: u64 = u64::MAX;

/// Bits of a page's number: addresses of x86-64 programs have 56 at most.
const PAGE_BITS: u32 = 44;
/// Address spaces that can be numbered at a time; the last number is never assigned.
pub const TENANTS: u32 = (1 << (64 - PAGE_BITS)) - 1;

/// A page of a tenant, in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder(u64);

impl Holder {
    /// Makes the entry of a tenant's page; `None` if no program can have such a page.
    pub fn new(tenant: u32, page: Page) -> Option<Self> {
        (page.0 >> PAGE_BITS == 0).then_some(Self(u64::from(tenant) << PAGE_BITS | page.0))
    }

    /// Returns the tenant's number.
    pub fn tenant(self) -> u32 {
        (self.0 >> PAGE_BITS) as u32
    }

    /// Returns the page.
    pub fn page(self) -> Page {
        Page(self.0 & ((1 << PAGE_BITS) - 1))
    }
}

/// A place as its chunk and its index in the chunk, in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell(pub u32);

impl Cell {
    fn chunk(self) -> usize {
        (u64::from(self.0) / CHUNK) as usize
    }

    fn index(self) -> usize {
        (u64::from(self.0) % CHUNK) as usize
    }
}

struct Chunk {
    first: Slot,
    holders: Box<[u64; CHUNK as usize]>,
}

/// The places of all areas.
#[derive(Default)]
pub struct Places {
    /// Numbers of chunks, by area and by the place's offset in chunks.
    areas: Vec<Vec<u32>>,
    chunks: Vec<Chunk>,
}

impl Places {
    /// Returns the cell of a place, if its chunk exists.
    pub fn find(&self, slot: Slot) -> Option<Cell> {
        let (area, chunk, index) = parts(slot)?;
        let number = *self.areas.get(area)?.get(chunk)?;
        (number != NONE).then(|| cell(number, index))
    }

    /// Returns the cell of a place, whose chunk is made if necessary; `None` if it is no place of
    /// an area.
    pub fn enter(&mut self, slot: Slot) -> Option<Cell> {
        let (area, chunk, index) = parts(slot)?;
        if self.areas.len() <= area {
            self.areas.resize_with(area + 1, Vec::new);
        }
        let numbers = &mut self.areas[area];
        if numbers.len() <= chunk {
            numbers.resize(chunk + 1, NONE);
        }
        if numbers[chunk] == NONE {
            let number = self.chunks.len() as u32;
            if u64::from(number) >= AREA / CHUNK {
                return None;
            }
            numbers[chunk] = number;
            self.chunks.push(Chunk {
                first: Slot(slot.0 - u64::from(index)),
                holders: Box::new([EMPTY; CHUNK as usize]),
            });
        }
        Some(cell(numbers[chunk], index))
    }

    /// Returns the place of a cell.
    pub fn slot(&self, cell: Cell) -> Slot {
        Slot(self.chunks[cell.chunk()].first.0 + cell.index() as u64)
    }

    /// Returns the page in a cell, with its tenant.
    pub fn holder(&self, cell: Cell) -> Option<Holder> {
        let holder = self.chunks[cell.chunk()].holders[cell.index()];
        (holder != EMPTY).then_some(Holder(holder))
    }

    /// Sets the page of a cell.
    pub fn fill(&mut self, cell: Cell, holder: Holder) {
        self.chunks[cell.chunk()].holders[cell.index()] = holder.0;
    }

    /// Empties a cell.
    pub fn clear(&mut self, cell: Cell) {
        self.chunks[cell.chunk()].holders[cell.index()] = EMPTY;
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        let mut holders = self.chunks.iter().flat_map(|chunk| *chunk.holders);
        holders.all(|holder| holder == EMPTY)
    }
}

fn cell(chunk: u32, index: u32) -> Cell {
    Cell(chunk * CHUNK as u32 + index)
}

/// Splits a place into its area, the chunk there, and the index in the chunk.
fn parts(slot: Slot) -> Option<(usize, usize, u32)> {
    let (area, offset) = (slot.0 >> TYPE_SHIFT, slot.0 & ((1 << TYPE_SHIFT) - 1));
    let place = (
        area as usize,
        (offset / CHUNK) as usize,
        (offset % CHUNK) as u32,
    );
    (offset < AREA).then_some(place)
}
