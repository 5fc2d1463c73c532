//! Failure under random swaps: the mean and the variance of what a place is written.
//!
//! The line at a place is a Markov chain. Line `i`, which has `x(i)` times the mean writes, gives
//! way to line `j` at a rate that is as `x(i) + x(j)`: either is written, and draws the other. All
//! lines are there for as long, on average. What the place is written, summed up, has a variance
//! that grows with the time; it follows from the solution `g` of the chain's Poisson equation,
//! which is `g(i) = (h + b (x(i) - 1)) / (n (x(i) + 1))` for this chain, with the sum of all `g` 0.
//!
//! The sum is taken as that of exponential stays whose number is Poisson-distributed, with this
//! mean and variance: it is that where one line has all writes. Its root is nearly normal, with a
//! variance that stays as it is. Where lines endure some ten stays, the result is within 5 % of
//! memories that are written until they fail (`tests/failure.rs`); it is nearer where they endure
//! more.

use super::{Limit, Run};

/// Returns the runs until the memory fails, if each has so many `swaps`; `None` if nothing is
/// written, or nothing is endured. Lines are taken to be written as often as their cells are
/// programmed. More spares than half of the lines put the end off no further.
pub(crate) fn exchange(run: Run<'_>, swaps: f64, limit: Limit) -> Option<f64> {
    let lines = run.cells.len() as f64;
    let all: f64 = run.cells.iter().map(|cells| f64::from(*cells)).sum();
    // A line that draws itself is not written.
    let moves = 2.0 * swaps * (1.0 - 1.0 / lines);
    let mean = (all + moves * run.moved) / lines;
    let even = limit.cells / mean;
    if !(even.is_finite() && even > 0.0) {
        return None;
    }
    let variance = stays(run, all, swaps).max(0.0) + moves / lines * run.moved.powi(2);
    // The share of places that fail in the mean of all outcomes: the median of the first, and so
    // on.
    let share = (limit.spares as f64 + 2.0 / 3.0) / lines;
    let stay = variance / (2.0 * mean);
    let root = limit.cells.sqrt() - deviations(share.min(0.5)) * (stay / 2.0).sqrt();
    let swapped = root.max(0.0).powi(2) / mean;
    // No place is written more than the line written most, and by all swaps.
    let most = f64::from(run.cells.iter().copied().max().unwrap_or(0));
    Some(
        swapped
            .max(limit.cells / (most + moves * run.moved))
            .min(even),
    )
}

/// Returns by how much the variance of the cells that are programmed at a place grows in a run, as
/// lines with many writes come and go.
fn stays(run: Run<'_>, all: f64, swaps: f64) -> f64 {
    let lines = run.cells.len() as f64;
    let scale = all * lines / swaps;
    let times = |cells: &u32| f64::from(*cells) * lines / all;
    let sum = |of: fn(f64) -> f64| run.cells.iter().map(|cells| of(times(cells))).sum::<f64>();
    let h = -scale * sum(|x| (x - 1.0) / (x + 1.0)) / sum(|x| 1.0 / (x + 1.0));
    let g = |x: f64| (h + scale * (x - 1.0)) / (lines * (x + 1.0));
    let product = |cells: &u32| g(times(cells)) * (times(cells) - 1.0);
    2.0 * all / (lines * lines) * run.cells.iter().map(product).sum::<f64>()
}

/// Returns the standard deviations that a normal distribution exceeds with a chance of 0 to 1/2, to
/// 0.00045: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.2.23.
fn deviations(chance: f64) -> f64 {
    let t = (-2.0 * chance.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let below = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    t - above / below
}
