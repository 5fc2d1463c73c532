//! The lines in a cache, and which of them are dirty.

mod exclusive;
mod flush;

pub use exclusive::{Above, Victim};

use super::geometry::{Geometry, Place};
use super::{Choice, Counts, Evicted, Kind, LlcPolicy, Outcome, Request};
use crate::cache::prefetch;

/// No line: the highest addresses are the kernel's.
const NONE: u64 = u64::MAX;
/// Number of requests by which the words of a set are prefetched ahead of their use.
const AHEAD: usize = 8;
/// Ways whose hashes share a word.
const WORD: usize = 8;
/// The lowest bit of each byte, and the highest.
const LOWEST: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = LOWEST << 7;

/// The places of a cache, and the line in each.
///
/// A look-up compares one byte of a hash of each line, eight lines at a time, and then whole lines
/// where the bytes agree: by chance one of 17 look-ups in 16 ways.
pub struct Tags {
    geometry: Geometry,
    /// Line in each place.
    lines: Vec<u64>,
    /// Words of hashes of a set.
    words: usize,
    /// Hashes of the lines of each set, one byte a way.
    hashes: Vec<u64>,
    /// Dirty ways of each set, as bits.
    dirty: Vec<u64>,
    /// Number of filled ways of each set: the first ones, unless lines were flushed away or taken.
    filled: Vec<u8>,
    /// Number of filled ways of all sets.
    held: usize,
    counts: Counts,
    /// Hits by the position of the line, for policies that know it.
    positions: Vec<u64>,
}

impl Tags {
    /// Makes the tags of an empty cache.
    pub fn new(geometry: Geometry) -> Self {
        let words = geometry.ways.div_ceil(WORD);
        Self {
            geometry,
            lines: vec![NONE; geometry.lines()],
            words,
            hashes: vec![0; geometry.sets * words],
            dirty: vec![0; geometry.sets],
            filled: vec![0; geometry.sets],
            held: 0,
            counts: Counts::default(),
            positions: vec![0; geometry.ways],
        }
    }

