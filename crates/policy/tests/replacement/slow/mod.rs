//! Each policy once more, slow and obviously right: written from its paper, not from the fast
//! one, with plain vectors that are searched from end to end.

mod age;
mod arc;
mod belady;
mod cflru;
mod circle;
mod clock;
mod fifo;
mod lfu;
mod linux;
mod lirs;
mod lru;
mod random;
mod s3fifo;
mod sieve;
mod simple;
mod twoq;

use terrace_policy::params::Params;
use terrace_policy::replacement::{Make, PageId};

use simple::dram;

/// Takes a page out of a list; returns whether it was there.
fn take(list: &mut Vec<PageId>, page: PageId) -> bool {
    let at = list.iter().position(|other| *other == page);
    at.map(|at| list.remove(at)).is_some()
}

/// Returns the number called `key`, or `default`.
fn number(params: &mut Params, key: &'static str, default: f64) -> f64 {
    params.take(key, "", default, 0.0..=255.0).unwrap()
}

/// The twin of every policy, by its name in the registry.
pub const TWINS: &[(&str, Make)] = &[
    (
        "2q",
        Make::Online(&|capacity, params, _| Ok(Box::new(twoq::TwoQ::new(capacity, params)))),
    ),
    (
        "age",
        Make::Online(&|capacity, params, _| dram(capacity, age::Age::new(params))),
    ),
    (
        "arc",
        Make::Online(&|capacity, _, _| Ok(Box::new(arc::Arc::new(capacity)))),
    ),
    (
        "belady",
        Make::Offline(&|capacity, _, future| dram(capacity, belady::Belady::new(future))),
    ),
    (
        "cflru",
        Make::Online(&|capacity, params, _| dram(capacity, cflru::Cflru::new(capacity, params))),
    ),
    (
        "clock",
        Make::Online(&|capacity, _, _| dram(capacity, clock::Clock::default())),
    ),
    (
        "fifo",
        Make::Online(&|capacity, _, _| dram(capacity, fifo::Fifo::default())),
    ),
    (
        "lfu",
        Make::Online(&|capacity, _, _| dram(capacity, lfu::Lfu::default())),
    ),
    (
        "linux",
        Make::Online(&|capacity, _, _| dram(capacity, linux::Linux::default())),
    ),
    (
        "lirs",
        Make::Online(&|capacity, params, _| Ok(Box::new(lirs::Lirs::new(capacity, params)))),
    ),
    (
        "lru",
        Make::Online(&|capacity, _, _| dram(capacity, lru::Lru::default())),
    ),
    (
        "random",
        Make::Online(&|capacity, _, seed| dram(capacity, random::Random::new(seed))),
    ),
    (
        "s3fifo",
        Make::Online(&|capacity, params, _| Ok(Box::new(s3fifo::S3Fifo::new(capacity, params)))),
    ),
    (
        "sieve",
        Make::Online(&|capacity, _, _| dram(capacity, sieve::Sieve::default())),
    ),
];
