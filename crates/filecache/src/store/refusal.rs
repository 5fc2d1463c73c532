//! Why a page is not admitted.

/// Why a page was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its file has just changed, or may change without making another version.
    Changed,
    /// The budget of writes is used up.
    Budget,
    /// A full segment is being written.
    Busy,
}
