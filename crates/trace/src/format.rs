//! The formats: their names, and how a file shows which it is.

use std::fmt;
use std::path::Path;

use terrace_base::{Error, Result};

use crate::input::Input;
use crate::{caffeine, champsim, csv, lackey, oracle_general};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own, a Parquet file: [`crate::native`].
    Native,
    /// [`crate::champsim`].
    ChampSim,
    /// [`crate::lackey`].
    Lackey,
    /// [`crate::oracle_general`].
    OracleGeneral,
    /// [`crate::caffeine`].
    Caffeine,
    /// [`crate::csv`].
    Csv,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Native,
        Self::ChampSim,
        Self::Lackey,
        Self::OracleGeneral,
        Self::Caffeine,
        Self::Csv,
    ];

    /// Its name, as options and messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::ChampSim => "champsim",
            Self::Lackey => "lackey",
            Self::OracleGeneral => "oracle-general",
            Self::Caffeine => "caffeine",
            Self::Csv => "csv",
        }
    }

    /// The format called `name`.
    ///
    /// # Errors
    /// A usage error that lists the names there are.
    pub fn parse(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                Error::usage(format!("`{name}` is no trace format; there are {names}"))
            })
    }

    /// What `input`, the beginning of the file `path`, is. Its content tells; only where that
    /// may be several formats, its name does.
    ///
    /// # Errors
    /// A usage error where it cannot be told.
    pub(crate) fn detect(path: &Path, input: &Input) -> Result<Self> {
        let head = input.head();
        let named = Self::by_name(path);
        if head.starts_with(b"PAR1") {
            return Ok(Self::Native);
        }
        // Records of fixed size always have zeros in them, texts never.
        if head.contains(&0) {
            let formats = (champsim::plausible(head), oracle_general::plausible(head));
            return match formats {
                (true, false) => Ok(Self::ChampSim),
                (false, true) => Ok(Self::OracleGeneral),
                // The name may still be right where the file is damaged: its reader says how.
                _ => named.ok_or_else(|| cannot_tell(path)),
            };
        }
        let line = first_line(head);
        let texts = [
            (Self::Lackey, lackey::plausible(line)),
            (Self::Caffeine, caffeine::plausible(line)),
            (Self::Csv, csv::plausible(line)),
        ];
        texts
            .into_iter()
            .find_map(|(format, plausible)| plausible.then_some(format))
            .or(named)
            .ok_or_else(|| cannot_tell(path))
    }

    /// What the ending of a file's name says, that of a compression aside.
    pub(crate) fn by_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let compressions = [".gz", ".xz", ".zst"];
        let name = compressions
            .iter()
            .find_map(|ending| name.strip_suffix(ending))
            .unwrap_or(&name);
        let endings = [
            (".parquet", Self::Native),
            (".champsim", Self::ChampSim),
            (".champsimtrace", Self::ChampSim),
            (".lackey", Self::Lackey),
            (".oraclegeneral", Self::OracleGeneral),
            (".oraclegeneral.bin", Self::OracleGeneral),
            (".csv", Self::Csv),
        ];
        endings
            .into_iter()
            .find(|(ending, _)| name.ends_with(ending))
            .map(|(_, format)| format)
    }
}

fn first_line(head: &[u8]) -> &[u8] {
    let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn cannot_tell(path: &Path) -> Error {
    let names = Format::ALL.map(Format::name).join(", ");
    Error::usage(format!(
        "the format of the trace `{}` shows neither in it nor in its name; say which it is: {names}",
        path.display()
    ))
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
