//! Tables whose first line does not say what the columns hold, and keys that are called addresses.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::command::{file, number, simulate, terrace, text};
use crate::{done, info, written};

const MSR: &str = "128166372003061629,hm,1,Read,383496192,32768,413\n\
                   128166372016382155,hm,1,Write,2822144,65536,133\n\
                   128166372026382245,hm,0,Read,2822144,4096,133\n";
const TWITTER: &str = "0,nz:u:eeW511W3dcH3de3d15ec,22,304,1,get,0\n\
                       0,nz:u:eeW511W3dcH3d6d15ec,22,4304,1,set,86400\n\
                       1,nz:u:eeW511W3dcH3de3d15ec,22,304,2,gets,0\n\
                       2,nz:u:eeW511W3dcH3de3d15ec,22,0,2,delete,0\n";
const META: &str = "key,op,size,op_count,key_size\n\
                    1668757755,SET,82,1,40\n\
                    1665497896,GET,8192,18,78\n\
                    82131353f9ddc8c6,GET_LEASE,0,2,40\n\
                    1668757755,DELETE,0,1,40\n";
const LIBCACHESIM: &str = "version,time,op,size,lbn\n1,33898,2a,512,42932745\n\
                           1,33898,28,6656,40409911\n1,33899,28,512,42932745\n";

/// Accesses, writes, pages and touches of pages.
fn figures(found: &Value) -> [u64; 4] {
    ["accesses", "writes", "pages", "page_touches"].map(|key| number(found, key) as u64)
}

#[test]
fn known_layouts_are_read_as_what_they_are() {
    let directory = TempDir::new().unwrap();
    for (layout, text, expected, counted) in [
        ("msr", MSR, [3, 1, 8 + 16 + 1, 8 + 16 + 1], json!([])),
        (
            "twitter",
            TWITTER,
            [3, 1, 3, 4],
            json!([
                {"count": 1, "what": "requests delete an object, and were left out"},
                {"count": 2, "what": "names of objects are no numbers below 2^63, and were \
                                      numbered in the order of appearance"},
            ]),
        ),
        (
            "meta",
            META,
            [21, 1, 1 + 3 + 1, 1 + 18 * 3 + 2],
            json!([
                {"count": 1, "what": "names of objects are no numbers below 2^63, and were \
                                      numbered in the order of appearance"},
                {"count": 1, "what": "requests delete an object, and were left out"},
            ]),
        ),
        ("libcachesim", LIBCACHESIM, [3, 1, 3, 4], json!([])),
    ] {
        let trace = written(&directory, "some-trace", text);
        let found = info(&["--columns", layout, &trace]);
        assert_eq!(figures(&found), expected, "{layout}");
        assert_eq!(found["about"][0]["value"], layout);
        let mut all = found["read_as"]["counted"].clone();
        // That the first line has names is a count, where columns are numbers.
        let all = all.as_array_mut().unwrap();
        all.retain(|one| !one["what"].as_str().unwrap().contains("names of columns"));
        all.sort_by_key(|one| one["what"].as_str().map(str::to_owned));
        let mut counted = counted;
        let sorted = counted.as_array_mut().unwrap();
        sorted.sort_by_key(|one| one["what"].as_str().map(str::to_owned));
        assert_eq!(all, sorted, "{layout}");
    }
}

#[test]
fn a_header_tells_the_layout() {
    let directory = TempDir::new().unwrap();
    let headed = |header: &str, text: &str| format!("{header}\n{text}");
    let msr = headed(
        "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
        MSR,
    );
    let twitter = headed("timestamp,key,keysize,valuesize,client,op,ttl", TWITTER);
    for (layout, text) in [
        ("msr", &*msr),
        ("twitter", &twitter),
        ("meta", META),
        ("libcachesim", LIBCACHESIM),
    ] {
        let trace = written(&directory, "some-trace", text);
        let (found, said) = (info(&[&trace]), info(&["--columns", layout, &trace]));
        assert_eq!(found["about"][0]["value"], layout);
        assert_eq!(figures(&found), figures(&said), "{layout}");
    }
}

#[test]
fn columns_are_said_one_by_one() {
    let directory = TempDir::new().unwrap();
    let rows = "7;a;9000;w\n8;b;10;get\n9;a;9000;r\n";
    let plain = written(&directory, "plain", rows);
    let named = written(&directory, "named", format!("when;what;size;does\n{rows}"));
    let comma = written(&directory, "comma", rows.replace(';', ","));
    for (trace, columns) in [
        (&plain, "time=1,object=2,size=3,op=4"),
        (&named, "time=when,object=what,size=size,op=does"),
        (&named, "time=1,object=2,size=3,op=4"),
        (&comma, "op=4,size=3,object=2"),
    ] {
        let found = info(&["--columns", columns, trace]);
        assert_eq!(figures(&found), [3, 1, 4, 7], "{columns}");
    }
    let found = info(&["--columns", "time=1,object=2,size=3,op=4", &named]);
    assert_eq!(found["read_as"]["columns"], json!(["what", "size", "does"]));
    assert_eq!(found["read_as"]["ignored"], json!(["when"]));
    assert_eq!(found["read_as"]["counted"][0]["count"], 1);
    let found = info(&["--columns", "object=2", &plain]);
    let expected = json!(["column 1", "column 3", "column 4"]);
    assert_eq!(found["read_as"]["ignored"], expected);
}

