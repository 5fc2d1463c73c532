//! Each policy once more, slow and obviously right: written from its paper, not from the fast
//! one, with plain vectors that are searched from end to end.

mod age;
mod cflru;
mod clock;
mod fifo;
mod linux;
mod lru;
mod random;
mod s3fifo;
mod sieve;

use terrace_policy::replacement::Make;

/// The twin of every policy, by its name in the registry.
pub const TWINS: &[(&str, Make)] = &[
    (
        "age",
        Make::Online(|capacity, _| Box::new(age::Age::new(capacity))),
    ),
    (
        "cflru",
        Make::Online(|capacity, _| Box::new(cflru::Cflru::new(capacity))),
    ),
    (
        "clock",
        Make::Online(|capacity, _| Box::new(clock::Clock::new(capacity))),
    ),
    (
        "fifo",
        Make::Online(|capacity, _| Box::new(fifo::Fifo::new(capacity))),
    ),
    (
        "linux",
        Make::Online(|capacity, _| Box::new(linux::Linux::new(capacity))),
    ),
    (
        "lru",
        Make::Online(|capacity, _| Box::new(lru::Lru::new(capacity))),
    ),
    (
        "random",
        Make::Online(|capacity, seed| Box::new(random::Random::new(capacity, seed))),
    ),
    (
        "s3fifo",
        Make::Online(|capacity, _| Box::new(s3fifo::S3Fifo::new(capacity))),
    ),
    (
        "sieve",
        Make::Online(|capacity, _| Box::new(sieve::Sieve::new(capacity))),
    ),
];
