//! What is known of the pages of a program from the places at which they were found.

use rustc_hash::FxHashMap;
use terrace_policy::{Location, Page, Space};
use twox_hash::XxHash3_64;

/// Bytes of a page.
pub(super) const BYTES: usize = terrace_policy::PAGE_BYTES as usize;
/// Bytes of the word that a same-filled page repeats (Linux, drivers/block/zram: ZRAM_SAME).
const WORD: usize = 8;

/// Writes whose contents were looked at. A page that is found at another place was written
/// there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Writes that were looked at, pages of zeros included.
    pub looked_at: u64,
    /// Pages of zeros among them. Linux 6.12 and later write nothing of these.
    pub zeros: u64,
    /// Pages that repeat another word, among them.
    pub same_filled: u64,
    /// Those of them whose page had an earlier write that was looked at.
    pub again: u64,
    /// Those of `again` that held what the one that was looked at before had held.
    pub unchanged: u64,
}

/// A page.
#[derive(Clone, Copy)]
struct Held {
    /// The place at which it was found last.
    slot: u64,
    /// Whether its write to this place was counted.
    counted: bool,
    /// Hash of the contents of the last write that was counted.
    hash: Option<u64>,
}

/// The pages of a program.
#[derive(Default)]
pub(super) struct Pages {
    spaces: FxHashMap<Space, FxHashMap<Page, Held>>,
    counts: Counts,
}

impl Pages {
    /// Notes that a page was found at a place, and returns whether its contents there are to be
    /// looked at. They are when the page is found there again: a place holds zeros until its page
    /// is written, and pages of all kinds are to wait equally long.
    pub fn found(&mut self, at: Location, slot: u64) -> bool {
        let pages = self.spaces.entry(at.space).or_default();
        match pages.get_mut(&at.page) {
            Some(held) if held.slot == slot => return !held.counted,
            Some(held) => (held.slot, held.counted) = (slot, false),
            None => {
                let (counted, hash) = (false, None);
                let held = Held {
                    slot,
                    counted,
                    hash,
                };
                pages.insert(at.page, held);
            }
        }
        false
    }

    /// Counts the write of a page that is [to be looked at](Self::found), and was found at its
    /// place before and after that held this.
    pub fn look(&mut self, at: Location, contents: &[u8; BYTES]) {
        let pages = self.spaces.get_mut(&at.space);
        let Some(held) = pages.and_then(|pages| pages.get_mut(&at.page)) else {
            return;
        };
        held.counted = true;
        let counts = &mut self.counts;
        counts.looked_at += 1;
        match repeated(contents).map(u64::from_ne_bytes) {
            Some(0) => counts.zeros += 1,
            Some(_) => counts.same_filled += 1,
            None => {}
        }
        let hash = XxHash3_64::oneshot(contents);
        if let Some(before) = held.hash.replace(hash) {
            counts.again += 1;
            counts.unchanged += u64::from(before == hash);
        }
    }

    /// Forgets the pages of all processes but these.
    pub fn retain(&mut self, spaces: &[Space]) {
        self.spaces.retain(|space, _| spaces.contains(space));
    }

    /// Returns what was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// Returns the word that a page repeats, if it repeats one.
fn repeated(contents: &[u8; BYTES]) -> Option<[u8; WORD]> {
    let (words, _) = contents.as_chunks::<WORD>();
    words
        .iter()
        .all(|word| *word == words[0])
        .then_some(words[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(number: u64) -> Location {
        Location::new(Space(7), Page(number))
    }

    /// A page whose first byte differs from the others.
    fn filled(first: u8, rest: u8) -> [u8; BYTES] {
        let mut contents = [rest; BYTES];
        contents[0] = first;
        contents
    }

    /// A round over a page.
    fn seen(pages: &mut Pages, number: u64, slot: u64, contents: &[u8; BYTES]) {
        if pages.found(page(number), slot) {
            pages.look(page(number), contents);
        }
    }

    #[test]
    fn writes_by_hand() {
        let mut pages = Pages::default();
        // Written, seen at its place for long, written elsewhere unchanged, and written changed.
        for (slot, first) in [
            (10, 1),
            (10, 1),
            (10, 1),
            (11, 1),
            (11, 1),
            (12, 2),
            (12, 2),
        ] {
            seen(&mut pages, 1, slot, &filled(first, 9));
        }
        // Others come to places that the first has left.
        for _ in 0..2 {
            seen(&mut pages, 2, 10, &[5; BYTES]);
            seen(&mut pages, 3, 11, &[0; BYTES]);
        }
        let expected = Counts {
            looked_at: 5,
            zeros: 1,
            same_filled: 1,
            again: 2,
            unchanged: 1,
        };
        assert_eq!(pages.counts(), expected);
    }

    #[test]
    fn a_place_is_looked_at_when_its_page_is_found_there_again() {
        let mut pages = Pages::default();
        seen(&mut pages, 1, 10, &[0; BYTES]);
        // Now it is written.
        seen(&mut pages, 1, 10, &filled(1, 2));
        seen(&mut pages, 2, 20, &[0; BYTES]);
        seen(&mut pages, 2, 21, &[0; BYTES]);
        assert_eq!((pages.counts().looked_at, pages.counts().zeros), (1, 0));
    }

    #[test]
    fn the_pages_of_an_ended_process_are_not_those_of_the_next() {
        let mut pages = Pages::default();
        for slot in [10, 10, 11, 11] {
            seen(&mut pages, 1, slot, &filled(1, 2));
            if slot == 10 && pages.counts().looked_at == 1 {
                pages.retain(&[Space(8)]);
            }
        }
        assert_eq!((pages.counts().looked_at, pages.counts().again), (2, 0));
    }

    proptest! {
        /// A program writes pages to fresh places of a memory, and all that is in it is looked at
        /// after some of the writes, twice. The slow twin keeps the contents of the last look.
        #[test]
        fn what_is_looked_at_is_counted_right(
            writes in prop::collection::vec((0..4_u64, 0..3_u8, 0..2_u8, any::<bool>()), 1..60)
        ) {
            let mut pages = Pages::default();
            let mut memory = std::collections::BTreeMap::new();
            let mut last = std::collections::BTreeMap::new();
            let mut expected = Counts::default();
            for (slot, (number, first, rest, looks)) in writes.into_iter().enumerate() {
                memory.insert(number, (slot as u64, filled(first, rest)));
                if !looks {
                    continue;
                }
                for _ in 0..2 {
                    for (number, (slot, contents)) in &memory {
                        seen(&mut pages, *number, *slot, contents);
                    }
                }
                for (number, now) in &memory {
                    let before: Option<(u64, [u8; BYTES])> = last.insert(*number, *now);
                    if before.is_some_and(|(slot, _)| slot == now.0) {
                        continue;
                    }
                    expected.looked_at += 1;
                    expected.zeros += u64::from(now.1 == [0; BYTES]);
                    expected.same_filled += u64::from(now.1 == [1; BYTES]);
                    expected.again += u64::from(before.is_some());
                    expected.unchanged += u64::from(before.is_some_and(|(_, held)| held == now.1));
                }
            }
            prop_assert_eq!(pages.counts(), expected);
        }
    }
}
