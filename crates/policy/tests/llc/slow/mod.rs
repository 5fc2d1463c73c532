//! Whole caches, slow and obviously right: written from the definitions, not from the fast ones,
//! with plain vectors that are searched from end to end.

mod ari;
mod chance;
mod density;
mod dip;
mod drrip;
mod fifo;
mod nhm;
mod nru;
mod plru;
mod random;
mod stack;

use terrace_policy::llc::{Geometry, InForce, Outcome, Request};
use terrace_policy::params::Params;

/// A cache with its policy.
pub trait Slow {
    fn access(&mut self, request: &Request) -> Outcome;

    fn in_force(&self) -> Option<InForce> {
        None
    }
}

/// Makes a cache for settings that the policy has taken already, so that all are right.
pub type Make = fn(Geometry, &mut Params, seed: u64) -> Box<dyn Slow>;

/// The twins, by their names in the registry.
pub const TWINS: &[(&str, Make)] = &[
    ("ari", |geometry, params, seed| {
        Box::new(ari::Ari::new(geometry, params, seed))
    }),
    ("density", |geometry, params, seed| {
        Box::new(density::Density::new(geometry, params, seed))
    }),
    ("dip", |geometry, params, seed| {
        Box::new(dip::Dip::new(geometry, params, seed))
    }),
    ("drrip", |geometry, params, seed| {
        Box::new(drrip::Drrip::new(geometry, params, seed))
    }),
    ("fifo", |geometry, _, _| Box::new(fifo::Fifo::new(geometry))),
    ("lru", |geometry, _, _| Box::new(nhm::Nhm::lru(geometry))),
    ("nhm", |geometry, params, _| {
        Box::new(nhm::Nhm::new(geometry, params))
    }),
    ("nru", |geometry, _, _| Box::new(nru::Nru::new(geometry))),
    ("plru", |geometry, _, _| Box::new(plru::Plru::new(geometry))),
    ("random", |geometry, _, seed| {
        Box::new(random::Random::new(geometry, seed))
    }),
];

/// The number called `key`, or `default`.
fn number(params: &mut Params, key: &'static str, default: usize) -> usize {
    params.take(key, "", default, 0..=usize::MAX).unwrap()
}

/// Whether `key` has this value.
fn is(params: &mut Params, key: &'static str, value: &str) -> bool {
    params.text(key, "", "", "") == value
}
