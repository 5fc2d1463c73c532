//! The format: pools that were made when it was version 1 to 4 must open, and become pools of
//! version 5.

use std::sync::Arc;

use terrace_heap::check::check;
use terrace_heap::medium::simulated::{Granule, Simulated};
use terrace_heap::{Error, Hint, Options, Ptr, use_lane};

#[path = "common/mod.rs"]
mod common;
use common::{create, open};

type Numbers = [u64; 5];

const CHUNK: u64 = 4096;
const CHUNKS: u64 = 10;

/// The words of the pool that are not 0: the offset of the first of a row, then the row. The first
/// 64 bytes have the version.
const VERSION_1: &str = "\
0: 5041454852524554 f00010c00000001
56: a6fadc13d093b3c7
";
const VERSION_2: &str = "\
0: 5041454852524554 f00010c00000002
56: d698dd9cea665120
";
/// And the seed of hashes.
const VERSION_3: &str = "\
0: 5041454852524554 f00010c00000003
24: 7
56: 98c7aacf7284769f
";
/// And the types that containers hold.
const VERSION_4: &str = "\
0: 5041454852524554 f00010c00000004
24: 7
56: c09b0259c021542e
";
/// Contents may have checksums, which this pool has not.
const VERSION_5: &str = "\
0: 5041454852524554 f00010c00000005
24: 7
56: 2d9a2f17984063ec
";
const GOLDEN: &str = "\
64: 600b00000000000a 72b3000000000006
512: 5a1e000001000006 643d000001000005 40f8000001000301 53c0000001000003
544: c87e000001000004
4096: a77e000000000003
4160: 21000000000003 2080
4184: 4038
4216: 931622a23e55b114
4224: 2000000000004 5000 1 5400
4256: 1
4272: 25e94ee0d42d2b02 54dc6b3caa30da46
8192: 3000 7000800000028 737265626d756e
8312: 20ebac98c17f3969
8328: 8000800000028 656e6f67
8440: d771c8167532c151
12288: b 2 d e
12320: f
12336: 6 6
12352: 6 6 6
16384: 3000 2002 3000000000001 e1a48da4673e3b58
16416: 3030 2082 3000000000002
20480: 3000 b
21504: 3010 18 5800
22528: d e f";

/// A pool of one lane that was not closed: an object, one that was freed, and a commit that is to
/// be done again.
fn make() -> Result<Arc<Simulated>, Error> {
    use_lane(0);
    let medium = Arc::new(Simulated::new(CHUNKS * CHUNK, Granule::Line));
    let options = Options::default().chunk_bytes(CHUNK).lanes(1).hash_seed(7);
    let heap = create(Arc::clone(&medium), &options);
    let place = heap.root::<Numbers>("numbers", 7)?;
    let numbers = heap.publish(place, &[1, 2, 3, 4, 5])?;
    let gone = heap.root::<Numbers>("gone", 8)?;
    heap.publish(gone, &[6; 5])?;
    heap.free(gone)?;
    heap.transaction(|tx| {
        tx.write_with(numbers.field::<[u64; 3]>(16), &[13, 14, 15], Hint::Object)?;
        tx.set(numbers.field(0), 11)
    })?;
    let left = Simulated::from_bytes(&medium.bytes(), Granule::Line);
    Ok(Arc::new(left))
}

fn rows(bytes: &[u8]) -> String {
    let word = |at: usize| u64::from_le_bytes(bytes[at..][..8].try_into().unwrap());
    let (mut text, mut before) = (String::new(), None);
    for at in (0..bytes.len()).step_by(8).filter(|&at| word(at) != 0) {
        match before == Some(at - at.min(8)) && !at.is_multiple_of(32) {
            true => text += &format!(" {:x}", word(at)),
            false => text += &format!("\n{at}: {:x}", word(at)),
        }
        before = Some(at);
    }
    text.trim_start().to_owned()
}

fn pool(rows: &str) -> Arc<Simulated> {
    let mut bytes = vec![0; (CHUNKS * CHUNK) as usize];
    for row in rows.lines() {
        let (at, words) = row.split_once(": ").unwrap();
        let places = (at.parse().unwrap()..).step_by(8);
        for (at, word) in places.zip(words.split(' ')) {
            let word = u64::from_str_radix(word, 16).unwrap();
            bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        }
    }
    Arc::new(Simulated::from_bytes(&bytes, Granule::Line))
}

#[test]
fn pools_of_all_versions_open() {
    for header in [VERSION_1, VERSION_2, VERSION_3, VERSION_4, VERSION_5] {
        opens(&format!("{header}{GOLDEN}"));
    }
}

fn opens(rows: &str) {
    assert_eq!(check(pool(rows)), []);
    let heap = open(pool(rows)).unwrap();
    let roots = heap.roots().unwrap();
    let names: Vec<_> = roots
        .iter()
        .map(|root| (&root.name[..], root.kind))
        .collect();
    assert_eq!(names, [("gone", 8), ("numbers", 7)]);
    assert!(roots[0].pointer.is_null());
    let numbers: Ptr<Numbers> = roots[1].pointer.cast();
    assert_eq!(heap.read(numbers), Ok([11, 2, 13, 14, 15]));
    assert_eq!(heap.objects().unwrap().len(), 1);
}

/// If this fails, the format has changed: it needs another version, FORMAT.md an entry, and what is
/// above stays as it is.
#[test]
fn what_is_written_is_what_was_written() {
    let now = rows(&make().unwrap().bytes());
    assert!(now == format!("{VERSION_5}{GOLDEN}"), "{now}");
}
