//! Routers whose tables and updates a collector wrote down.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};

/// A router that told a collector its routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its autonomous system.
    pub system: u32,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (AS{})", self.address, self.system)
    }
}

/// How a user names a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerName {
    /// By its address.
    Address(IpAddr),
    /// By its autonomous system; of several peers the one with the most entries.
    System(u32),
}

impl PeerName {
    fn names(self, peer: Peer) -> bool {
        match self {
            Self::Address(address) => address == peer.address,
            Self::System(system) => system == peer.system,
        }
    }
}

impl fmt::Display for PeerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => write!(f, "{address}"),
            Self::System(system) => write!(f, "AS{system}"),
        }
    }
}

/// Reads `193.0.0.56` and `AS3333`.
impl FromStr for PeerName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Address(address));
        }
        let number = text.strip_prefix("AS").or(text.strip_prefix("as"));
        let digits = number.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let system = digits.and_then(|digits| digits.parse().ok());
        system.map(Self::System).ok_or_else(|| {
            Error::usage(format!(
                "`{text}` names no peer; write its address, or its AS as AS3333"
            ))
        })
    }
}

/// How often each peer speaks in a file.
#[derive(Debug, Default)]
pub(super) struct Census {
    entries: FxHashMap<Peer, u64>,
}

impl Census {
    pub fn count(&mut self, peer: Option<Peer>) {
        if let Some(peer) = peer {
            *self.entries.entry(peer).or_default() += 1;
        }
    }

    pub fn peers(&self) -> usize {
        self.entries.len()
    }

    /// Returns the peer with the most entries, of those that `name` names; the lowest address of
    /// equals.
    pub fn chosen(&self, name: Option<PeerName>, path: &Path) -> Result<Option<Peer>> {
        let named = |peer: &Peer| name.is_none_or(|name| name.names(*peer));
        let candidates = self.entries.iter().filter(|(peer, _)| named(peer));
        let most = candidates.max_by_key(|(peer, entries)| (**entries, std::cmp::Reverse(**peer)));
        match (most, name) {
            (None, Some(name)) => Err(Error::usage(format!(
                "`{}` has no peer {name}; {}",
                path.display(),
                self.summary()
            ))),
            (most, _) => Ok(most.map(|(peer, _)| *peer)),
        }
    }

    /// Names the peers, those with the most entries first.
    fn summary(&self) -> String {
        const SHOWN: usize = 5;
        let mut peers: Vec<_> = self.entries.iter().collect();
        peers.sort_by_key(|(peer, entries)| (std::cmp::Reverse(**entries), **peer));
        let names: Vec<String> = peers
            .iter()
            .take(SHOWN)
            .map(|(peer, _)| peer.to_string())
            .collect();
        match peers.len() {
            0 => "it names no peers".to_owned(),
            n if n <= SHOWN => format!("it has {}", names.join(", ")),
            n => format!("it has {} and {} more", names.join(", "), n - SHOWN),
        }
    }
}
