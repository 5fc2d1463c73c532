//! What lies on flash: a superblock in the first page, then segments. FORMAT.md argues why
//! reopening is right.
//!
//! A segment has pages from its start on, and a footer at its end: an entry for each page, records
//! of files, pages that were dropped since the footer before, and a trailer with the checksum of
//! all of these. Numbers are little-endian.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytemuck::{Pod, Zeroable};
use twox_hash::XxHash3_64;
use uuid::Uuid;

use crate::file::{Identity, Version};
use crate::page::{PAGE_SIZE, Page};

const _: () = assert!(
    cfg!(target_endian = "little"),
    "the layout is little-endian"
);

/// A file as pages on flash are of: a file that has changed behind our back gets another one, and
/// so loses its pages.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Pod, Zeroable)]
pub(crate) struct Stamp(pub u64);

/// A page of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub stamp: Stamp,
    pub page: u32,
}

impl Key {
    /// Returns the key of a page; `None` beyond 16 TiB of a file.
    pub fn of(stamp: Stamp, page: u64) -> Option<Self> {
        let page = u32::try_from(page).ok()?;
        Some(Self { stamp, page })
    }

    /// Returns 32 bits of its hash.
    pub fn tag(self) -> u32 {
        let bytes = [
            self.stamp.0.to_le_bytes(),
            u64::from(self.page).to_le_bytes(),
        ];
        (XxHash3_64::oneshot(bytemuck::cast_slice(&bytes)) >> 32) as u32
    }

    /// Returns the checksum of its page, which covers the key: a page that is read for another one
    /// does not check.
    pub fn sum(self, page: &[u8]) -> u64 {
        let seed = self.stamp.0.rotate_left(32) ^ u64::from(self.page);
        XxHash3_64::oneshot_with_seed(seed, page)
    }
}

const MAGIC: u64 = u64::from_le_bytes(*b"terraFC1");

/// The first page of a store.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Superblock {
    magic: u64,
    /// The store's own id, which segments repeat.
    pub store: [u8; 16],
    /// Pages of a segment.
    pub segment_pages: u32,
    /// Number of segments.
    pub segments: u32,
    sum: u64,
}

impl Superblock {
    /// Returns the superblock of a new store.
    pub fn new(geometry: Geometry) -> Self {
        Self::of(geometry, *Uuid::new_v4().as_bytes())
    }

    /// Returns the superblock of a store with this id.
    pub fn of(geometry: Geometry, store: [u8; 16]) -> Self {
        let mut block = Self {
            magic: MAGIC,
            store,
            segment_pages: geometry.segment_pages,
            segments: geometry.segments,
            sum: 0,
        };
        block.sum = block.checksum();
        block
    }

    /// Reads the superblock that a page holds, if it does.
    pub fn read(page: &[u8]) -> Option<Self> {
        let block: Self = bytemuck::pod_read_unaligned(&page[..size_of::<Self>()]);
        (block.magic == MAGIC && block.sum == block.checksum()).then_some(block)
    }

    /// Whether a file begins with one, damaged or not, or with nothing but zeros.
    pub fn is_at_start(file: &File) -> io::Result<bool> {
        let mut page = crate::page::zeroed(1);
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut page);
        let read = file.read_at(bytes, 0)?;
        let is_blank = bytes[..read].iter().all(|byte| *byte == 0);
        Ok(is_blank || bytes[..8] == MAGIC.to_le_bytes())
    }

    /// Puts it at the start of the first page, and leaves what is behind it.
    pub fn put(&self, page: &mut Page) {
        page.0[..size_of::<Self>()].copy_from_slice(bytemuck::bytes_of(self));
    }

    /// Returns how its store divides the medium.
    pub fn geometry(&self) -> Geometry {
        Geometry {
            segment_pages: self.segment_pages,
            segments: self.segments,
        }
    }

    fn checksum(&self) -> u64 {
        let whole = bytemuck::bytes_of(self);
        XxHash3_64::oneshot(&whole[..size_of::<Self>() - 8])
    }
}

/// How a medium is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub segment_pages: u32,
    pub segments: u32,
}

/// Pages of a segment on a flash of ordinary size: 4 MiB.
const SEGMENT_PAGES: u32 = 1024;
/// The least pages of a segment: a footer needs one of them.
const LEAST_PAGES: u32 = 8;
/// The least segments: one is filled, one is empty, and one is emptied.
const LEAST_SEGMENTS: u32 = 4;
/// Segments that a small flash has at least, which are smaller then.
const MANY: u32 = 32;

impl Geometry {
    /// The least bytes of a medium.
    pub const LEAST: u64 = (1 + (LEAST_PAGES * LEAST_SEGMENTS) as u64) * PAGE_SIZE as u64;

