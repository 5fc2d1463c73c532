//! The touches of a sample, kept to be simulated at several sizes.

use terrace_base::{Bytes, Result, memory};
use terrace_policy::replacement::{PageId, Replacement, Touch};

/// Touches after which it is asked whether there is memory for as many again.
const FIRST_CHECK: usize = 1 << 22;

/// Touches of a sample in their order.
#[derive(Default)]
pub(super) struct Tape {
    touches: Vec<Touch>,
    /// Pages that were given back, and the number of touches before.
    discards: Vec<(usize, PageId)>,
}

impl Tape {
    /// Appends a touch.
    ///
    /// # Errors
    /// A failure if there is no memory for it.
    #[inline]
    pub(super) fn touch(&mut self, page: u32, write: bool) -> Result<()> {
        if self.touches.len() == self.touches.capacity() {
            self.grow()?;
        }
        let page = PageId(page);
        self.touches.push(Touch { page, write });
        Ok(())
    }

    /// Appends that a page was given back.
    pub(super) fn discard(&mut self, page: u32) {
        self.discards.push((self.touches.len(), PageId(page)));
    }

    #[cold]
    fn grow(&mut self) -> Result<()> {
        let more = self.touches.len().max(FIRST_CHECK);
        let bytes = Bytes((more * size_of::<Touch>()) as u64);
        memory::require(bytes, "keeping the touches of sampled pages")?;
        self.touches.reserve_exact(more);
        Ok(())
    }

    /// Returns the number of touches.
    pub(super) fn len(&self) -> usize {
        self.touches.len()
    }

    /// Returns the pages in the order of their touches, for policies that know the future.
    pub(super) fn pages(&self) -> Vec<PageId> {
        self.touches.iter().map(|touch| touch.page).collect()
    }

    /// Returns the misses of a policy whose DRAM is empty at first.
    pub(super) fn misses(&self, policy: &mut dyn Replacement) -> u64 {
        let (mut begin, mut misses) = (0, 0);
        for &(at, page) in &self.discards {
            misses += policy.replay(&self.touches[begin..at]);
            policy.remove(page);
            begin = at;
        }
        misses + policy.replay(&self.touches[begin..])
    }
}
