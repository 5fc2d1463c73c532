//! Parquet's encodings, as far as the native format uses them.
//!
//! The parquet crate's own encoders took 40 to 60 ns an access, these take 20 to 45 (the benchmark,
//! on a busier machine). What they write is held against the crate's decoders by tests.
//! From Parquet's `Encodings.md`.

use std::iter;

/// Values in a block of deltas, and the miniblocks that it is cut into. Decoders unpack the 64
/// values of such a miniblock at once; miniblocks of 32 values were read at two thirds
/// of the speed.
const BLOCK: usize = 256;
const MINIBLOCKS: usize = 4;
const MINIBLOCK: usize = BLOCK / MINIBLOCKS;

/// DELTA_BINARY_PACKED: the first value, then blocks of differences, each less the block's least
/// and in as few bits as the largest of its miniblock takes. All arithmetic wraps.
pub(super) fn deltas(values: &[u64], into: &mut Vec<u8>) {
    varint(BLOCK as u64, into);
    varint(MINIBLOCKS as u64, into);
    varint(values.len() as u64, into);
    let mut last = values.first().copied().unwrap_or_default();
    varint(zigzag(last.cast_signed()), into);
    let mut deltas = [0; BLOCK];
    for values in values.get(1..).unwrap_or_default().chunks(BLOCK) {
        for (delta, value) in deltas.iter_mut().zip(values) {
            *delta = value.wrapping_sub(last).cast_signed();
            last = *value;
        }
        delta_block(&mut deltas, values.len(), into);
    }
}

/// Writes a block whose first `count` deltas are there.
fn delta_block(deltas: &mut [i64; BLOCK], count: usize, into: &mut Vec<u8>) {
    let least = extent(&deltas[..count]).map_or(0, |(least, _)| least);
    deltas[count..].fill(least);
    varint(zigzag(least), into);
    let mut above = [0; BLOCK];
    for (above, delta) in above.iter_mut().zip(deltas) {
        *above = delta.wrapping_sub(least).cast_unsigned();
    }
    let widths = into.len();
    into.extend([0; MINIBLOCKS]);
    // Miniblocks past the last value are left away.
    let miniblocks = above.as_chunks::<MINIBLOCK>().0;
    for (index, miniblock) in miniblocks[..count.div_ceil(MINIBLOCK)].iter().enumerate() {
        let bits = miniblock.iter().fold(0, |bits, value| bits | value);
        let width = u64::BITS - bits.leading_zeros();
        into[widths + index] = width as u8;
        pack(miniblock, width, into);
    }
}

/// Appends the low `width` bits of each value, the first lowest: `width` words, as there are 64
/// values.
fn pack(values: &[u64; MINIBLOCK], width: u32, into: &mut Vec<u8>) {
    // They are collected first, so that no value waits for room in `into`; the last is not kept.
    let mut words = [0u64; MINIBLOCK + 1];
    let (mut at, mut filled) = (0, 0);
    for value in values {
        words[at] |= value << filled;
        filled += width;
        if filled >= u64::BITS {
            at += 1;
            filled -= u64::BITS;
            // A shift by all 64 bits leaves nothing.
            words[at] = value.checked_shr(width - filled).unwrap_or_default();
        }
    }
    into.extend(
        words[..width as usize]
            .iter()
            .flat_map(|word| word.to_le_bytes()),
    );
}

/// Returns the least and the largest value; `None` where there is none.
pub(super) fn extent<T: Copy + Ord>(values: &[T]) -> Option<(T, T)> {
    /// Values that are compared at once, so that none waits for the one before.
    const LANES: usize = 8;
    let first = *values.first()?;
    let (mut least, mut most) = ([first; LANES], [first; LANES]);
    let (lanes, rest) = values.as_chunks::<LANES>();
    for values in lanes {
        for (lane, value) in values.iter().enumerate() {
            least[lane] = least[lane].min(*value);
            most[lane] = most[lane].max(*value);
        }
    }
    let all = |lanes: [T; LANES]| lanes.into_iter().chain(rest.iter().copied());
    Some((all(least).min()?, all(most).max()?))
}

/// Whether all values are the same: all are looked at, which takes less time than to stop at the
/// first other one.
pub(super) fn are_equal<T: Copy + PartialEq>(values: &[T]) -> bool {
    let equal = |first| {
        values
            .iter()
            .fold(true, |equal, value| equal & (*value == first))
    };
    values.first().is_none_or(|first| equal(*first))
}

/// PLAIN truth values: a bit each, the first lowest.
pub(super) fn bits(values: &[bool], into: &mut Vec<u8>) {
    into.extend(values.chunks(8).map(|values| {
        let bits = values.iter().zip(0..);
        bits.fold(0, |byte, (value, bit)| byte | u8::from(*value) << bit)
    }));
}

/// PLAIN 32-bit values.
pub(super) fn plain(values: impl Iterator<Item = u32>, into: &mut Vec<u8>) {
    into.extend(values.flat_map(u32::to_le_bytes));
}

/// PLAIN 64-bit values.
pub(super) fn plain_u64(values: impl Iterator<Item = u64>, into: &mut Vec<u8>) {
    into.extend(values.flat_map(u64::to_le_bytes));
}