    /// Divides a medium; `None` if it is too small.
    pub fn of(bytes: u64) -> Option<Self> {
        let pages = (bytes / PAGE_SIZE as u64).checked_sub(1)?;
        // Slots are numbered by 32 bits, and one number is none.
        let pages = pages.min(u64::from(u32::MAX) - 1) as u32;
        let segment_pages = (pages / MANY).clamp(LEAST_PAGES, SEGMENT_PAGES);
        let segments = pages / segment_pages;
        (segments >= LEAST_SEGMENTS).then_some(Self {
            segment_pages,
            segments,
        })
    }

    /// Divides another size into segments as large; `None` if it is too small or too large.
    pub fn resized(self, bytes: u64) -> Option<Self> {
        let pages = (bytes / PAGE_SIZE as u64).checked_sub(1)?;
        let segments = pages.checked_div(self.segment_pages.into())?;
        let slots = segments.checked_mul(self.segment_pages.into())?;
        let fits = segments >= LEAST_SEGMENTS.into() && slots < u32::MAX.into();
        fits.then_some(Self {
            segments: segments as u32,
            ..self
        })
    }

    pub fn slots(self) -> u32 {
        self.segment_pages * self.segments
    }

    pub fn segment_bytes(self) -> usize {
        self.segment_pages as usize * PAGE_SIZE
    }

    /// Returns the byte at which a slot begins.
    pub fn offset(self, slot: u32) -> u64 {
        (1 + u64::from(slot)) * PAGE_SIZE as u64
    }

    /// Returns the bytes of a footer that are kept for dropped pages, and for files that have no
    /// page in the segment.
    fn reserve(self) -> usize {
        self.segment_bytes() / 64
    }

    /// Returns how many pages a segment has room for, with a record of a file for each.
    pub fn most_pages(self) -> usize {
        let each = PAGE_SIZE + size_of::<Entry>() + size_of::<Record>();
        // The footer begins at a page.
        (self.segment_bytes() - self.reserve() - size_of::<Trailer>() - PAGE_SIZE) / each
    }

    /// Returns how many dropped pages a footer has room for.
    pub fn most_dropped(self) -> usize {
        self.reserve() / 2 / size_of::<Dropped>()
    }

    /// Returns how many files a footer has room for.
    pub fn most_records(self) -> usize {
        self.most_pages() + self.most_changed()
    }

    /// Returns how many files without a page in the segment a footer has room for.
    pub fn most_changed(self) -> usize {
        self.reserve() / 2 / size_of::<Record>()
    }
}

/// A page of a segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Entry {
    /// 0 for a page that was dropped before the segment was written.
    pub stamp: Stamp,
    /// Its number in its file.
    pub page: u64,
    pub sum: u64,
}

impl Dropped {
    pub fn key(&self) -> Key {
        Key {
            stamp: self.stamp,
            page: self.page as u32,
        }
    }
}

impl Entry {
    pub fn key(&self) -> Key {
        Key {
            stamp: self.stamp,
            page: self.page as u32,
        }
    }
}

/// A file, as of when the segment was written; of [`Version::NONE`] if it was gone.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Record {
    pub identity: Identity,
    pub stamp: Stamp,
    pub version: Version,
}

/// A page that no earlier segment holds any more.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Dropped {
    pub stamp: Stamp,
    pub page: u64,
}

/// The end of a segment.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub(crate) struct Trailer {
    store: [u8; 16],
    /// Id of the boot, by the kernel.
    pub boot: [u8; 16],
    pub sequence: u64,
    /// When it was written, in nanoseconds since 1970.
    pub written: i64,
    entries: u32,
    records: u32,
    dropped: u32,
    _zero: u32,
    sum: u64,
}

/// What a segment says of its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub sequence: u64,
    pub written: i64,
    pub boot: [u8; 16],
    pub entries: Vec<Entry>,
    pub records: Vec<Record>,
    pub dropped: Vec<Dropped>,
}

