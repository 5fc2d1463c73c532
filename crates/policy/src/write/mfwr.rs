//! `mfwr`: most frequent word reduction. The words that occur most often in a page are written
//! once, with a map of where they occur, and the other words are packed behind.
//!
//! Awad 2016, section 5.1.1 and figure 5. A coded page begins at the line of its place that its
//! [`turn`](super::Turn) says, and is:
//!
//! - the most frequent words, one or two or three;
//! - the map: a bit for each word of the page if there is one most frequent word, or two bits; 0
//!   says that the word is packed, and n that it is the nth most frequent word;
//! - the other words, in their order.
//!
//! It is written in whole lines. Where that is not less than a page, the page is written as it is.
//! Words and map may be kept in page tables instead, as the paper says; here they count as written.
//! The paper leaves open which of several equally frequent words is taken: it makes no difference
//! for what is written. It leaves open, too, where a page begins: if always at the first line, that
//! one would wear as fast as without a scheme.
//!
//! `mfwr+dcw` programs only those cells of a coded page whose value changes (5.1.2).

use super::compared::Compared;
use super::most_frequent::{self, Word};
use super::page::Page;
use super::place::LINE_BYTES;
use super::{Coder, Contents, Depends, Entry, Form, Make, Place, Written};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "mfwr",
    summary: "the most frequent words of a dirty page once, with a map, and the other words packed",
    paper: "Awad 2016, section 5.1.1, figure 5",
    when: "Pages with many equal words, as of zeros; software alone, without help of the device.",
    evidence: crate::registry::Evidence {
        open: "Which of equally frequent words is taken: it makes no difference. Where in its place a page begins: \
               behind the one before.",
        compared: "the figures that Awad 2016, 5.1 states (papers/awad-2016-writes has both)",
    },
    make: Make {
        inclusive: true,
        nanos: 1600,
        coder: &make,
    },
};

/// The registry's entry on memory that compares.
pub const COMPARED: Entry = Entry {
    name: "mfwr+dcw",
    summary: "what mfwr writes of a dirty page, and of that only the cells whose value changes",
    paper: "Awad 2016, sections 5.1.1 and 5.1.2",
    when: "MFWR on memory whose controller compares before it writes. A page begins at another line each time, and \
           meets what lay there: dcw programs fewer cells of pages that hardly change.",
    evidence: crate::registry::Evidence::NONE,
    make: Make {
        inclusive: true,
        // Those of both.
        nanos: 2000,
        coder: &|params| Ok(Box::new(Compared(make(params)?))),
    },
};

settings! {
    /// Settings of `mfwr`.
    pub struct MfwrSettings {
        /// how many of the most frequent words are written once
        words: usize = 1, 1..=3;
        /// bytes of a word
        word: usize = 4, [("4", 4), ("8", 8)];
    }
}

fn make(params: &mut Params) -> Result<Box<dyn Coder>, String> {
    let settings = MfwrSettings::take(params)?;
    let words = settings.words;
    Ok(match settings.word {
        4 => Box::new(Mfwr::<4> { words }),
        _ => Box::new(Mfwr::<8> { words }),
    })
}

/// Writes the most frequent words once.
struct Mfwr<const BYTES: usize> {
    /// How many of them.
    words: usize,
}

impl<const BYTES: usize> Mfwr<BYTES> {
    /// Words of a page.
    const WORDS: usize = size_of::<Contents>() / BYTES;

    /// Returns the bits of the map for a word.
    fn bits(&self) -> usize {
        if self.words == 1 { 1 } else { 2 }
    }

    /// Returns the bytes before the map, and before the packed words.
    fn header(&self) -> (usize, usize) {
        let map = self.words * BYTES;
        (map, map + self.bits() * Self::WORDS / 8)
    }

    /// Returns the least number of words that must be written once for a page to become shorter by
    /// a line.
    fn least(&self) -> usize {
        let (_, packed) = self.header();
        (packed + LINE_BYTES).div_ceil(BYTES)
    }

    /// Codes a page to which that makes a difference, with `K` frequent words, and returns its
    /// length in bytes. Each word is written, and the next one over it if it is frequent: a branch
    /// for each word would be mispredicted as often as not.
    fn encode<const K: usize>(
        &self,
        page: &[[u8; BYTES]],
        frequent: &[([u8; BYTES], usize)],
        out: &mut Contents,
    ) -> usize {
        let (map, mut end) = self.header();
        // A page with fewer different words has one of them twice.
        let frequent: [[u8; BYTES]; K] =
            std::array::from_fn(|at| frequent[at.min(frequent.len() - 1)].0);
        for (word, out) in frequent.iter().zip(out.chunks_exact_mut(BYTES)) {
            out.copy_from_slice(word);
        }
        let bits = self.bits();
        let (groups, _) = page.as_chunks::<8>();
        for (at, words) in groups.iter().enumerate() {
            let mut numbers = 0_u16;
            for (place, bytes) in words.iter().enumerate() {
                let number = number(&frequent, bytes);
                numbers |= number << (place * bits);
                out[end..end + BYTES].copy_from_slice(bytes);
                end += BYTES * usize::from(number == 0);
            }
            let at = map + at * bits;
            out[at..at + bits].copy_from_slice(&numbers.to_le_bytes()[..bits]);
        }
        end
    }
}

