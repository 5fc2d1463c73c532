//! Each policy once more, slow and obviously right: written from its paper, not from the fast
//! one, with plain vectors that are searched from end to end.

mod fifo;
mod lru;

use terrace_policy::replacement::Make;

/// The twin of every policy, by its name in the registry.
pub const TWINS: &[(&str, Make)] = &[
    (
        "fifo",
        Make::Online(|capacity, _| Box::new(fifo::Fifo::new(capacity))),
    ),
    (
        "lru",
        Make::Online(|capacity, _| Box::new(lru::Lru::new(capacity))),
    ),
];
