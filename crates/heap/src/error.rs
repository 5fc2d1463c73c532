//! Errors: sentences that say what is wrong, with what, and what to do.

use std::{fmt, io};

/// The cause of an error, for programs that handle causes differently.
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
    /// The request is invalid.
    Usage,
    /// The pool is full.
    Full,
    /// The pool is damaged, or the file is no pool.
    Damaged,
    /// The operating system or the hardware failed, or denies the request.
    System,
    /// The pool was written by a newer program, in a format that this one does not know.
    Newer,
    /// The pool is open already, in this program or in another one.
    Open,
    /// An older transaction holds a lock that is needed: end this transaction and begin it again.
    Again,
}

/// An error: one sentence for people, also when `main` returns it, and a [`Cause`] for programs.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inside>);

/// Boxed, so that a `Result` is no larger than its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inside {
    cause: Cause,
    message: String,
}

/// A result with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the cause.
    pub fn cause(&self) -> Cause {
        self.0.cause
    }

    /// Returns an error for an invalid request.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Cause::Usage, message.into())
    }

    /// Returns an error for a full pool.
    pub fn full(message: impl Into<String>) -> Self {
        Self::new(Cause::Full, message.into())
    }

    /// Returns an error for a damaged pool.
    pub fn damaged(message: impl Into<String>) -> Self {
        Self::new(Cause::Damaged, message.into())
    }

    /// Returns an error for a pool of a newer format.
    pub(crate) fn newer(message: impl Into<String>) -> Self {
        Self::new(Cause::Newer, message.into())
    }

    /// Returns an error for a pool that is open already.
    pub(crate) fn open(message: impl Into<String>) -> Self {
        Self::new(Cause::Open, message.into())
    }

    /// Returns an error of the operating system: "`what`: the system's reason".
    pub fn system(what: impl fmt::Display, reason: io::Error) -> Self {
        Self::new(Cause::System, format!("{what}: {reason}"))
    }

    /// Returns the error of a transaction that has to begin again.
    pub(crate) fn again() -> Self {
        let sentence =
            "an older transaction holds a lock that this one needs; drop this one, and begin again";
        Self::new(Cause::Again, sentence.into())
    }

    /// Returns the error of a closed heap.
    pub(crate) fn closed() -> Self {
        Self::usage("the heap was closed; open the pool again")
    }

    #[cold]
    fn new(cause: Cause, message: String) -> Self {
        Self(Box::new(Inside { cause, message }))
    }
}

/// Returns the error that `why` makes, unless a condition holds.
#[inline]
pub(crate) fn ensure(holds: bool, why: impl FnOnce() -> Error) -> Result<()> {
    match holds {
        true => Ok(()),
        false => Err(why()),
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