    /// Serves requests under a policy, and appends the outcome of each.
    #[inline]
    pub fn serve<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        requests: &[Request],
        outcomes: &mut Vec<Outcome>,
    ) {
        outcomes.extend(requests.iter().enumerate().map(|(at, request)| {
            if let Some(next) = requests.get(at + AHEAD) {
                self.prefetch(next.line);
            }
            self.access(policy, request)
        }));
    }

    #[inline(always)]
    fn prefetch(&self, line: u64) {
        let set = self.geometry.set_of(line);
        prefetch(&self.hashes, set * self.words);
        prefetch(&self.dirty, set);
        // The first cache line of the numbers of 16 lines suffices.
        prefetch(&self.lines, set * self.geometry.ways);
        prefetch(&self.lines, set * self.geometry.ways + WORD);
    }

    /// Serves a request under a policy.
    #[inline(always)]
    pub fn access<P: LlcPolicy + ?Sized>(&mut self, policy: &mut P, request: &Request) -> Outcome {
        let set = self.geometry.set_of(request.line);
        policy.request(set, request);
        match self.find(set, request.line) {
            Some(way) => self.hit(policy, Place { set, way }, request),
            None => self.miss(policy, set, request),
        }
    }

    #[inline(always)]
    fn hit<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        place: Place,
        request: &Request,
    ) -> Outcome {
        let position = policy.position(place);
        if let Some(position) = position {
            self.positions[position] += 1;
        }
        self.counts.of(request.kind).hits += 1;
        policy.hit(place, request);
        self.write(place, request);
        Outcome::Hit { position }
    }

    #[inline(always)]
    fn miss<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        set: usize,
        request: &Request,
    ) -> Outcome {
        let Some((way, evicted)) = self.make_room(policy, set, request) else {
            return self.bypass(request.kind, request.kind.writes());
        };
        self.counts.of(request.kind).fills += 1;
        let place = Place { set, way };
        self.put(place, request.line);
        self.write(place, request);
        policy.fill(place, request);
        Outcome::Miss { evicted }
    }

    /// Returns a way for the line of a request, and what was evicted from it; `None` where the line
    /// is to bypass the cache.
    #[inline(always)]
    fn make_room<P: LlcPolicy + ?Sized>(
        &mut self,
        policy: &mut P,
        set: usize,
        request: &Request,
    ) -> Option<(usize, Option<Evicted>)> {
        let filled = usize::from(self.filled[set]);
        if filled < self.geometry.ways {
            self.filled[set] += 1;
            self.held += 1;
            return Some((self.find(set, NONE).unwrap_or(filled), None));
        }
        match policy.choose(set, self.dirty[set], request) {
            Choice::Bypass => None,
            Choice::Evict(way) => Some((way, Some(self.evict(Place { set, way })))),
        }
    }

    fn bypass(&mut self, kind: Kind, dirty: bool) -> Outcome {
        self.counts.of(kind).bypasses += 1;
        // The line is dirty for a moment, until it is written to memory.
        self.counts.dirtied += u64::from(dirty);
        self.counts.dirty_bypasses += u64::from(dirty);
        Outcome::Bypassed { written: dirty }
    }

    /// Makes a line dirty if the request writes it.
    #[inline]
    fn write(&mut self, place: Place, request: &Request) {
        let bit = u64::from(request.kind.writes()) << place.way;
        let dirty = &mut self.dirty[place.set];
        self.counts.dirtied += u64::from(*dirty | bit != *dirty);
        *dirty |= bit;
    }

    #[inline]
    fn evict(&mut self, place: Place) -> Evicted {
        let bit = 1 << place.way;
        let dirty = self.dirty[place.set] & bit != 0;
        self.dirty[place.set] &= !bit;
        self.counts.dirty_evictions += u64::from(dirty);
        self.counts.clean_evictions += u64::from(!dirty);
        let line = self.lines[place.index(self.geometry)];
        Evicted { line, dirty }
    }

    /// Counts a line as dirty that was evicted last, since the level above has written to it: a
    /// line that leaves an inclusive cache leaves that level as well.
    pub fn evicted_dirty(&mut self, evicted: &mut Evicted) {
        if !evicted.dirty {
            evicted.dirty = true;
            self.counts.clean_evictions -= 1;
            self.counts.dirty_evictions += 1;
            self.counts.dirtied += 1;
        }
    }

    /// Frees the place of a line; returns whether it was dirty.
    fn free(&mut self, place: Place) -> bool {
        let bit = 1 << place.way;
        let dirty = self.dirty[place.set] & bit != 0;
        self.dirty[place.set] &= !bit;
        self.put(place, NONE);
        self.filled[place.set] -= 1;
        self.held -= 1;
        dirty
    }

    #[inline]
    fn put(&mut self, place: Place, line: u64) {
        self.lines[place.index(self.geometry)] = line;
        let word = &mut self.hashes[place.set * self.words + place.way / WORD];
        let shift = place.way % WORD * 8;
        *word = *word & !(0xff << shift) | hash(line) << shift;
    }

    #[inline(always)]
    fn find(&self, set: usize, line: u64) -> Option<usize> {
        let ways = self.geometry.ways;
        let lines = &self.lines[set * ways..][..ways];
        let hashes = &self.hashes[set * self.words..][..self.words];
        let wanted = LOWEST * hash(line);
        for (word, hashes) in hashes.iter().enumerate() {
            let mut alike = zeros(hashes ^ wanted);
            while alike != 0 {
                let way = word * WORD + alike.trailing_zeros() as usize / 8;
                if lines.get(way) == Some(&line) {
                    return Some(way);
                }
                alike &= alike - 1;
            }
        }
        None
    }

    /// Returns the place of a line; `None` where the cache does not have it.
    pub fn place(&self, line: u64) -> Option<Place> {
        let set = self.geometry.set_of(line);
        self.find(set, line).map(|way| Place { set, way })
    }

    /// Returns the line in a place; a number that no line has, if there is none.
    pub fn line(&self, place: Place) -> u64 {
        self.lines[place.index(self.geometry)]
    }

    /// Whether the line in a place is dirty.
    pub fn is_dirty(&self, place: Place) -> bool {
        self.dirty[place.set] >> place.way & 1 == 1
    }

    /// Makes the dirty line in a place clean, since it is written to memory before it is evicted.
    pub fn write_early(&mut self, place: Place) {
        self.dirty[place.set] &= !(1 << place.way);
        self.counts.early_writes += 1;
    }

    /// Returns the shape of the cache.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Number of lines in the cache.
    pub fn filled(&self) -> usize {
        self.held
    }

    /// Returns the counts of all requests.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Hits by the number of lines of the set used more recently, for policies that know it.
    pub fn positions(&self) -> &[u64] {
        &self.positions
    }

    /// Number of dirty lines.
    pub fn dirty_lines(&self) -> u64 {
        self.dirty
            .iter()
            .map(|set| u64::from(set.count_ones()))
            .sum()
    }
}

/// Returns a byte that depends on all bits of a line, because the lines of a set differ in the
/// upper ones (multiplicative hashing: Knuth, The Art of Computer Programming, 6.4).
#[inline]
fn hash(line: u64) -> u64 {
    line.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56
}

/// Returns the highest bits of the bytes that are 0, and perhaps of bytes above one that is.
#[inline]
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOWEST) & !word & HIGHEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_zero() {
        assert_eq!(zeros(u64::MAX), 0);
        assert_eq!(zeros(0), HIGHEST);
        assert_eq!(zeros(0xff00_ff80_0102_ff00).trailing_zeros(), 7);
        for byte in 0..8 {
            let word = !(0xff << (8 * byte));
            assert_eq!(zeros(word), 0x80 << (8 * byte), "{word:x}");
        }
    }

    /// Lines whose hashes are alike are told apart, in any way of a set of any size.
    #[test]
    fn every_line_is_found_where_it_is() {
        for ways in [1, 7, 8, 9, 12, 16, 64] {
            let geometry = Geometry { sets: 3, ways };
            let mut tags = Tags::new(geometry);
            let mut alike = (1..u64::MAX).filter(|line| line % 3 == 1 && hash(*line) == 0);
            let lines: Vec<u64> = alike.by_ref().take(ways).collect();
            assert_eq!(tags.find(1, lines[0]), None, "no place looks like a line");
            for (way, line) in lines.iter().enumerate() {
                tags.put(Place { set: 1, way }, *line);
            }
            for (way, line) in lines.iter().enumerate() {
                assert_eq!(tags.find(1, *line), Some(way));
                assert_eq!(tags.find(0, *line), None);
            }
            assert_eq!(alike.next().and_then(|line| tags.find(1, line)), None);
        }
    }
}
