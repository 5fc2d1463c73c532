//! What is known of the pages of a service, by address.

use terrace_policy::Space;

use super::set::PAGES;

/// Chunks of the largest part, as a power of two: an address space has one such part.
const LARGEST: u32 = 40;

/// A part of the address space of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The process.
    pub process: u32,
    /// The first page, by its number.
    pub first: u64,
    /// Pages that have come back so far after they were tried or had left: a touch each.
    pub touched: u64,
    /// Pages that have left DRAM.
    pub away: u64,
}

/// What is known of the pages of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heat {
    /// Pages of a part: a power of two, the same for all parts.
    pub pages: u64,
    /// Those parts of which something is known, by process and address.
    pub parts: Vec<Part>,
    /// Parts that are left out, because there are too many processes.
    pub left_out: u64,
}

/// What is known of a chunk: its address space and number, touches, and pages away.
pub(super) type Known = ((Space, u64), u64, u64);

impl Heat {
    /// Returns what is known of chunks in at most so many parts. Where parts begin depends on their
    /// size alone, so that those of two moments can be laid side by side.
    pub(super) fn of(mut chunks: Vec<Known>, most: usize) -> Self {
        chunks.sort_unstable();
        let parts = |shift: u32| {
            let parts = chunks.iter();
            let parts = parts.map(move |((space, chunk), ..)| (*space, chunk >> shift));
            parts
                .clone()
                .zip(parts.skip(1))
                .filter(|(a, b)| a != b)
                .count()
                + 1
        };
        let shift = (0..LARGEST).find(|shift| parts(*shift) <= most);
        let shift = shift.unwrap_or(LARGEST);
        let pages = (PAGES as u64) << shift;
        let mut parts: Vec<Part> = Vec::new();
        for ((space, chunk), touched, away) in chunks {
            let (process, first) = (space.0, (chunk >> shift) * pages);
            match parts.last_mut() {
                Some(last) if (last.process, last.first) == (process, first) => {
                    last.touched += touched;
                    last.away += away;
                }
                _ => parts.push(Part {
                    process,
                    first,
                    touched,
                    away,
                }),
            }
        }
        let left_out = parts.len().saturating_sub(most);
        parts.truncate(most);
        Self {
            pages,
            parts,
            left_out: left_out as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// The slow twin: each part by its bounds, with parts as small as they can be.
    fn by_bounds(chunks: &[Known], most: usize) -> Option<Heat> {
        let mut pages = 512;
        loop {
            let firsts: BTreeSet<(u32, u64)> = chunks
                .iter()
                .map(|((space, chunk), ..)| (space.0, chunk * 512 / pages * pages))
                .collect();
            if firsts.len() <= most {
                let parts = firsts.into_iter().map(|(process, first)| {
                    let inside = chunks.iter().filter(|((space, chunk), ..)| {
                        space.0 == process && (first..first + pages).contains(&(chunk * 512))
                    });
                    let inside: Vec<_> = inside.collect();
                    Part {
                        process,
                        first,
                        touched: inside.iter().map(|(_, touched, _)| touched).sum(),
                        away: inside.iter().map(|(.., away)| away).sum(),
                    }
                });
                return Some(Heat {
                    pages,
                    parts: parts.collect(),
                    left_out: 0,
                });
            }
            pages *= 2;
            if pages > 1 << 40 {
                return None;
            }
        }
    }

    proptest! {
        #[test]
        fn parts_are_those_of_the_twin(
            chunks in prop::collection::btree_map(
                (0..4u32, prop_oneof![0..300u64, 0x3ff_fe00..0x3ff_ff00u64]),
                (0..600u64, 0..513u64),
                0..200,
            ),
            most in 1..40usize,
        ) {
            let chunks: Vec<Known> = chunks
                .into_iter()
                .map(|((space, chunk), (touched, away))| ((Space(space), chunk), touched, away))
                .collect();
            let mut mixed = chunks.clone();
            mixed.reverse();
            let heat = Heat::of(mixed, most);
            match by_bounds(&chunks, most) {
                Some(wanted) => prop_assert_eq!(heat, wanted),
                None => {
                    let processes: BTreeSet<_> = chunks.iter().map(|((space, _), ..)| space.0).collect();
                    prop_assert_eq!(heat.parts.len(), most);
                    prop_assert_eq!(heat.left_out as usize, processes.len() - most);
                }
            }
        }
    }
}
