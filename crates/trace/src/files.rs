//! Which addresses of a trace are files, where the trace says so.

use std::fmt;

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Error, Result};

use crate::source::Meta;

/// The key of a trace's metadata.
pub const KEY: &str = "files";

/// Files that lie one behind the other, each with room for so many bytes. A trace that does not say
/// where its files lie is of one file: a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Files {
    /// Address of the first byte of the first file, at the beginning of a page.
    pub first: u64,
    /// Bytes from the beginning of one file to that of the next, whole pages.
    pub room: u64,
}

impl Files {
    /// Returns what the metadata of a trace says.
    ///
    /// # Errors
    /// A failure where that cannot be read.
    pub fn of(meta: &Meta) -> Result<Option<Self>> {
        let said = meta.about.iter().find(|(key, _)| key == KEY);
        said.map(|(_, text)| Self::parse(text)).transpose()
    }

    fn parse(text: &str) -> Result<Self> {
        let both = text.split_once('+').and_then(|(first, room)| {
            let files = Self {
                first: first.parse().ok()?,
                room: room.parse().ok()?,
            };
            let is_whole = |bytes: u64| bytes.is_multiple_of(PAGE_BYTES);
            (is_whole(files.first) && is_whole(files.room) && files.room > 0).then_some(files)
        });
        both.ok_or_else(|| {
            Error::failure(format!(
                "the trace's metadata say ‘{KEY}’ `{text}`, which is not the address of the first \
                 file and the bytes of each in pages of 4096, as 0+1073741824; record it again"
            ))
        })
    }
}

/// Writes it as it stands in metadata.
impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.first, self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Result<Option<Files>> {
        let meta = Meta {
            about: vec![("kind".into(), "x".into()), (KEY.into(), text.into())],
            ..Meta::default()
        };
        Files::of(&meta)
    }

    #[test]
    fn what_is_written_is_read() {
        let files = Files {
            first: 1 << 44,
            room: 196 * 4096,
        };
        assert_eq!(said(&files.to_string()).unwrap(), Some(files));
        assert_eq!(Files::of(&Meta::default()).unwrap(), None);
    }

    #[test]
    fn what_is_no_layout_is_one_sentence() {
        for text in ["", "7", "0+0", "1+4096", "0+100", "0+-4096", "a+b"] {
            let error = said(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
