//! Write schemes against slow twins: what they count, and that each page can be read back.

use std::collections::HashMap;

use proptest::prelude::*;
use terrace_policy::write::{
    Contents, Depends, Form, LINE_BYTES, LINES, Place, REGISTRY, SECTOR_BYTES, Scheme, Spec,
    Written,
};

const PAGE: usize = size_of::<Contents>();

fn scheme(spec: &str) -> Scheme {
    Spec::parse(spec).unwrap().scheme().unwrap()
}

/// Pages as programs have them: any bytes, a few words again and again with others between them,
/// one word alone.
fn contents() -> impl Strategy<Value = Box<Contents>> {
    let arbitrary = prop::collection::vec(any::<u8>(), PAGE);
    let word = prop_oneof![4 => 0..4_u64, 1 => any::<u64>()];
    let few = prop::collection::vec(word, PAGE / 8);
    let few = few.prop_map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let small = prop::collection::vec(prop_oneof![1 => 0..3_u32, 2 => any::<u32>()], PAGE / 4);
    let small = small.prop_map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect());
    // Two words that make up most of a page, in any shares.
    let two = (1..100_u32, 1..100_u32, 0..50_u32).prop_flat_map(|(one, other, rest)| {
        let word = prop_oneof![one => Just(0_u32), other => Just(7), rest => any::<u32>()];
        prop::collection::vec(word, PAGE / 4)
    });
    let two = two.prop_map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect());
    let same = any::<u64>().prop_map(|word| word.to_le_bytes().repeat(PAGE / 8));
    prop_oneof![arbitrary, few, small, two, same].prop_map(|bytes: Vec<u8>| {
        let bytes: Box<[u8; PAGE]> = bytes.into_boxed_slice().try_into().expect("a page");
        bytes
    })
}

/// A page, and what becomes of it when some of its bytes are stored to.
fn changed() -> impl Strategy<Value = (Box<Contents>, Box<Contents>)> {
    let stores = prop::collection::vec((0..PAGE, any::<u8>()), 0..100);
    (contents(), stores).prop_map(|(before, stores)| {
        let mut after = before.clone();
        for (at, byte) in stores {
            after[at] = byte;
        }
        (before, after)
    })
}

/// The number of parts of `unit` bytes that differ.
fn differing(a: &Contents, b: &Contents, unit: usize) -> u64 {
    let parts = (0..PAGE).step_by(unit);
    parts
        .filter(|at| a[*at..at + unit] != b[*at..at + unit])
        .count() as u64
}

/// The bits that differ, one after the other.
fn differing_bits(a: &[u8], b: &[u8]) -> u64 {
    let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (at % 8) & 1;
    (0..8 * a.len())
        .filter(|at| bit(a, *at) != bit(b, *at))
        .count() as u64
}

