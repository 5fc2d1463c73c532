//! The formats: their names, and how a file shows which it is.

use std::fmt;
use std::path::Path;

use terrace_base::{Error, Result};

/// A trace format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own, a Parquet file: [`crate::native`].
    Native,
    /// `crate::champsim`.
    ChampSim,
    /// `crate::lackey`.
    Lackey,
    /// `crate::oracle_general`.
    OracleGeneral,
    /// `crate::caffeine`.
    Caffeine,
    /// `crate::csv`.
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

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
