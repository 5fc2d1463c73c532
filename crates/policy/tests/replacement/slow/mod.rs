//! Each policy once more, slow and obviously right: written from its paper, not from the fast
//! one, with plain vectors that are searched from end to end.

mod age;
mod arc;
mod belady;
mod cflru;
mod clock;
mod fifo;
mod lfu;
mod linux;
mod lirs;
mod lru;
mod random;
mod s3fifo;
mod sieve;
mod twoq;

use terrace_policy::params::Params;
use terrace_policy::replacement::{Make, PageId};

/// Takes a page out of a list; whether it was there.
fn take(list: &mut Vec<PageId>, page: PageId) -> bool {
    let at = list.iter().position(|other| *other == page);
    at.map(|at| list.remove(at)).is_some()
}

/// The number called `key`, or `default`.
fn number(params: &mut Params, key: &'static str, default: f64) -> f64 {
    params.take(key, "", default, 0.0..=255.0).unwrap()
}

/// The twin of every policy, by its name in the registry.
pub const TWINS: &[(&str, Make)] = &[
    (
        "2q",
        Make::Online(|capacity, params, _| Ok(Box::new(twoq::TwoQ::new(capacity, params)))),
    ),
    (
        "age",
        Make::Online(|capacity, params, _| Ok(Box::new(age::Age::new(capacity, params)))),
    ),
    (
        "arc",
        Make::Online(|capacity, _, _| Ok(Box::new(arc::Arc::new(capacity)))),
    ),
    (
        "belady",
        Make::Offline(|capacity, _, future| Ok(Box::new(belady::Belady::new(capacity, future)))),
    ),
    (
        "cflru",
        Make::Online(|capacity, params, _| Ok(Box::new(cflru::Cflru::new(capacity, params)))),
    ),
    (
        "clock",
        Make::Online(|capacity, _, _| Ok(Box::new(clock::Clock::new(capacity)))),
    ),
    (
        "fifo",
        Make::Online(|capacity, _, _| Ok(Box::new(fifo::Fifo::new(capacity)))),
    ),
    (
        "lfu",
        Make::Online(|capacity, _, _| Ok(Box::new(lfu::Lfu::new(capacity)))),
    ),
    (
        "linux",
        Make::Online(|capacity, _, _| Ok(Box::new(linux::Linux::new(capacity)))),
    ),
    (
        "lirs",
        Make::Online(|capacity, params, _| Ok(Box::new(lirs::Lirs::new(capacity, params)))),
    ),
    (
        "lru",
        Make::Online(|capacity, _, _| Ok(Box::new(lru::Lru::new(capacity)))),
    ),
    (
        "random",
        Make::Online(|capacity, _, seed| Ok(Box::new(random::Random::new(capacity, seed)))),
    ),
    (
        "s3fifo",
        Make::Online(|capacity, params, _| Ok(Box::new(s3fifo::S3Fifo::new(capacity, params)))),
    ),
    (
        "sieve",
        Make::Online(|capacity, _, _| Ok(Box::new(sieve::Sieve::new(capacity)))),
    ),
];
