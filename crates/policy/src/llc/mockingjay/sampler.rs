//! The sampled cache: requests for lines of a few sets.

use super::distances::Distances;

/// For each sampled set some small sets, by the lowest bits of the tag.
pub struct Sampler {
    /// Distance beyond which a use does not count.
    furthest: u32,
    /// Requests to each sampled set.
    times: Vec<u32>,
    /// [`SETS`] sets of [`WAYS`] entries for each sampled set.
    entries: Vec<[Option<Entry>; WAYS]>,
}

/// A requested line.
#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    signature: u16,
    at: u32,
}

/// Small sets for each sampled set, as a power of two.
const SET_BITS: u32 = 4;
const SETS: usize = 1 << SET_BITS;
/// Entries of a small set.
const WAYS: usize = 5;
/// Bits of a partial tag, without those that select the small set.
const TAG_BITS: u32 = 10;

impl Sampler {
    /// Makes an empty sampled cache.
    pub fn new(sets: usize, furthest: u32) -> Self {
        Self {
            furthest,
            times: vec![0; sets],
            entries: vec![[None; WAYS]; sets * SETS],
        }
    }

    /// Handles a request to a sampled set for the line with this tag, by this instruction.
    ///
    /// If the line is known, its last instruction learns the distance, `weight` times. It learns
    /// that a line is not used again when the entry is too old, or is evicted.
    pub fn touch(
        &mut self,
        set: usize,
        tag: u64,
        (signature, weight): (u16, u32),
        distances: &mut Distances,
    ) {
        let now = self.times[set];
        self.times[set] = now.wrapping_add(1);
        let small = &mut self.entries[set * SETS + (tag % SETS as u64) as usize];
        let tag = ((tag >> SET_BITS) % (1 << TAG_BITS)) as u16;
        for place in small.iter_mut() {
            if let Some(entry) = *place
                && entry.tag == tag
                && now.wrapping_sub(entry.at) <= self.furthest
            {
                distances.used(entry.signature, now.wrapping_sub(entry.at) * weight);
                *place = None;
            }
        }
        for place in small.iter_mut() {
            if let Some(entry) = *place
                && now.wrapping_sub(entry.at) > self.furthest
            {
                distances.unused(entry.signature);
                *place = None;
            }
        }
        let oldest = |place: &Option<Entry>| place.map_or(u32::MAX, |e| now.wrapping_sub(e.at));
        if let Some(place) = small.iter_mut().max_by_key(|place| oldest(place)) {
            let entry = Entry {
                tag,
                signature,
                at: now,
            };
            if let Some(old) = place.replace(entry) {
                distances.unused(old.signature);
            }
        }
    }

    /// Bits of all entries with tag, instruction, time and whether they are used, and of the
    /// clocks. Times up to twice the furthest distance suffice.
    pub fn storage_bits(&self, signature_bits: u32) -> u64 {
        let time = (2 * self.furthest).next_power_of_two().ilog2();
        let entry = TAG_BITS + signature_bits + time + 1;
        let entries = (self.entries.len() * WAYS) as u64 * u64::from(entry);
        entries + self.times.len() as u64 * u64::from(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_and_the_lack_of_them_are_learned() {
        let mut distances = Distances::new(11, 127);
        let mut sampler = Sampler::new(1, 127);
        sampler.touch(0, 16, (1, 1), &mut distances);
        sampler.touch(0, 3, (2, 1), &mut distances);
        sampler.touch(0, 16, (3, 1), &mut distances);
        assert_eq!(distances.of(1), Some(2));
        assert_eq!(distances.of(3), None);
        // Four more of the same small set fill it; the fifth pushes line 16 out.
        for line in 2..7 {
            assert_eq!(distances.of(3), None);
            sampler.touch(0, 16 * line, (4, 1), &mut distances);
        }
        assert_eq!(distances.of(3), Some(127));
    }

    #[test]
    fn the_distance_to_a_prefetch_counts_twice() {
        let mut distances = Distances::new(11, 127);
        let mut sampler = Sampler::new(1, 127);
        sampler.touch(0, 16, (1, 1), &mut distances);
        (0..9).for_each(|_| sampler.touch(0, 3, (2, 1), &mut distances));
        sampler.touch(0, 16, (3, 2), &mut distances);
        assert_eq!(distances.of(1), Some(20));
    }

    #[test]
    fn what_is_too_old_was_not_used() {
        let mut distances = Distances::new(11, 127);
        let mut sampler = Sampler::new(1, 127);
        sampler.touch(0, 0, (1, 1), &mut distances);
        for _ in 0..127 {
            sampler.touch(0, 1, (2, 1), &mut distances);
        }
        sampler.touch(0, 0, (3, 1), &mut distances);
        assert_eq!(distances.of(1), Some(127));
    }
}
