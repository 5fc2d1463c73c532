//! What commands write: whole or not at all, never over what they read, and with a word and a code
//! where it cannot be written. Needs no privilege.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A directory with traces, where `terrace` is run.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().expect("a directory"));
        files.done("trace gen gups --footprint 1M --accesses 5000 -o a.parquet");
        files
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    fn done(&self, arguments: &str) -> Output {
        let output = self.command(arguments).output().expect("terrace runs");
        assert!(output.status.success(), "{arguments}: {output:?}");
        output
    }

    fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.0.path()).expect("it is there").flatten();
        let mut names: Vec<_> = files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Checks that it ends with `code` and one sentence with `why` in it, and changes no file.
    fn refused(&self, arguments: &str, code: i32, why: &str) {
        let (before, trace) = (self.names(), fs::read(self.path("a.parquet")).unwrap());
        let output = self.command(arguments).output().expect("terrace runs");
        judge(&output, arguments, code, why);
        assert_eq!(self.names(), before, "{arguments}");
        let after = fs::read(self.path("a.parquet")).unwrap();
        assert!(after == trace, "{arguments}: the trace was changed");
    }
}

fn judge(output: &Output, arguments: &str, code: i32, why: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
    assert!(said.contains(why), "{arguments}: {said}");
    assert!(!said.contains("panicked"), "{arguments}: {said}");
    let one = said.lines().count() == 1 || said.starts_with("error: ");
    assert!(one, "{arguments}: {said}");
}

/// Commands that print results.
const PRINTING: [&str; 11] = [
    "trace info a.parquet",
    "trace info --json=- a.parquet",
    "sim pages --dram 25% a.parquet",
    "sim pages --dram 25% a.parquet --json",
    "sim llc a.parquet",
    "sim llc --json - a.parquet",
    "sim mix --warmup 0 --time 1ms a.parquet",
    "sim files --dram 64K a.parquet",
    "sim curve a.parquet",
    "bench --list",
    "heap info a.pool",
];

#[test]
fn results_that_cannot_be_printed_are_a_failure() {
    let files = Files::new();
    for arguments in PRINTING.iter().filter(|text| !text.contains("pool")) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = files.command(arguments).stdout(full).output().unwrap();
        judge(
            &output,
            arguments,
            1,
            "cannot write standard output: there is no room",
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let files = Files::new();
    for arguments in PRINTING.iter().filter(|text| !text.contains("pool")) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = files.command(arguments).stdout(writer).output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
        assert!(output.stderr.is_empty(), "{arguments}: {output:?}");
    }
}

#[test]
fn a_device_that_is_full_is_a_failure() {
    let files = Files::new();
    for arguments in [
        "trace gen gups --accesses 9 --to csv -o /dev/full",
        "trace gen gups --accesses 9 --to native -o /dev/full",
        "trace gen gups --accesses 9 --to champsim -o /dev/full",
        "trace convert -q a.parquet /dev/full --to oracle-general",
        "sim pages --dram 25% --timeline /dev/full a.parquet",
        "sim llc --json /dev/full a.parquet",
        "sim mix --warmup 0 --time 1ms --json /dev/full a.parquet",
        "sim files --dram 64K --json /dev/full a.parquet",
        "sim curve --csv /dev/full a.parquet",
    ] {
        files.refused(arguments, 1, "cannot write `/dev/full`: there is no room");
    }
}

#[test]
fn a_limit_of_file_sizes_is_a_failure_that_leaves_nothing() {
    let files = Files::new();
    for name in ["b.parquet", "b.csv", "b.champsim.xz", "b.oracleGeneral"] {
        let terrace = env!("CARGO_BIN_EXE_terrace");
        let make = format!("trace gen gups --footprint 1M --accesses 500000 -q -o {name}");
        let script = format!("ulimit -f 64; exec {terrace} {make}");
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(files.0.path())
            .output()
            .unwrap();
        judge(&output, name, 1, "ulimit -f");
        assert_eq!(files.names(), ["a.parquet"], "{name}");
    }
}

#[test]
fn nothing_that_is_read_is_overwritten() {
    let files = Files::new();
    fs::hard_link(files.path("a.parquet"), files.path("hard.parquet")).unwrap();
    std::os::unix::fs::symlink("a.parquet", files.path("link.csv")).unwrap();
    for name in ["a.parquet", "./a.parquet", "hard.parquet", "link.csv"] {
        for command in [
            format!("trace convert a.parquet {name} --to csv"),
            format!("sim pages --dram 25% --timeline {name} a.parquet"),
            format!("sim llc --json {name} a.parquet"),
            format!("sim llc --requests {name} a.parquet"),
            format!("validate --trace a.parquet --json {name} -- true"),
            format!("run --dram 1G --json {name} -- ./a.parquet"),
        ] {
            files.refused(&command, 2, "would overwrite");
        }
    }
    files.refused("sweep --dram 25% a.parquet -o a", 2, "-o would overwrite");
    files.refused("sweep --dram 25% link.csv -o link", 2, "-o would overwrite");
    files.refused("calibrate --machine m --json ./m", 2, "--machine names");
}

