//! What policies that share their samples need of a workload.

use terrace_base::Result;
use terrace_policy::replacement::PageId;

use super::sample::Sampling;
use super::stack::Stack;
use super::tape::Tape;
use crate::workload::Batch;

/// Samples of a workload, for policies that need stacks and others that need tapes.
#[derive(Default)]
pub(super) struct Part {
    pub(super) sampling: Sampling,
    /// A stack for each sample; none if no policy needs them.
    stacks: Vec<Stack>,
    /// A tape for each sample; none if no policy needs them.
    pub(super) tapes: Vec<Tape>,
    /// Misses at each size for each stack, once all is read.
    pub(super) misses: Vec<Vec<u64>>,
}

impl Part {
    pub(super) fn new(sampling: Sampling) -> Self {
        Self {
            sampling,
            ..Self::default()
        }
    }

    /// Sees to it that there are stacks, or tapes.
    pub(super) fn need(&mut self, stacks: bool) {
        let samples = self.sampling.samples as usize;
        match stacks {
            true => self.stacks.resize_with(samples, Stack::default),
            false => self.tapes.resize_with(samples, Tape::default),
        }
    }

    /// Takes what a batch has of the samples.
    ///
    /// # Errors
    /// A failure if there is no memory for it.
    pub(super) fn add(&mut self, batch: &Batch) -> Result<()> {
        let (mut begin, mut discards) = (0, 0);
        for run in &batch.runs {
            for page in &batch.discards[discards..run.discards] {
                self.discard(*page);
            }
            for touch in &batch.references[begin..run.end] {
                if touch.is_write_back() {
                    continue;
                }
                if let Some((sample, page)) = self.sampling.of(touch.page()) {
                    self.touch(sample, page, touch.write())?;
                }
            }
            (begin, discards) = (run.end, run.discards);
        }
        Ok(())
    }

    #[inline]
    fn touch(&mut self, sample: usize, page: u32, write: bool) -> Result<()> {
        if let Some(stack) = self.stacks.get_mut(sample) {
            stack.touch(page);
        }
        match self.tapes.get_mut(sample) {
            Some(tape) => tape.touch(page, write),
            None => Ok(()),
        }
    }

    fn discard(&mut self, page: PageId) {
        let Some((sample, page)) = self.sampling.of(page) else {
            return;
        };
        if let Some(stack) = self.stacks.get_mut(sample) {
            stack.discard(page);
        }
        if let Some(tape) = self.tapes.get_mut(sample) {
            tape.discard(page);
        }
    }

    /// Ends the stacks: all was read.
    pub(super) fn finish(&mut self) {
        let stacks = std::mem::take(&mut self.stacks);
        self.misses = stacks.into_iter().map(Stack::misses).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Reference, Run};
    use proptest::prelude::*;
    use terrace_policy::Space;
    use terrace_policy::replacement::lru::Lru;

    proptest! {
        /// A stack tells of each sample and size what LRU would miss that is simulated.
        #[test]
        fn stacks_tell_what_tapes_do(
            runs in prop::collection::vec(
                (prop::collection::vec(0u32..300, 0..99), prop::collection::vec(0u32..300, 0..4)), 0..60,
            ),
        ) {
            let mut batch = Batch::default();
            for (touches, discards) in runs {
                batch.discards.extend(discards.into_iter().map(PageId));
                batch.references.extend(touches.into_iter().map(|page| Reference::new(1, false).of(PageId(page))));
                batch.runs.push(Run {
                    thread: 0,
                    space: Space(0),
                    end: batch.references.len(),
                    discards: batch.discards.len(),
                    order: None,
                    pause: 0,
                });
            }
            let mut part = Part::new(Sampling { every: 3, samples: 2, seed: 1 });
            part.need(true);
            part.need(false);
            part.add(&batch).unwrap();
            part.finish();
            for (tape, misses) in part.tapes.iter().zip(&part.misses) {
                for dram in 1..60_usize {
                    let slow = tape.misses(&mut Lru::new(dram));
                    prop_assert_eq!(misses[dram.min(misses.len() - 1)], slow, "{}", dram);
                }
            }
        }
    }
}
