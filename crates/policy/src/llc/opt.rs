//! `opt`: evicts the line whose next use is furthest away (Belady, "A study of replacement
//! algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966: MIN).
//!
//! It knows all requests beforehand ([`LlcPolicy::foresee`]), and no policy has fewer requests for
//! lines that are not there, write-backs of the level above among them. The line that is requested
//! bypasses the cache where its own next use is the furthest, unless `bypass=off`. Of lines that
//! are not used again a clean one goes first. It is no bound of misses and write-backs together: to
//! find the least of these is NP-complete (Beckmann, Gibbons, Haeupler and McGuffey,
//! "Writeback-aware caching", APOCS 2020).

use rustc_hash::FxHashMap;

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request};
use crate::params::OFF_ON;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "opt",
    summary: "the line whose next use is furthest away: the fewest misses possible",
    paper: "Belady, IBM Systems Journal 5(2), 1966",
    when: "To see what is left to gain. It keeps all requests in memory, and knows them beforehand.",
    evidence: crate::registry::Evidence {
        open: "Which of lines goes that are not used again: a clean one first.",
        compared: "no other program; a slow twin does the same, and no policy of ours misses less",
    },
    make: Make::ByFuture(&|geometry, params, _| {
        Ok(Box::new(Opt::new(
            geometry,
            OptSettings::take(params, geometry)?,
        )))
    }),
};

settings! {
    /// Settings of `opt`.
    pub struct OptSettings(_geometry: Geometry) {
        /// whether lines whose next use is the furthest of all pass by
        bypass: bool = true, OFF_ON;
    }
}

/// The time of a use that does not come.
const NEVER: u32 = u32::MAX;

/// The `opt` policy.
pub struct Opt {
    geometry: Geometry,
    settings: OptSettings,
    /// The next request for the same line, by the number of the request.
    next: Vec<u32>,
    /// Requests so far.
    served: usize,
    /// The next use of the line that is requested.
    upcoming: u32,
    /// The next use of the line in each place.
    uses: Vec<u32>,
}

impl Opt {
    /// Makes the policy for a cache of this shape. To it, what it does not foresee never comes.
    pub fn new(geometry: Geometry, settings: OptSettings) -> Self {
        Self {
            geometry,
            settings,
            next: Vec::new(),
            served: 0,
            upcoming: NEVER,
            uses: vec![NEVER; geometry.lines()],
        }
    }
}

impl LlcPolicy for Opt {
    fn foresee(&mut self, requests: &mut dyn Iterator<Item = Request>) {
        let mut last: FxHashMap<u64, u32> = FxHashMap::default();
        self.next.clear();
        for (at, request) in (0..NEVER).zip(requests) {
            self.next.push(NEVER);
            if let Some(before) = last.insert(request.line, at) {
                self.next[before as usize] = at;
            }
        }
    }

    #[inline]
    fn request(&mut self, _: usize, _: &Request) {
        self.upcoming = self.next.get(self.served).copied().unwrap_or(NEVER);
        self.served += 1;
    }

    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.uses[place.index(self.geometry)] = self.upcoming;
    }

    #[inline]
    fn choose(&mut self, set: usize, dirty: u64, _: &Request) -> Choice {
        let ways = self.geometry.ways;
        let uses = &self.uses[set * ways..][..ways];
        let clean = |way: usize| dirty >> way & 1 == 0;
        let furthest = (0..ways).max_by_key(|&way| (uses[way], clean(way)));
        match furthest {
            Some(way) if !self.settings.bypass || self.upcoming < uses[way] => Choice::Evict(way),
            _ => Choice::Bypass,
        }
    }

    fn bypasses(&self) -> bool {
        self.settings.bypass
    }

    #[inline]
    fn fill(&mut self, place: Place, _: &Request) {
        self.uses[place.index(self.geometry)] = self.upcoming;
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }
}
