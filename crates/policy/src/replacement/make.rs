//! Constructors of replacement policies, and their entries and specifications in the registry.

use super::{PageId, Replacement};
use crate::params::Params;
use crate::registry;

/// A new policy, or a message about one of its settings.
pub type Made = Result<Box<dyn Replacement>, String>;

/// Constructor of a policy for a DRAM of `capacity` pages, at least one.
#[derive(Clone, Copy)]
pub enum Make {
    /// Takes the settings, and a seed for random choices.
    Online(&'static (dyn Fn(usize, &mut Params, u64) -> Made + Send + Sync)),
    /// Takes the settings, and all future touches in order.
    Offline(&'static (dyn Fn(usize, &mut Params, &[PageId]) -> Made + Send + Sync)),
}

/// A policy in the registry.
pub type Entry = registry::Entry<Make>;

/// A policy with its settings: `cflru:window=0.3`.
pub type Spec = registry::Spec<Make>;

impl Make {
    pub(super) fn policy(
        self,
        params: &mut Params,
        capacity: usize,
        seed: u64,
        future: Option<&[PageId]>,
    ) -> Made {
        match (self, future) {
            (Self::Online(make), _) => make(capacity, params, seed),
            (Self::Offline(make), Some(future)) => make(capacity, params, future),
            (Self::Offline(_), None) => Err("it needs to know the future".to_owned()),
        }
    }
}

impl Entry {
    /// Whether the policy is made from all future touches.
    pub fn knows_future(&self) -> bool {
        matches!(self.make, Make::Offline(_))
    }
}

impl Spec {
    /// Makes the policy for a DRAM of `capacity` pages, at least one. `seed` is for random choices;
    /// `future`, all future touches in order, is needed by a policy that knows them.
    ///
    /// # Errors
    /// Returns a message if the future is needed and not given.
    pub fn policy(&self, capacity: usize, seed: u64, future: Option<&[PageId]>) -> Made {
        self.make(|make, params| make.policy(params, capacity, seed, future))
    }
}

/// Returns this share of the capacity in whole pages, rounded down.
pub(super) fn pages(share: f64, capacity: usize) -> usize {
    (share * capacity as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_pages_are_exact() {
        for capacity in 0..100_000 {
            assert_eq!(pages(0.25, capacity), capacity / 4);
            assert_eq!(pages(0.1, capacity), capacity / 10);
            assert_eq!(pages(0.01, capacity), capacity / 100);
        }
    }
}
