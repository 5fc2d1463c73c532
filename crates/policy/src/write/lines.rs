//! `lines` and `sectors`: the parts of a page that differ from what its place holds.
//!
//! Awad 2016, 5.1.1, names the line of 64 bytes as the unit in which memory on a bus is written; a
//! block device has sectors of 512. The comparison is made before writing, with the copy that an
//! inclusive memory still holds.

use super::place::{LINE_BYTES, SECTOR_BYTES};
use super::{Coder, Contents, Depends, Entry, Form, Make, Place, Written};

/// The registry's entry of lines.
pub const LINES: Entry = Entry {
    name: "lines",
    summary: "the lines of 64 bytes of a dirty page that differ from what its place holds",
    paper: "Awad 2016, section 5.1.1: the unit of writing",
    when: "Memory on the memory bus, whose copy can be read before it is written.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 340,
        coder: &|_| Ok(Box::new(Differing::<LINE_BYTES>)),
    },
};

/// The registry's entry of sectors.
pub const SECTORS: Entry = Entry {
    name: "sectors",
    summary: "the sectors of 512 bytes of a dirty page that differ from what its place holds",
    paper: "as lines, in the unit of block devices",
    when: "Block devices with sectors of 512 bytes.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 210,
        coder: &|_| Ok(Box::new(Differing::<SECTOR_BYTES>)),
    },
};

/// Writes the parts of `UNIT` bytes that differ.
struct Differing<const UNIT: usize>;

impl<const UNIT: usize> Coder for Differing<UNIT> {
    fn depends(&self) -> Depends {
        Depends::OnBytes
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let lines_of_unit = UNIT / LINE_BYTES;
        let all = u64::MAX >> (64 - lines_of_unit);
        let mut written = 0;
        let (new, _) = page.as_chunks::<UNIT>();
        let (old, _) = place.bytes.as_chunks_mut::<UNIT>();
        for (at, (new, old)) in new.iter().zip(old).enumerate() {
            if new != old {
                *old = *new;
                written |= all << (at * lines_of_unit);
            }
        }
        place.form = Form::Plain;
        Written::lines(written)
    }
}
