//! The two processes after a fork.

/// A process after a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The one that has forked.
    Parent,
    /// The new one.
    Child,
}
