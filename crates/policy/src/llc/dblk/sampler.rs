//! Partial tags of a few sets, from which the predictor learns.

use super::super::skewed::Skewed;

/// Tags of the sampled sets, with their own replacement: they also hold lines that the cache itself
/// bypasses or evicts early.
pub struct Sampler {
    ways: usize,
    /// Entries of each sampled set, most recently used first, free ones last.
    sets: Vec<Vec<Entry>>,
}

/// A touched line.
#[derive(Clone, Copy)]
struct Entry {
    tag: u16,
    /// Signature of the instruction that touched the line last.
    signature: u16,
    /// Prediction at that touch.
    dead: bool,
}

/// Bits of a partial tag.
const TAG_BITS: u32 = 15;

impl Sampler {
    /// Makes an empty sampler.
    pub fn new(sets: usize, ways: usize) -> Self {
        let set = || Vec::with_capacity(ways);
        Self {
            ways,
            sets: std::iter::repeat_with(set).take(sets).collect(),
        }
    }

    /// Handles a request to a sampled set for the line with this tag.
    ///
    /// If the line is known, its last instruction did not leave it dead. Otherwise an entry is
    /// evicted, a dead one before the least recent, and its last instruction did leave it dead.
    pub fn touch(&mut self, set: usize, tag: u64, signature: u16, predictor: &mut Skewed) {
        let tag = (tag % (1 << TAG_BITS)) as u16;
        let entries = &mut self.sets[set];
        if let Some(at) = entries.iter().position(|entry| entry.tag == tag) {
            predictor.learn(entries.remove(at).signature, false);
        } else if entries.len() == self.ways {
            let dead = entries.iter().rposition(|entry| entry.dead);
            let victim = entries.remove(dead.unwrap_or(self.ways - 1));
            predictor.learn(victim.signature, true);
        }
        let dead = predictor.predicts(signature);
        let entry = Entry {
            tag,
            signature,
            dead,
        };
        entries.insert(0, entry);
    }

    /// Bits of all entries: tag, signature, prediction, whether the entry is used, and its place in
    /// the order.
    pub fn storage_bits(&self, signature_bits: u32) -> u64 {
        let order = self.ways.next_power_of_two().ilog2();
        let entry = TAG_BITS + signature_bits + 1 + 1 + order;
        (self.sets.len() * self.ways) as u64 * u64::from(entry)
    }
}
