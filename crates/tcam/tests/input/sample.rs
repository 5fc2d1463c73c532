//! Files of each format, made by other writers than ours.

use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::sync::Arc;

use bgpkit_parser::encoder::{MrtRibEncoder, MrtUpdatesEncoder};
use bgpkit_parser::models::{
    Asn, AttributeValue, Attributes, BgpElem, CommonHeader, ElemType, EntryType, MrtMessage,
    MrtRecord, NetworkPrefix, TableDumpMessage,
};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;
use terrace_base::Result;
use terrace_tcam::input::{self, PeerName, Ports, Table, Updates};
use terrace_tcam::{Change, Prefix};

/// What a peer says: who, when (seconds), of which prefix, and its next hop unless it withdraws it.
#[derive(Clone, Debug)]
pub struct Said {
    pub peer: (IpAddr, u32),
    pub at: f64,
    pub prefix: Prefix,
    pub next_hop: Option<IpAddr>,
}

impl Said {
    pub fn new(peer: &str, at: f64, prefix: &str, next_hop: Option<&str>) -> Self {
        let address: IpAddr = peer.parse().unwrap();
        let last = match address {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(address) => address.octets()[15],
        };
        Self {
            peer: (address, 64_500 + u32::from(last)),
            at,
            prefix: prefix.parse().unwrap(),
            next_hop: next_hop.map(|address| address.parse().unwrap()),
        }
    }

    fn element(&self) -> BgpElem {
        BgpElem {
            timestamp: 1.4e9 + self.at,
            elem_type: match self.next_hop {
                Some(_) => ElemType::ANNOUNCE,
                None => ElemType::WITHDRAW,
            },
            peer_ip: self.peer.0,
            peer_asn: Asn::new_32bit(self.peer.1),
            prefix: network(self.prefix),
            next_hop: self.next_hop,
            as_path: Some(bgpkit_parser::models::AsPath::from_sequence([
                64_496, 64_497,
            ])),
            ..BgpElem::default()
        }
    }
}

fn network(prefix: Prefix) -> NetworkPrefix {
    prefix.to_string().parse().unwrap()
}

/// TABLE_DUMP_V2.
pub fn rib(all: &[Said]) -> Vec<u8> {
    let mut encoder = MrtRibEncoder::new();
    for said in all {
        encoder.process_elem(&said.element()).unwrap();
    }
    encoder.export_bytes().unwrap().to_vec()
}

/// BGP4MP.
pub fn bgp4mp(all: &[Said]) -> Vec<u8> {
    let mut encoder = MrtUpdatesEncoder::new();
    for said in all {
        encoder.process_elem(&said.element());
    }
    encoder.export_bytes().unwrap().to_vec()
}

/// TABLE_DUMP.
pub fn table_dump(all: &[Said]) -> Vec<u8> {
    let record = |said: &Said| {
        let values = [
            AttributeValue::Origin(bgpkit_parser::models::Origin::IGP),
            AttributeValue::NextHop(said.next_hop.unwrap()),
        ];
        let entry = TableDumpMessage {
            view_number: 0,
            sequence_number: 0,
            prefix: network(said.prefix),
            status: 1,
            originated_time: 0,
            peer_ip: said.peer.0,
            peer_asn: Asn::new_16bit(said.peer.1 as u16),
            attributes: values.into_iter().collect::<Attributes>(),
        };
        let message = MrtMessage::TableDumpMessage(entry);
        let length = message.encode(1).unwrap().len() as u32;
        let common_header = CommonHeader {
            timestamp: 1_400_000_000,
            microsecond_timestamp: None,
            entry_type: EntryType::TABLE_DUMP,
            entry_subtype: 1,
            length,
        };
        MrtRecord {
            common_header,
            message,
        }
        .encode()
        .unwrap()
        .to_vec()
    };
    all.iter().flat_map(record).collect()
}

/// A Parquet file with a column of these names for each text of a row.
pub fn parquet(columns: &[&str], rows: &[Vec<&str>]) -> Vec<u8> {
    let declared = columns
        .iter()
        .map(|name| format!("optional binary {name} (UTF8);"));
    let schema = format!("message schema {{ {} }}", declared.collect::<String>());
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = file.next_row_group().unwrap();
    for place in 0..columns.len() {
        let mut column = group.next_column().unwrap().unwrap();
        let values: Vec<ByteArray> = rows.iter().map(|row| ByteArray::from(row[place])).collect();
        let ColumnWriter::ByteArrayColumnWriter(writer) = column.untyped() else {
            unreachable!("a column of texts")
        };
        let present = vec![1; rows.len()];
        writer.write_batch(&values, Some(&present), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Reads bytes as a table.
pub fn table(bytes: &[u8], peer: Option<PeerName>) -> Result<(Table, Ports)> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t");
    fs::write(&path, bytes).unwrap();
    let mut ports = Ports::default();
    input::table(&path, peer, &mut ports).map(|table| (table, ports))
}

/// Reads bytes as updates.
pub fn updates(bytes: &[u8], peer: Option<PeerName>) -> Result<(Updates, Ports)> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("u");
    fs::write(&path, bytes).unwrap();
    let mut ports = Ports::default();
    input::updates(&path, peer, &mut ports).map(|updates| (updates, ports))
}

/// Writes a table as text.
pub fn routes((table, ports): &(Table, Ports)) -> Vec<String> {
    let routes = table.routes.iter();
    routes
        .map(|route| format!("{} {}", route.prefix, ports.next_hop(route.port).unwrap()))
        .collect()
}

/// Writes updates as text.
pub fn changes((updates, ports): &(Updates, Ports)) -> Vec<String> {
    let line = |update: &terrace_tcam::Update| {
        let at = update
            .at
            .map_or(String::new(), |at| format!("{} ", at.seconds()));
        match update.change {
            Change::Announce(route) => {
                format!(
                    "{at}+ {} {}",
                    route.prefix,
                    ports.next_hop(route.port).unwrap()
                )
            }
            Change::Withdraw(prefix) => format!("{at}- {prefix}"),
        }
    };
    updates.updates.iter().map(line).collect()
}