/// A file behind `--json` may be what was to be read.
#[test]
fn json_replaces_only_json() {
    let files = Files::new();
    let why = "which is not JSON; to read it, write --json=-";
    files.refused("trace info --json a.parquet", 2, "FILE is missing");
    files.refused(
        "sim pages --dram 25% a.parquet --json a.parquet",
        2,
        "would overwrite",
    );
    fs::copy(files.path("a.parquet"), files.path("b.parquet")).unwrap();
    files.refused("sim pages --dram 25% --json b.parquet a.parquet", 2, why);
    for _ in 0..2 {
        files.done("sim pages -q --dram 25% --json out.json a.parquet");
    }
    let bare = files
        .done("sim pages -q --dram 25% a.parquet --json")
        .stdout;
    assert_eq!(bare, fs::read(files.path("out.json")).unwrap());
}

/// All forms in one run: the table where no other form is printed.
#[test]
fn every_form_is_written_by_one_command() {
    let files = Files::new();
    let table = files.done("trace info -q a.parquet").stdout;
    let forms = "--json a.json --csv a.csv --html a.html";
    let also = files.done(&format!(
        "trace info -q {forms} --parquet b.parquet a.parquet"
    ));
    assert_eq!(also.stdout, table);
    let csv = fs::read_to_string(files.path("a.csv")).unwrap();
    assert!(csv.starts_with("from,to,touches\n0,0,"), "{csv}");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(files.path("a.json")).unwrap()).unwrap();
    assert_eq!(
        csv.lines().count(),
        1 + json["reuse"].as_array().unwrap().len()
    );
    assert!(
        fs::read(files.path("b.parquet"))
            .unwrap()
            .starts_with(b"PAR1")
    );
    assert!(
        fs::read_to_string(files.path("a.html"))
            .unwrap()
            .contains("<table>")
    );
    let two = "trace info --html=- --json=- a.parquet";
    files.refused(two, 2, "cannot both be written to standard output");
}

#[test]
fn a_sweep_does_not_replace_the_results_of_other_options() {
    let files = Files::new();
    let same = "sweep -q --dram 25% a.parquet -o out";
    files.done(same);
    let tables = || ["out.parquet", "out.csv"].map(|name| fs::read(files.path(name)).unwrap());
    let before = tables();
    for other in [
        "sweep -q --dram 50% a.parquet -o out",
        "sweep -q --dram 25% --limit 10 a.parquet -o out",
        "sweep -q --dram 25% --memory flash a.parquet -o out.csv",
        "sweep -q --dram 25% a.parquet a.parquet -o out",
    ] {
        files.refused(other, 2, "is not the result of a sweep with these options");
    }
    assert!(tables() == before);
    files.done(same);
    assert!(tables() == before);
    fs::remove_file(files.path("out.parquet")).unwrap();
    files.refused(same, 2, "`out.csv` is there and is not the result");
    fs::write(files.path("mine.parquet"), "mine").unwrap();
    let mine = "sweep -q --dram 25% a.parquet -o mine";
    files.refused(mine, 2, "`mine.parquet` is there and is not the result");
}

#[test]
fn a_sweep_into_a_device_is_refused() {
    let files = Files::new();
    files.refused("sweep --dram 25% a.parquet -o /dev/null", 2, "is neither");
    assert!(!Path::new("/dev/null.csv").exists());
    assert!(!Path::new("/dev/null.parquet").exists());
}

#[test]
fn a_trace_goes_into_a_pipe_as_into_a_file() {
    let files = Files::new();
    for (format, name) in [
        ("csv", "b.csv"),
        ("native", "b.parquet"),
        ("champsim", "b.champsim"),
        ("oracle-general", "b.oracleGeneral"),
    ] {
        files.done(&format!("trace convert -q a.parquet {name}"));
        let piped = format!("trace convert -q a.parquet /dev/stdout --to {format}");
        let output = files.done(&piped);
        assert!(
            output.stdout == fs::read(files.path(name)).unwrap(),
            "{format}"
        );
    }
}

#[test]
fn what_is_not_selected_is_not_written() {
    let files = Files::new();
    let nothing = "trace convert --thread 99 a.parquet b.parquet";
    files.refused(nothing, 1, "there is no access of thread 99");
    let beyond = "trace convert --skip 5000 a.parquet b.parquet";
    files.refused(beyond, 1, "there is no access to convert");
}

#[test]
fn what_a_format_has_no_room_for_is_said() {
    let files = Files::new();
    let output = files.done("trace convert a.parquet b.oracleGeneral.zst");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("does not say that 2500 accesses wrote"),
        "{said}"
    );
    assert!(said.contains("instruction counts"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let info = files.done("trace info --json=- b.oracleGeneral.zst").stdout;
    assert!(String::from_utf8_lossy(&info).contains("\"accesses\": 5000"));
    let output = files.done("trace convert a.parquet b.csv");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("keys of the metadata said: its format"),
        "{said}"
    );
}
