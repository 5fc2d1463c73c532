//! Routing tables and their updates, from files.
//!
//! The format is recognised by the contents ([`Format`]), after gzip or bzip2 was unpacked. A file
//! of several peers is read as one of them saw it: a router has one table. Each reader turns its
//! file into statements; tables and updates are made from them here.
//!
//! ```no_run
//! use terrace_tcam::input::{self, Ports};
//!
//! let mut ports = Ports::default();
//! let table = input::table("bview.20140701.gz".as_ref(), None, &mut ports)?;
//! let updates = input::updates("updates.20140701.0000.gz".as_ref(), None, &mut ports)?;
//! println!("{} routes and {} updates, over {} ports", table.routes.len(), updates.updates.len(), ports.len());
//! # Ok::<(), terrace_base::Error>(())
//! ```

mod file;
mod format;
mod mrt;
mod peer;
mod ports;
mod ris;
mod statement;
mod text;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use terrace_base::{Error, Nanos, Result};

use crate::{Change, Port, Prefix, Route, Update};
use file::Input;
pub use format::Format;
use peer::Census;
pub use peer::{Peer, PeerName};
pub use ports::{NextHop, Ports};
use statement::{Said, Statement};

/// A routing table as one peer sees it.
#[derive(Clone, Debug)]
pub struct Table {
    /// The routes, each prefix once, in the order of prefixes.
    pub routes: Vec<Route>,
    /// Where it is from.
    pub origin: Origin,
}

/// Updates of one peer, in the order of the file.
#[derive(Clone, Debug)]
pub struct Updates {
    /// The updates; all have times, or none has.
    pub updates: Vec<Update>,
    /// Where they are from.
    pub origin: Origin,
}

/// Where a table or updates are from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The file.
    pub path: PathBuf,
    /// Its format.
    pub format: Format,
    /// The peer that was chosen; `None` if the file names none.
    pub peer: Option<Peer>,
    /// How many peers the file has.
    pub peers: usize,
}

/// Reads a routing table: a dump of one, or updates from an empty table on. Where a prefix comes
/// twice, what comes last counts.
///
/// `peer` is the one whose table is taken; `None`: the one with the most entries.
///
/// # Errors
/// Returns a failure with the offset or line if the file cannot be read or is corrupt, and a usage
/// error if its format does not show in it, or it does not have the peer.
pub fn table(path: &Path, peer: Option<PeerName>, ports: &mut Ports) -> Result<Table> {
    let mut entries: Vec<(Prefix, Option<Port>)> = Vec::new();
    let origin = of_one_peer(path, peer, |statement| {
        entries.push(match statement.said {
            Said::Announced(prefix, next_hop) => (prefix, Some(ports.of(next_hop))),
            Said::Withdrawn(prefix) => (prefix, None),
        });
        Ok(())
    })?;
    let routes = last_of_each(entries);
    if routes.is_empty() {
        return Err(Error::failure(format!(
            "the routing table `{}` has no route",
            path.display()
        )));
    }
    Ok(Table { routes, origin })
}

/// Returns the routes that are left when each prefix has what was said of it last.
fn last_of_each(mut entries: Vec<(Prefix, Option<Port>)>) -> Vec<Route> {
    // Stable, so that the last entry of a prefix stays its last.
    entries.sort_by_key(|(prefix, _)| *prefix);
    let of_a_prefix = entries.chunk_by(|a, b| a.0 == b.0);
    let last = of_a_prefix.filter_map(|entries| entries.last());
    last.filter_map(|(prefix, port)| {
        port.map(|port| Route {
            prefix: *prefix,
            port,
        })
    })
    .collect()
}

/// Reads updates. Their times count from the first that the file has, of any peer; a time before
/// that of the update before it counts as that, since collectors write what several peers say at
/// once in any order.
///
/// `peer` is the one whose updates are taken; `None`: the one with the most.
///
/// # Errors
/// Returns what [`table`] does, and a usage error if the file is a table.
pub fn updates(path: &Path, peer: Option<PeerName>, ports: &mut Ports) -> Result<Updates> {
    let mut collected = Collected::default();
    let origin = of_one_peer(path, peer, |statement| {
        collected.take(statement, path, ports)
    })?;
    let updates = collected.updates;
    Ok(Updates { updates, origin })
}

/// Reads the updates of each peer, as [`updates`] does of one, in the order of addresses. All are
/// kept at once, so it is for files of minutes.
///
/// # Errors
/// Returns what [`updates`] does.
pub fn updates_by_peer(path: &Path, ports: &mut Ports) -> Result<Vec<(Option<Peer>, Vec<Update>)>> {
    let (input, format) = open(path)?;
    let mut peers: BTreeMap<Option<Peer>, Collected> = BTreeMap::new();
    statements(input, format, &mut |statement| {
        let collected = peers.entry(statement.peer).or_default();
        collected.take(statement, path, ports)
    })?;
    let peers = peers.into_iter();
    Ok(peers
        .map(|(peer, collected)| (peer, collected.updates))
        .collect())
}

/// Updates of a peer so far.
#[derive(Default)]
struct Collected {
    updates: Vec<Update>,
    last: Nanos,
}

impl Collected {
    fn take(&mut self, statement: Statement, path: &Path, ports: &mut Ports) -> Result<()> {
        if statement.of_table {
            return Err(Error::usage(format!(
                "`{}` is a routing table, not updates of one",
                path.display()
            )));
        }
        let at = statement.at.map(|at| {
            self.last = self.last.max(at);
            self.last
        });
        let change = match statement.said {
            Said::Announced(prefix, next_hop) => Change::Announce(Route {
                prefix,
                port: ports.of(next_hop),
            }),
            Said::Withdrawn(prefix) => Change::Withdraw(prefix),
        };
        self.updates.push(Update { at, change });
        Ok(())
    }
}

/// Hands the statements of one peer to `take`. A file with peers is read twice, to count what each
/// says, and to take what one says: keeping what all say would need memory for the tables of all.
fn of_one_peer(
    path: &Path,
    name: Option<PeerName>,
    mut take: impl FnMut(Statement) -> Result<()>,
) -> Result<Origin> {
    let (input, format) = open(path)?;
    let mut census = Census::default();
    if format.has_peers() {
        statements(input, format, &mut |statement| {
            census.count(statement.peer);
            Ok(())
        })?;
    }
    let peer = census.chosen(name, path)?;
    let (input, format) = open(path)?;
    statements(
        input,
        format,
        &mut |statement| match statement.peer == peer {
            true => take(statement),
            false => Ok(()),
        },
    )?;
    Ok(Origin {
        path: path.to_owned(),
        format,
        peer,
        peers: census.peers(),
    })
}

/// Opens a file and recognises its format.
fn open(path: &Path) -> Result<(Input, Format)> {
    let input = Input::open(path)?;
    let format = Format::of(&input.head).ok_or_else(|| {
        Error::usage(format!(
            "the format of `{}` does not show in it; there are {}",
            path.display(),
            Format::NAMES
        ))
    })?;
    Ok((input, format))
}

/// Hands all statements of a file to `take`.
fn statements(
    input: Input,
    format: Format,
    take: &mut dyn FnMut(Statement) -> Result<()>,
) -> Result<()> {
    match format {
        Format::Mrt => mrt::read(input, take),
        Format::Ris => ris::read(input, take),
        Format::IpAsn | Format::Text => text::read(input, format, take),
    }
}
