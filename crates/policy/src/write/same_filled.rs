//! `same-filled`: of a page that repeats one word, only the word is written.
//!
//! Linux, drivers/block/zram (ZRAM_SAME): a page of one machine word again and again is kept as
//! that word. It is 8 bytes here, as on 64-bit machines.

use super::page::Page;
use super::{Coder, Contents, Depends, Entry, Form, Make, Place, Written};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "same-filled",
    summary: "one word of a dirty page that repeats it, all of other dirty pages",
    paper: "Linux, zram: ZRAM_SAME",
    when: "Programs with many pages of zeros; it costs next to nothing.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        nanos: 160,
        coder: &|_| Ok(Box::new(SameFilled)),
    },
};

const WORD_BYTES: usize = 8;

/// Writes repeated words once.
struct SameFilled;

impl Coder for SameFilled {
    fn depends(&self) -> Depends {
        Depends::OnPage
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let (words, _) = page.as_chunks::<WORD_BYTES>();
        if words.iter().any(|word| *word != words[0]) {
            return Page.write(page, place);
        }
        Written::lines(place.write_coded(&words[0]))
    }

    fn read(&self, place: &Place, page: &mut Contents) {
        match place.form {
            Form::Coded => {
                let word = &place.coded()[..WORD_BYTES];
                page.chunks_exact_mut(WORD_BYTES)
                    .for_each(|part| part.copy_from_slice(word));
            }
            Form::Plain | Form::CodedBy(_) | Form::Flipped(_) => *page = place.bytes,
        }
    }
}
