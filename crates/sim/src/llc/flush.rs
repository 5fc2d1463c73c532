//! Flushes of lines, by which programs make data durable.
//!
//! Traces hold loads and stores only. A program that is written to be recorded marks a flush by a
//! load of the line, which the simulation knows by the address of its instruction (`terrace sim llc
//! --flush-ip`). The flush follows Kannan 2013, section 3.1: the line leaves all caches, and is
//! written to memory if it was dirty in one.

use std::ops::Range;

/// The instructions that flush, and the effect of a flush.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flushes {
    /// The address of the flushing instruction of each program, in their order; none for programs
    /// that do not flush.
    pub ips: Vec<Option<u64>>,
    /// Whether lines stay in the caches, clean, as after `clwb`, rather than leave them, as after
    /// `clflush`.
    pub keeps: bool,
}

impl Flushes {
    /// Returns the flushing instruction of a program.
    pub fn of(&self, program: usize) -> Option<u64> {
        self.ips.get(program).copied().flatten()
    }
}

/// A line that was flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// The line.
    pub line: u64,
    /// The core that flushed it.
    pub core: u8,
    /// Instructions that the core had executed.
    pub instruction: u64,
    /// Whether it was dirty in a private level.
    pub dirty: bool,
    /// Whether it leaves the last level.
    pub invalidates: bool,
    /// The request of its batch that follows it.
    pub before: usize,
}

/// Accesses of a run, and the flush after them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Accesses that flush nothing.
    pub touched: Range<usize>,
    /// The access that flushes; none after the last piece.
    pub flush: Option<usize>,
}

/// Cuts a run of accesses at the accesses of the flushing instruction. `ips` are the instruction
/// addresses of the block, and may be empty.
pub fn pieces(ips: &[u64], run: Range<usize>, flushes: Option<u64>) -> impl Iterator<Item = Piece> {
    let mut next = run.start;
    let mut ended = false;
    std::iter::from_fn(move || {
        if ended {
            return None;
        }
        let begin = next;
        let ips = ips.get(begin..run.end).unwrap_or_default();
        let offset = flushes.and_then(|flushes| ips.iter().position(|ip| *ip == flushes));
        let flush = offset.map(|offset| begin + offset);
        let end = flush.unwrap_or(run.end);
        next = end + 1;
        ended = flush.is_none();
        Some(Piece {
            touched: begin..end,
            flush,
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn without_an_instruction_a_run_is_one_piece() {
        let all: Vec<_> = pieces(&[], 3..9, Some(1)).collect();
        let whole = Piece {
            touched: 3..9,
            flush: None,
        };
        assert_eq!(all, std::slice::from_ref(&whole));
        assert_eq!(pieces(&[1; 9], 3..9, None).collect::<Vec<_>>(), [whole]);
    }

    proptest! {
        /// Compares with a search of one access after the other.
        #[test]
        fn every_access_touches_or_flushes(
            ips in prop::collection::vec(0u64..3, 1..40), from in 0usize..40, len in 0usize..40,
        ) {
            let run = from.min(ips.len())..(from + len).min(ips.len());
            let mut seen = Vec::new();
            for piece in pieces(&ips, run.clone(), Some(1)) {
                seen.extend(piece.touched.map(|index| (index, false)));
                seen.extend(piece.flush.map(|index| (index, true)));
            }
            let slow: Vec<_> = run.map(|index| (index, ips[index] == 1)).collect();
            prop_assert_eq!(seen, slow);
        }
    }
}
