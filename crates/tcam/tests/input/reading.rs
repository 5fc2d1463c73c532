use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use proptest::prelude::*;
use terrace_tcam::input::Format;
use terrace_tcam::{Family, Prefix};

use crate::sample::*;

#[test]
fn a_text_is_a_table_by_prefix() {
    let text = b"# ports\r\n10.1.0.0/16 eth1\n\n10.0.0.0/8\tfast lane\n";
    let error = table(text, None).unwrap_err().to_string();
    assert!(error.contains("wrong in line 4"), "{error}");
    let text = b"# ports\r\n10.1.0.0/16 eth1\n\n10.0.0.0/8\t192.0.2.1\n10.1.0.0/16 eth0\n::/0 eth1";
    let read = table(text, None).unwrap();
    assert_eq!(
        routes(&read),
        ["10.0.0.0/8 192.0.2.1", "10.1.0.0/16 eth0", "::/0 eth1"]
    );
    assert_eq!(
        read.0.routes[2].port,
        terrace_tcam::Port(0),
        "ports are numbered as they come up"
    );
    assert_eq!(
        (read.0.origin.format, read.0.origin.peer),
        (Format::Text, None)
    );
}

#[test]
fn a_text_is_updates_in_its_order() {
    let text = b"0 + 10.0.0.0/8 a\n0.25 - 10.0.0.0/8\n0.250000001 + 10.0.0.0/8 b\n";
    let read = updates(text, None).unwrap();
    assert_eq!(
        changes(&read),
        [
            "0 + 10.0.0.0/8 a",
            "0.25 - 10.0.0.0/8",
            "0.250000001 + 10.0.0.0/8 b"
        ]
    );
    assert_eq!(changes(&updates(b"- ::/0\n", None).unwrap()), ["- ::/0"]);
    // The same text is a table as well: what is left.
    assert_eq!(routes(&table(text, None).unwrap()), ["10.0.0.0/8 b"]);
}

#[test]
fn a_wrong_text_is_wrong_in_a_line() {
    for (text, why) in [
        (
            "10.0.0.0/8 a\n10.0.0.0/33 a\n",
            "line 2: `10.0.0.0/33` is not a prefix",
        ),
        ("+ 10.0.0.0/8\n", "line 1: it is neither"),
        ("one + 10.0.0.0/8 a\n", "line 1: `one` is no time"),
        ("-1 + 10.0.0.0/8 a\n", "line 1: `-1` is no time"),
        (
            "2 + 10.0.0.0/8 a\n1 - 10.0.0.0/8\n",
            "line 2: its time is before",
        ),
        ("2 + 10.0.0.0/8 a\n- 10.0.0.0/8\n", "line 2: it has no time"),
        ("- 10.0.0.0/8\n1 - 10.0.0.0/8\n", "line 2: it has a time"),
        (
            "; IP-ASN32-DAT file\n1.0.0.0/24\tgoogle\n",
            "line 2: `google` is no number of an AS",
        ),
    ] {
        let error = table(text.as_bytes(), None).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let error = updates(b"10.0.0.0/8 a\n", None).unwrap_err().to_string();
    assert!(error.contains("is a routing table, not updates"), "{error}");
    let error = table(b"# nothing\n", None).unwrap_err().to_string();
    assert!(error.contains("has no route"), "{error}");
    let line = [&b"10.0.0.0/8 "[..], &[b'a'; 5000]].concat();
    let error = table(&line, None).unwrap_err().to_string();
    assert!(
        error.contains("wrong at offset 0: a line is too long"),
        "{error}"
    );
}

#[test]
fn a_dat_has_systems_for_ports() {
    let read = table(b"; IP-ASN32-DAT file\n; \n1.0.0.0/24\t15169\n", None).unwrap();
    assert_eq!(routes(&read), ["1.0.0.0/24 AS15169"]);
    assert_eq!(read.0.origin.format, Format::IpAsn);
}

/// What three peers say of two prefixes; the second says most.
fn of_three_peers() -> Vec<Said> {
    let next = "192.0.2.9";
    vec![
        Said::new("192.0.2.1", 0.0, "10.0.0.0/8", Some("192.0.2.1")),
        Said::new("192.0.2.2", 0.0, "10.0.0.0/8", Some(next)),
        Said::new("192.0.2.2", 1.0, "10.64.0.0/10", Some(next)),
        Said::new("192.0.2.3", 1.5, "10.64.0.0/10", Some("192.0.2.3")),
    ]
}

#[test]
fn of_several_peers_one_is_taken() {
    let all = of_three_peers();
    for bytes in [
        rib(&all),
        bgp4mp(&all),
        table_dump(&all),
        gzip(&rib(&all)),
        bzip2(&rib(&all)),
    ] {
        let read = table(&bytes, None).unwrap();
        assert_eq!(
            routes(&read),
            ["10.0.0.0/8 192.0.2.9", "10.64.0.0/10 192.0.2.9"]
        );
        assert_eq!(
            (read.0.origin.format, read.0.origin.peers),
            (Format::Mrt, 3)
        );
        assert_eq!(
            read.0.origin.peer.unwrap().to_string(),
            "192.0.2.2 (AS64502)"
        );
        for name in ["192.0.2.3", "AS64503"] {
            let read = table(&bytes, Some(name.parse().unwrap())).unwrap();
            assert_eq!(routes(&read), ["10.64.0.0/10 192.0.2.3"]);
        }
        let error = table(&bytes, Some("AS1".parse().unwrap()))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("no peer AS1; it has 192.0.2.2 (AS64502), 192.0.2.1"),
            "{error}"
        );
    }
    let text = table(b"::/0 a\n", Some("AS1".parse().unwrap()))
        .unwrap_err()
        .to_string();
    assert!(text.contains("it names no peers"), "{text}");
    assert!("AS-1".parse::<terrace_tcam::input::PeerName>().is_err());
}

