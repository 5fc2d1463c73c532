//! Where accesses come from and go to.

use terrace_base::Result;

use crate::access::Block;

/// What is known of a trace as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The format's name, as `terrace trace info` shows it.
    pub format: String,
    /// How many accesses there are, where the format says so beforehand.
    pub accesses: Option<u64>,
    /// Whether [`crate::Access::instruction`] counts instructions; where it does not, it is 0.
    pub counts_instructions: bool,
    /// What was recorded, how and on what: keys and values, in the file's order.
    pub about: Vec<(String, String)>,
}

/// A trace that is read from its beginning to its end.
pub trait Source: Send {
    /// What is known of it as a whole.
    fn meta(&self) -> &Meta;

    /// Replaces what is in `block` by the next accesses; leaves it empty at the end.
    ///
    /// # Errors
    /// A failure that names the file, the offset and what is wrong there.
    fn read(&mut self, block: &mut Block) -> Result<()>;
}

/// A trace that is written.
pub trait Sink: Send {
    /// Appends accesses; every column is there.
    ///
    /// # Errors
    /// A failure that names the file.
    fn write(&mut self, block: &Block) -> Result<()>;

    /// Adds to what is known of the trace as a whole, where the format keeps that.
    fn note(&mut self, _key: &str, _value: &str) {}

    /// Bytes written so far, where the format says.
    fn bytes(&self) -> u64 {
        0
    }

    /// Completes the file. Without it the file is not to be relied on.
    ///
    /// # Errors
    /// A failure that names the file.
    fn finish(self: Box<Self>) -> Result<()>;
}
