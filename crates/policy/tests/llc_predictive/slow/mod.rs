//! The policies once more, slow and obviously right: with plain vectors and maps, without hashing,
//! and over the whole history.

mod dblk;
mod hawkeye;
mod mockingjay;
mod rlr;
mod ship;

use terrace_policy::llc::{Geometry, LlcPolicy, Request};
use terrace_policy::params::Params;

/// Constructor of a twin, which takes its settings.
type Make = fn(Geometry, &mut Params) -> Box<dyn LlcPolicy>;

/// The twins, by their names in the registry.
pub const TWINS: &[(&str, Make)] = &[
    ("dblk", |geometry, params| {
        Box::new(dblk::Dblk::new(geometry, params))
    }),
    ("hawkeye", |geometry, params| {
        Box::new(hawkeye::Hawkeye::new(geometry, params))
    }),
    ("mockingjay", |geometry, params| {
        Box::new(mockingjay::Mockingjay::new(geometry, params))
    }),
    ("rlr", |geometry, params| {
        Box::new(rlr::Rlr::new(geometry, params))
    }),
    ("ship", |geometry, params| {
        Box::new(ship::Ship::new(geometry, params))
    }),
];

/// An instruction: two cores have different ones at the same address.
type Instruction = (u64, u8);

fn instruction(request: &Request) -> Instruction {
    (request.ip, request.core)
}

/// The sampled sets: one of each group, further back in each group than in the one before.
fn sampled(sets: usize, count: usize) -> Vec<usize> {
    let count = count.min(sets);
    let group = sets / count;
    (0..count).map(|g| g * group + g % group).collect()
}

/// The first of all ways with the highest rank.
fn first_highest<T: Ord>(ways: usize, rank: impl Fn(usize) -> T) -> usize {
    (0..ways).rev().max_by_key(|way| rank(*way)).unwrap()
}