impl Footer {
    /// Returns the pages at the end of a segment that hold it.
    pub fn encode(&self, store: [u8; 16]) -> Vec<Page> {
        let mut body = Vec::new();
        body.extend_from_slice(bytemuck::cast_slice(&self.entries));
        body.extend_from_slice(bytemuck::cast_slice(&self.records));
        body.extend_from_slice(bytemuck::cast_slice(&self.dropped));
        let mut trailer = Trailer {
            store,
            boot: self.boot,
            sequence: self.sequence,
            written: self.written,
            entries: self.entries.len() as u32,
            records: self.records.len() as u32,
            dropped: self.dropped.len() as u32,
            _zero: 0,
            sum: 0,
        };
        trailer.sum = trailer.checksum(&body);
        body.extend_from_slice(bytemuck::bytes_of(&trailer));
        let mut pages = crate::page::zeroed(body.len().div_ceil(PAGE_SIZE));
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut pages);
        let start = bytes.len() - body.len();
        bytes[start..].copy_from_slice(&body);
        pages
    }

    /// Returns the number of pages that a footer takes, by the last page of its segment; `None` if
    /// that is the end of no segment of this store.
    pub fn pages(last: &[u8], store: [u8; 16], geometry: Geometry) -> Option<usize> {
        let trailer = Trailer::read(last);
        let bytes = trailer.body_bytes()? + size_of::<Trailer>();
        let pages = bytes.div_ceil(PAGE_SIZE);
        let fits = pages < geometry.segment_pages as usize;
        (trailer.store == store && fits).then_some(pages)
    }

    /// Reads the pages that [`Footer::pages`] counts; `None` if they do not check.
    pub fn decode(bytes: &[u8], store: [u8; 16]) -> Option<Self> {
        let trailer = Trailer::read(bytes);
        let end = bytes.len() - size_of::<Trailer>();
        let body = &bytes[end.checked_sub(trailer.body_bytes()?)?..end];
        if trailer.store != store || trailer.sum != trailer.checksum(body) {
            return None;
        }
        let entries = trailer.entries as usize * size_of::<Entry>();
        let records = entries + trailer.records as usize * size_of::<Record>();
        Some(Self {
            sequence: trailer.sequence,
            written: trailer.written,
            boot: trailer.boot,
            entries: bytemuck::pod_collect_to_vec(&body[..entries]),
            records: bytemuck::pod_collect_to_vec(&body[entries..records]),
            dropped: bytemuck::pod_collect_to_vec(&body[records..]),
        })
    }
}

impl Trailer {
    /// Reads what the last bytes would be.
    fn read(bytes: &[u8]) -> Self {
        bytemuck::pod_read_unaligned(&bytes[bytes.len() - size_of::<Self>()..])
    }

    fn body_bytes(&self) -> Option<usize> {
        let parts = [
            (self.entries, size_of::<Entry>()),
            (self.records, size_of::<Record>()),
            (self.dropped, size_of::<Dropped>()),
        ];
        parts.into_iter().try_fold(0_usize, |bytes, (count, each)| {
            bytes.checked_add((count as usize).checked_mul(each)?)
        })
    }

    fn checksum(&self, body: &[u8]) -> u64 {
        let head = Self { sum: 0, ..*self };
        let seed = XxHash3_64::oneshot(bytemuck::bytes_of(&head));
        XxHash3_64::oneshot_with_seed(seed, body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn footer(geometry: Geometry) -> Footer {
        let pages = geometry.most_pages() as u64;
        Footer {
            sequence: 7,
            written: 8,
            boot: [9; 16],
            entries: (1..=pages)
                .map(|i| Entry {
                    stamp: Stamp(i),
                    page: i,
                    sum: i,
                })
                .collect(),
            records: (1..=geometry.most_records() as u64)
                .map(|i| Record {
                    identity: Identity {
                        file_system: 1,
                        inode: i,
                    },
                    stamp: Stamp(i),
                    version: Version::default(),
                })
                .collect(),
            dropped: (0..geometry.most_dropped() as u64)
                .map(|i| Dropped {
                    stamp: Stamp(i),
                    page: i,
                })
                .collect(),
        }
    }

    #[test]
    fn the_fullest_footer_fits_beside_its_pages() {
        for bytes in [Geometry::LEAST, 1 << 20, 100 << 20, 20 << 30] {
            let geometry = Geometry::of(bytes).unwrap();
            let footer = footer(geometry);
            let pages = footer.encode([3; 16]);
            assert!(geometry.most_pages() >= 5, "{geometry:?}");
            assert!(pages.len() + geometry.most_pages() <= geometry.segment_pages as usize);
            let bytes: &[u8] = bytemuck::cast_slice(&pages);
            let counted = Footer::pages(&bytes[bytes.len() - PAGE_SIZE..], [3; 16], geometry);
            assert_eq!(counted, Some(pages.len()));
            assert_eq!(Footer::decode(bytes, [3; 16]), Some(footer));
            assert_eq!(Footer::decode(bytes, [4; 16]), None);
        }
        assert_eq!(Geometry::of(Geometry::LEAST - 1), None);
    }

    #[test]
    fn every_bit_of_a_footer_matters() {
        let geometry = Geometry::of(Geometry::LEAST).unwrap();
        let pages = footer(geometry).encode([3; 16]);
        let body = geometry.most_pages() * (size_of::<Entry>() + size_of::<Record>());
        let mut bytes: Vec<u8> = bytemuck::cast_slice(&pages).to_vec();
        for bit in (bytes.len() - body) * 8..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Footer::decode(&bytes, [3; 16]), None, "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
