//! Formats of other simulators and of profilers, built here by their documented layouts.

use tempfile::TempDir;

use crate::common::command::{number, simulate, terrace, text};
use crate::{info, written};

const MAGIC: u64 = 0x1234_5678_9abc_def0;

/// An lcs trace: requests are `(id, size, op)`.
pub fn lcs(version: u64, header: usize, requests: &[(u64, u64, u8)]) -> Vec<u8> {
    let mut bytes = vec![0; header];
    bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
    bytes[8..16].copy_from_slice(&version.to_le_bytes());
    bytes[24..32].copy_from_slice(&(requests.len() as u64).to_le_bytes());
    bytes[header - 8..].copy_from_slice(&MAGIC.to_le_bytes());
    for (id, size, op) in requests {
        bytes.extend(5_u32.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        match version {
            1 | 2 => bytes.extend((*size as u32).to_le_bytes()),
            _ => bytes.extend(size.to_le_bytes()),
        }
        if version >= 2 {
            bytes.extend([*op, 1, 2, 3]);
        }
        if version >= 3 {
            bytes.extend(60_u32.to_le_bytes());
        }
        bytes.extend((-1_i64).to_le_bytes());
        let features = [0, 0, 0, 0, 1, 2, 4, 8, 16][version as usize];
        bytes.extend(vec![7; 4 * features]);
    }
    bytes
}

/// Commands of a virtual disk: `(cmd, block, bytes)`.
pub fn vscsi(version: u8, commands: &[(u16, u64, u32)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, (cmd, block, len)) in (0_u32..).zip(commands) {
        let head = [cmd.to_le_bytes(), [3, version]].concat();
        let rest = [number.to_le_bytes(), len.to_le_bytes(), 1_u32.to_le_bytes()].concat();
        let (first, second) = match version {
            1 => (&rest, &head),
            _ => (&head, &rest),
        };
        bytes.extend(first);
        bytes.extend(second);
        bytes.extend(block.to_le_bytes());
        bytes.extend(9_u64.to_le_bytes());
        if version == 2 {
            bytes.extend(8_u64.to_le_bytes());
        }
    }
    bytes
}

const REQUESTS: [(u64, u64, u8); 4] = [(7, 100, 1), (9, 9000, 3), (7, 100, 9), (9, 9000, 2)];

#[test]
fn lcs_is_read_in_all_versions() {
    let directory = TempDir::new().unwrap();
    for (version, header) in [(1, 1024), (2, 1024)]
        .into_iter()
        .chain((1..=8).map(|version| (version, 8192)))
    {
        let trace = written(&directory, "a", lcs(version, header, &REQUESTS));
        let found = info(&[&trace]);
        assert_eq!(found["format"], "lcs");
        // Version 1 does not say what requests do.
        let (accesses, writes) = if version == 1 { (4, 0) } else { (3, 1) };
        assert_eq!(found["accesses"], accesses, "{version}");
        assert_eq!(found["writes"], writes, "{version}");
        assert_eq!(found["pages"], 1 + 3, "{version}");
        let deleted = &found["read_as"]["counted"][0]["count"];
        assert_eq!(*deleted == 1, version > 1, "{version}");
        assert_eq!(info(&["--keys", &trace])["pages"], 2);
    }
}

#[test]
fn lcs_means_what_the_same_requests_mean_in_other_formats() {
    let directory = TempDir::new().unwrap();
    let requests: Vec<(u64, u64, u8)> =
        (0..2000).map(|n| (n * n % 1009 % 39, 102_400, 1)).collect();
    let rows = requests
        .iter()
        .map(|(id, size, _)| format!("{id},{size}\n"));
    let csv = format!("key,size\n{}", rows.collect::<String>());
    let csv = written(&directory, "a.csv", csv);
    let lcs = written(&directory, "a.lcs", lcs(3, 8192, &requests));
    let hits = |trace: &str| {
        let found = simulate("files", &["-q", "--dram", "1M", trace]);
        number(&found["runs"][0], "dram_hit_rate")
    };
    assert_eq!(hits(&lcs), hits(&csv));
}

#[test]
fn vscsi_is_read_in_both_versions() {
    let directory = TempDir::new().unwrap();
    // A page, two halves of two pages, the same again, and a flush of the disk.
    let commands = [
        (0x28, 0, 4096),
        (0x2a, 4, 4096),
        (0x88, 4, 4096),
        (0x35, 0, 0),
    ];
    for version in [1, 2] {
        let trace = written(&directory, "a", vscsi(version, &commands));
        let found = info(&[&trace]);
        assert_eq!(found["format"], "vscsi");
        assert_eq!(
            (&found["accesses"], &found["writes"]),
            (&3.into(), &1.into())
        );
        assert_eq!(
            (&found["pages"], &found["page_touches"]),
            (&2.into(), &5.into())
        );
        let counted = &found["read_as"]["counted"][0];
        assert_eq!(counted["count"], 1);
        assert!(
            counted["what"]
                .as_str()
                .unwrap()
                .contains("neither read nor write")
        );
        assert_eq!(info(&["--keys", &trace])["pages"], 2);
    }
}

const SCRIPT: &str = "\
# ========
# captured on: Fri Nov 27 2026
redis 12/13 [000] 1.5: 10 cpu/mem-loads/: 7f0000001008 10268100142 |OP LOAD|LVL L1 hit|\n\
redis 12/14 [001] 1.6: 10 cpu/mem-stores/: 7f0000002010 5080144 |OP STORE|LVL L1 hit|\n\
\t            55d0aa main+0x1 (/bin/a)\n\
\n\
other 15/15 [001] 1.7: 10 page-faults: 7f0000001008 55d0aa main\n\
other 15/15 [001] 1.8: 10 cpu/mem-loads/: 0 5080144 |OP LOAD|LVL N/A|\n";
const RAW: &str = "\
# PID, TID, IP, ADDR, LOCAL WEIGHT, DSRC, SYMBOL
   12    13 0x55d0aa 0x00007f0000001008     0 0x5080142 /bin/a:main
   12    14 0x55d0aa 0x00007f0000002010     9 0x5080144 /bin/a:main
   15    15 0x55d0aa 0x00007f0000001008     9 0x5080141 ???:???
   15    15 0x55d0aa 0x0000000000000000     9 0x5080142 ???:???
";

#[test]
fn text_of_perf_is_read_with_addresses() {
    let directory = TempDir::new().unwrap();
    let physical = RAW
        .replace("ADDR, LOCAL", "ADDR, PHYS ADDR, LOCAL")
        .replace(" 0x0000", " 0x00007f0000009000 0x0000");
    for (text, left_out) in [
        (SCRIPT.to_owned(), 4),
        (RAW.to_owned(), 0),
        (
            RAW.replace("    ", " ")
                .replace(' ', ";")
                .replace(";;", ";"),
            0,
        ),
    ] {
        // The head keeps its commas.
        let text = match text.strip_prefix("#;PID") {
            Some(rest) => {
                let rest = rest.split_once('\n').unwrap().1;
                let rest: Vec<&str> = rest
                    .lines()
                    .map(|line| line.trim_start_matches(';'))
                    .collect();
                let head = RAW.lines().next().unwrap();
                format!("{head}\n{}\n", rest.join("\n"))
            }
            None => text,
        };
        let trace = written(&directory, "a", &text);
        let found = info(&[&trace]);
        assert_eq!(found["format"], "perf", "{text}");
        let figures = ["accesses", "writes", "pages", "processes", "threads"];
        let figures = figures.map(|key| number(&found, key) as u64);
        assert_eq!(figures, [3, 1, 3, 2, 3], "{text}");
        let counted = found["read_as"]["counted"].as_array().unwrap();
        let count = |what: &str| {
            let named = |one: &&serde_json::Value| one["what"].as_str().unwrap().contains(what);
            counted
                .iter()
                .find(named)
                .map_or(0, |one| one["count"].as_u64().unwrap())
        };
        assert_eq!(count("have no address"), 1, "{counted:?}");
        assert_eq!(count("neither load nor store"), 1, "{counted:?}");
        assert_eq!(count("comments, empty"), left_out, "{counted:?}");
    }
    let found = info(&[&written(&directory, "a", physical)]);
    assert_eq!(found["accesses"], 4, "the address is the virtual one");
}

#[test]
fn wrong_files_of_these_formats_are_refused_with_the_place() {
    let directory = TempDir::new().unwrap();
    let whole = lcs(2, 8192, &REQUESTS);
    let mut older = whole.clone();
    older[8..16].copy_from_slice(b"<IQIq\0\0\0");
    older[8184..8192].fill(0);
    let mut later = whole.clone();
    later[8] = 9;
    let mut negative = lcs(3, 8192, &REQUESTS);
    negative[8192 + 19] = 0x80;
    let mut mixed = vscsi(2, &[(0x28, 0, 4096); 3000]);
    mixed[40 * 2999 + 3] = 1;
    let far = vscsi(2, &[(0x28, u64::MAX, 4096)]);
    for (name, bytes, says) in [
        (
            "cut within a request",
            &whole[..whole.len() - 3],
            "within a request: 25 bytes of 28",
        ),
        (
            "cut between requests",
            &whole[..whole.len() - 28],
            "3 requests, and its header says 4",
        ),
        ("cut within the header", &whole[..5000], "has no end"),
        ("before version 1", &older[..], "before version 1"),
        (
            "after version 8",
            &later,
            "version 9; versions 1 to 8 are read",
        ),
        (
            "negative size",
            &negative,
            "the size of its object is negative",
        ),
        ("another version", &mixed, "it has a record of version 1"),
        ("cut vscsi", &mixed[..50], "within a record: 10 bytes of 40"),
        ("no disk", &far, "is on no disk"),
        (
            "no address",
            b"a 7 1.5: mem-loads: 1000 55d0 main\nb 7 1.5: cycles: 55d0 main (x)\n",
            "perf script -F comm,pid,tid,time,event,addr,data_src",
        ),
    ] {
        let trace = written(&directory, "a", bytes);
        let output = terrace(&["trace", "info", "-q", &trace]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(says), "{name}: {said}");
    }
}
