//! What is counted of a task, after the warm-up.

/// Picoseconds of a bin of [`Counts::curve`]: 1 ms.
pub const BIN: u64 = 1_000_000_000;
/// Bins of a curve; the last one holds all that comes later.
const BINS: usize = 100;
/// Bins of a sample: the paper samples each 3 ms (figure 3.3).
const SAMPLE: usize = 3;
/// Samples that are kept of a turn: the last begins at 12 ms, and ends at the 15 ms of figure 3.11.
const SAMPLES: usize = 5;

/// Counts of a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Picoseconds on a core, switches not included.
    pub time: u64,
    /// Instructions.
    pub instructions: u64,
    /// Requests to the last level.
    pub requests: u64,
    /// Loads and stores that missed in the last level.
    pub misses: u64,
    /// Turns that have ended.
    pub turns: u64,
    /// Picoseconds of these turns.
    pub turned: u64,
    /// Times that the task was away while others ran.
    pub away: u64,
    /// Sum over these times of the lines that came into the last level, as shares of its lines.
    pub replaced: f64,
    /// Sum over these times of the share of the task's lines that were evicted.
    pub lost: f64,
    /// The longest time that it was away, in picoseconds.
    pub longest_wait: u64,
    /// Misses, and picoseconds, by the milliseconds since a turn began.
    pub curve: Vec<Bin>,
    /// Turns of at least 15 ms by how far misses fell: the misses from 12 to 15 ms, in tenths of
    /// those in the first 3 ms. The last entry has the turns in which they did not fall.
    pub falls: [u64; 11],
}

/// Misses in a bin of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Misses.
    pub misses: u64,
    /// Picoseconds.
    pub time: u64,
}

impl Counts {
    /// Notes a part of a turn that began `since` picoseconds after the turn did.
    pub fn note_curve(&mut self, since: u64, part: Bin) {
        let bin = ((since / BIN) as usize).min(BINS - 1);
        if self.curve.len() <= bin {
            self.curve.resize(bin + 1, Bin::default());
        }
        self.curve[bin].misses += part.misses;
        self.curve[bin].time += part.time;
    }

    /// Notes how far the misses of a turn fell, if it was long enough.
    pub fn note_fall(&mut self, samples: &Samples, turn: u64) {
        if turn < BIN * (SAMPLE * SAMPLES) as u64 {
            return;
        }
        let (first, last) = (samples.0[0], samples.0[SAMPLES - 1]);
        let tenths = match first {
            0 => 10,
            _ => (10 * last / first).min(10),
        };
        self.falls[tenths as usize] += 1;
    }
}

/// Misses of a turn in its first samples.
#[derive(Clone, Copy, Debug, Default)]
pub struct Samples([u64; SAMPLES]);

impl Samples {
    /// Notes misses `since` picoseconds after the turn began.
    pub fn note(&mut self, since: u64, misses: u64) {
        let sample = (since / BIN) as usize / SAMPLE;
        if let Some(sample) = self.0.get_mut(sample) {
            *sample += misses;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_a_bin_for_each_millisecond() {
        let mut counts = Counts::default();
        let part = |misses| Bin { misses, time: 7 };
        counts.note_curve(0, part(5));
        counts.note_curve(BIN - 1, part(1));
        counts.note_curve(2 * BIN, part(2));
        let misses: Vec<u64> = counts.curve.iter().map(|bin| bin.misses).collect();
        assert_eq!(misses, [6, 0, 2]);
        counts.note_curve(u64::MAX, part(3));
        assert_eq!((counts.curve.len(), counts.curve[99].misses), (100, 3));
    }

    /// 100 misses in the first 3 ms, and 42 from 12 to 15: the paper's example, 3.5.2.
    #[test]
    fn a_fall_is_counted_by_tenths() {
        let mut counts = Counts::default();
        let mut samples = Samples::default();
        for (ms, misses) in [
            (0, 60),
            (2, 40),
            (3, 50),
            (11, 50),
            (12, 40),
            (14, 2),
            (15, 9),
        ] {
            samples.note(ms * BIN, misses);
        }
        counts.note_fall(&samples, 15 * BIN - 1);
        assert_eq!(counts.falls, [0; 11], "too short");
        counts.note_fall(&samples, 15 * BIN);
        counts.note_fall(&Samples::default(), 15 * BIN);
        assert_eq!(counts.falls, [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    }
}
