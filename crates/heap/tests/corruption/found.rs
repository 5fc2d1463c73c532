//! What the format protects is found, bit by bit.

use crate::pools::{CHUNK, CLOSED, JOURNALED, LEFT, findings, items, look, number};

/// Bits of words, some of each.
fn some_bits(words: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    words.flat_map(|at| (0..5).map(move |i| at * 8 + (at / 8 * 7 + i * 13) % 64))
}

/// Holds that every corruption is found, near to where it is.
fn each_is_found(bytes: &[u8], what: &str, near: u64, words: impl Iterator<Item = u64>) {
    let mut tried = 0;
    for bit in some_bits(words) {
        let mut damaged = bytes.to_vec();
        damaged[bit as usize / 8] ^= 1 << (bit % 8);
        let found = findings(&damaged);
        let at = bit / 8;
        let close = found
            .iter()
            .any(|finding| finding.offset.abs_diff(at) < near);
        assert!(close, "{what}, bit {bit} (byte {at}): {found:?}");
        tried += 1;
    }
    assert!(tried > 0, "{what}: nothing was tried");
}

fn words(first: u64, bytes: u64) -> impl Iterator<Item = u64> {
    (first..first + bytes).step_by(8)
}

fn of(bytes: &[u8], what: &str) -> Vec<terrace_heap::dump::Item> {
    items(bytes)
        .into_iter()
        .filter(|item| item.what == what)
        .collect()
}

#[test]
fn pools_that_are_whole_are_sound() {
    for bytes in [&*CLOSED, &*LEFT, &*JOURNALED] {
        assert_eq!(findings(bytes), []);
        look(bytes);
    }
}

#[test]
fn the_header() {
    each_is_found(&CLOSED, "header", 80, words(0, 80));
}

#[test]
fn the_words_about_the_journal() {
    each_is_found(&JOURNALED, "header", 16, words(128, 16));
}

#[test]
fn words_about_chunks() {
    let used = number(&of(&CLOSED, "header")[0], "used");
    let all = CLOSED.len() as u64 / CHUNK;
    each_is_found(&CLOSED, "used", 8, words(512, (used - 1) * 8));
    each_is_found(
        &CLOSED,
        "never used",
        8,
        words(512 + (used - 1) * 8, (all - used) * 8),
    );
}

#[test]
fn chunks_that_were_never_used() {
    let used = number(&of(&CLOSED, "header")[0], "used");
    let words = (used * CHUNK..CLOSED.len() as u64).step_by(1000 * 8);
    each_is_found(&CLOSED, "never used", 8, words);
}

#[test]
fn states_of_lanes() {
    for bytes in [&*CLOSED, &*LEFT] {
        let lanes = of(bytes, "lane");
        let settled = lanes.iter().filter(|lane| number(lane, "settled") > 0);
        each_is_found(bytes, "lane", 8, settled.map(|lane| lane.offset));
    }
}

#[test]
fn records_of_objects() {
    for bytes in [&*CLOSED, &*LEFT] {
        let records = of(bytes, "record").into_iter();
        each_is_found(
            bytes,
            "record",
            32,
            records.flat_map(|record| words(record.offset, 32)),
        );
    }
}

#[test]
fn roots() {
    let roots = of(&CLOSED, "root").into_iter();
    let used = roots.filter(|root| number(root, "pointer") != 0);
    each_is_found(
        &CLOSED,
        "root",
        128,
        used.flat_map(|root| words(root.offset + 8, 120)),
    );
}

#[test]
fn pointers_of_roots_to_nowhere() {
    let roots = of(&CLOSED, "root");
    let large = roots
        .iter()
        .find(|root| number(root, "bytes") == 9600)
        .unwrap();
    for (pointer, why) in [
        (CLOSED.len() as u64 - 64, "where no object is in use"),
        (1 << 45, "where no object is in use"),
        (
            number(large, "pointer") + 8192,
            "and the object there ends at",
        ),
    ] {
        let mut damaged = CLOSED.clone();
        damaged[large.offset as usize..][..8].copy_from_slice(&pointer.to_le_bytes());
        let found = findings(&damaged);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].offset, large.offset);
        assert!(found[0].what.contains(why), "{found:?}");
    }
}

#[test]
fn it_goes_on_after_a_finding() {
    let mut damaged = CLOSED.clone();
    let record = of(&CLOSED, "record")[3].offset;
    let root = of(&CLOSED, "root")[1].offset;
    let run = of(&CLOSED, "chunk")
        .iter()
        .map(|chunk| number(chunk, "number"))
        .next_back()
        .unwrap();
    let word = 512 + (run - 1) * 8;
    for at in [64, word, record, root + 16] {
        damaged[at as usize] ^= 4;
    }
    let found: Vec<u64> = findings(&damaged)
        .iter()
        .map(|finding| finding.offset)
        .collect();
    for at in [64, word, record, root] {
        assert!(found.contains(&at), "{at} is not among {found:?}");
    }
}

#[test]
fn a_pool_that_was_cut_off() {
    let found = findings(&CLOSED[..CLOSED.len() - 4096]);
    let what = "the pool is truncated: it has 258048 bytes of 262144";
    assert_eq!(
        found.iter().map(|f| &f.what[..]).collect::<Vec<_>>(),
        [what]
    );
}
