//! Each policy once more, slow and obviously right: written from its paper, not from the fast
//! one, with plain vectors that are searched from end to end.

mod arc;
mod belady;
mod fifo;
mod lfu;
mod lirs;
mod lru;
mod twoq;

use terrace_policy::replacement::{Make, PageId};

/// Takes a page out of a list; whether it was there.
fn take(list: &mut Vec<PageId>, page: PageId) -> bool {
    let at = list.iter().position(|other| *other == page);
    at.map(|at| list.remove(at)).is_some()
}

/// The twin of every policy, by its name in the registry.
pub const TWINS: &[(&str, Make)] = &[
    (
        "2q",
        Make::Online(|capacity, _| Box::new(twoq::TwoQ::new(capacity))),
    ),
    (
        "arc",
        Make::Online(|capacity, _| Box::new(arc::Arc::new(capacity))),
    ),
    (
        "belady",
        Make::Offline(|capacity, future| Box::new(belady::Belady::new(capacity, future))),
    ),
    (
        "fifo",
        Make::Online(|capacity, _| Box::new(fifo::Fifo::new(capacity))),
    ),
    (
        "lfu",
        Make::Online(|capacity, _| Box::new(lfu::Lfu::new(capacity))),
    ),
    (
        "lirs",
        Make::Online(|capacity, _| Box::new(lirs::Lirs::new(capacity))),
    ),
    (
        "lru",
        Make::Online(|capacity, _| Box::new(lru::Lru::new(capacity))),
    ),
];
