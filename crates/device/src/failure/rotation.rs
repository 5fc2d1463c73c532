//! Failure under start-gap: whole rotations in closed form, and then a part of one.
//!
//! A rotation is as many movements as there are places. In the one numbered `s`, from 0 on, place
//! `p` of a region of `n` lines holds line `p - s` (modulo `n`) for `n - p` movements, then the gap
//! for one, and then line `p - 1 - s` for `p`; a movement copies a line to it once. So `q`
//! rotations write to it what they write to `q` neighbouring lines, `n - p` times and `p` times.

use super::{Limit, Run};
use crate::regions::{Region, Regions};

/// Returns the runs until the memory fails, which is levelled as `regions` are; `None` if nothing
/// is written, or nothing is endured.
pub(crate) fn rotation(run: Run<'_>, regions: &Regions, limit: Limit) -> Option<f64> {
    let mut mapped = vec![0; run.cells.len()];
    for (line, cells) in run.cells.iter().enumerate() {
        mapped[regions.mapped(line as u64) as usize] = *cells;
    }
    let rotating = regions.regions().iter();
    let rotating: Vec<Rotating> = rotating
        .map(|region| Rotating::new(region, &mapped, regions.psi(), run.moved))
        .collect();
    let all = run.cells.iter().map(|cells| f64::from(*cells)).sum();
    let places = rotating
        .iter()
        .flat_map(|region| (0..=region.lines).map(move |at| (region, at)));
    super::runs(limit, places.collect(), all, |(region, at), runs| {
        region.cells(*at, runs)
    })
}

/// A region whose gap goes around.
struct Rotating {
    lines: u64,
    /// Cells that a run programs of all lines before each, and of all.
    before: Vec<u64>,
    /// Movements in a run.
    movements: f64,
    /// Cells that a movement programs.
    moved: f64,
}

impl Rotating {
    fn new(region: &Region, mapped: &[u32], psi: u32, moved: f64) -> Self {
        let own = &mapped[region.first as usize..][..region.lines as usize];
        let mut before = vec![0];
        before.extend(own.iter().scan(0, |sum, cells| {
            *sum += u64::from(*cells);
            Some(*sum)
        }));
        Self {
            lines: region.lines,
            before,
            movements: region.writes as f64 / f64::from(psi),
            moved,
        }
    }

    /// Returns the cells programmed at a place of the region in so many runs.
    fn cells(&self, place: u64, runs: f64) -> f64 {
        let lines = self.lines;
        let movements = runs * self.movements;
        if movements == 0.0 {
            return 0.0;
        }
        let around = (lines + 1) as f64;
        let rotations = (movements / around).floor();
        let part = movements - rotations * around;
        let rotations = rotations as u64;
        // The lines at the place before and after the gap, in the rotation that is under way.
        let before = (place % lines + lines - rotations % lines) % lines;
        let after = (before + lines - 1) % lines;
        let (above, below) = ((lines - place) as f64, place as f64);
        let held = above * self.of_rotations(place % lines, rotations)
            + below * self.of_rotations((place + lines - 1) % lines, rotations)
            + part.min(above) * self.of(before)
            + (part - above - 1.0).max(0.0) * self.of(after);
        let copies = rotations as f64 + f64::from(u8::from(part > above + 1.0));
        held / self.movements + copies * self.moved
    }

    /// Returns the cells that a run programs of a line.
    fn of(&self, line: u64) -> f64 {
        (self.before[line as usize + 1] - self.before[line as usize]) as f64
    }

    /// Returns what a run programs of a line, of the one before it, and so on, for each of so many
    /// rotations.
    fn of_rotations(&self, line: u64, rotations: u64) -> f64 {
        let (whole, rest) = (rotations / self.lines, rotations % self.lines);
        let before = |line: u64| self.before[line as usize];
        let (all, end) = (before(self.lines), line + 1);
        let rest = match rest <= end {
            true => before(end) - before(end - rest),
            false => before(end) + all - before(self.lines + end - rest),
        };
        whole as f64 * all as f64 + rest as f64
    }
}
