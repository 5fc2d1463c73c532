//! The sampled sets, and what is counted there of each static policy that is tried.

use super::partitioning::Partitioning;
use super::plan::Counts;
use super::settings::Settings;
use super::shadow::Shadow;
use crate::llc::{Geometry, Request, Sampled};

/// As many samples as static policies are tried at a time.
pub struct Samples {
    geometry: Geometry,
    sets: Sampled,
    /// Shadow tags; without them some sets of the cache are sampled live: the nth drawn belongs to
    /// sample n modulo samples.
    shadow: Option<Shadow>,
    /// What each sample follows.
    follows: Vec<Partitioning>,
    counts: Vec<Counts>,
}

impl Samples {
    /// As the settings say; the same seed samples the same sets.
    pub fn new(settings: &Settings, seed: u64, follows: Vec<Partitioning>) -> Self {
        let geometry = settings.geometry;
        let drawn = match settings.live {
            true => settings.sets * follows.len(),
            false => settings.sets,
        };
        Self {
            geometry,
            sets: Sampled::new(geometry.sets, drawn, seed),
            shadow: (!settings.live).then(|| Shadow::new(settings)),
            counts: vec![Counts::default(); follows.len()],
            follows,
        }
    }

    /// A request comes to the cache: the shadows of its set serve it too.
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
        let writes = request.kind.writes();
        let tag = shadow.fold(request.line / self.geometry.sets as u64);
        let first = number * self.follows.len();
        for (sample, &partitioning) in self.follows.iter().enumerate() {
            if let Some(dirty) = shadow.access(first + sample, partitioning, tag, writes) {
                self.counts[sample].misses += f64::from(u8::from(!writes));
                self.counts[sample].writebacks += f64::from(u8::from(dirty));
            }
        }
    }

    /// The sample that a set of the cache is itself.
    #[inline]
    fn live(&self, set: usize) -> Option<usize> {
        match self.shadow {
            Some(_) => None,
            None => Some(self.sets.number(set)? % self.follows.len()),
        }
    }

    /// What a set of the cache follows that is a sample itself.
    #[inline]
    pub fn followed_live(&self, set: usize) -> Option<Partitioning> {
        self.live(set).map(|sample| self.follows[sample])
    }

    /// A line leaves a set of the cache.
    #[inline]
    pub fn evicted(&mut self, set: usize, dirty: bool) {
        if let Some(sample) = self.live(set) {
            self.counts[sample].writebacks += f64::from(u8::from(dirty));
        }
    }

    /// A line that is missed in a set of the cache is read from memory.
    #[inline]
    pub fn missed(&mut self, set: usize) {
        if let Some(sample) = self.live(set) {
            self.counts[sample].misses += 1.0;
        }
    }

    /// Hands out what was counted of each sample since the last time.
    pub fn take(&mut self) -> Vec<Counts> {
        let none = vec![Counts::default(); self.follows.len()];
        std::mem::replace(&mut self.counts, none)
    }

    /// From now on the samples follow these; what they hold stays.
    pub fn follow(&mut self, follows: impl Iterator<Item = Partitioning>) {
        self.follows.clear();
        self.follows.extend(follows);
    }
}
