//! The bytes of a trace file, unpacked if it is compressed, with their offset.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};

use crate::compression::{Compression, MAGIC_BYTES, is_archive, unread};
use crate::spooled::place;
use crate::store::Stored;

/// First bytes, by which the format is detected.
const HEAD: u64 = 1 << 16;
/// Longest line of a text; a longer line means that it is no trace.
const LONGEST_LINE: u64 = 1 << 12;

/// Opens the file of a trace, or the one in which an object of a store is kept.
pub(crate) fn file(path: &Path) -> Result<File> {
    match Stored::file(path)? {
        Some(file) => Ok(file),
        None => File::open(place(path))
            .or_fail(|| format!("cannot read the trace `{}`", path.display())),
    }
}

/// A trace file that is read from beginning to end.
pub(crate) struct Input {
    /// The path of the file.
    pub path: PathBuf,
    pub compression: Option<Compression>,
    /// Length of the file, if it is a regular file and not compressed.
    pub bytes: Option<u64>,
    /// The first bytes, at any position.
    pub head: Vec<u8>,
    rest: BufReader<Box<dyn Read + Send>>,
    /// Offset of the next byte in the unpacked bytes.
    pub position: u64,
    last: Option<u8>,
    /// Whether the bytes read so far end within quotes; a quote within quotes is doubled.
    pub within_quotes: bool,
    line: Vec<u8>,
}

impl Input {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let cannot = || format!("cannot read the trace `{}`", path.display());
        let mut file = file(path)?;
        let metadata = file.metadata().or_fail(cannot)?;
        let mut magic = Vec::new();
        (&mut file)
            .take(MAGIC_BYTES as u64)
            .read_to_end(&mut magic)
            .or_fail(cannot)?;
        if magic.is_empty() {
            return Err(Error::failure(format!(
                "the trace `{}` is empty",
                path.display()
            )));
        }
        if let Some(what) = unread(&magic) {
            return Err(Error::usage(format!(
                "the trace `{}` {what}",
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
            within_quotes: false,
            line: Vec::new(),
        };
        input.look_ahead()?;
        let inner = unread(&input.head);
        let twice = || {
            let within = compression.and_then(|_| Compression::by_magic(&input.head))?;
            Some(format!(
                "is packed twice, with {within} within; unpack it once"
            ))
        };
        let archive = || is_archive(&input.head).then(|| "is a tar archive; unpack it".to_owned());
        match inner.or_else(archive).or_else(twice) {
            None => Ok(input),
            Some(what) => Err(Error::usage(format!(
                "the trace `{}` {what}",
                path.display()
            ))),
        }
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

    /// Returns the next `N` bytes, or `None` at the end; fewer bytes are an error.
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

    /// Has `take` take some of the next records, at least one of those that it is given, and return
    /// how many. Returns the same number, or 0 at the end; an end within a record is an error.
    pub(crate) fn records<const N: usize>(
        &mut self,
        take: impl FnOnce(&[[u8; N]]) -> usize,
    ) -> Result<usize> {
        // An error comes again with the next record.
        let buffered = self.rest.fill_buf().unwrap_or_default();
        let buffered = buffered.as_chunks::<N>().0;
        if !buffered.is_empty() {
            let taken = take(buffered);
            self.rest.consume(taken * N);
            self.position += (taken * N) as u64;
            return Ok(taken);
        }
        // The record goes on behind the buffer.
        match self.record()? {
            Some(record) => Ok(take(&[record])),
            None => Ok(0),
        }
    }

    /// Returns the next line without its line break, and its offset; `None` at the end.
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

    /// Returns whether the last byte read ended a line.
    pub(crate) fn ended_line(&self) -> bool {
        matches!(self.last, None | Some(b'\n'))
    }

    /// Returns the failure that says what is wrong at `offset`.
    pub(crate) fn corrupt(&self, offset: u64, what: &str) -> Error {
        let stream = self.compression.map_or(String::new(), |compression| {
            format!(" of the unpacked {compression} stream")
        });
        Error::failure(format!(
            "the trace `{}` is wrong at offset {offset}{stream}: {what}",
            self.path.display()
        ))
    }

    /// Returns the failure for an error of the system, or of unpacking, at `offset`.
    pub(crate) fn failed(&self, offset: u64, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return self.corrupt(offset, "the file ends too early; it was cut short");
        }
        self.corrupt(offset, &error.to_string())
    }
}

/// Why a text without a final line break is not read.
pub(crate) const NO_LINE_BREAK: &str =
    "the last line has no line break; it was cut short, or one must be added";

impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.rest.read(into)?;
        self.position += read as u64;
        self.last = into[..read].last().copied().or(self.last);
        let quotes = into[..read].iter().filter(|byte| **byte == b'"').count();
        self.within_quotes ^= quotes % 2 == 1;
        Ok(read)
    }
}
