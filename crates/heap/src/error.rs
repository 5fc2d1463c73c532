//! The one error style: a sentence that says what is wrong, with what, and what to do.

use std::{fmt, io};

/// What went wrong, for programs that go on differently.
///
/// ```
/// use terrace_heap::containers::Queue;
/// use terrace_heap::{Cause, Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(1 << 20)?;
///     let queue = Queue::<[u8]>::open(&heap, "queue")?;
///     for _ in 0..30 {
///         match queue.push(&[7; 100_000]) {
///             Err(error) if error.cause() == Cause::Full => {
///                 heap.grow(2 * heap.len())?;
///                 queue.push(&[7; 100_000])?;
///             }
///             done => done?,
///         }
///     }
///     assert_eq!(queue.len()?, 30);
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// What was asked for cannot be.
    Usage,
    /// There is no room left.
    Full,
    /// The pool holds what it cannot hold: it was damaged, or is something else.
    Damaged,
    /// The machine failed, or does not allow it.
    System,
    /// An older transaction holds what is wanted: end this one and begin it again.
    Again,
}

/// An error for people: one sentence, also for a program whose `main` returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inside>);

/// Boxed, so that results are as small as what they are of.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inside {
    cause: Cause,
    message: String,
}

/// A result with such an error.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What went wrong.
    pub fn cause(&self) -> Cause {
        self.0.cause
    }

    /// What was asked for cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Cause::Usage, message.into())
    }

    /// There is no room left.
    pub fn full(message: impl Into<String>) -> Self {
        Self::new(Cause::Full, message.into())
    }

    /// The pool holds what it cannot hold.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::new(Cause::Damaged, message.into())
    }

    /// The machine failed: "`what`: the system's reason".
    pub fn system(what: impl fmt::Display, reason: io::Error) -> Self {
        Self::new(Cause::System, format!("{what}: {reason}"))
    }

    /// An older transaction holds what is wanted.
    pub(crate) fn again() -> Self {
        let sentence =
            "an older transaction holds what this one wants; drop this one, and begin again";
        Self::new(Cause::Again, sentence.into())
    }

    /// The heap was closed.
    pub(crate) fn closed() -> Self {
        Self::usage("the heap was closed; open the pool again")
    }

    #[cold]
    fn new(cause: Cause, message: String) -> Self {
        Self(Box::new(Inside { cause, message }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