#[test]
fn what_shows_no_columns_is_pointed_to_them() {
    let directory = TempDir::new().unwrap();
    for (name, text, says) in [
        ("a", MSR, "it looks like msr: --columns msr"),
        ("a.csv", MSR, "the name of a layout"),
        ("a", TWITTER, "it looks like twitter: --columns twitter"),
        ("a", "1,2,3\n", "--columns time=1,object=2,size=3,op=4"),
        ("a.csv", "1,2,3\n", "libcachesim, msr, twitter, meta"),
        ("a.csv", "time,id\n1,2\n", "--columns time=1"),
    ] {
        let trace = written(&directory, name, text);
        let output = terrace(&["trace", "info", "-q", &trace]);
        let said = crate::text(&output.stderr);
        assert!(!output.status.success(), "{text}");
        assert!(said.contains(says) && said.contains("--columns"), "{said}");
    }
    let trace = written(&directory, "a.parquet", "PAR1\0\0\0");
    let output = terrace(&["trace", "info", "--columns", "msr", &trace]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("what the columns of a csv hold"), "{said}");
}

#[test]
fn every_command_that_reads_traces_takes_columns() {
    let directory = TempDir::new().unwrap();
    let trace = written(&directory, "msr", MSR);
    let words = written(&directory, "words", "7,4096,w\n9,8192,r\n12,4096,r\n");
    let out = file(&directory, "out.parquet");
    let (msr, columns) = (
        ["--columns", "msr"],
        ["--columns", "instruction=1,address=2,op=3"],
    );
    for command in [
        &["sim", "pages", "-q", "--dram", "1M"][..],
        &["sim", "files", "-q", "--dram", "1M"],
        &["sim", "curve", "-q"],
        &[
            "sweep",
            "-q",
            "--dram",
            "1M",
            "-o",
            &file(&directory, "swept"),
        ],
        &["trace", "info", "-q"],
    ] {
        done(&[command, &msr, &[&*trace]].concat());
    }
    for command in [
        &["sim", "llc", "-q"][..],
        &["sim", "mix", "-q", "--time", "1us", "--warmup", "1us"],
    ] {
        done(&[command, &columns, &[&*words]].concat());
    }
    done(&["trace", "convert", "-q", "--columns", "msr", &trace, &out]);
    assert_eq!(
        figures(&info(&[&out])),
        figures(&info(&["--columns", "msr", &trace]))
    );
}

#[test]
fn requests_to_a_disk_may_be_of_any_size_and_stay_so() {
    let directory = TempDir::new().unwrap();
    let csv = written(
        &directory,
        "a.csv",
        "offset,size,op\n0,4194304,r\n8192,1,w\n",
    );
    assert_eq!(figures(&info(&[&csv])), [2, 1, 1024, 1025]);
    let parquet = file(&directory, "a.parquet");
    done(&["trace", "convert", "-q", &csv, &parquet]);
    assert_eq!(figures(&info(&[&parquet])), [2, 1, 1024, 1025]);
    assert_eq!(info(&[&parquet])["read_as"]["unit"], "bytes");
}

#[test]
fn keys_that_are_called_addresses_are_noticed() {
    let directory = TempDir::new().unwrap();
    let rows: String = (0..40_000_u64)
        .map(|n| format!("{n},{}\n", n * n % 9_973))
        .collect();
    let csv = written(&directory, "a.csv", format!("timestamp,address\n{rows}"));
    let output = done(&["sim", "pages", "--dram", "16K", &csv]);
    let said = text(&output.stderr);
    assert!(
        said.contains("4987 different addresses lie in few pages"),
        "{said}"
    );
    assert!(said.contains("say --keys"), "{said}");
    let quiet = simulate("pages", &["-q", "--dram", "16K", &csv]);
    let expected = json!([{"trace": csv, "count": 4987, "what": quiet["counted"][0]["what"]}]);
    assert_eq!(quiet["counted"], expected);
    for what in ["curve", "files"] {
        let found = simulate(what, &["-q", "--dram", "16K", &csv]);
        assert_eq!(found["counted"], expected, "{what}");
    }
    assert_eq!(info(&[&csv])["read_as"]["counted"][0]["count"], 4987);
    let keys = simulate("pages", &["-q", "--keys", "--dram", "16K", &csv]);
    assert_eq!(keys["counted"], json!([]));
    // The trace of a program is left alone, in any form.
    let program = file(&directory, "matmul.parquet");
    done(&[
        "trace",
        "gen",
        "matmul",
        "--footprint",
        "1M",
        "--accesses",
        "20K",
        "-q",
        "-o",
        &program,
    ]);
    let table = file(&directory, "matmul.csv");
    done(&["trace", "convert", "-q", &program, &table]);
    assert_eq!(info(&[&table])["read_as"]["counted"], json!([]));
}

