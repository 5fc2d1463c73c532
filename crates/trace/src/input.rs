//! The bytes of a trace file, unwrapped where it is compressed, that know where they are.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};

use crate::compression::Compression;

/// Bytes that are looked at to tell a format.
const HEAD: u64 = 1 << 16;
/// The longest line of a text; longer ones are no trace.
const LONGEST_LINE: u64 = 1 << 12;

/// A trace file that is read from its beginning to its end.
pub(crate) struct Input {
    path: PathBuf,
    compression: Option<Compression>,
    /// The file's length, where the bytes are those of the file.
    bytes: Option<u64>,
    head: Vec<u8>,
    rest: BufReader<Box<dyn Read + Send>>,
    position: u64,
    last: Option<u8>,
    line: Vec<u8>,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the trace `{}`", path.display());
        let mut file = File::open(path).or_fail(cannot)?;
        let metadata = file.metadata().or_fail(cannot)?;
        let mut magic = Vec::new();
        (&mut file)
            .take(8)
            .read_to_end(&mut magic)
            .or_fail(cannot)?;
        if magic.is_empty() {
            return Err(Error::failure(format!(
                "the trace `{}` is empty",
                path.display()
            )));
        }
        let compression = Compression::by_magic(&magic);
        let plain = compression.is_none() && metadata.is_file();
        let file = Cursor::new(magic).chain(file);
        let reader: Box<dyn Read + Send> = match compression {
            None => Box::new(file),
            Some(compression) => compression.unpack(file).or_fail(cannot)?,
        };
        let mut input = Self {
            path: path.to_owned(),
            compression,
            bytes: plain.then_some(metadata.len()),
            head: Vec::new(),
            rest: BufReader::with_capacity(HEAD as usize, reader),
            position: 0,
            last: None,
            line: Vec::new(),
        };
        input.look_ahead()?;
        Ok(input)
    }

    /// Reads the head, and puts it back.
    fn look_ahead(&mut self) -> Result<()> {
        let mut head = Vec::new();
        let read = (&mut self.rest).take(HEAD).read_to_end(&mut head);
        if let Err(e) = read {
            return Err(self.failed(head.len() as u64, &e));
        }
        self.head.clone_from(&head);
        let empty: Box<dyn Read + Send> = Box::new(io::empty());
        let rest = std::mem::replace(&mut self.rest, BufReader::new(empty));
        let whole: Box<dyn Read + Send> = Box::new(Cursor::new(head).chain(rest));
        self.rest = BufReader::with_capacity(HEAD as usize, whole);
        Ok(())
    }

    /// The first bytes, however many have been read.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// How it is compressed.
    pub(crate) fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// How many bytes there are, where that is known beforehand.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// The offset of the next byte, in what was unpacked.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next `N` bytes, or `None` at the end; fewer are an error.
    pub(crate) fn record<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        let mut record = [0; N];
        let mut filled = 0;
        while filled < N {
            let read = self.rest.read(&mut record[filled..]);
            match read {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => {
                    return Err(self.corrupt(
                        self.position,
                        &format!("it ends within a record: {filled} bytes of {N}"),
                    ));
                }
                Ok(read) => filled += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.failed(self.position + filled as u64, &e)),
            }
        }
        self.position += N as u64;
        Ok(Some(record))
    }

    /// The next line without its line break, and the offset at which it begins; `None` at the
    /// end.
    pub(crate) fn line(&mut self) -> Result<Option<(u64, &[u8])>> {
        let begin = self.position;
        self.line.clear();
        let read = (&mut self.rest)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line);
        if let Err(e) = read {
            return Err(self.failed(begin + self.line.len() as u64, &e));
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        self.position += self.line.len() as u64;
        if self.line.last() != Some(&b'\n') {
            let what = if self.line.len() as u64 == LONGEST_LINE {
                "a line is too long for a trace"
            } else {
                NO_LINE_BREAK
            };
            return Err(self.corrupt(begin, what));
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Ok(Some((begin, line.strip_suffix(b"\r").unwrap_or(line))))
    }

    /// Whether the last byte that was read ended a line.
    pub(crate) fn ended_line(&self) -> bool {
        matches!(self.last, None | Some(b'\n'))
    }

    /// What is wrong at `offset`.
    pub(crate) fn corrupt(&self, offset: u64, what: &str) -> Error {
        let stream = self.compression.map_or(String::new(), |compression| {
            format!(" of the unpacked {compression} stream")
        });
        Error::failure(format!(
            "the trace `{}` is wrong at offset {offset}{stream}: {what}",
            self.path.display()
        ))
    }

    /// What the system, or the unpacking, says of the bytes at `offset`.
    pub(crate) fn failed(&self, offset: u64, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return self.corrupt(offset, "the file ends too early; it was cut short");
        }
        self.corrupt(offset, &error.to_string())
    }
}

/// Why a text that does not end with a line break is not read.
pub(crate) const NO_LINE_BREAK: &str =
    "the last line has no line break; it was cut short, or wants one added";

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(into)?;
        self.position += read as u64;
        self.last = into[..read].last().copied().or(self.last);
        Ok(read)
    }
}
