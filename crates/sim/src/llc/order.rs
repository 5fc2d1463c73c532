//! What orders a core with others.

use terrace_trace::order::Event;

/// An event that orders a core with others of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The program, by number.
    pub program: usize,
    /// The core.
    pub core: usize,
    /// What it does.
    pub event: Event,
}
