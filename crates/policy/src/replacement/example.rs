//! Helper for worked examples in the tests of policies.

use super::{Answer, PageId, Replacement, Touch};

/// Reads `pages` one after another and returns the evicted pages.
pub(super) fn evictions(policy: &mut dyn Replacement, pages: &[u32]) -> Vec<u32> {
    let mut evictions = Vec::new();
    for &page in pages {
        let (page, write) = (PageId(page), false);
        if let Answer::Miss { evicted } = policy.touch(Touch { page, write }) {
            evictions.extend(evicted.map(|page| page.0));
        }
    }
    evictions
}
