//! Compression of trace files: gzip, xz and zstd.

use std::fmt;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use liblzma::read::XzDecoder;
use liblzma::write::XzEncoder;
use terrace_base::{Output, Result, output};

/// The level of xz: 3 packed the ChampSim records of a real trace 17 times as fast as 6, and into
/// fewer bytes.
const XZ_LEVEL: u32 = 3;

/// A compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// RFC 1952.
    Gzip,
    /// The .xz file format.
    Xz,
    /// RFC 8878.
    Zstd,
}

/// Each compression with its first bytes and the ending of file names.
const ALL: [(Compression, &[u8], &str); 3] = [
    (Compression::Gzip, b"\x1f\x8b\x08", "gz"),
    (Compression::Xz, b"\xfd7zXZ\0", "xz"),
    (Compression::Zstd, b"\x28\xb5\x2f\xfd", "zst"),
];

/// The last three bytes of the magic number of a skippable frame of zstd (RFC 8878, section 3.1.2),
/// with which `pzstd` begins; the first is 0x50 to 0x5f.
const SKIPPABLE: &[u8] = b"\x2a\x4d\x18";

/// What else a file may be packed or written in, with its first bytes: it is named, and not read.
const OTHERS: [(&str, &[u8]); 9] = [
    ("lz4", b"\x04\x22\x4d\x18"),
    ("lzip", b"LZIP"),
    ("lzop", b"\x89LZO\0\r\n\x1a\n"),
    ("compress", b"\x1f\x9d\x90"),
    ("snappy", b"\xff\x06\0\0sNaPpY"),
    ("zip", b"PK\x03\x04"),
    ("7z", b"7z\xbc\xaf\x27\x1c"),
    ("Arrow IPC", b"ARROW1"),
    ("Arrow IPC", b"FEA1"),
];

/// Bytes of the head of a file by which [`unread`] and [`Compression::by_magic`] know it.
pub(crate) const MAGIC_BYTES: usize = 16;

/// Returns what a file is that begins with `head` and is not read, and how to make it one that is.
pub(crate) fn unread(head: &[u8]) -> Option<String> {
    if is_utf16(head) {
        return Some(
            "is a text in UTF-16; write it in UTF-8 (iconv -f utf-16 -t utf-8)".to_owned(),
        );
    }
    let other = OTHERS.iter().find(|(_, magic)| head.starts_with(magic));
    let name = match other {
        Some((name, _)) => name,
        None if is_bzip2(head) => "bzip2",
        None => return None,
    };
    Some(match name {
        "Arrow IPC" => "is an Arrow IPC file; write it as Parquet".to_owned(),
        name => {
            format!("is packed with {name}, which is not read; unpack it, or pack it with zstd")
        }
    })
}

fn is_bzip2(head: &[u8]) -> bool {
    let level = |rest: &[u8]| rest.first().is_some_and(u8::is_ascii_digit);
    let rest = head.strip_prefix(b"BZh");
    rest.is_some_and(|rest| level(rest) && rest[1..].starts_with(b"1AY&SY"))
}

/// Whether `head` begins a text of two bytes a character, all of ASCII: records may begin with the
/// mark alone.
fn is_utf16(head: &[u8]) -> bool {
    let is_ascii = |high: usize| {
        let pairs = head.get(2..MAGIC_BYTES).unwrap_or_default();
        let (pairs, _) = pairs.as_chunks::<2>();
        !pairs.is_empty()
            && pairs
                .iter()
                .all(|pair| pair[high] == 0 && pair[1 - high] != 0)
    };
    match head {
        [0xff, 0xfe, ..] => is_ascii(1),
        [0xfe, 0xff, ..] => is_ascii(0),
        _ => false,
    }
}

/// Returns whether a file that begins with `head` is a tar archive.
pub(crate) fn is_archive(head: &[u8]) -> bool {
    head.get(257..262) == Some(b"ustar")
}

impl Compression {
    /// Returns the compression of a file that begins with `head`.
    pub(crate) fn by_magic(head: &[u8]) -> Option<Self> {
        if let [0x50..=0x5f, rest @ ..] = head
            && rest.starts_with(SKIPPABLE)
        {
            return Some(Self::Zstd);
        }
        let found = ALL.iter().find(|(_, magic, _)| head.starts_with(magic));
        found.map(|(compression, ..)| *compression)
    }

