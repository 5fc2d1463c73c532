//! A call that led to an allocation.

/// A return address: a place in the file of a program or library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// The number of the file, from [`Pool::module`](crate::pool::Pool::module); none where no file
    /// is mapped there.
    pub module: Option<u16>,
    /// Bytes from the file's lowest mapping.
    pub offset: u64,
}