#[test]
fn updates_of_a_peer_have_the_times_of_the_file() {
    let mut all = of_three_peers();
    all.push(Said::new("192.0.2.2", 0.5, "10.0.0.0/8", None));
    let read = updates(&bgp4mp(&all), None).unwrap();
    // MRT has whole seconds; a time that goes back stands still.
    assert_eq!(
        changes(&read),
        [
            "0 + 10.0.0.0/8 192.0.2.9",
            "1 + 10.64.0.0/10 192.0.2.9",
            "1 - 10.0.0.0/8"
        ]
    );
    let error = updates(&rib(&all[..4]), None).unwrap_err().to_string();
    assert!(error.contains("is a routing table"), "{error}");
}

#[test]
fn parquet_has_a_table_or_updates() {
    let bytes = parquet(&["prefix"], &[vec!["2001:db8::/32"], vec!["10.0.0.0/8"]]);
    let read = table(&bytes, None).unwrap();
    assert_eq!(
        routes(&read),
        ["10.0.0.0/8 unknown", "2001:db8::/32 unknown"]
    );
    let rows = [vec!["A", "10.0.0.0/8"], vec!["W", "10.0.0.0/8"]];
    let read = updates(&parquet(&["operation", "prefix"], &rows), None).unwrap();
    assert_eq!(changes(&read), ["+ 10.0.0.0/8 unknown", "- 10.0.0.0/8"]);
    for (columns, rows, why) in [
        (
            &["address"][..],
            vec![vec!["1"]],
            "without a column `prefix`",
        ),
        (
            &["prefix"],
            vec![vec!["::/0"], vec!["::/200"]],
            "row 1 of the columns there: `::/200` is not",
        ),
        (
            &["operation", "prefix"],
            vec![vec!["X", "::/0"]],
            "neither A nor W",
        ),
    ] {
        let error = table(&parquet(columns, &rows), None)
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// Prefixes of both families.
pub fn prefixes() -> impl Strategy<Value = Prefix> {
    let v4 = (any::<u32>(), 0u8..=32)
        .prop_map(|(bits, length)| Prefix::new(Ipv4Addr::from_bits(bits).into(), length).unwrap());
    let v6 = (any::<u128>(), 0u8..=128).prop_map(|(bits, length)| {
        Prefix::new(std::net::Ipv6Addr::from_bits(bits).into(), length).unwrap()
    });
    prop_oneof![v4, v6]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The encoder of the MRT crate is the twin; IPv6 next hops of updates and of tables are
    /// encoded differently.
    #[test]
    fn what_is_written_is_read(
        said in prop::collection::vec((prefixes(), 1u8..5, any::<bool>()), 1..40), as_table: bool,
    ) {
        let of = |(prefix, hop, gone): (Prefix, u8, bool)| {
            let next_hop = match prefix.family() {
                Family::V4 => format!("192.0.2.{hop}"),
                Family::V6 => format!("2001:db8::{hop}"),
            };
            let next_hop = (as_table || !gone).then_some(&*next_hop);
            Said::new("192.0.2.77", 0.0, &prefix.to_string(), next_hop)
        };
        let all: Vec<Said> = said.into_iter().map(of).collect();
        let mut twin = BTreeMap::new();
        for said in &all {
            match said.next_hop {
                Some(hop) => twin.insert(said.prefix, format!("{} {hop}", said.prefix)),
                None => twin.remove(&said.prefix),
            };
        }
        let bytes = if as_table { rib(&all) } else { bgp4mp(&all) };
        match table(&bytes, None) {
            Ok(read) => prop_assert_eq!(routes(&read), twin.into_values().collect::<Vec<_>>()),
            Err(error) => prop_assert!(twin.is_empty(), "{}", error),
        }
    }
}