    /// Returns the compression that the ending of a file name says.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        let name = path.extension()?;
        let found = ALL
            .iter()
            .find(|(.., ending)| name.eq_ignore_ascii_case(ending));
        found.map(|(compression, ..)| *compression)
    }

    /// Returns `name` without the ending of a compression.
    pub(crate) fn strip(name: &str) -> &str {
        let strip = |ending: &str| name.strip_suffix(ending)?.strip_suffix('.');
        let stripped = ALL.iter().find_map(|(.., ending)| strip(ending));
        stripped.unwrap_or(name)
    }

    /// Unpacks `packed`. Concatenated streams are read as one; a cut stream is an error.
    pub(crate) fn unpack(
        self,
        packed: impl Read + Send + 'static,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(Members::new(packed)),
            Self::Xz => Box::new(XzDecoder::new_multi_decoder(packed)),
            Self::Zstd => Box::new(zstd::Decoder::new(packed)?),
        })
    }
}

/// The members of a gzip file, one after the other. Zeros behind the last are padding, as for gzip
/// itself.
struct Members<R: Read>(Option<GzDecoder<BufReader<R>>>);

impl<R: Read> Members<R> {
    fn new(packed: R) -> Self {
        Self(Some(GzDecoder::new(BufReader::new(packed))))
    }
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let read = member.read(into)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            let Some(member) = self.0.take() else { break };
            let mut rest = member.into_inner();
            if skip_zeros(&mut rest)? {
                self.0 = Some(GzDecoder::new(rest));
            }
        }
        Ok(0)
    }
}

/// Reads past zeros; returns whether anything follows.
fn skip_zeros(input: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = input.fill_buf()?;
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        if zeros < bytes.len() || bytes.is_empty() {
            let follows = !bytes.is_empty();
            input.consume(zeros);
            return Ok(follows);
        }
        input.consume(zeros);
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        })
    }
}

/// An output file, packed as its name says.
pub(crate) enum Packed {
    Plain(BufWriter<Output>),
    Gzip(GzEncoder<BufWriter<Output>>),
    Xz(XzEncoder<BufWriter<Output>>),
    Zstd(zstd::Encoder<'static, BufWriter<Output>>),
}

impl Packed {
    /// Begins the file `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = BufWriter::with_capacity(1 << 16, Output::create(path)?);
        Ok(match Compression::by_name(path) {
            None => Self::Plain(file),
            Some(Compression::Gzip) => {
                Self::Gzip(GzEncoder::new(file, flate2::Compression::fast()))
            }
            Some(Compression::Xz) => Self::Xz(XzEncoder::new(file, XZ_LEVEL)),
            Some(Compression::Zstd) => Self::Zstd(
                zstd::Encoder::new(file, 1)
                    .map_err(|e| output::failed(&path.display().to_string(), &e))?,
            ),
        })
    }

    /// Packs and writes `bytes`.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match self {
            Self::Plain(output) => output.write_all(bytes),
            Self::Gzip(packer) => packer.write_all(bytes),
            Self::Xz(packer) => packer.write_all(bytes),
            Self::Zstd(packer) => packer.write_all(bytes),
        };
        written.map_err(|e| output::failed(&self.path(), &e))
    }

    /// Ends the stream and gives the file its name.
    pub(crate) fn complete(self) -> Result<()> {
        let path = self.path();
        let ended = match self {
            Self::Plain(output) => Ok(output),
            Self::Gzip(packer) => packer.finish(),
            Self::Xz(packer) => packer.finish(),
            Self::Zstd(packer) => packer.finish(),
        };
        ended
            .and_then(|file| file.into_inner().map_err(io::Error::from))
            .map_err(|e| output::failed(&path, &e))?
            .complete()
    }

    fn path(&self) -> String {
        let file = match self {
            Self::Plain(output) => output,
            Self::Gzip(packer) => packer.get_ref(),
            Self::Xz(packer) => packer.get_ref(),
            Self::Zstd(packer) => packer.get_ref(),
        };
        file.get_ref().path().display().to_string()
    }
}
