//! A trace without its beginning.

use rustc_hash::FxHashMap;

use crate::access::Block;
use crate::source::{Source, made};

/// Returns the trace without the first `skip` accesses of `source`.
///
/// The instructions of each thread are counted from its last skipped access, or from its beginning
/// if there is none: what came earlier is not part of this trace. So what pages hold is not known
/// any more.
pub fn rest(mut source: Box<dyn Source>, skip: u64) -> Box<dyn Source> {
    let mut meta = source.meta().clone();
    meta.accesses = meta.accesses.map(|accesses| accesses.saturating_sub(skip));
    meta.about.push(("skipped".into(), skip.to_string()));
    meta.has_contents = false;
    meta.digest = None;
    let mut rest = Rest {
        counts_instructions: meta.counts_instructions,
        left: skip,
        before: FxHashMap::default(),
    };
    made(meta, move |block| {
        loop {
            source.read(block)?;
            let len = block.len();
            let skipped = usize::try_from(rest.left).map_or(len, |left| left.min(len));
            rest.leave_out(block, skipped);
            if skipped < len || len == 0 {
                return Ok(());
            }
        }
    })
}

struct Rest {
    counts_instructions: bool,
    /// Accesses still to skip.
    left: u64,
    /// By thread: instructions executed with its last skipped access.
    before: FxHashMap<u16, u64>,
}

impl Rest {
    /// Removes the first `count` accesses of `block`; instructions of the others count from there.
    fn leave_out(&mut self, block: &mut Block, count: usize) {
        self.left -= count as u64;
        if self.counts_instructions {
            for index in 0..count {
                self.before
                    .insert(block.thread[index], block.instruction[index] + 1);
            }
        }
        block.drain_front(count);
        block.changes.clear();
        for (thread, instruction) in block.thread.iter().zip(&mut block.instruction) {
            // The instruction of the last skipped access may have made this access as well.
            *instruction =
                instruction.saturating_sub(self.before.get(thread).copied().unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Access;
    use crate::testing::{accesses, listed};

    /// Accesses of these threads; after each its thread goes on to its next instruction but one, or
    /// makes another access with the same.
    fn trace(threads: &[(u16, bool)]) -> Vec<Access> {
        let mut done = [0; 3];
        let made = threads.iter().enumerate().map(|(index, (thread, next))| {
            let instruction = done[usize::from(*thread)];
            done[usize::from(*thread)] += if *next { 2 } else { 0 };
            Access {
                instruction,
                address: index as u64,
                thread: *thread,
                size: 8,
                ..Access::default()
            }
        });
        made.collect()
    }

    proptest! {
        #[test]
        fn what_is_left_is_the_end_and_counts_from_there(
            threads in prop::collection::vec((0u16..3, any::<bool>()), 0..60),
            skip in 0usize..70,
        ) {
            let all = trace(&threads);
            let (left_out, kept) = all.split_at(skip.min(all.len()));
            let expected: Vec<_> = kept.iter().map(|access| {
                let last = left_out.iter().rfind(|earlier| earlier.thread == access.thread);
                let before = last.map_or(0, |earlier| earlier.instruction + 1);
                Access { instruction: access.instruction.saturating_sub(before), ..*access }
            }).collect();
            let source = rest(listed(all.clone()), skip as u64);
            prop_assert_eq!(source.meta().accesses, Some(expected.len() as u64));
            prop_assert_eq!(accesses(source), expected);
        }
    }
}
