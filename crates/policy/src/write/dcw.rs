//! `dcw`: data-comparison write, which programs only cells whose value changes.
//!
//! Yang et al., "A low power phase-change random access memory using a data-comparison write
//! scheme", ISCAS 2007; Awad 2016, section 5.1.2. The device reads what its cells hold before it
//! writes. This saves most where a page goes back to its place; elsewhere half of the cells change.

use super::place::LINE_BYTES;
use super::{Coder, Contents, Depends, Entry, Form, Make, Place, Written};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "dcw",
    summary: "the cells of a dirty page whose value changes (data-comparison write)",
    paper: "Yang et al., ISCAS 2007; Awad 2016, section 5.1.2",
    when: "Phase-change memory whose controller compares before it writes.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 400,
        coder: &|_| Ok(Box::new(Dcw)),
    },
};

/// Programs the cells that change.
struct Dcw;

impl Coder for Dcw {
    fn depends(&self) -> Depends {
        Depends::OnCells
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let (mut written, mut cells) = (0, 0);
        let (new, _) = page.as_chunks::<LINE_BYTES>();
        let (old, _) = place.bytes.as_chunks_mut::<LINE_BYTES>();
        for (at, (new, old)) in new.iter().zip(old).enumerate() {
            let changed = changed_cells(new, old);
            written |= u64::from(changed != 0) << at;
            cells += u64::from(changed);
            *old = *new;
        }
        place.form = Form::Plain;
        let lines = Written::lines(written);
        Written { cells, ..lines }
    }
}

/// Returns the number of bits in which two lines differ.
fn changed_cells(new: &[u8; LINE_BYTES], old: &[u8; LINE_BYTES]) -> u32 {
    let (new, _) = new.as_chunks::<8>();
    let (old, _) = old.as_chunks::<8>();
    let words = new.iter().zip(old);
    let changed = words.map(|(new, old)| u64::from_le_bytes(*new) ^ u64::from_le_bytes(*old));
    changed.map(u64::count_ones).sum()
}
