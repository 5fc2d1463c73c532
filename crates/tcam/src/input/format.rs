//! The formats, and how they are recognised.

use std::fmt;

/// A format of routing tables and updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// MRT (RFC 6396): table dumps of both versions, and BGP4MP, as the collectors of RIPE RIS and
    /// RouteViews write them.
    Mrt,
    /// Parquet files of one peer's day from RIPE RIS, as the `prefix-trie` crate's benchmarks use
    /// them: a column `prefix`, and `operation` where they are updates.
    Ris,
    /// The `.dat` files of pyasn: prefixes with the AS that announces them, which stands in for the
    /// next hop.
    IpAsn,
    /// Lines `PREFIX PORT`, or `[SECONDS] + PREFIX PORT` and `[SECONDS] - PREFIX`.
    Text,
}

/// Bytes before the body of an MRT record: time, type, subtype, length (RFC 6396, section 2).
pub(super) const MRT_HEADER: usize = 12;
/// Types of MRT records that speak of routes: TABLE_DUMP, TABLE_DUMP_V2, BGP4MP and BGP4MP_ET.
const MRT_TYPES: [[u8; 2]; 4] = [[0, 12], [0, 13], [0, 16], [0, 17]];

impl Format {
    /// The formats, for messages.
    pub const NAMES: &str =
        "MRT, Parquet files of RIPE RIS, pyasn's .dat, and text with a prefix and its port a line";

    /// Returns the format of a file that begins with `head`.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"PAR1") {
            return Some(Self::Ris);
        }
        if head.len() >= MRT_HEADER && MRT_TYPES.iter().any(|kind| head[4..6] == *kind) {
            return Some(Self::Mrt);
        }
        if head.starts_with(b"; IP-ASN32-DAT") {
            return Some(Self::IpAsn);
        }
        let is_text = !head.is_empty()
            && head
                .iter()
                .all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..));
        is_text.then_some(Self::Text)
    }

    /// Tells whether files of the format say who said what.
    pub(super) fn has_peers(self) -> bool {
        self == Self::Mrt
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mrt => "MRT",
            Self::Ris => "Parquet of RIPE RIS",
            Self::IpAsn => "pyasn's .dat",
            Self::Text => "text",
        })
    }
}
