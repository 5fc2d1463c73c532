//! Sweeps over a grid, each point from its neighbours.
//!
//! The five-point Jacobi iteration on a square grid of doubles, sweep after sweep; in and out
//! change places (PolyBench's jacobi-2d).
//!
//! ```text
//! for (i = 1; i < n - 1; i++) for (j = 1; j < n - 1; j++)
//!   out[i][j] = 0.2 * (in[i][j] + in[i][j-1] + in[i][j+1] + in[i+1][j] + in[i-1][j]);
//! ```
//!
//! Thirteen instructions a point, six of them accesses of 8 bytes. n is the largest for which both
//! grids fit.

use terrace_base::Result;

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use crate::source::Source;

const DOUBLE: u64 = 8;
/// The smallest grid with an inner point.
const LEAST: u64 = 3;

/// A five-point stencil: sweeps over a grid of doubles, each point from its neighbours
///
/// Two grids, read and written in turn (PolyBench's jacobi-2d): five streams of loads and one of
/// stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Stencil;

impl Stencil {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the footprint holds no two grids of 3 by 3 or is absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(2 * LEAST * LEAST * DOUBLE, MAX_FOOTPRINT)?;
        let n = (settings.footprint.0 / (2 * DOUBLE)).isqrt();
        let mut heap = Heap::new();
        let [mut from, mut to] = [(); 2].map(|()| heap.array(n * n * DOUBLE));
        let (row, mut i, mut j) = (n * DOUBLE, 1, 1);
        let step = move |log: &mut Log| {
            let offset = i * row + j * DOUBLE;
            let centre = from + offset;
            log.load(0, centre, DOUBLE);
            log.load(1, centre - DOUBLE, DOUBLE);
            log.load(2, centre + DOUBLE, DOUBLE);
            log.load(3, centre + row, DOUBLE);
            log.load(4, centre - row, DOUBLE);
            log.work(5);
            log.store(5, to + offset, DOUBLE);
            log.work(2);
            j += 1;
            if j == n - 1 {
                (i, j) = (i + 1, 1);
            }
            if i == n - 1 {
                i = 1;
                std::mem::swap(&mut from, &mut to);
            }
            true
        };
        let options = [("n", n.to_string())];
        Ok(generated("stencil", settings, &options, step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, Twin, behind, settings, touches};
    use super::*;

    #[test]
    fn as_the_loops_do_it() {
        for n in [3u64, 4, 7, 30] {
            let (mut from, mut to) = (HEAP, behind(HEAP, n * n * 8));
            let mut log = Twin::default();
            for _ in 0..3 {
                let at = |grid, i, j| grid + (i * n + j) * 8;
                for i in 1..n - 1 {
                    for j in 1..n - 1 {
                        log.load(at(from, i, j), 8);
                        log.load(at(from, i, j - 1), 8);
                        log.load(at(from, i, j + 1), 8);
                        log.load(at(from, i + 1, j), 8);
                        log.load(at(from, i - 1, j), 8);
                        log.store(at(to, i, j), 8);
                    }
                }
                (from, to) = (to, from);
            }
            let settings = settings(log.0.len() as u64, 2 * n * n * 8, 0);
            assert_eq!(touches(Stencil.source(&settings).unwrap()), log.0);
        }
    }
}
