//! The sampled sets, and the counts of each static policy that is tried on them.

use super::partitioning::Partitioning;
use super::plan::Counts;
use super::settings::AriSettings;
use super::shadow::Shadow;
use crate::llc::{Geometry, Request, Sampled};

/// One sample for each static policy that is tried at a time.
pub struct Samples {
    geometry: Geometry,
    sets: Sampled,
    /// Shadow tags. Without them some sets of the cache are sampled live: the nth set drawn belongs
    /// to sample n modulo the number of samples.
    shadow: Option<Shadow>,
    /// Whether the cache is exclusive.
    exclusive: bool,
    /// Partitioning of each sample.
    follows: Vec<Partitioning>,
    counts: Vec<Counts>,
}

impl Samples {
    /// Draws the sampled sets as the settings say; the same seed samples the same sets.
    pub fn new(settings: &AriSettings, seed: u64, follows: Vec<Partitioning>) -> Self {
        let geometry = settings.geometry;
        let drawn = match settings.live {
            true => settings.sets * follows.len(),
            false => settings.sets,
        };
        Self {
            geometry,
            sets: Sampled::new(geometry.sets, drawn, seed),
            shadow: (!settings.live).then(|| Shadow::new(settings)),
            exclusive: false,
            counts: vec![Counts::default(); follows.len()],
            follows,
        }
    }

    /// Has shadow tags be those of an exclusive cache.
    pub fn go_exclusive(&mut self) {
        self.exclusive = true;
    }

    /// Serves a request to the cache in the shadow tags of its set.
    #[inline]
    pub fn request(&mut self, set: usize, request: &Request) {
        if self.shadow.is_some()
            && let Some(number) = self.sets.number(set)
        {
            self.shadow_request(number, request);
        }
    }

    fn shadow_request(&mut self, number: usize, request: &Request) {
        let Some(shadow) = &mut self.shadow else {
            return;
        };
        let (reads, writes) = (request.kind.reads(), request.kind.writes());
        let tag = shadow.fold(request.line / self.geometry.sets as u64);
        let first = number * self.follows.len();
        for (sample, &partitioning) in self.follows.iter().enumerate() {
            if self.exclusive && reads {
                let hits = shadow.take(first + sample, tag);
                self.counts[sample].misses += f64::from(u8::from(!hits));
            } else if let Some(dirty) = shadow.access(first + sample, partitioning, tag, writes) {
                self.counts[sample].misses += f64::from(u8::from(reads));
                self.counts[sample].writebacks += f64::from(u8::from(dirty));
            }
        }
    }

    /// Returns the live sample that a set of the cache belongs to.
    #[inline]
    fn live(&self, set: usize) -> Option<usize> {
        match self.shadow {
            Some(_) => None,
            None => Some(self.sets.number(set)? % self.follows.len()),
        }
    }

    /// Returns the partitioning of a live sample.
    #[inline]
    pub fn followed_live(&self, set: usize) -> Option<Partitioning> {
        self.live(set).map(|sample| self.follows[sample])
    }

    /// Counts an eviction from a set of the cache.
    #[inline]
    pub fn evicted(&mut self, set: usize, dirty: bool) {
        if let Some(sample) = self.live(set) {
            self.counts[sample].writebacks += f64::from(u8::from(dirty));
        }
    }

    /// Counts a read from memory for a set of the cache.
    #[inline]
    pub fn missed(&mut self, set: usize) {
        if let Some(sample) = self.live(set) {
            self.counts[sample].misses += 1.0;
        }
    }

    /// Returns the counts of each sample since the last call.
    pub fn take(&mut self) -> Vec<Counts> {
        let none = vec![Counts::default(); self.follows.len()];
        std::mem::replace(&mut self.counts, none)
    }

    /// Sets the partitionings of the samples, which keep their lines.
    pub fn follow(&mut self, follows: impl Iterator<Item = Partitioning>) {
        self.follows.clear();
        self.follows.extend(follows);
    }
}