/// The levels before the values of lists that end there, the first of which begins at `begin`: of
/// each entry whether it goes on with a list (repetition), and whether it is a value (definition),
/// which the only entry of an empty list is not. Returns the number of entries.
pub(super) fn levels(begin: u32, ends: &[u32], into: &mut Vec<u8>) -> usize {
    let (mut repetition, mut definition) = (Vec::new(), Vec::new());
    let mut last = begin;
    for &end in ends {
        let values = (end - last) as usize;
        let entries = values.max(1);
        repetition.push(false);
        repetition.resize(repetition.len() + entries - 1, true);
        definition.resize(definition.len() + entries, values > 0);
        last = end;
    }
    for levels in [&repetition, &definition] {
        let mut run = Vec::new();
        varint((levels.len().div_ceil(8) as u64) << 1 | 1, &mut run);
        bits(levels, &mut run);
        into.extend((run.len() as u32).to_le_bytes());
        into.extend(run);
    }
    repetition.len()
}

/// The distinct values of a column, and the place among them of each value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Dictionary {
    pub(super) values: Vec<u32>,
    pub(super) indexes: Vec<u8>,
}

impl Dictionary {
    /// Distinct values at most, so that an index is a byte.
    const MOST: usize = 1 << u8::BITS;
    const SLOTS: usize = 4 * Self::MOST;

    /// Returns the dictionary of a column that has one value throughout.
    pub(super) fn of_one(value: u32, rows: usize) -> Self {
        Self {
            values: vec![value],
            indexes: vec![0; rows],
        }
    }

    /// `None` where there are too many distinct values.
    pub(super) fn new(column: impl Iterator<Item = u32>) -> Option<Self> {
        let mut values: Vec<u32> = Vec::new();
        let mut indexes = Vec::with_capacity(column.size_hint().0);
        // Open addressing; a slot holds an index and one more, 0 where it is free.
        let mut slots = [0u16; Self::SLOTS];
        let mut last = None;
        for value in column {
            if let Some((last, index)) = last
                && last == value
            {
                indexes.push(index);
                continue;
            }
            let mut slot = value.wrapping_mul(0x9e37_79b1) as usize >> 22;
            while slots[slot] > 0 && values[usize::from(slots[slot] - 1)] != value {
                slot = (slot + 1) % Self::SLOTS;
            }
            if slots[slot] == 0 {
                if values.len() == Self::MOST {
                    return None;
                }
                values.push(value);
                slots[slot] = values.len() as u16;
            }
            let index = (slots[slot] - 1) as u8;
            indexes.push(index);
            last = Some((value, index));
        }
        Some(Self { values, indexes })
    }

    /// RLE_DICTIONARY: the width of an index, then the indexes `range`, as one run where they
    /// are all the same, or else packed.
    pub(super) fn page(&self, range: std::ops::Range<usize>, into: &mut Vec<u8>) {
        let indexes = &self.indexes[range];
        let width = usize::BITS - self.values.len().saturating_sub(1).max(1).leading_zeros();
        into.push(width as u8);
        let first = indexes.first().copied().unwrap_or_default();
        if are_equal(indexes) {
            varint((indexes.len() as u64) << 1, into);
            into.push(first);
            return;
        }
        varint((indexes.len().div_ceil(8) as u64) << 1 | 1, into);
        for eight in indexes.chunks(8) {
            let places = eight.iter().zip((0..).step_by(width as usize));
            let word = places.fold(0u64, |word, (index, place)| {
                word | u64::from(*index) << place
            });
            into.extend(&word.to_le_bytes()[..width as usize]);
        }
    }
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63).cast_unsigned()
}

/// ULEB128: seven bits a byte, the lowest first; the highest bit says that more follow.
fn varint(mut value: u64, into: &mut Vec<u8>) {
    into.extend(iter::from_fn(|| {
        let byte = (value >= 0x80).then_some(value as u8 | 0x80);
        value = byte.map_or(value, |_| value >> 7);
        byte
    }));
    into.push(value as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_extent_has_all_values(values in prop::collection::vec(any::<i64>(), 0..40)) {
            let slow = values.iter().min().copied().zip(values.iter().max().copied());
            prop_assert_eq!(extent(&values), slow);
        }

        /// Bit by bit.
        #[test]
        fn values_are_packed_from_the_lowest_bit_on(
            width in 0..=64_u32,
            values in prop::array::uniform32(any::<u64>()),
        ) {
            let kept = |value: u64| value & u64::MAX.checked_shr(64 - width).unwrap_or(0);
            let values: [u64; MINIBLOCK] =
                std::array::from_fn(|at| kept(values[at % 32].rotate_left(at as u32)));
            let mut packed = Vec::new();
            pack(&values, width, &mut packed);
            let mut slow = vec![0_u8; MINIBLOCK * width as usize / 8];
            for at in 0..MINIBLOCK * width as usize {
                let bit = values[at / width as usize] >> (at % width as usize) & 1;
                slow[at / 8] |= (bit as u8) << (at % 8);
            }
            prop_assert_eq!(packed, slow);
        }

        #[test]
        fn one_value_is_known_before_the_others_are_sought(
            value in any::<u32>(),
            others in prop::collection::vec(0..2_u32, 1..40),
        ) {
            let column: Vec<u32> = others.iter().map(|other| value ^ other).collect();
            let new = Dictionary::new(column.iter().copied());
            let of_one = Dictionary::of_one(column[0], column.len());
            prop_assert_eq!(are_equal(&column), new == Some(of_one));
        }
    }
}
