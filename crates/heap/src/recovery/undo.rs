//! Undo of transactions of format versions 1 and 2 that changed objects in place and had not
//! committed.
//!
//! Each change was preceded by an entry in the lane's object log, {offset, length, data, sequence,
//! check of the entry and its data}, of 40 bytes, and a fence, with which the effects of the lane's
//! operation before were made durable, too. At the commit the objects were fenced, then an intent
//! of the same operation was stored, which does not name what was changed in place. So the
//! operation before a committed one must not be repeated: it may have changed the same bytes.

use crate::allocator::Space;
use crate::checksum::Checksum;
use crate::medium::Medium;
use crate::pool::Pool;

/// Bytes of an entry.
const ENTRY: u64 = 40;

/// Restores and flushes the old contents in the entries from an offset on, if they are of this
/// operation.
pub(super) fn undo<M: Medium>(space: &Space<M>, entries: u64, sequence: u64) {
    let pool = &space.pool;
    let mut found = Vec::new();
    for at in (entries..).step_by(ENTRY as usize) {
        if !pool.holds(at, ENTRY) {
            break;
        }
        let [offset, len, data, of, check] = pool.load_words(at);
        let valid = of == sequence
            && pool.holds(offset, len)
            && pool.holds(data, len)
            && check_of_entry(space, at, [offset, len, data, of]) == check;
        if !valid {
            break;
        }
        found.push([offset, len, data]);
    }
    for object in found.into_iter().rev() {
        copy(pool, object);
    }
}

/// Copies what a log has kept to where it belongs, and flushes it: the offset, the length and the
/// offset of the data.
pub(super) fn copy<M: Medium>(pool: &Pool<M>, [offset, len, data]: [u64; 3]) {
    let mut bytes = vec![0; len as usize];
    pool.medium.load(data, &mut bytes);
    pool.medium.store(offset, &bytes);
    pool.medium.flush(offset, len);
}

/// Returns the check of an entry, and of its data.
fn check_of_entry<M: Medium>(space: &Space<M>, at: u64, entry: [u64; 4]) -> u64 {
    let [_, len, data, _] = entry;
    let mut sum = Checksum::new(at);
    entry.into_iter().for_each(|word| sum.word(word));
    for at in (data..data + len).step_by(8) {
        sum.word(space.pool.medium.load_word(at));
    }
    sum.finish()
}
