//! Compression of trace files: gzip, xz and zstd.

use std::fmt;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
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
    (Compression::Gzip, b"\x1f\x8b", "gz"),
    (Compression::Xz, b"\xfd7zXZ\0", "xz"),
    (Compression::Zstd, b"\x28\xb5\x2f\xfd", "zst"),
];

impl Compression {
    /// Returns the compression of a file that begins with `head`.
    pub(crate) fn by_magic(head: &[u8]) -> Option<Self> {
        let found = ALL.iter().find(|(_, magic, _)| head.starts_with(magic));
        found.map(|(compression, ..)| *compression)
    }

    /// Returns the compression that the ending of a file name says.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        let name = path.extension()?;
        let found = ALL.iter().find(|(.., ending)| name == *ending);
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
            Self::Gzip => Box::new(MultiGzDecoder::new(packed)),
            Self::Xz => Box::new(XzDecoder::new_multi_decoder(packed)),
            Self::Zstd => Box::new(zstd::Decoder::new(packed)?),
        })
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
