//! Traces that are read and traces that are written.

use std::fmt::Display;
use std::sync::Arc;

use terrace_base::Result;

use crate::access::Block;
use crate::allocation::Allocations;
use crate::digest::Digest;
use crate::lost::Loss;
use crate::objects::Objects;
use crate::tally::Tally;

/// Metadata of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The format's name, as `terrace trace info` shows it.
    pub format: String,
    /// The digest of the trace, if the file holds it: two traces with the same are the same.
    pub digest: Option<Digest>,
    /// Number of accesses, if the format says it beforehand.
    pub accesses: Option<u64>,
    /// Whether [`crate::Access::instruction`] counts instructions; otherwise it is 0.
    pub counts_instructions: bool,
    /// Whether the trace says what pages held: [`crate::contents`].
    pub has_contents: bool,
    /// Whether the trace says which pages hold nothing but zeros: [`Block::zeros`].
    pub tells_zeros: bool,
    /// What the program allocated, if the trace says: its rows count from the beginning of the
    /// trace.
    pub allocations: Option<Arc<Allocations>>,
    /// Whether accesses are requests for whole objects: the size of one may be that of a file.
    pub objects: Objects,
    /// Whether it is a table that other programs have made: it may call anything an address.
    pub is_table: bool,
    /// The columns or fields that are read, as the format calls them.
    pub columns: Vec<String>,
    /// Those that the file has and that are not read.
    pub ignored: Vec<String>,
    /// What is read otherwise than it stands in the file, as far as the trace was read.
    pub tally: Tally,
    /// Keys and values that say what was recorded, how and on what, in the order of the file.
    pub about: Vec<(String, String)>,
}

impl Meta {
    /// Returns the metadata of a trace. Beforehand only its format is known, and whether it counts
    /// instructions.
    pub(crate) fn of(format: impl Display, counts_instructions: bool) -> Self {
        Self {
            format: format.to_string(),
            counts_instructions,
            ..Self::default()
        }
    }
}

/// A trace that is read from beginning to end.
pub trait Source: Send {
    /// Returns the metadata.
    fn meta(&self) -> &Meta;

    /// Replaces the content of `block` by the next accesses; leaves it empty at the end.
    ///
    /// # Errors
    /// Returns a failure that names the file, the offset and what is wrong there.
    fn read(&mut self, block: &mut Block) -> Result<()>;

    /// Reads the next accesses; returns false at the end.
    ///
    /// # Errors
    /// Returns the errors of [`Source::read`].
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        self.read(block)?;
        Ok(!block.is_empty())
    }
}

/// A trace whose blocks a function makes.
struct Made<F> {
    meta: Meta,
    read: F,
}

/// Returns the trace whose blocks `read` makes, as [`Source::read`] does.
pub(crate) fn made(
    meta: Meta,
    read: impl FnMut(&mut Block) -> Result<()> + Send + 'static,
) -> Box<dyn Source> {
    Box::new(Made { meta, read })
}

impl<F: FnMut(&mut Block) -> Result<()> + Send> Source for Made<F> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        (self.read)(block)
    }
}

/// A trace that is written.
pub trait Sink: Send {
    /// Appends accesses; no column may be empty.
    ///
    /// # Errors
    /// Returns a failure that names the file.
    fn write(&mut self, block: &Block) -> Result<()>;

    /// Adds to the metadata, if the format keeps it.
    fn note(&mut self, _key: &str, _value: &str) {}

    /// Returns whether the changes of pages are kept: [`Block::changes`].
    fn keeps_contents(&self) -> bool {
        false
    }

    /// Returns whether it is kept where addresses come from: [`Block::depends`].
    fn keeps_dependences(&self) -> bool {
        false
    }

    /// Returns whether allocations are kept.
    fn keeps_allocations(&self) -> bool {
        false
    }

    /// Says what the program allocated, if the format keeps it.
    fn allocations(&mut self, _allocations: Allocations) {}

    /// Returns the bytes written so far, or 0 if the format does not count them.
    fn bytes(&self) -> u64 {
        0
    }

    /// Returns what the format could not keep of what it was given so far.
    fn lost(&self) -> Vec<Loss> {
        Vec::new()
    }

    /// Completes the file. Until then it does not have its name.
    ///
    /// # Errors
    /// Returns a failure that names the file.
    fn finish(self: Box<Self>) -> Result<()>;
}

/// Copies all accesses; the sink is not finished. `progress` is called with the number of accesses
/// copied so far. Returns that number.
///
/// # Errors
/// Returns the errors of the source and of the sink.
pub fn copy(
    source: &mut dyn Source,
    sink: &mut dyn Sink,
    mut progress: impl FnMut(u64),
) -> Result<u64> {
    let (mut block, mut accesses) = (Block::default(), 0);
    while source.next_block(&mut block)? {
        sink.write(&block)?;
        accesses += block.len() as u64;
        progress(accesses);
    }
    Ok(accesses)
}
