//! How a trace is read, where that does not show in it.

use crate::format::Format;
use crate::layout::Layout;
use crate::objects::Extent;
use crate::tally::Tallies;

/// How traces are read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Their format; where none is given, their content or their name tells.
    pub format: Option<Format>,
    /// How many pages an object has. If given, the addresses of any trace are names of objects;
    /// otherwise those of formats of objects are, by their sizes.
    pub objects: Option<Extent>,
    /// What the columns of a table hold, where its header does not say.
    pub layout: Option<Layout>,
    /// What was counted while traces were read so.
    pub tallies: Tallies,
}

impl From<Option<Format>> for Reading {
    fn from(format: Option<Format>) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }
}