/// Returns the number of a frequent word, from 1 on, or 0 for another.
fn number<W: PartialEq, const K: usize>(frequent: &[W; K], word: &W) -> u16 {
    let mut found = 0;
    for at in (0..K).rev() {
        let same = u16::from(frequent[at] == *word).wrapping_neg();
        found = found & !same | (at as u16 + 1) & same;
    }
    found
}

impl<const BYTES: usize> Coder for Mfwr<BYTES>
where
    [u8; BYTES]: Word,
{
    fn depends(&self) -> Depends {
        Depends::OnPage
    }

    fn write(&self, page: &Contents, place: &mut Place) -> Written {
        let (words, _) = page.as_chunks::<BYTES>();
        let found = most_frequent::of(words, self.words, self.least());
        let frequent: usize = found.iter().map(|(_, count)| count).sum();
        if frequent < self.least() {
            return Page.write(page, place);
        }
        let mut coded = [0; size_of::<Contents>()];
        let end = match self.words {
            1 => self.encode::<1>(words, &found, &mut coded),
            2 => self.encode::<2>(words, &found, &mut coded),
            _ => self.encode::<3>(words, &found, &mut coded),
        };
        let written = Written::lines(place.write_coded(&coded[..end]));
        let (_, metadata) = self.header();
        Written {
            metadata: metadata as u64,
            ..written
        }
    }

    /// Each word is read from both, and one is taken, as [`Mfwr::encode`] writes them.
    fn read(&self, place: &Place, page: &mut Contents) {
        if place.form != Form::Coded {
            *page = place.bytes;
            return;
        }
        let bits = self.bits();
        let (map, mut next) = self.header();
        let bytes = &place.coded();
        let word_at = |at: usize| -> [u8; BYTES] {
            // A map that is not one of ours counts past the end.
            let at = at.min(size_of::<Contents>() - BYTES);
            std::array::from_fn(|byte| bytes[at + byte])
        };
        // The number 0 is that of a packed word.
        let frequent: [[u8; BYTES]; 4] = std::array::from_fn(|number| match number {
            0 => [0; BYTES],
            number => word_at((number - 1) * BYTES),
        });
        let (words, _) = page.as_chunks_mut::<BYTES>();
        let (groups, _) = words.as_chunks_mut::<8>();
        for (at, words) in groups.iter_mut().enumerate() {
            let at = map + at * bits;
            let mut numbers = u16::from_le_bytes([bytes[at], bytes[at + bits - 1]]);
            for word in words {
                let number = usize::from(numbers) & ((1 << bits) - 1);
                numbers >>= bits;
                let packed = <[u8; BYTES] as Word>::mask(number == 0);
                let (one, other) = (word_at(next).number(), frequent[number].number());
                *word = Word::of(one & packed | other & !packed);
                next += BYTES * usize::from(number == 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use super::*;

    /// A page of words, the first ones as given, the others from 1000 on.
    fn page(words: &[u32]) -> Contents {
        let mut page = [0; size_of::<Contents>()];
        for (at, out) in page.chunks_exact_mut(4).enumerate() {
            let word = words.get(at).copied().unwrap_or(1000 + at as u32);
            out.copy_from_slice(&word.to_le_bytes());
        }
        page
    }

    fn written(spec: &str, page: &Contents) -> (Written, Place) {
        let scheme = Spec::parse(spec).unwrap().scheme().unwrap();
        let mut place = Place::holding([0xAA; size_of::<Contents>()]);
        let written = scheme.coder.write(page, &mut place);
        let mut back = [0; size_of::<Contents>()];
        scheme.coder.read(&place, &mut back);
        assert!(back == *page, "{spec}");
        (written, place)
    }

    /// Figure 5 of Awad 2016: the most frequent word, the bitmap of its places, the others packed.
    #[test]
    fn figure_5() {
        let mut words = [7; 1024];
        (words[1], words[3], words[1023]) = (21, 23, 1);
        let (written, place) = written("mfwr", &page(&words));
        let bytes = &place.bytes;
        assert_eq!(bytes[..4], 7_u32.to_le_bytes());
        assert_eq!(bytes[4], 0b1111_0101);
        assert_eq!(bytes[5..131], [0xFF; 126]);
        assert_eq!(bytes[131], 0b0111_1111);
        let packed = [21_u32, 23, 1].map(u32::to_le_bytes);
        assert_eq!(bytes[132..144], *packed.as_flattened());
        assert_eq!(bytes[192..], [0xAA; 4096 - 192]);
        // 144 bytes are three lines.
        let counts = (
            written.lines,
            written.bytes,
            written.cells,
            written.metadata,
        );
        assert_eq!(counts, (3, 192, 1536, 132));
        assert_eq!(written.sectors, 1);
    }

    /// Pages of 3 lines begin one behind the other; 21 of them take 63 lines, and the 22nd goes on
    /// at the first.
    #[test]
    fn coded_pages_take_turns_in_their_place() {
        let scheme = Spec::parse("mfwr").unwrap().scheme().unwrap();
        let mut place = Place::holding([0xAA; size_of::<Contents>()]);
        let mut writes = [0; 64];
        for turn in 0..64_u32 {
            let mut words = [7; 1024];
            (words[1], words[3], words[1023]) = (turn + 100, 23, 1);
            let page = page(&words);
            let written = scheme.coder.write(&page, &mut place);
            let lines = [0, 1, 2].map(|line| (3 * turn + line) % 64);
            assert_eq!(written.which, lines.iter().map(|line| 1_u64 << line).sum());
            lines.iter().for_each(|line| writes[*line as usize] += 1);
            let first = lines[0] as usize * 64;
            assert_eq!(place.bytes[first..first + 4], 7_u32.to_le_bytes());
            let mut back = [0; size_of::<Contents>()];
            scheme.coder.read(&place, &mut back);
            assert!(back == page, "{turn}");
        }
        assert_eq!(writes, [3; 64]);
        // A page that is written as it is does not change whose turn it is.
        scheme.coder.write(&page(&[]), &mut place);
        scheme.coder.write(&page(&[7; 1024]), &mut place);
        assert_eq!(place.bytes[..4], 7_u32.to_le_bytes());
    }

    /// The cells of 0xAA that the page of figure 5 changes, byte by byte: 4 of each 0 and 0xFF; 5,
    /// 7, 6 and 5 of 7, 21, 23 and 1; 6 and 5 of the first and the last byte of the map.
    #[test]
    fn of_a_coded_page_the_cells_that_change_are_programmed() {
        let mut words = [7; 1024];
        (words[1], words[3], words[1023]) = (21, 23, 1);
        let cells = (5 + 12) + (6 + 126 * 4 + 5) + (7 + 12) + (6 + 12) + (5 + 12) + 48 * 4;
        let (found, place) = written("mfwr+dcw", &page(&words));
        assert_eq!((found.lines, found.cells, found.metadata), (3, cells, 132));
        let scheme = Spec::parse("mfwr+dcw:words=1").unwrap().scheme().unwrap();
        let mut again = place.clone();
        let found = scheme.coder.write(&page(&words), &mut again);
        assert_eq!(
            (found.which, found.cells),
            (0b11_1000, cells),
            "at the lines behind"
        );
        assert_eq!(again.bytes[..192], again.bytes[192..384]);
    }

    /// 49 equal words save 196 bytes: the header of 132 and a line.
    #[test]
    fn a_page_that_would_not_become_shorter_is_written_as_it_is() {
        let (shorter, _) = written("mfwr", &page(&[5; 49]));
        assert_eq!(shorter.lines, 63);
        let (as_it_is, place) = written("mfwr", &page(&[5; 48]));
        assert_eq!((as_it_is.lines, as_it_is.metadata), (64, 0));
        assert_eq!(place.form, Form::Plain);
    }

    #[test]
    fn two_and_three_words_need_two_bits_each() {
        let words: Vec<u32> = (0..1024).map(|at| at % 3).collect();
        let lines = |spec| written(spec, &page(&words)).0.lines;
        // 342 words once, with 128 bytes of map; 683, and all, with 256.
        assert_eq!(lines("mfwr:words=1"), (4 + 128 + 682 * 4_u64).div_ceil(64));
        assert_eq!(lines("mfwr:words=2"), (8 + 256 + 341 * 4_u64).div_ceil(64));
        assert_eq!(lines("mfwr:words=3"), (12 + 256_u64).div_ceil(64));
        assert_eq!(
            lines("mfwr:words=3,word=8"),
            written("mfwr:words=3,word=8", &page(&words)).0.lines
        );
    }
}
