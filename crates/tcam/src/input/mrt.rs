//! MRT, in which collectors write what their peers tell them (RFC 6396).
//!
//! Of table dumps (TABLE_DUMP, TABLE_DUMP_V2) the unicast routes are taken, of BGP4MP the unicast
//! prefixes of UPDATE messages, first those withdrawn. Sessions that end are not followed: what a
//! peer said stays.

use std::collections::HashMap;
use std::net::IpAddr;

use bgpkit_parser::models::{
    Attributes, Bgp4MpEnum, BgpMessage, BgpUpdateMessage, CommonHeader, LegacyBgp, MrtMessage,
    MrtRecord, NetworkPrefix, Nlri, Peer as IndexedPeer, RibAfiEntries, Safi, TableDumpMessage,
    TableDumpV2Message, TableDumpV2Type,
};
use bgpkit_parser::{ParserError, ParserErrorWithBytes, chunk_mrt_record};
use terrace_base::{Error, Nanos, Result};

use super::file::Input;
use super::format::MRT_HEADER;
use super::statement::{Said, Statement};
use super::{NextHop, Peer};
use crate::{Family, Prefix};

/// Hands what each record says to `take`.
pub(super) fn read(mut input: Input, take: &mut dyn FnMut(Statement) -> Result<()>) -> Result<()> {
    let mut reader = Reader::default();
    loop {
        let begin = input.position;
        let Some(record) = next(&mut input)? else {
            return Ok(());
        };
        let statements = reader.statements(record);
        for statement in statements.map_err(|what| input.corrupt(begin, &what))? {
            take(statement)?;
        }
    }
}

/// Reads the next record; `None` at the end.
fn next(input: &mut Input) -> Result<Option<MrtRecord>> {
    let begin = input.position;
    let raw = match chunk_mrt_record(input) {
        Ok(raw) => raw,
        // Nothing was read: the file ends where a record does.
        Err(_) if input.position == begin => return Ok(None),
        Err(wrong) => return Err(input.corrupt(begin, &framing(input.position - begin, &wrong))),
    };
    let parsed = raw.parse();
    parsed
        .map(Some)
        .map_err(|e| input.corrupt(begin, &format!("the MRT record there cannot be read: {e}")))
}

/// Says what is wrong with a record after so many bytes were read.
fn framing(read: u64, wrong: &ParserErrorWithBytes) -> String {
    if read < MRT_HEADER as u64 {
        return format!(
            "the file ends within the header of an MRT record: {read} bytes of {MRT_HEADER}"
        );
    }
    match &wrong.error {
        ParserError::EofExpected | ParserError::EofError(_) | ParserError::IoError(_) => {
            format!("the file ends within an MRT record, after {read} bytes of it")
        }
        ParserError::OversizedRecord { length } => {
            format!("the MRT record there says that it has {length} bytes")
        }
        other => format!("the MRT record there cannot be read: {other}"),
    }
}

/// What earlier records say of later ones.
#[derive(Default)]
struct Reader {
    /// Peers by their index in TABLE_DUMP_V2.
    peers: HashMap<u16, IndexedPeer>,
    /// The time of the first record.
    begin: Option<Nanos>,
}

type Statements = std::result::Result<Vec<Statement>, String>;

impl Reader {
    fn statements(&mut self, record: MrtRecord) -> Statements {
        let time = time(&record.common_header);
        let begin = *self.begin.get_or_insert(time);
        let at = time.saturating_sub(begin);
        match record.message {
            MrtMessage::TableDumpMessage(entry) => of_table_dump(entry).map(|said| vec![said]),
            MrtMessage::TableDumpMessageBatch(entries) => {
                entries.into_iter().map(of_table_dump).collect()
            }
            MrtMessage::TableDumpV2Message(TableDumpV2Message::PeerIndexTable(table)) => {
                self.peers = table.id_peer_map;
                Ok(Vec::new())
            }
            MrtMessage::TableDumpV2Message(TableDumpV2Message::RibAfi(entries)) => {
                self.of_rib(entries)
            }
            MrtMessage::Bgp4Mp(Bgp4MpEnum::Message(message)) => {
                let peer = Peer {
                    address: message.peer_ip,
                    system: message.peer_asn.into(),
                };
                of_message(message.bgp_message, peer, at)
            }
            MrtMessage::LegacyBgp(LegacyBgp::Message(message)) => {
                let peer = Peer {
                    address: message.peer_ip,
                    system: message.peer_asn.into(),
                };
                of_message(message.bgp_message, peer, at)
            }
            // Other families, where peers are, and changes of sessions.
            _ => Ok(Vec::new()),
        }
    }