/// The lines that `mfwr` writes: by counting each word, and by the length of what figure 5 of Awad
/// 2016 draws.
fn mfwr_lines(page: &Contents, words: usize, word: usize) -> u64 {
    let mut counts: HashMap<&[u8], usize> = HashMap::new();
    for word in page.chunks(word) {
        *counts.entry(word).or_default() += 1;
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let frequent: usize = counts.iter().take(words).sum();
    let number = PAGE / word;
    let map = number * if words == 1 { 1 } else { 2 } / 8;
    let length = words * word + map + (number - frequent) * word;
    length.div_ceil(LINE_BYTES).min(PAGE / LINE_BYTES) as u64
}

proptest! {
    /// Every scheme, `mfwr` with each number and size of words, on a place that held anything, and
    /// again on what it wrote itself.
    #[test]
    fn a_page_that_is_written_and_read_back_is_the_same(
        held in contents(),
        (before, after) in changed(),
    ) {
        let mut specs: Vec<String> = REGISTRY.iter().map(|entry| entry.name.to_owned()).collect();
        for words in 1..=3 {
            specs.push(format!("mfwr:words={words},word=8,pin=off"));
            specs.push(format!("mfwr:words={words}"));
        }
        for spec in specs {
            let scheme = scheme(&spec);
            let mut place = Place::holding(*held);
            for page in [&before, &after, &before] {
                let written = scheme.coder.write(page, &mut place);
                let mut back = [0x55; PAGE];
                scheme.coder.read(&place, &mut back);
                prop_assert!(back == **page, "{spec}");
                prop_assert!(written.lines <= 64 && written.sectors <= 8, "{spec}: {written:?}");
                prop_assert!(written.lines <= 8 * written.sectors, "{spec}: {written:?}");
                prop_assert!(written.cells <= 8 * written.bytes + 1024, "{spec}: {written:?}");
            }
        }
    }

    /// What a scheme says of itself and of the lines that it writes, against places before and
    /// after.
    #[test]
    fn what_is_said_of_places_holds(
        (held, other) in (contents(), contents()),
        (before, after) in changed(),
    ) {
        for entry in REGISTRY {
            let (name, coder) = (entry.name, scheme(entry.name).coder);
            let mut place = Place::holding(*held);
            coder.write(&before, &mut place);
            let earlier = place.clone();
            let written = coder.write(&after, &mut place);
            prop_assert_eq!(u64::from(written.which.count_ones()), written.lines, "{}", name);
            if coder.is_plain() {
                prop_assert!(place == Place::holding(*after), "{name}");
            }
            let changed: Vec<u32> = (0..LINES).map(|line| place.line(line).differing(&earlier.line(line))).collect();
            let is_written = |line: usize| written.which >> line & 1 == 1;
            prop_assert!((0..LINES).all(|line| is_written(line) || changed[line] == 0), "{name}");
            match coder.depends() {
                Depends::OnPage => {
                    let elsewhere = coder.write(&after, &mut Place::holding(*other));
                    let counts = |one: Written| (one.bytes, one.lines, one.cells, one.metadata);
                    prop_assert_eq!(counts(elsewhere), counts(written), "{}", name);
                    // One behind the other, and the first behind the last.
                    let begins = (0..LINES).filter(|line| is_written(*line) && !is_written((line + LINES - 1) % LINES));
                    prop_assert_eq!(begins.count(), usize::from(written.lines < 64), "{}", name);
                }
                Depends::OnBytes => {}
                Depends::OnCells => {
                    prop_assert_eq!(changed.iter().map(|cells| u64::from(*cells)).sum::<u64>(), written.cells);
                    prop_assert!((0..LINES).all(|line| is_written(line) == (changed[line] > 0)), "{name}");
                }
            }
            if coder.depends() != Depends::OnCells {
                prop_assert_eq!(written.cells, 512 * written.lines, "{}", name);
            }
        }
    }

    #[test]
    fn parts_that_differ_are_counted((before, after) in changed()) {
        for (spec, unit) in [("lines", LINE_BYTES), ("sectors", SECTOR_BYTES)] {
            let written = scheme(spec).coder.write(&after, &mut Place::holding(*before));
            let parts = differing(&before, &after, unit);
            prop_assert_eq!(written.bytes, parts * unit as u64);
            prop_assert_eq!(written.lines, parts * (unit / LINE_BYTES) as u64);
            prop_assert_eq!(written.sectors, differing(&before, &after, SECTOR_BYTES));
            prop_assert_eq!(written.cells, 8 * written.bytes);
        }
    }

    #[test]
    fn cells_that_change_are_counted((before, after) in changed()) {
        let written = scheme("dcw").coder.write(&after, &mut Place::holding(*before));
        prop_assert_eq!(written.cells, differing_bits(&*before, &*after));
        prop_assert_eq!(written.lines, differing(&before, &after, LINE_BYTES));
    }

    /// At most half of the cells of a word and of its flip change, and those that change are
    /// counted.
    #[test]
    fn flip_n_write_changes_the_fewer_cells(held in contents(), (before, after) in changed()) {
        let scheme = scheme("flip-n-write");
        let mut place = Place::holding(*held);
        for page in [&before, &after] {
            let old = place.clone();
            let written = scheme.coder.write(page, &mut place);
            let flips = |place: &Place| match place.form {
                Form::Flipped(flips) => flips.map(u64::to_le_bytes).as_flattened().to_vec(),
                _ => vec![0; 128],
            };
            let changed = differing_bits(&old.bytes, &place.bytes)
                + differing_bits(&flips(&old), &flips(&place));
            prop_assert_eq!(written.cells, changed);
            prop_assert!(written.cells <= 1024 * 33 / 2);
            let plain = differing_bits(&old.bytes, &page[..]);
            if old.form == Form::Plain {
                prop_assert!(written.cells <= plain, "{} {plain}", written.cells);
            }
        }
    }

    /// Pages one after the other in a place, by what the cells held before and hold after.
    #[test]
    fn coded_pages_on_memory_that_compares(held in contents(), pages in prop::collection::vec(contents(), 1..6)) {
        let (plain, compared) = (scheme("mfwr:words=2"), scheme("mfwr+dcw:words=2"));
        let (mut one, mut other) = (Place::holding(*held), Place::holding(*held));
        for page in pages {
            let before = other.bytes;
            let whole = plain.coder.write(&page, &mut one);
            let written = compared.coder.write(&page, &mut other);
            prop_assert!(one == other, "the same is laid down");
            prop_assert_eq!(written.cells, differing_bits(&before, &other.bytes));
            prop_assert_eq!(written.lines, differing(&before, &other.bytes, LINE_BYTES));
            prop_assert_eq!(written.which & !whole.which, 0);
            prop_assert_eq!(written.metadata, whole.metadata);
        }
    }

    #[test]
    fn frequent_words_are_the_most_frequent(page in contents()) {
        for words in 1..=3 {
            for word in [4, 8] {
                let scheme = scheme(&format!("mfwr:words={words},word={word}"));
                let written = scheme.coder.write(&page, &mut Place::holding([0; PAGE]));
                prop_assert_eq!(written.lines, mfwr_lines(&page, words, word), "{} of {}", words, word);
            }
        }
    }

    /// Each compressor by itself, without the length and whole lines.
    #[test]
    fn packed_pages_have_the_length_of_what_a_compressor_makes(page in contents()) {
        let lz4 = lz4_flex::block::compress(&*page).len();
        let zstd = zstd::bulk::compress(&*page, 3).unwrap().len();
        for (spec, length) in [("lz4", lz4), ("zstd", zstd)] {
            let written = scheme(spec).coder.write(&page, &mut Place::holding([0; PAGE]));
            let lines = (length + 2).div_ceil(LINE_BYTES).min(PAGE / LINE_BYTES);
            prop_assert_eq!(written.lines, lines as u64, "{}", spec);
        }
    }

    #[test]
    fn the_best_writes_no_more_than_any(held in contents(), (before, after) in changed()) {
        let names = ["lines", "mfwr", "lz4", "sectors", "same-filled"];
        let best = scheme(&format!("best:of={},time=1000", names.join("+")));
        let mut place = Place::holding(*held);
        for page in [&before, &after] {
            let bytes = |name: &&str| scheme(name).coder.write(page, &mut place.clone()).bytes;
            let fewest = names.iter().map(bytes).min();
            prop_assert_eq!(Some(best.coder.write(page, &mut place).bytes), fewest);
            let mut back = [0x55; PAGE];
            best.coder.read(&place, &mut back);
            prop_assert!(back == **page);
        }
    }

    #[test]
    fn a_word_again_and_again_is_written_once(page in contents()) {
        let same = page.chunks(8).all(|word| *word == page[..8]);
        let written = scheme("same-filled").coder.write(&page, &mut Place::holding([0; PAGE]));
        prop_assert_eq!(written.lines, if same { 1 } else { 64 });
    }
}

/// Awad 2016, section 4: without inclusion, clean pages are written; all schemes but `page` are
/// inclusive. A page goes back to its place unless it is not pinned.
#[test]
fn inclusion_and_pinning() {
    for entry in REGISTRY {
        let scheme = scheme(entry.name);
        assert_eq!(scheme.inclusive, entry.name != "page", "{}", entry.name);
        assert!(scheme.pinned, "{}", entry.name);
    }
    assert!(!scheme("dcw:pin=off").pinned);
}

/// Schemes are tried in their order while the time lasts, and the first in any case.
#[test]
fn the_best_is_found_within_a_time() {
    let cells = |spec: &str| {
        let written = scheme(spec)
            .coder
            .write(&[7; PAGE], &mut Place::holding([0; PAGE]));
        written.cells
    };
    assert_eq!(cells("best:of=page+mfwr,time=0"), cells("page"));
    assert_eq!(cells("best:of=page+mfwr,time=100"), cells("mfwr"));
    for (spec, why) in [
        ("best:of=best", "does not choose itself"),
        ("best:of=lines+dcw", "`dcw` writes cells"),
    ] {
        let error = Spec::parse(spec).err();
        assert!(error.unwrap().contains(why), "{spec}");
    }
}

/// Awad 2016, 5.1.2: in a place with random contents, half of the cells change.
#[test]
fn without_its_place_half_of_the_cells_of_a_page_change() {
    let random = |seed: u64| {
        let mut state = seed;
        std::array::from_fn(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
    };
    let mut sum = Written::default();
    for seed in 0..100 {
        let page: Contents = random(2 * seed);
        sum += scheme("dcw")
            .coder
            .write(&page, &mut Place::holding(random(2 * seed + 1)));
    }
    let share = sum.cells as f64 / (100 * 8 * PAGE) as f64;
    assert!((share - 0.5).abs() < 0.01, "{share}");
}
