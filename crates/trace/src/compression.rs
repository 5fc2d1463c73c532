//! What trace files are packed with: gzip, xz and zstd.

use std::fmt;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use liblzma::read::XzDecoder;
use liblzma::write::XzEncoder;
use terrace_base::{Context, Result};

use crate::output::Output;

/// The level of xz: 3 packs ChampSim records three times as fast as 6, for a tenth more bytes.
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

impl Compression {
    /// What the first bytes of a file say.
    pub(crate) fn by_magic(magic: &[u8]) -> Option<Self> {
        let magics: [(&[u8], Self); 3] = [
            (b"\x1f\x8b", Self::Gzip),
            (b"\xfd7zXZ\0", Self::Xz),
            (b"\x28\xb5\x2f\xfd", Self::Zstd),
        ];
        magics
            .into_iter()
            .find(|(begin, _)| magic.starts_with(begin))
            .map(|(_, compression)| compression)
    }

    /// What the ending of a file's name says.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "gz" => Some(Self::Gzip),
            "xz" => Some(Self::Xz),
            "zst" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// What `packed` holds. Streams one after the other are one; a cut one is an error.
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

/// A file that is packed as its name says.
pub(crate) enum Packed {
    Plain(BufWriter<Output>),
    Gzip(GzEncoder<BufWriter<Output>>),
    Xz(XzEncoder<BufWriter<Output>>),
    Zstd(zstd::Encoder<'static, BufWriter<Output>>),
}

impl Packed {
    /// Begins the file `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let output = BufWriter::with_capacity(1 << 16, Output::create(path)?);
        Ok(match Compression::by_name(path) {
            None => Self::Plain(output),
            Some(Compression::Gzip) => {
                Self::Gzip(GzEncoder::new(output, flate2::Compression::fast()))
            }
            Some(Compression::Xz) => Self::Xz(XzEncoder::new(output, XZ_LEVEL)),
            Some(Compression::Zstd) => Self::Zstd(
                zstd::Encoder::new(output, 1)
                    .or_fail(|| format!("cannot pack the trace `{}`", path.display()))?,
            ),
        })
    }

    /// Ends the stream and gives the file its name.
    pub(crate) fn complete(self) -> Result<()> {
        let path = self.output().path().to_owned();
        let ended = match self {
            Self::Plain(output) => Ok(output),
            Self::Gzip(packer) => packer.finish(),
            Self::Xz(packer) => packer.finish(),
            Self::Zstd(packer) => packer.finish(),
        };
        ended
            .and_then(|output| output.into_inner().map_err(io::Error::from))
            .or_fail(|| format!("cannot write the trace `{}`", path.display()))?
            .complete()
    }

    /// The file's name.
    pub(crate) fn path(&self) -> &Path {
        self.output().path()
    }

    fn output(&self) -> &Output {
        match self {
            Self::Plain(output) => output.get_ref(),
            Self::Gzip(packer) => packer.get_ref().get_ref(),
            Self::Xz(packer) => packer.get_ref().get_ref(),
            Self::Zstd(packer) => packer.get_ref().get_ref(),
        }
    }
}

impl Write for Packed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Gzip(packer) => packer.write(bytes),
            Self::Xz(packer) => packer.write(bytes),
            Self::Zstd(packer) => packer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Gzip(packer) => packer.flush(),
            Self::Xz(packer) => packer.flush(),
            Self::Zstd(packer) => packer.flush(),
        }
    }
}
