//! A blocked product of matrices.
//!
//! C += A*B for square matrices of doubles, row by row in memory, blocked as in Lam, Rothberg and
//! Wolf, The cache performance and optimizations of blocked algorithms, ASPLOS 1991, section 1:
//! a block of B stays in the cache while all rows of A and C go by.
//!
//! ```text
//! for (kk = 0; kk < n; kk += block) for (jj = 0; jj < n; jj += block)
//!   for (i = 0; i < n; i++) for (k = kk; k < min(kk + block, n); k++) {
//!     r = a[i][k];
//!     for (j = jj; j < min(jj + block, n); j++) c[i][j] += r * b[k][j];
//!   }
//! ```
//!
//! Six instructions a turn of the inner loop, three of them accesses of 8 bytes; three more for
//! each a. n is the largest for which the three matrices fit. It ends with the product.

use terrace_base::{Error, Result};

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use crate::source::Source;

const DOUBLE: u64 = 8;

/// A blocked product of matrices of doubles, C += A*B
///
/// The loops are from Lam, Rothberg and Wolf (ASPLOS 1991). The matrices are the largest
/// that fit into the footprint three times: 24M is 1024 by 1024. The trace ends with the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Matmul {
    /// Rows and columns of a block; more than the matrix has for no blocking
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 64, value_parser = terrace_base::count::whole(0..=u64::MAX)))]
    pub block: u64,
}

impl Matmul {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the block is empty, or the footprint is smaller than three doubles
    /// or absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(3 * DOUBLE, MAX_FOOTPRINT)?;
        if self.block == 0 {
            return Err(Error::usage(
                "a block of 0 rows is none; give at least 1, or a large number for no blocking",
            ));
        }
        let n = (settings.footprint.0 / (3 * DOUBLE)).isqrt();
        let mut heap = Heap::new();
        let [a, b, c] = [(); 3].map(|()| heap.array(n * n * DOUBLE));
        let block = self.block.min(n);
        let element = move |matrix: u64, row, column| matrix + (row * n + column) * DOUBLE;
        // The end of a block that begins at `start`.
        let end = move |start: u64| (start + block).min(n);
        let (mut kk, mut jj, mut i, mut k) = (0, 0, 0, 0);
        let step = move |log: &mut Log| {
            if kk == n {
                return false;
            }
            log.load(0, element(a, i, k), DOUBLE);
            log.work(2);
            for j in jj..end(jj) {
                let c = element(c, i, j);
                log.load(1, element(b, k, j), DOUBLE);
                log.load(2, c, DOUBLE);
                log.work(1);
                log.store(3, c, DOUBLE);
                log.work(2);
            }
            k += 1;
            if k < end(kk) {
                return true;
            }
            i += 1;
            if i == n {
                (i, jj) = (0, end(jj));
            }
            if jj == n {
                (jj, kk) = (0, end(kk));
            }
            k = kk;
            true
        };
        let options = [("n", n.to_string()), ("block", block.to_string())];
        Ok(generated("matmul", settings, &options, step))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{HEAP, Touch, Twin, behind, settings, touches};
    use super::*;

    fn trace(n: u64, block: u64) -> Vec<Touch> {
        let settings = settings(u64::MAX, 3 * n * n * 8, 0);
        touches(Matmul { block }.source(&settings).unwrap())
    }

    #[test]
    fn two_by_two() {
        let (a, b, c) = (HEAP, HEAP + 4096, HEAP + 8192);
        let (load, store) = (|address| (address, 8, false), |address| (address, 8, true));
        let expected = [
            // a[0][0] with the first row of b.
            load(a),
            load(b),
            load(c),
            store(c),
            load(b + 8),
            load(c + 8),
            store(c + 8),
            // a[0][1] with the second.
            load(a + 8),
            load(b + 16),
            load(c),
            store(c),
        ];
        let trace = trace(2, 2);
        assert_eq!(trace[..11], expected);
        assert_eq!(trace.len(), 4 + 3 * 8);
    }

    /// The loops of the paper.
    fn twin(n: u64, block: u64) -> Vec<Touch> {
        let a = HEAP;
        let b = behind(a, n * n * 8);
        let c = behind(b, n * n * 8);
        let at = |matrix, row, column| matrix + (row * n + column) * 8;
        let mut log = Twin::default();
        for kk in (0..n).step_by(block as usize) {
            for jj in (0..n).step_by(block as usize) {
                for i in 0..n {
                    for k in kk..(kk + block).min(n) {
                        log.load(at(a, i, k), 8);
                        for j in jj..(jj + block).min(n) {
                            log.load(at(b, k, j), 8);
                            log.load(at(c, i, j), 8);
                            log.store(at(c, i, j), 8);
                        }
                    }
                }
            }
        }
        log.0
    }

    proptest! {
        #[test]
        fn as_the_loops_do_it(n in 1u64..20, block in 1u64..25) {
            prop_assert_eq!(trace(n, block), twin(n, block));
        }
    }
}
