//! The chapter's own: every announcement goes to the shadow block of its length, where it replaces
//! the one before; a withdrawal leaves a hole; a full block is flushed as a whole (Fedorov 2016,
//! 4.3.3.1 and 4.3.3.2).
//!
//! On what is flushed the chapter is silent in one point, whether an announcement takes a row if
//! its prefix has one in the block. It does not here: route flaps would not be filtered otherwise.

use super::UpdatePolicy;
use super::make::{Entry, Make};

/// The policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "thesis",
    summary: "every announcement goes to shadow; a full shadow block is flushed as a whole",
    paper: "Fedorov 2016, 4.3.3",
    when: "The baseline.",
    evidence: terrace_policy::registry::Evidence::NONE,
    make: Make(&|_| Ok(Box::new(Thesis))),
};

/// Decides nothing beyond the router.
struct Thesis;

impl UpdatePolicy for Thesis {}
