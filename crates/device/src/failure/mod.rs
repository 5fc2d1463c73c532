//! How often a run can be repeated until a memory fails, its levelling going on all the time.
//!
//! A memory fails with the first line that was written as often as it endures, or, where it has
//! spare lines, once they are used up: a spare takes the place of a line that fails, and endures as
//! much. The memory is new at first, and the run repeats over and over: each line is written at its
//! own rate, that of the whole run. The order of writes within a run counts for nothing, which is
//! right where a run is short beside the lifetime.
//!
//! - [`in_place`]: lines that keep their places;
//! - [`rotation`]: start-gap, exactly: a rotation of the gap moves each line on by a place, so the
//!   writes of a place in many rotations are a sum over neighbours;
//! - [`exchange`]: random swaps, by the mean and the variance of what a place is written.

mod exchange;
mod in_place;
mod rotation;

pub(crate) use exchange::exchange;
pub(crate) use in_place::in_place;
pub(crate) use rotation::rotation;

/// What fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Cells that are programmed at a place until its line fails: those of a line by its endurance.
    pub(crate) cells: f64,
    /// Lines that may fail.
    pub(crate) spares: u64,
}

/// What a run asks of the memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run<'a> {
    /// Cells that the run programs of each line.
    pub(crate) cells: &'a [u32],
    /// Cells that a movement programs of a line, on average.
    pub(crate) moved: f64,
}

/// Returns the runs until more of the places fail than may. `cells` tells how many are programmed
/// at a place in so many runs, and never falls; `each_run` is what is programmed at all places in a
/// run, at least.
fn runs<Place>(
    limit: Limit,
    places: Vec<Place>,
    each_run: f64,
    cells: impl Fn(&Place, f64) -> f64,
) -> Option<f64> {
    let failures = |place: &Place, runs| (cells(place, runs) / limit.cells) as u64;
    // Every place may be short of one failure.
    let all = (places.len() as u64 + limit.spares + 1) as f64 * limit.cells;
    let (mut from, mut to) = (0.0, all / each_run);
    if !(to.is_finite() && to > 0.0) {
        return None;
    }
    let mut near = places;
    while to - from > to * 1e-12 {
        let middle = f64::midpoint(from, to);
        let failed: u64 = near.iter().map(|place| failures(place, middle)).sum();
        match failed > limit.spares {
            false => from = middle,
            true => {
                to = middle;
                // What has not failed by then does not fail before.
                near.retain(|place| failures(place, middle) > 0);
            }
        }
    }
    Some(to)
}