    /// Reads the routes of all peers to one prefix.
    fn of_rib(&self, entries: RibAfiEntries) -> Statements {
        use TableDumpV2Type::{
            RibIpv4Unicast, RibIpv4UnicastAddPath, RibIpv6Unicast, RibIpv6UnicastAddPath,
        };
        let unicast = [
            RibIpv4Unicast,
            RibIpv4UnicastAddPath,
            RibIpv6Unicast,
            RibIpv6UnicastAddPath,
        ];
        if !unicast.contains(&entries.rib_type) {
            return Ok(Vec::new());
        }
        let prefix = prefix(&entries.prefix)?;
        let routes = entries.rib_entries.into_iter().map(|entry| {
            let peer = self.peers.get(&entry.peer_index).ok_or_else(|| {
                format!("it names peer {}, whom no record lists", entry.peer_index)
            })?;
            let next_hop = next_hop(&entry.attributes, prefix)?;
            Ok(Statement {
                peer: Some(Peer {
                    address: peer.peer_ip,
                    system: peer.peer_asn.into(),
                }),
                at: None,
                of_table: true,
                said: Said::Announced(prefix, next_hop),
            })
        });
        routes.collect()
    }
}

/// Returns the time of a record since 1970.
fn time(header: &CommonHeader) -> Nanos {
    let microseconds = u64::from(header.microsecond_timestamp.unwrap_or(0));
    Nanos(u64::from(header.timestamp) * 1_000_000_000 + microseconds * 1_000)
}

fn of_table_dump(entry: TableDumpMessage) -> std::result::Result<Statement, String> {
    let prefix = prefix(&entry.prefix)?;
    Ok(Statement {
        peer: Some(Peer {
            address: entry.peer_ip,
            system: entry.peer_asn.into(),
        }),
        at: None,
        of_table: true,
        said: Said::Announced(prefix, next_hop(&entry.attributes, prefix)?),
    })
}

/// Reads a message of BGP; an UPDATE names routes.
fn of_message(message: BgpMessage, peer: Peer, at: Nanos) -> Statements {
    let BgpMessage::Update(update) = message else {
        return Ok(Vec::new());
    };
    let said = changes(&update)?.into_iter();
    Ok(said
        .map(|said| Statement {
            peer: Some(peer),
            at: Some(at),
            of_table: false,
            said,
        })
        .collect())
}

/// Returns what an UPDATE withdraws, then what it announces (RFC 4271, 4.3, and RFC 4760).
fn changes(update: &BgpUpdateMessage) -> std::result::Result<Vec<Said>, String> {
    let attributes = &update.attributes;
    let unicast = |nlri: &&Nlri| nlri.safi == Safi::Unicast;
    let gone = attributes.get_unreachable_nlri().filter(unicast);
    let come = attributes.get_reachable_nlri().filter(unicast);
    let mut changes = Vec::new();
    for prefixes in [
        Some(&update.withdrawn_prefixes),
        gone.map(|nlri| &nlri.prefixes),
    ] {
        for withdrawn in prefixes.into_iter().flatten() {
            changes.push(Said::Withdrawn(prefix(withdrawn)?));
        }
    }
    for prefixes in [
        Some(&update.announced_prefixes),
        come.map(|nlri| &nlri.prefixes),
    ] {
        for announced in prefixes.into_iter().flatten() {
            let prefix = prefix(announced)?;
            changes.push(Said::Announced(prefix, next_hop(attributes, prefix)?));
        }
    }
    Ok(changes)
}

/// Returns the next hop of a prefix: IPv4 has the attribute NEXT_HOP, other families have it in
/// MP_REACH_NLRI, as IPv4 may. An entry without one is damaged, although the rest of it may be
/// readable.
fn next_hop(attributes: &Attributes, prefix: Prefix) -> std::result::Result<NextHop, String> {
    let beside = attributes.get_reachable_nlri();
    let beside = beside.and_then(|nlri| nlri.next_hop.as_ref());
    let beside: Option<IpAddr> = beside.map(|next_hop| next_hop.addr());
    let found = match prefix.family() {
        Family::V4 => attributes.next_hop().or(beside),
        Family::V6 => beside,
    };
    found
        .map(NextHop::Address)
        .ok_or_else(|| format!("the MRT record there has no next hop for {prefix}; it is damaged"))
}

fn prefix(found: &NetworkPrefix) -> std::result::Result<Prefix, String> {
    let prefix = Prefix::new(found.prefix.addr(), found.prefix.prefix_len());
    prefix.map_err(|e: Error| e.to_string())
}
