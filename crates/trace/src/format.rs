//! What a trace format is: the constant that each file in [`crate::formats`] declares.

use std::fmt;
use std::path::Path;

use terrace_base::Result;

use crate::access::Columns;
use crate::input::Input;
use crate::source::{Sink, Source};

/// A trace format, by reference to its declaration.
#[derive(Clone, Copy)]
pub struct Format(&'static Declaration);

/// What the file of a format says of it.
pub(crate) struct Declaration {
    /// Name in options and messages.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Endings of file names, the usual one first; upper and lower case are the same.
    pub endings: &'static [&'static str],
    /// Its columns or fields.
    pub fields: &'static [Field],
    /// Some lines of a text of the format, or what makes such a file.
    pub example: &'static str,
    /// How the content shows the format.
    pub content: Content,
    /// Opens a trace.
    pub open: fn(Input, Columns) -> Result<Box<dyn Source>>,
    /// Begins a trace with keys and values about it, if the format can be written.
    pub create: Option<Create>,
}

/// A column of a format, or a field of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it says, with its unit.
    pub meaning: &'static str,
    /// Whether it is read.
    pub is_read: bool,
}

impl Field {
    /// The columns of a table of accesses.
    pub(crate) const OF_ACCESSES: [Self; 7] = [
        Self::read(
            "instruction",
            "instructions that the thread had executed before; never falls (0 where it is not \
             there)",
        ),
        Self::read("address", "the first byte that is touched, in bytes"),
        Self::read("ip", "the address of the instruction (0)"),
        Self::read("process", "the process, 0 to 65535 (0)"),
        Self::read("thread", "the thread, 0 to 65535 (0)"),
        Self::read("size", "bytes that are touched, up to 1 MiB (0: not known)"),
        Self::read(
            "write",
            "also op, is_write: w, s, write, store, true, 1, or r, l, read, load, false, 0 \
             (a read)",
        ),
    ];

    /// A field that is read.
    pub(crate) const fn read(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            is_read: true,
        }
    }

    /// A field that is not read.
    pub(crate) const fn unread(name: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            meaning,
            is_read: false,
        }
    }
}

/// Begins a trace at a path, with keys and values about it.
pub(crate) type Create = fn(&Path, &[(String, String)]) -> Result<Box<dyn Sink>>;

/// How the first bytes of a file show its format.
pub(crate) enum Content {
    /// These bytes, with which files of no other format begin.
    Magic(&'static [u8]),
    /// Binary records of a fixed size, if the function finds the first bytes plausible.
    Records(fn(&[u8]) -> bool),
    /// Binary records of a fixed size that bear a mark each, if the function finds it.
    Marked(fn(&[u8]) -> bool),
    /// Text, if the function finds the first line plausible.
    Text(fn(&[u8]) -> bool),
}

impl Content {
    /// Returns whether a file that begins with `head` may be of this format.
    pub(crate) fn fits(&self, head: &[u8]) -> bool {
        // Records of a fixed size always contain zeros, texts never do.
        let binary = head.contains(&0);
        match self {
            Self::Magic(magic) => head.starts_with(magic),
            Self::Records(plausible) | Self::Marked(plausible) => binary && plausible(head),
            Self::Text(plausible) => !binary && plausible(first_line(head)),
        }
    }
}

/// What some programs write at the beginning of a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the first line of a text, without its line break.
pub(crate) fn first_line(head: &[u8]) -> &[u8] {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

impl Format {
    /// Makes a format of its declaration.
    pub(crate) const fn new(declaration: &'static Declaration) -> Self {
        Self(declaration)
    }

    pub(crate) fn declaration(self) -> &'static Declaration {
        self.0
    }

    /// Returns the name, as options and messages have it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns one line of help.
    pub fn help(self) -> &'static str {
        self.0.help
    }

    /// Returns the endings of file names, the usual one first.
    pub fn endings(self) -> &'static [&'static str] {
        self.0.endings
    }

    /// Returns the columns, or the fields of records.
    pub fn fields(self) -> &'static [Field] {
        self.0.fields
    }

    /// Returns some lines of a text of the format, or what makes such a file.
    pub fn example(self) -> &'static str {
        self.0.example
    }

    /// Returns whether traces of this format can be written.
    pub fn is_written(self) -> bool {
        self.0.create.is_some()
    }
}

impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Format {}

impl fmt::Debug for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
