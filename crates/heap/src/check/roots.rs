//! Roots, and what they point to.

use std::collections::HashMap;

use super::Findings;
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::layout::root::Root;
use crate::medium::Medium;
use crate::pool::Pool;
use crate::roots::places;

/// Whether roots are whole, and their names different.
pub(super) fn check<M: Medium>(pool: &Pool<M>, chunks: &[u64], findings: &mut Findings) {
    let mut names = HashMap::new();
    for at in chunks.iter().flat_map(|&chunk| places(pool, chunk)) {
        let words = pool.load_words(at);
        match Root::decode(at, &words) {
            // One that was not made wholly has never pointed to anything.
            None if words[0] != 0 => findings.add(at, "the root is damaged"),
            None => {}
            Some(root) => {
                if let Some(other) = names.insert(root.name.clone(), at) {
                    let what = format!(
                        "the root {:?} is there twice, at {other} as well",
                        root.name
                    );
                    findings.add(at, what);
                }
            }
        }
    }
}

/// Whether roots point to objects that are in use.
pub(super) fn follow<M: Medium>(heap: &Heap<M>, findings: &mut Findings) {
    let objects = heap.objects();
    for root in heap.roots().iter().filter(|root| !root.pointer.is_null()) {
        // The upper bits are the owner's.
        let pointer = root.pointer.offset() & FIELD_MAX;
        let before = objects.partition_point(|object| object.offset <= pointer);
        let end = before
            .checked_sub(1)
            .map(|i| objects[i].offset + objects[i].bytes);
        let what = match end {
            Some(end) if pointer + u64::from(root.size) <= end => continue,
            Some(end) if pointer < end => format!(
                "the root {:?} points to {} bytes at {pointer}, and the object there ends at {end}",
                root.name, root.size
            ),
            _ => format!(
                "the root {:?} points to {pointer}, where no object is in use",
                root.name
            ),
        };
        findings.add(root.place.offset(), what);
    }
}
