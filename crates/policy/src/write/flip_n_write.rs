//! `flip-n-write`: a word that would change more than half of its cells is written inverted.
//!
//! Cho and Lee, "Flip-N-Write: a simple deterministic technique to improve PRAM write performance,
//! energy and endurance", MICRO 2009, section 3: each word has a cell that says whether it is
//! inverted, and at most half of all these cells change in a write. Words of 4 bytes here.

use super::place::LINE_BYTES;
use super::{Coder, Contents, Entry, Form, Make, Place, Written};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "flip-n-write",
    summary: "the cells that change where words that would change more than half are inverted",
    paper: "Cho and Lee, MICRO 2009, section 3",
    when: "As dcw; it gains most where pages do not go back to their place.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 6500,
        coder: &|_| Ok(Box::new(FlipNWrite)),
    },
};

const WORD_BYTES: usize = 4;
const WORDS_OF_LINE: usize = LINE_BYTES / WORD_BYTES;

/// Inverts words.
struct FlipNWrite;

impl Coder for FlipNWrite {
    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let mut flips = flips(place);
        let (mut written, mut cells, mut flipped) = (0_u64, 0, 0);
        let (new, _) = page.as_chunks::<WORD_BYTES>();
        let (old, _) = place.bytes.as_chunks_mut::<WORD_BYTES>();
        for (at, (new, old)) in new.iter().zip(old).enumerate() {
            let flip = &mut flips[at / 64];
            let was = bit(*flip, at % 64);
            let is = u32::from_le_bytes(*old);
            let plain = u32::from_le_bytes(*new);
            let cost =
                |word: u32, inverted: bool| (word ^ is).count_ones() + u32::from(inverted != was);
            let inverted = cost(!plain, true) < cost(plain, false);
            let word = if inverted { !plain } else { plain };
            let changed = cost(word, inverted);
            written |= u64::from(changed != 0) << (at / WORDS_OF_LINE);
            cells += u64::from(changed);
            flipped += u64::from(inverted != was);
            *flip = *flip & !(1 << (at % 64)) | u64::from(inverted) << (at % 64);
            *old = word.to_le_bytes();
        }
        place.form = Form::Flipped(flips);
        Written {
            cells,
            metadata: u64::div_ceil(flipped, 8),
            ..Written::lines(written)
        }
    }

    fn read(&self, place: &Place, page: &mut Contents) {
        let flips = flips(place);
        let (words, _) = place.bytes.as_chunks::<WORD_BYTES>();
        let (page, _) = page.as_chunks_mut::<WORD_BYTES>();
        for (at, (word, page)) in words.iter().zip(page).enumerate() {
            let inverted = bit(flips[at / 64], at % 64);
            let word = u32::from_le_bytes(*word);
            *page = if inverted { !word } else { word }.to_le_bytes();
        }
    }
}

/// Returns which words of a place are inverted.
fn flips(place: &Place) -> [u64; 16] {
    match place.form {
        Form::Flipped(flips) => flips,
        Form::Plain | Form::Coded | Form::CodedBy(_) => [0; 16],
    }
}

fn bit(word: u64, at: usize) -> bool {
    word >> at & 1 == 1
}
