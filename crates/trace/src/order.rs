//! What orders the threads of a program: a thread is created, waits, and is woken.
//!
//! A trace has the accesses of threads in about the order in which they were made while it was
//! recorded, in pieces. In what order they must be is another question, which these events answer:
//! what a thread does before it *releases* a point comes before what others do after they *acquire*
//! it. The plug-in tells of them (`terrace_recorder::order`).

pub use terrace_recorder::order::{Event, Point};

/// An event that orders a thread with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The row, counted from the beginning of its block, before which the event lies: it comes
    /// after the thread's accesses before that row, and before the thread's accesses from that row
    /// on. A point is released no later than it is acquired.
    pub row: u64,
    /// The process.
    pub process: u16,
    /// The thread, which need not be that of the row.
    pub thread: u16,
    /// What it does.
    pub event: Event,
}
