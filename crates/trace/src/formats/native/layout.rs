//! Names and types of the columns, and the mark of our own files.

use crate::access::Block;
use crate::lost::Kind;

/// The name of the format.
pub(super) const NAME: &str = "native";
/// The key that marks our traces; its value is the version of the layout.
pub(super) const VERSION_KEY: &str = "terrace.trace";
/// The key of the digest of all columns.
pub(super) const DIGEST_KEY: &str = "terrace.digest";

/// The columns of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Those that every trace has.
    Plain,
    /// What pages held besides.
    Contents,
    /// Where addresses come from besides.
    Depends,
    /// Which pages hold zeros besides.
    Zeros,
}

impl Layout {
    const ALL: [Self; 4] = [Self::Plain, Self::Contents, Self::Depends, Self::Zeros];

    /// Returns the layout of a version; none where there is no such version.
    pub(super) fn of(version: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|layout| layout.version() == version)
    }

    /// Returns the layout that a trace has whose first accesses are those of `block`.
    pub(super) fn of_block(block: &Block) -> Self {
        if !block.changes.is_empty() {
            Self::Contents
        } else if !block.depends.is_empty() {
            Self::Depends
        } else if !block.zeros.is_empty() {
            Self::Zeros
        } else {
            Self::Plain
        }
    }

    /// Returns what a trace of this layout has no column for.
    pub(super) fn unkept(self) -> &'static [Kind] {
        match self {
            Self::Plain => &[Kind::Contents, Kind::Dependences, Kind::Zeros],
            Self::Contents => &[Kind::Dependences, Kind::Zeros],
            Self::Depends => &[Kind::Contents, Kind::Zeros],
            Self::Zeros => &[Kind::Contents, Kind::Dependences],
        }
    }

    /// Returns the version.
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::Plain => "1",
            Self::Contents => "2",
            Self::Depends => "3",
            Self::Zeros => "4",
        }
    }

    /// Returns the names of all columns, in their order.
    pub(super) fn columns(self) -> Vec<&'static str> {
        let more = match self {
            Self::Plain => &[][..],
            Self::Contents => &CONTENTS,
            Self::Depends => &[DEPENDS],
            Self::Zeros => &[ZEROS],
        };
        [&COLUMNS[..], more].concat()
    }

    /// Returns the layout in Parquet's own notation.
    pub(super) fn schema(self) -> String {
        let more = match self {
            Self::Plain => "",
            Self::Contents => CONTENTS_SCHEMA,
            Self::Depends => DEPENDS_SCHEMA,
            Self::Zeros => ZEROS_SCHEMA,
        };
        format!("message access {{ {SCHEMA} {more} }}")
    }
}

/// The names of the columns of every trace, in their order.
pub const COLUMNS: [&str; 7] = [
    "instruction",
    "address",
    "ip",
    "process",
    "thread",
    "size",
    "write",
];

/// The columns that follow in a trace with contents.
pub(super) const CONTENTS: [&str; 4] = ["version", "checksum", INDEX, VALUE];
/// The column that follows in a trace with dependences.
pub(super) const DEPENDS: &str = "depends";
/// The column that follows in a trace that says which pages hold zeros.
pub(super) const ZEROS: &str = "zeros";
/// The list of the places of words.
pub(super) const INDEX: &str = "word_index.list.element";
/// The list of their values.
pub(super) const VALUE: &str = "word_value.list.element";

const SCHEMA: &str = "
    required int64 instruction (INTEGER(64,false));
    required int64 address (INTEGER(64,false));
    required int64 ip (INTEGER(64,false));
    required int32 process (INTEGER(16,false));
    required int32 thread (INTEGER(16,false));
    required int32 size (INTEGER(32,false));
    required boolean write;";

const CONTENTS_SCHEMA: &str = "
    required int32 version (INTEGER(32,false));
    required int64 checksum (INTEGER(64,false));
    required group word_index (LIST) { repeated group list {
        required int32 element (INTEGER(16,false));
    } }
    required group word_value (LIST) { repeated group list {
        required int64 element (INTEGER(64,false));
    } }";

const DEPENDS_SCHEMA: &str = "
    required int32 depends (INTEGER(8,false));";

const ZEROS_SCHEMA: &str = "
    required boolean zeros;";
