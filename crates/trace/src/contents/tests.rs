//! The memory of a trace, by hand and beside its twin.

use proptest::prelude::*;

use super::*;
use crate::access::Access;

/// A report of a page: its process and number, and what was changed.
#[derive(Clone, Debug)]
struct Reported {
    page: (u16, u64),
    words: Vec<Word>,
    version: u32,
    checksum: u64,
}

/// A process, the number of its page, and the places and values of words that change there.
type Changed = (bool, u64, Vec<(u16, u64)>);
/// A process and the number of its page, and what the page holds.
type Held = ((u16, u64), Contents);

/// The rows of these reports, in a block.
fn block(reports: &[Reported]) -> Block {
    let mut block = Block::default();
    for report in reports {
        block.push(Access {
            process: report.page.0,
            address: report.page.1 * PAGE_BYTES + 8,
            ..Access::default()
        });
        block.changes.push(Change {
            words: &report.words,
            version: report.version,
            checksum: report.checksum,
        });
    }
    block
}

fn memory(reports: &[Reported]) -> Memory {
    let block = block(reports);
    let mut memory = Memory::default();
    (0..block.len()).for_each(|row| memory.apply(&block, row));
    memory
}

/// The reports of pages whose words change so, in the order of their versions, with a checksum of
/// each; and what the pages hold in the end.
fn history(changes: &[Changed]) -> (Vec<Reported>, Vec<Held>) {
    let mut pages: Vec<((u16, u64), u32, Contents)> = Vec::new();
    let mut reports = Vec::new();
    for (process, number, words) in changes {
        let key = (u16::from(*process), *number);
        let place = pages.iter().position(|(page, ..)| *page == key);
        let place = place.unwrap_or_else(|| {
            pages.push((key, 0, [0; 4096]));
            pages.len() - 1
        });
        let (_, version, contents) = &mut pages[place];
        for (index, value) in words {
            contents[usize::from(*index) * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        *version += 1;
        let word = |&(index, value): &(u16, u64)| Word { index, value };
        reports.push(Reported {
            page: key,
            words: words.iter().map(word).collect(),
            version: *version,
            checksum: checksum(contents),
        });
    }
    let last = pages.into_iter().map(|(key, _, contents)| (key, contents));
    (reports, last.collect())
}

fn changes() -> impl Strategy<Value = Vec<Changed>> {
    let words = prop::collection::vec((0..WORDS as u16, any::<u64>()), 0..6);
    prop::collection::vec((any::<bool>(), 0..3_u64, words), 1..40)
}

fn word(index: u16, value: u64) -> Word {
    Word { index, value }
}

#[test]
fn a_page_by_hand() {
    let report = |version, words: &[Word], checksum| Reported {
        page: (1, 5),
        words: words.to_vec(),
        version,
        checksum,
    };
    let mut expected = [0; 4096];
    expected[8..16].copy_from_slice(&7_u64.to_le_bytes());
    expected[4088..].copy_from_slice(&u64::MAX.to_le_bytes());
    let reports = [
        report(2, &[word(511, u64::MAX)], checksum(&expected)),
        report(0, &[], 0),
        report(1, &[word(1, 7), word(511, 3)], 0),
    ];
    let first = memory(&reports[..2]);
    assert_eq!(first.page(1, 5), &[0; 4096], "the first version is missing");
    assert_eq!(first.verified().deviating, [(1, 5)]);
    let all = memory(&reports);
    assert_eq!(all.page(1, 5), &expected);
    assert_eq!(all.page(0, 5), &[0; 4096], "of another process");
    assert_eq!(all.pages().collect::<Vec<_>>(), [(1, 5)]);
    let verified = Verified {
        sampled: 1,
        held: 1,
        deviating: Vec::new(),
    };
    assert_eq!(all.verified(), verified);
}

#[test]
fn versions_go_on_after_the_last_number() {
    assert_eq!((next_version(0), next_version(u32::MAX)), (1, 1));
}

#[test]
fn a_block_without_changes_changes_nothing() {
    let mut block = Block::default();
    block.push(Access::default());
    let mut memory = Memory::default();
    memory.apply(&block, 0);
    assert_eq!(memory.pages().count(), 0);
}

proptest! {
    #[test]
    fn the_order_of_rows_does_not_matter(
        changes in changes(),
        order in Just((0..40).collect::<Vec<usize>>()).prop_shuffle(),
    ) {
        let (reports, last) = history(&changes);
        let count = reports.len() as u64;
        let shuffled = order.iter().filter_map(|&place| reports.get(place).cloned());
        let memory = memory(&shuffled.collect::<Vec<_>>());
        for ((process, page), contents) in last {
            prop_assert_eq!(memory.page(process, page), &contents);
        }
        let expected = Verified { sampled: count, held: count, deviating: Vec::new() };
        prop_assert_eq!(memory.verified(), expected);
    }

    #[test]
    fn a_report_that_is_missing_or_wrong_is_found(
        changes in changes(),
        place in any::<prop::sample::Index>(),
        missing: bool,
    ) {
        let (mut reports, _) = history(&changes);
        let place = place.index(reports.len());
        let page = reports[place].page;
        let later = reports[place + 1..].iter().any(|report| report.page == page);
        match missing {
            true => {
                reports.remove(place);
            }
            false => reports[place].checksum ^= 2,
        }
        let verified = memory(&reports).verified();
        // Of a page's last report nothing tells that it is missing.
        let found = later || !missing;
        prop_assert_eq!(verified.held < verified.sampled, found);
        prop_assert_eq!(verified.deviating, if found { vec![page] } else { vec![] });
    }

    #[test]
    fn rows_are_cut_off_at_both_ends(
        changes in changes(), front in 0..50_usize, back in 0..50_usize,
    ) {
        let (reports, _) = history(&changes);
        let back = back.min(reports.len());
        let mut cut = block(&reports);
        cut.truncate(back);
        prop_assert_eq!(&cut, &block(&reports[..back]));
        let front = front.min(back);
        cut.drain_front(front);
        prop_assert_eq!(&cut, &block(&reports[front..back]));
    }
}
