//! Odd inputs, a row each: what is read of them, or the words with which they are refused.

use std::io::Write;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::command::{file, terrace, text};
use crate::{info, written};

/// What is expected of an input.
enum Expected {
    /// Accesses, pages, and words of what was counted; none where nothing was.
    Read(u64, u64, &'static str),
    /// Words of the refusal.
    Refused(&'static str),
}
use Expected::{Read, Refused};

/// A file: its name, the options with which it is read, its bytes, and what is expected.
type Row = (&'static str, &'static str, Vec<u8>, Expected);

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip");
    let gzip = gzip.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = gzip.spawn().expect("gzip runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(bytes).expect("gzip reads");
    drop(pipe);
    child.wait_with_output().expect("gzip ends").stdout
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    let bytes = |unit: u16| {
        if big {
            unit.to_be_bytes()
        } else {
            unit.to_le_bytes()
        }
    };
    units.flat_map(bytes).collect()
}

fn check(rows: Vec<Row>) {
    let directory = TempDir::new().unwrap();
    for (name, options, bytes, expected) in rows {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        let trace = written(&directory, name, bytes);
        let words: Vec<&str> = options.split_whitespace().chain([&*trace]).collect();
        match expected {
            Read(accesses, pages, counted) => {
                let found = info(&words);
                let figures = (&found["accesses"], &found["pages"]);
                assert_eq!(figures, (&accesses.into(), &pages.into()), "{shown}");
                let all = found["read_as"]["counted"].to_string();
                assert_eq!(all == "[]", counted.is_empty(), "{shown}: {all}");
                assert!(all.contains(counted), "{shown}: {all}");
            }
            Refused(says) => {
                let output = terrace(&[&["trace", "info", "-q"], &words[..]].concat());
                let said = text(&output.stderr);
                assert!(!output.status.success(), "{shown}");
                assert!(said.contains(says), "{shown}: {said}");
                assert!(!said.contains("panicked"), "{shown}: {said}");
                assert_eq!(said.trim_end().lines().count(), 1, "{shown}: {said}");
            }
        }
        std::fs::remove_file(&trace).unwrap();
    }
}

#[test]
fn tables_of_any_kind() {
    let deep = "address,op\n4096,w\n";
    let many: String = (0..3000).map(|n| format!("k{n}\n")).collect();
    check(vec![
        // Ends of lines, marks and quotes.
        (
            "a.csv",
            "",
            "address,op\r\n4096,w\r\n".into(),
            Read(1, 1, ""),
        ),
        (
            "a.csv",
            "",
            "\u{feff}address,op\n4096,w\n".into(),
            Read(1, 1, ""),
        ),
        (
            "a.csv",
            "",
            "\"address\",\"op\"\n\"4096\",\"w\"\n".into(),
            Read(1, 1, ""),
        ),
        (
            "a.csv",
            "",
            "address , op\n 4096 , w \n".into(),
            Read(1, 1, ""),
        ),
        (
            "a.csv",
            "",
            "address\top\n4096\tw\n8192\tr\n".into(),
            Read(2, 2, ""),
        ),
        ("a.csv", "", "address;op\n4096;w\n".into(), Read(1, 1, "")),
        ("a.csv", "", "address|op\n4096|w\n".into(), Read(1, 1, "")),
        ("a.csv", "", "#address,op\n4096,w\n".into(), Read(1, 1, "")),
        (
            "a.csv",
            "",
            "address\n0X1000\n0x2000\n".into(),
            Read(2, 2, ""),
        ),
        (
            "a.csv",
            "",
            "\naddress,op\n\n4096,w\n\n".into(),
            Read(1, 1, ""),
        ),
        (
            "a.csv",
            "",
            "ADDRESS,Is_Write\n4096,TRUE\n".into(),
            Read(1, 1, ""),
        ),
        ("a.txt.gz", "", gzip(deep.as_bytes()), Read(1, 1, "")),
        (
            "a.csv",
            "",
            gzip(&gzip(deep.as_bytes())),
            Refused("packed twice"),
        ),
        // Numbers that are none.
        (
            "a.csv",
            "",
            "address\n4096.0\n".into(),
            Refused("does not fit there"),
        ),
        (
            "a.csv",
            "",
            "address\n4e3\n".into(),
            Refused("does not fit there"),
        ),
        (
            "a.csv",
            "",
            "address\n-4096\n".into(),
            Refused("does not fit there"),
        ),
        (
            "a.csv",
            "",
            "address\n\"4,096\"\n".into(),
            Refused("`4,096` for Address"),
        ),
        (
            "a.csv",
            "",
            "address,size\n4096,\n".into(),
            Refused("`` for Size"),
        ),
        (
            "a.csv",
            "",
            "address,size\n0,2097152\n".into(),
            Refused("touches 2097152 bytes"),
        ),
        (
            "a.csv",
            "",
            "key,size\n1,4294967296\n".into(),
            Refused("for Size, which does not fit"),
        ),
        (
            "a.csv",
            "",
            "address,op\n4096,x\n".into(),
            Refused("`x` for Write"),
        ),
        (
            "a.csv",
            "",
            "address,process\n4096,65536\n".into(),
            Refused("for Process"),
        ),
        (
            "a.csv",
            "",
            "address\n18446744073709551616\n".into(),
            Refused("does not fit there"),
        ),
        (
            "a.csv",
            "",
            "address,size\n18446744073709551615,9\n".into(),
            Read(1, 1, ""),
        ),
        // Headers that are none.
        (
            "a.csv",
            "",
            "address,address\n1,2\n".into(),
            Refused("stands there twice"),
        ),
        (
            "a.csv",
            "",
            "address,key\n1,2\n".into(),
            Refused("says what is touched"),
        ),
        (
            "a.csv",
            "",
            "address,offset\n1,2\n".into(),
            Refused("says what is touched"),
        ),
        (
            "a.csv",
            "",
            "address,colour\n1,2\n".into(),
            Refused("the column `colour` is not known"),
        ),
        (
            "a.csv",
            "",
            "address\n".into(),
            Refused("there is no access"),
        ),
        (
            "a.csv",
            "",
            "address,op\n4096\n".into(),
            Refused("line 2 has 1 values"),
        ),
        (
            "a.csv",
            "",
            "address\n4096".into(),
            Refused("no line break"),
        ),
        (
            "a.csv",
            "",
            "address\n\"4096\n".into(),
            Refused("quote that is not closed"),
        ),
        // Keys.
        (
            "a.csv",
            "",
            "key\nuser:1\nuser:2\nuser:1\n".into(),
            Read(3, 2, "\"count\":2"),
        ),
        (
            "a.csv",
            "",
            "key\n18446744073709551615\n5\n".into(),
            Read(2, 2, "no numbers below"),
        ),
        ("a.csv", "", "key\n5\n0x5\n".into(), Read(2, 1, "")),
        ("a.csv", "", "key\n\"\"\n".into(), Refused("`` for Key")),
        (
            "a.csv",
            "",
            "key,op\na,delete\n".into(),
            Refused("there is no access"),
        ),
        (
            "a.csv",
            "",
            "key,op,op_count\na,get,0\nb,get,3\n".into(),
            Read(3, 1, "stand for no request"),
        ),
        (
            "a.csv",
            "",
            "key,op\na,incr\na,DEL\na,GetS\n".into(),
            Read(2, 1, "delete an object"),
        ),
        // Layouts.
        (
            "a",
            "--columns object=1",
            many.into(),
            Read(3000, 3000, "\"count\":3000"),
        ),
        (
            "a",
            "--columns address=1",
            "x\n4096\n".into(),
            Read(1, 1, "names of columns"),
        ),
        (
            "a",
            "--columns address=1,size=2",
            "x,9\n4096,8\n".into(),
            Refused("`x` for Address"),
        ),
        (
            "a",
            "--columns address=3",
            "1,2\n".into(),
            Refused("is column 3"),
        ),
        (
            "a",
            "--columns address=where",
            "here\n1\n".into(),
            Refused("column `where`"),
        ),
        (
            "a",
            "--columns offset=1,size=2",
            "0,4294967295\n".into(),
            Read(1, 1 << 20, ""),
        ),
        (
            "a",
            "--columns msr --format lackey",
            "1,h,0,Read,0,1,1\n".into(),
            Refused("--columns"),
        ),
        (
            "a",
            "--columns twitter",
            "1,k,5,x,1,get,0\n".into(),
            Refused("`x` for Size"),
        ),
        (
            "a",
            "--columns cheese",
            "1\n".into(),
            Refused("is no layout"),
        ),
    ]);
}

#[test]
fn texts_of_tools() {
    let lackey = "==7== Lackey\n--7-- warning\n**7** said\nI  400,3\n L 1000,8\n==7== \n";
    check(vec![
        ("a", "", lackey.into(), Read(1, 1, "\"count\":4")),
        (
            "a",
            "",
            lackey.replace('\n', "\r\n").into(),
            Read(1, 1, "valgrind's own"),
        ),
        (
            "a.lackey",
            "",
            format!("{lackey}junk\n").into(),
            Refused("is no line of lackey's"),
        ),
        (
            "a.lackey",
            "",
            "==7== Lackey\n".into(),
            Refused("there is no access"),
        ),
        (
            "a",
            "",
            utf16("address,op\n4096,w\n", false),
            Refused("in UTF-16; write it in UTF-8"),
        ),
        (
            "a.csv",
            "",
            utf16("address,op\n4096,w\n", true),
            Refused("in UTF-16"),
        ),
        ("a", "", utf16(lackey, false), Refused("in UTF-16")),
        (
            "a",
            "",
            "a 7 1.5: 1 cycles: 55d0aa main (/bin/a)\n".into(),
            Refused("the format"),
        ),
        (
            "a.perf",
            "",
            "a 7 1.5: 1 cycles: 55d0aa main (/bin/a)\n".into(),
            Refused("perf script"),
        ),
        (
            "a.perf",
            "",
            "# ========\n".into(),
            Refused("there is no access"),
        ),
        (
            "a",
            "",
            "<html><body>404, not found</body></html>\n".into(),
            Refused("the format"),
        ),
        (
            "a",
            "",
            "{\"address\": 4096}\n".into(),
            Refused("the format"),
        ),
        ("a", "", vec![0; 100], Refused("the format")),
        ("a", "", Vec::new(), Refused("is empty")),
    ]);
}

#[test]
fn a_warm_up_as_long_as_the_trace_has_its_sentence() {
    let directory = TempDir::new().unwrap();
    let rows: String = (0..20).map(|n| format!("{}\n", n * 4096)).collect();
    let trace = written(&directory, "a.csv", format!("address\n{rows}"));
    for (what, options) in [
        ("pages", &["--dram", "16K", "--warmup", "20"][..]),
        ("pages", &["--dram", "16K", "--warmup", "21"]),
        ("llc", &["--policy", "lru", "--warmup", "20"]),
    ] {
        let output = terrace(&[&["sim", what, "-q"], options, &[&*trace]].concat());
        let said = text(&[output.stdout, output.stderr].concat());
        assert!(
            said.contains("the warm-up is too long"),
            "{what} {options:?}: {said}"
        );
        assert!(said.contains("give a smaller --warmup"), "{what}: {said}");
    }
}

#[test]
fn any_count_of_instructions_is_taken_alike() {
    let directory = TempDir::new().unwrap();
    let last = u64::MAX;
    let trace = written(
        &directory,
        "a.csv",
        format!("instruction,address\n0,4096\n{last},8192\n{last},4096\n"),
    );
    assert_eq!(info(&[&trace])["instructions"], last);
    let pages = crate::simulate("pages", &["-q", "--dram", "1M", &trace]);
    assert_eq!(pages["runs"][0]["misses"], 2);
    let llc = crate::simulate(
        "llc",
        &["-q", "--policy", "lru", "--memory", "dram", &trace],
    );
    assert_eq!(llc["runs"][0]["misses"], 2);
    assert_eq!(llc["instructions"], last);
    let warning = llc["runs"][0]["warning"].as_str().unwrap();
    assert!(warning.contains("its clock stands still"), "{warning}");
    // Those of all threads are more than can be: all commands refuse it, in the same words.
    let endless = written(
        &directory,
        "endless.csv",
        format!("instruction,address,thread\n0,0,0\n{last},64,0\n1,0,1\n"),
    );
    let refusals = [
        &["trace", "info", "-q"][..],
        &["sim", "pages", "-q", "--dram", "1M"],
        &["sim", "llc", "-q"],
    ]
    .map(|command| {
        let output = terrace(&[command, &[&*endless]].concat());
        assert_eq!(output.status.code(), Some(2), "{command:?}");
        text(&output.stderr)
    });
    assert!(refusals[0].contains("counts more instructions than can be"));
    assert!(
        refusals.iter().all(|said| *said == refusals[0]),
        "{refusals:?}"
    );
    // A count below that has its time, to the end.
    let near = written(
        &directory,
        "b.csv",
        format!("instruction,address\n0,4096\n{},8192\n", 1_u64 << 49),
    );
    let llc = crate::simulate("llc", &["-q", "--policy", "lru", "--memory", "dram", &near]);
    let warning = llc["runs"][0]["warning"].to_string();
    assert!(!warning.contains("stands still"), "{warning}");
}

#[test]
fn a_sweep_says_why_it_reads_no_pipe() {
    let directory = TempDir::new().unwrap();
    let output = file(&directory, "out");
    let sweep = ["sweep", "-q", "--dram", "1M", "-o", &output, "/dev/null"];
    let said = text(&terrace(&sweep).stderr);
    assert!(said.contains("write what comes through a pipe to a file"));
}
