//! A TCAM that cannot be, and damaged tables and updates of it.

use crate::case::{Case, case};

/// A table and updates of it.
const TABLE: &str = "10.0.0.0/8 a\n10.1.0.0/16 b\n";
const UPDATES: &str = "0 + 10.2.0.0/16 b\n1 - 10.1.0.0/16\n";
const REPLAY: &str = "tcam replay --table t --updates u";

pub fn cases() -> Vec<Case> {
    let mut cases = circuits();
    cases.extend(damaged());
    cases.extend(options());
    cases
}

fn replay(name: &str, table: impl AsRef<[u8]>, updates: impl AsRef<[u8]>) -> Case {
    case(name, REPLAY).file("t", table).file("u", updates)
}

/// An MRT record whose header names a type, a subtype and a length.
fn record(kind: u8, subtype: u8, length: u32, body: &[u8]) -> Vec<u8> {
    let [a, b, c, d] = length.to_be_bytes();
    [&[0, 0, 0, 0, 0, kind, 0, subtype, a, b, c, d], body].concat()
}

/// Files that are damaged, cut short, or something else.
fn damaged() -> Vec<Case> {
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b];
    // One whole record of a kind that says nothing of routes, and five bytes of the next.
    let in_header = [record(16, 0, 2, &[0; 2]), vec![0; 5]].concat();
    // The crate that reads Parquet panics on it, which must not show.
    let panics = include_bytes!("../../../../tcam/fuzz/corpus/files/parquet-panic");
    let by_bytes: [(&str, Vec<u8>, &str); 10] = [
        (
            "mrt_cut",
            record(16, 4, 90, &[1; 40]),
            "at offset 0: the file ends within an MRT record",
        ),
        (
            "mrt_huge",
            record(13, 2, u32::MAX, &[]),
            "at offset 0: the MRT record there says that it has 4294967295",
        ),
        ("mrt_of_ones", record(16, 4, 60, &[0xff; 60]), "at offset 0"),
        ("mrt_cut_in_header", in_header, "at offset "),
        (
            "parquet_cut",
            b"PAR1".to_vec(),
            "no description of a Parquet file",
        ),
        (
            "parquet_of_ones",
            [&b"PAR1"[..], &[0xff; 64], b"PAR1"].concat(),
            "no description of a Parquet file",
        ),
        ("parquet_that_panics", panics.to_vec(), "at offset "),
        (
            "gzip_cut",
            gzip.to_vec(),
            "at offset 0 of the unpacked gzip stream",
        ),
        (
            "bzip2_of_nothing",
            b"BZh9 nothing".to_vec(),
            "at offset 0 of the unpacked bzip2 stream",
        ),
        (
            "text_cut",
            b"+ 10.0.0.0/8 a\n+ 10.1.0".to_vec(),
            "in line 2",
        ),
    ];
    let mut cases = Vec::new();
    for (name, bytes, says) in by_bytes {
        let lookup = "tcam lookup --table t 10.0.0.1";
        cases.push(
            case(format!("{name}_looked_up"), lookup)
                .file("t", &bytes)
                .failure(says),
        );
        cases.push(replay(&format!("{name}_as_table"), &bytes, UPDATES).failure(says));
        cases.push(replay(&format!("{name}_as_updates"), TABLE, &bytes).failure(says));
    }
    cases
}

/// What is asked for cannot be.
fn options() -> Vec<Case> {
    vec![
        replay("table_of_zeros", [0; 64], UPDATES).usage("does not show in it"),
        replay("table_is_empty", "", UPDATES).failure("is empty"),
        replay("updates_are_a_table", TABLE, TABLE).usage("is a routing table, not updates"),
        case("table_is_a_directory", REPLAY)
            .directory("t")
            .file("u", UPDATES)
            .failure("`t`"),
        case("no_updates", REPLAY).file("t", TABLE).failure("`u`"),
        replay("output_is_table", TABLE, UPDATES)
            .and("--json t")
            .usage("t"),
        replay("ports_that_are_known", TABLE, UPDATES)
            .and("--port-changes 0.1")
            .usage("have next hops of their own"),
        replay("more_than_all_ports", TABLE, UPDATES)
            .and("--port-changes 2")
            .usage("from 0 to 1"),
        replay("no_blocks", TABLE, UPDATES)
            .and("--blocks 0")
            .usage("0 flash blocks"),
        replay("blocks_without_end", TABLE, UPDATES)
            .and("--blocks 4294967295")
            .usage("flash blocks"),
        replay("half_a_policy", TABLE, UPDATES)
            .and("--policy unchanged+")
            .usage("no update policy"),
        replay("no_span", TABLE, UPDATES)
            .and("--span 0s")
            .usage("is not between"),
    ]
}

/// Circuits that cannot be.
fn circuits() -> Vec<Case> {
    vec![
        case("no_rows", "tcam circuit --rows 0").usage("--rows"),
        case("unequal_sections", "tcam circuit --sections 7")
            .usage("cannot have as many cells each"),
        case("gate_above_threshold", "tcam circuit --low-gate 0.8").usage("do not make a TCAM"),
        case("no_number", "tcam circuit --low-gate nan").usage("do not make a TCAM"),
        case("no_card", "tcam circuit --card nowhere.pm").failure("nowhere.pm"),
        case("card_of_zeros", "tcam circuit --card zeros.pm")
            .file("zeros.pm", [0; 4096])
            .usage("no model of an NMOS transistor"),
        case("card_is_output", "tcam circuit --card a.json --json a.json")
            .file("a.json", ".model n nmos vto=0.4")
            .usage("a.json"),
    ]
}
