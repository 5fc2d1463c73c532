//! The header of a pool and of its other regions.

use super::{AllocatorKind, Geometry, checked, unchecked};
use crate::checksum::checksum;
use crate::error::{Error, Result};

/// "TERRHEAP" in the order of bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"TERRHEAP");
/// "TERRREGN".
const REGION_MAGIC: u64 = u64::from_le_bytes(*b"TERRREGN");
/// Version of the format. Version 1 had no journal; version 2 had no seed, and other B-trees and
/// queues; version 3 had neither types of containers nor the line that says which file is open;
/// version 4 had no checksums of contents. Pools of all become version 5 when they are opened.
/// Other versions are refused.
pub(crate) const VERSION: u64 = 5;
/// The oldest known version.
const OLDEST: u64 = 1;

/// Words of the part that never changes.
pub(crate) const WORDS: usize = 8;
/// Offset of the number of chunks of the pool.
pub(crate) const CHUNKS_AT: u64 = 64;
/// Offset of the number of chunks that were ever used.
pub(crate) const USED_AT: u64 = 72;
/// Offset of the journal's first chunk; in a line that no journal holds.
pub(crate) const JOURNAL_AT: u64 = 128;
/// Offset of the generation of the journal, which tells it from earlier ones.
pub(crate) const GENERATION_AT: u64 = 136;
/// Offset of the words that say which file is open for writing; in a line that no journal holds.
pub(crate) const OPENED_AT: u64 = 192;
/// Bytes of these words.
pub(crate) const OPENED_BYTES: u64 = 8 * OPENED_WORDS as u64;
const OPENED_WORDS: usize = 3;
/// Bytes in which all words of the header lie.
pub(crate) const BYTES: u64 = OPENED_AT + OPENED_BYTES;

/// Bits of the fields of byte 8.
const SHIFT_AT: u32 = 32;
const LANES_AT: u32 = 40;
const INTENTS_AT: u32 = 56;
/// The bit of byte 16 that says that contents have checksums.
const CHECKSUMS: u64 = 1 << 8;

/// Encodes the words that never change.
pub(crate) fn encode(geometry: &Geometry) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    words[0] = MAGIC;
    words[1] = VERSION
        | u64::from(geometry.shift) << SHIFT_AT
        | u64::from(geometry.lanes) << LANES_AT
        | u64::from(geometry.intents) << INTENTS_AT;
    words[2] = match geometry.allocator {
        AllocatorKind::Nvwa => 0,
        AllocatorKind::Naive => 1,
    };
    words[2] |= CHECKSUMS * u64::from(geometry.checksums);
    words[3] = geometry.seed;
    words[7] = checksum(0, &words[..7]);
    words
}

/// Returns the version of the format by a pool's first words. If the program ended while a new
/// version was being stored (the version is stored, and the checksum is not), returns the old one.
pub(crate) fn version(words: &[u64; WORDS]) -> u64 {
    let said = u64::from(words[1] as u32);
    let fits = |version: &u64| checksum(0, &with_version(words, *version)[..7]) == words[7];
    let before = || (OLDEST..said).find(fits);
    match said <= VERSION && !fits(&said) {
        true => before().unwrap_or(said),
        false => said,
    }
}

/// Encodes the identity of the file that is open.
pub(crate) fn encode_opened(identity: [u64; 2]) -> [u64; OPENED_WORDS] {
    [identity[0], identity[1], checksum(OPENED_AT, &identity)]
}

/// Returns the identity of the file that was open and not closed, if there is one.
pub(crate) fn decode_opened(words: [u64; OPENED_WORDS]) -> Option<[u64; 2]> {
    let identity = [words[0], words[1]];
    (checksum(OPENED_AT, &identity) == words[2]).then_some(identity)
}

fn with_version(words: &[u64; WORDS], version: u64) -> [u64; WORDS] {
    let mut words = *words;
    words[1] = words[1] & !u64::from(u32::MAX) | version;
    words
}

/// Decodes a pool's first words, of any known version.
///
/// # Errors
///
/// The words begin no pool, or a pool of a version that this program does not know, or are damaged.
pub(crate) fn decode(words: &[u64; WORDS]) -> Result<Geometry> {
    if words[0] != MAGIC {
        return Err(Error::damaged(
            "this is no pool: it does not begin with TERRHEAP",
        ));
    }
    let version = version(words);
    let is_known = |version| checksum(0, &with_version(words, version)[..7]) == words[7];
    if !(OLDEST..=VERSION).contains(&version) && !(OLDEST..=VERSION).any(is_known) {
        return Err(Error::newer(format!(
            "the pool has format version {version}, and this program knows {OLDEST} to {VERSION}; open \
             it with the program that made it, or a newer one"
        )));
    }
    let geometry = Geometry {
        shift: (words[1] >> SHIFT_AT) as u8 as u32,
        lanes: (words[1] >> LANES_AT) as u16,
        intents: (words[1] >> INTENTS_AT) as u8,
        allocator: match words[2] & !CHECKSUMS {
            0 => AllocatorKind::Nvwa,
            _ => AllocatorKind::Naive,
        },
        seed: words[3],
        checksums: words[2] & CHECKSUMS != 0,
    };
    let sane = SHIFTS.contains(&geometry.shift)
        && (1..=256).contains(&geometry.lanes)
        && geometry.intents >= MIN_INTENTS
        && words[2] & !CHECKSUMS <= 1;
    if !sane || checksum(0, &with_version(words, version)[..7]) != words[7] {
        return Err(Error::damaged(
            "the pool's header is damaged: its checksum is wrong",
        ));
    }
    Ok(geometry)
}

/// Valid values of `shift`: a chunk holds a region's header, and a chunk number fits its field.
pub(crate) const SHIFTS: std::ops::RangeInclusive<u32> = 12..=24;
/// Least number of intents: for two operations that may be repeated, one under way, and two of
/// undo.
pub(crate) const MIN_INTENTS: u8 = 5;

/// Returns the first words of a region that is not the pool's first.
pub(crate) fn region(number: u64) -> [u64; 2] {
    [REGION_MAGIC, number]
}

/// Encodes a number that changes, for offset `at`.
pub(crate) fn encode_count(at: u64, count: u64) -> u64 {
    checked(at, count)
}

/// Decodes such a number.
///
/// # Errors
///
/// Its check is wrong.
pub(crate) fn decode_count(at: u64, word: u64) -> Result<u64> {
    unchecked(at, word).ok_or_else(|| {
        Error::damaged(format!(
            "the pool's header is damaged: the count at byte {at} is wrong"
        ))
    })
}
