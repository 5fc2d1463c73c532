//! Where in a file something stands, and sentences about it.

use std::path::Path;

use terrace_base::Error;

/// A file and its text.
pub(super) struct Source<'a> {
    pub path: &'a Path,
    pub text: &'a str,
}

impl Source<'_> {
    /// Returns `FILE, line 3`, of a byte of the text.
    pub fn place(&self, at: usize) -> String {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        format!("{}, line {line}", self.path.display())
    }

    /// Makes an error about what stands at a byte of the text.
    pub fn wrong(&self, at: usize, why: &str) -> Error {
        Error::usage(format!("{}: {why}", self.place(at)))
    }

    /// Makes an error about what is no TOML, or has another form than a file has.
    pub fn syntax(&self, error: &toml::de::Error) -> Error {
        let said = error.message().lines().collect::<Vec<_>>().join(", ");
        let said = match said.strip_prefix("unknown field") {
            Some(rest) => format!("there is no key{rest}"),
            None => said,
        };
        let advice = match () {
            () if said.contains("expected a string") => "; write the value in quotes, as \"2%\"",
            () if said.contains("there are no fields") => "; take it out",
            () if said.starts_with("there is no key") => "; correct the key or take it out",
            () if said.starts_with("duplicate key") => "; rename one or take it out",
            () if said.starts_with("missing field") => "; add it",
            () => "; correct the line",
        };
        let at = error.span().map_or(0, |span| span.start);
        self.wrong(at, &format!("{said}{advice}"))
    }
}
