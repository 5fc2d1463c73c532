//! Prediction of last writes: which lines that the level above writes back it does not write back
//! again before they leave (Wang, Khan and Jimenez, ISCA 2012).
//!
//! A sampler keeps the lines of a few sets, as an LRU cache of as many ways would. When one of its
//! lines is written again, its write before was not the last; when one leaves that was written, its
//! write was. Skewed tables of counters learn that by instruction, as in `dblk`.
//!
//! Of the paper only the abstract was at hand: a predictor of small overhead that is apart from the
//! cache, and goes with any policy. The sampler, its 32 sets, the tables and the threshold are
//! those of sampling dead block prediction by the same authors (Khan et al., MICRO 2010), but that
//! it keeps whole lines. Write-backs have no instruction; the one by which the level above asked
//! for the line last takes its place, and none if the line came by a write-back.

use super::signature::signature;
use super::skewed::Skewed;
use super::{Geometry, Place, Request, Sampled};

/// Sampled sets.
const SAMPLED: usize = 32;
/// Sum of counters from which a write is taken for the last.
const THRESHOLD: u8 = 8;
/// Bits of an instruction's signature.
const SIGNATURE_BITS: u32 = 15;
/// Signature of no instruction.
const NONE: u16 = 0;

/// A line of the sampler.
#[derive(Clone, Copy)]
struct Entry {
    line: u64,
    /// The instruction that asked for it last.
    asked: u16,
    /// That instruction at the last write, if the line was written.
    written: Option<u16>,
}

/// A predictor of last writes, for the lines of a cache.
pub struct LastWrites {
    geometry: Geometry,
    /// The instruction that asked last for the line in each place.
    asked: Vec<u16>,
    /// Ways of each set whose last write was taken for the last, as bits.
    last: Vec<u64>,
    sampled: Sampled,
    /// Lines of each sampled set, most recently used first.
    sampler: Vec<Vec<Entry>>,
    skewed: Skewed,
}

impl LastWrites {
    /// Makes a predictor without experience for a cache of this shape.
    pub fn new(geometry: Geometry) -> Self {
        let sampled = Sampled::spread(geometry.sets, SAMPLED);
        Self {
            geometry,
            asked: vec![NONE; geometry.lines()],
            last: vec![0; geometry.sets],
            sampler: vec![Vec::new(); sampled.len()],
            sampled,
            skewed: Skewed::new(THRESHOLD),
        }
    }

    /// Notes a request whose line is in `place` now, and was put there if it `filled` the place.
    pub fn note(&mut self, place: Place, request: &Request, filled: bool) {
        if let Some(sample) = self.sampled.number(place.set) {
            self.learn(sample, request);
        }
        let index = place.index(self.geometry);
        if !request.kind.writes() {
            self.asked[index] = instruction(request);
            return;
        }
        if filled {
            self.asked[index] = NONE;
        }
        let bit = 1 << place.way;
        match self.skewed.predicts(self.asked[index]) {
            true => self.last[place.set] |= bit,
            false => self.last[place.set] &= !bit,
        }
    }

    /// Whether the last write of the dirty line in a place was taken for its last.
    pub fn is_last(&self, place: Place) -> bool {
        self.last[place.set] >> place.way & 1 == 1
    }

    fn learn(&mut self, sample: usize, request: &Request) {
        let entries = &mut self.sampler[sample];
        let known = entries.iter().position(|entry| entry.line == request.line);
        let mut entry = match known {
            Some(at) => entries.remove(at),
            None => Entry {
                line: request.line,
                asked: NONE,
                written: None,
            },
        };
        if entries.len() == self.geometry.ways
            && let Some(gone) = entries.pop()
            && let Some(by) = gone.written
        {
            self.skewed.learn(by, true);
        }
        if !request.kind.writes() {
            entry.asked = instruction(request);
        } else if let Some(before) = entry.written.replace(entry.asked) {
            self.skewed.learn(before, false);
        }
        entries.insert(0, entry);
    }
}

fn instruction(request: &Request) -> u16 {
    signature(request, SIGNATURE_BITS) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Kind;

    const PLACE: Place = Place { set: 0, way: 1 };

    fn note(predictor: &mut LastWrites, line: u64, ip: u64, kind: Kind) {
        let request = Request {
            line,
            ip,
            core: 0,
            kind,
        };
        predictor.note(PLACE, &request, kind != Kind::WriteBack);
    }

    /// Three lines of 0xB leave a sampler of two ways after one write each. So the next write after
    /// 0xB is taken for the last, until one proves not to be, and one after 0xA is not.
    #[test]
    fn an_instruction_whose_lines_are_written_once_is_known_by_it() {
        let mut predictor = LastWrites::new(Geometry { sets: 1, ways: 2 });
        for line in 0..5 {
            note(&mut predictor, line, 0xB, Kind::Store);
            note(&mut predictor, line, 0, Kind::WriteBack);
            // The third leaves when the fifth comes.
            assert_eq!(predictor.is_last(PLACE), line == 4, "{line}");
        }
        note(&mut predictor, 5, 0xA, Kind::Load);
        note(&mut predictor, 5, 0, Kind::WriteBack);
        assert!(!predictor.is_last(PLACE));
        note(&mut predictor, 4, 0xB, Kind::Load);
        note(&mut predictor, 4, 0, Kind::WriteBack);
        assert!(!predictor.is_last(PLACE), "three times 2 is less than 8");
    }

    #[test]
    fn a_line_that_comes_by_a_write_back_has_no_instruction() {
        let mut predictor = LastWrites::new(Geometry { sets: 1, ways: 2 });
        for line in 0..5 {
            note(&mut predictor, line, 0xB, Kind::Load);
            note(&mut predictor, line, 0, Kind::WriteBack);
        }
        assert!(predictor.is_last(PLACE));
        let write_back = Request {
            line: 9,
            ip: 0,
            core: 0,
            kind: Kind::WriteBack,
        };
        predictor.note(PLACE, &write_back, true);
        assert!(!predictor.is_last(PLACE));
    }
}