#[test]
fn what_is_read_otherwise_is_said_by_every_simulation() {
    let directory = TempDir::new().unwrap();
    let trace = written(&directory, "t", TWITTER);
    for (what, options) in [
        ("pages", &["--dram", "1M"][..]),
        ("pages", &["--dram", "50%"]),
        ("files", &["--dram", "1M"]),
        ("curve", &[]),
    ] {
        let all = [options, &["--columns", "twitter", &trace]].concat();
        let found = simulate(what, &all);
        let counted = found["counted"].as_array().unwrap();
        assert_eq!(counted.len(), 2, "{what}: {counted:?}");
        assert!(counted.iter().all(|one| one["trace"] == *trace), "{what}");
        let said = text(&done(&[&["sim", what], &all[..]].concat()).stderr);
        assert!(
            said.contains("1 requests delete an object, and were left out"),
            "{said}"
        );
    }
    let json = file(&directory, "swept.json");
    let output = file(&directory, "swept");
    let sweep = [
        "sweep",
        "--dram",
        "1M",
        "--columns",
        "twitter",
        "-o",
        &output,
    ];
    let said = text(&done(&[&sweep[..], &["--json", &json, &trace]].concat()).stderr);
    assert!(said.contains("1 requests delete an object"), "{said}");
    let found: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(found["counted"].as_array().unwrap().len(), 2);
    // Lines of valgrind's own are counted also where a trace begins again.
    let lackey = written(
        &directory,
        "l",
        "==7== Lackey\nI  400,3\n L 1000,8\n S 2000,8\n",
    );
    for (what, options) in [
        ("llc", &[][..]),
        ("mix", &["--time", "1us", "--warmup", "1us"]),
    ] {
        let all = [options, &["-q", &lackey]].concat();
        let found = simulate(what, &all);
        assert_eq!(
            found["counted"][0]["count"], 1,
            "{what}: {}",
            found["counted"]
        );
        let said = text(&done(&[&["sim", what], options, &[&*lackey]].concat()).stderr);
        assert!(
            said.contains("1 lines are valgrind's own"),
            "{what}: {said}"
        );
    }
}

#[test]
fn what_other_commands_write_into_csv_is_counted_too() {
    let directory = TempDir::new().unwrap();
    let (csv, requests) = (file(&directory, "a.csv"), file(&directory, "requests.csv"));
    let generate = [
        "trace",
        "gen",
        "gups",
        "--footprint",
        "1M",
        "--accesses",
        "2K",
    ];
    let said = text(&done(&[&generate[..], &["-o", &csv]].concat()).stderr);
    let keys = "keys of the metadata said: its format has no room for that";
    assert!(said.contains(keys), "{said}");
    let quiet = done(&[&generate[..], &["-q", "-o", &csv]].concat());
    assert!(quiet.stderr.is_empty(), "{}", text(&quiet.stderr));
    let llc = [
        "sim",
        "llc",
        "--json=-",
        "--policy",
        "lru",
        "--requests",
        &requests,
        &csv,
    ];
    let output = done(&llc);
    let said = text(&output.stderr);
    assert!(
        said.contains("requests.csv` does not say") && said.contains(keys),
        "{said}"
    );
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["lost"][0]["kind"], "about");
}

#[test]
fn a_conversion_says_in_json_what_it_counted() {
    let directory = TempDir::new().unwrap();
    let trace = written(&directory, "t", TWITTER);
    let (out, json) = (
        file(&directory, "o.oracleGeneral"),
        file(&directory, "o.json"),
    );
    let convert = ["trace", "convert", "--columns", "twitter", &trace, &out];
    done(&[&convert[..], &["--json", &json]].concat());
    let found: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(found["schema"], "terrace.convert/1");
    assert_eq!(found["accesses"], 3);
    assert_eq!(found["counted"].as_array().unwrap().len(), 2);
    let lost = found["lost"].as_array().unwrap();
    let kinds: Vec<&str> = lost
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert!(
        kinds.contains(&"writes") && kinds.contains(&"crossings"),
        "{kinds:?}"
    );
    let piped = done(&[&convert[..], &["-q", "--json"]].concat());
    let same: Value = serde_json::from_slice(&piped.stdout).unwrap();
    assert_eq!(same, found);
}
