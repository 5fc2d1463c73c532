//! The value of options that name a trace format.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Command};
use terrace_trace::Format;

/// Parses the name of a trace format; help and completions list the names.
#[derive(Clone, Copy)]
pub struct FormatParser {
    /// Whether only formats that can be written are listed.
    written: bool,
}

/// Parses the format of a trace that is read.
pub const READ: FormatParser = FormatParser { written: false };
/// Parses the format of a trace that is written.
pub const WRITTEN: FormatParser = FormatParser { written: true };

impl TypedValueParser for FormatParser {
    type Value = Format;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Format, clap::Error> {
        Format::parse.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let listed = |format: &&Format| format.is_written() || !self.written;
        let value = |format: &Format| PossibleValue::new(format.name()).help(format.help());
        Some(Box::new(Format::ALL.iter().filter(listed).map(value)))
    }
}
