//! The bytes of a file, unpacked if it is compressed, with their offset.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use terrace_base::{Context, Error, Result};

/// First bytes, by which the format is recognised.
const HEAD: u64 = 4096;
/// Longest line of a text; a longer one means that it is none.
const LONGEST_LINE: u64 = 4096;

/// A file that is read from its beginning to its end.
pub(super) struct Input {
    pub path: PathBuf,
    /// The first bytes, at any position.
    pub head: Vec<u8>,
    /// The name of the compression.
    packed: Option<&'static str>,
    rest: BufReader<Box<dyn Read>>,
    /// Offset of the next byte, in the unpacked bytes.
    pub position: u64,
    line: Vec<u8>,
}

impl Input {
    pub fn open(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read `{}`", path.display());
        let mut file = File::open(path).or_fail(cannot)?;
        let mut magic = Vec::new();
        (&mut file)
            .take(3)
            .read_to_end(&mut magic)
            .or_fail(cannot)?;
        if magic.is_empty() {
            return Err(Error::failure(format!("`{}` is empty", path.display())));
        }
        let is_gzip = magic.starts_with(b"\x1f\x8b");
        let is_bzip2 = magic.starts_with(b"BZh");
        let whole = Cursor::new(magic).chain(file);
        let (packed, unpacked): (_, Box<dyn Read>) = match (is_gzip, is_bzip2) {
            (true, _) => (Some("gzip"), Box::new(MultiGzDecoder::new(whole))),
            (_, true) => (Some("bzip2"), Box::new(MultiBzDecoder::new(whole))),
            _ => (None, Box::new(whole)),
        };
        let mut input = Self {
            path: path.to_owned(),
            head: Vec::new(),
            packed,
            rest: BufReader::with_capacity(1 << 16, unpacked),
            position: 0,
            line: Vec::new(),
        };
        input.look_ahead()?;
        Ok(input)
    }

    /// Reads the head, and puts it back.
    fn look_ahead(&mut self) -> Result<()> {
        let mut head = Vec::new();
        let read = (&mut self.rest).take(HEAD).read_to_end(&mut head);
        read.map_err(|e| self.failed(head.len() as u64, &e))?;
        self.head.clone_from(&head);
        let nothing: Box<dyn Read> = Box::new(io::empty());
        let rest = std::mem::replace(&mut self.rest, BufReader::new(nothing));
        self.rest = BufReader::with_capacity(1 << 16, Box::new(Cursor::new(head).chain(rest)));
        Ok(())
    }

    /// Returns the next line without its line break; `None` at the end.
    pub fn line(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let read = (&mut self.rest)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line);
        let end = self.position + self.line.len() as u64;
        read.map_err(|e| self.failed(end, &e))?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let complete = self.line.ends_with(b"\n");
        if !complete && self.line.len() as u64 == LONGEST_LINE {
            return Err(self.corrupt(
                self.position,
                "a line is too long for a prefix and its port",
            ));
        }
        self.position = end;
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Returns the rest of the bytes.
    pub fn whole(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let read = self.rest.read_to_end(&mut bytes);
        read.map_err(|e| self.failed(self.position + bytes.len() as u64, &e))?;
        Ok(bytes)
    }

    /// Returns the failure that says what is wrong at `offset`.
    pub fn corrupt(&self, offset: u64, what: &str) -> Error {
        let stream = self.packed.map_or(String::new(), |packed| {
            format!(" of the unpacked {packed} stream")
        });
        Error::failure(format!(
            "`{}` is wrong at offset {offset}{stream}: {what}",
            self.path.display()
        ))
    }

    /// Returns the failure for an error of the system, or of unpacking, at `offset`.
    pub fn failed(&self, offset: u64, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.corrupt(offset, "the file ends too early; it was cut short")
            }
            _ => self.corrupt(offset, &error.to_string()),
        }
    }
}

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(into)?;
        self.position += read as u64;
        Ok(read)
    }
}
