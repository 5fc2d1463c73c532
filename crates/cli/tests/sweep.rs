//! `terrace sweep`, driven as people drive it. Needs no privilege.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Four machines, on two traces.
const SWEEP: [&str; 7] = [
    "--dram",
    "10%,50%",
    "--replacement",
    "lru,arc",
    "short.parquet",
    "long.parquet",
    "-o",
];

/// A directory with two traces, where `terrace` is run.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        let files = Self(tempfile::tempdir().expect("a directory"));
        files.generate("short.parquet", "20k");
        files
    }

    fn generate(&self, name: &str, accesses: &str) {
        let arguments = [
            "trace",
            "gen",
            "zipf",
            "--footprint",
            "4M",
            "--writes",
            "30",
        ];
        let output = self
            .command(&arguments)
            .args(["--accesses", accesses, "-o", name])
            .output()
            .expect("terrace runs");
        assert!(output.status.success(), "{output:?}");
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.args(arguments).current_dir(self.path());
        command
    }

    fn sweep(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(&["sweep"]);
        command.args(arguments).output().expect("terrace runs")
    }

    /// What it says to people and prints when it does as told.
    fn done(&self, arguments: &[&str]) -> (String, String) {
        let output = self.sweep(arguments);
        let error = String::from_utf8(output.stderr).expect("text");
        assert!(output.status.success(), "{arguments:?}: {error}");
        (error, String::from_utf8(output.stdout).expect("text"))
    }

    /// Both tables of a name.
    fn tables(&self, name: &str) -> [Vec<u8>; 2] {
        ["parquet", "csv"]
            .map(|ending| fs::read(self.path().join(format!("{name}.{ending}"))).expect("a table"))
    }

    /// Checks that it ends with `code` and a sentence that has `why` in it, and leaves nothing.
    fn refused(&self, arguments: &[&str], code: i32, why: &str) {
        let before = self.names();
        let output = self.sweep(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(why), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
        assert_eq!(self.names(), before, "{arguments:?}");
    }

    fn names(&self) -> Vec<String> {
        let files = fs::read_dir(self.path()).expect("the directory").flatten();
        let mut names: Vec<_> = files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn killed_and_resumed_the_tables_are_the_same_bytes() {
    let files = Files::new();
    files.generate("long.parquet", "500k");
    let (said, _) = files.done(&[&SWEEP[..], &["whole"]].concat());
    assert_eq!(said, "8 machines simulated: whole.parquet and whole.csv\n");

    let again = [&SWEEP[..], &["killed"]].concat();
    let mut child = files
        .command(&["sweep"])
        .args(&again)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("terrace runs");
    let journal = files.path().join("killed.partial.jsonl");
    let begin = Instant::now();
    while fs::metadata(&journal).map_or(0, |journal| journal.len()) == 0 {
        assert!(
            begin.elapsed() < Duration::from_secs(100),
            "nothing is finished"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = files.sweep(&again);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("another sweep is writing"), "{text}");
    child.kill().expect("it still runs");
    child.wait().expect("it ends");
    assert!(!files.path().join("killed.csv").exists());

    let (said, _) = files.done(&again);
    assert!(
        said.starts_with("8 machines simulated, 4 of them before: "),
        "{said}"
    );
    assert!(!journal.exists());
    assert!(
        files.tables("killed") == files.tables("whole"),
        "they differ"
    );
}

#[test]
fn the_tables_do_not_depend_on_the_processors() {
    let files = Files::new();
    files.generate("long.parquet", "40k");
    files.done(&[&SWEEP[..], &["many", "-q"]].concat());
    let status = files
        .command(&["sweep", "-q"])
        .args(SWEEP)
        .arg("one.csv")
        .env("RAYON_NUM_THREADS", "1")
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("terrace runs").success());
    assert!(files.tables("one") == files.tables("many"), "they differ");
}

#[test]
fn a_row_for_each_trace_and_machine() {
    let files = Files::new();
    files.generate("long.parquet", "40k");
    let (said, printed) = files.done(&[&SWEEP[..], &[".", "-q"]].concat());
    assert_eq!(said, "");
    assert!(
        printed.starts_with("short.parquet: 20000 accesses to "),
        "{printed}"
    );
    assert!(
        printed.contains("\nlong.parquet: 40000 accesses to "),
        "{printed}"
    );

    let [_, csv] = files.tables("sweep");
    let csv = String::from_utf8(csv).expect("text");
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let column = |name: &str| head.iter().position(|one| *one == name).expect(name);
    let columns = ["trace", "dram", "replacement", "accesses"].map(column);
    let rows: Vec<_> = rows
        .map(|row| columns.map(|column| row[column].to_owned()).join(" "))
        .collect();
    assert_eq!(
        rows,
        [
            "short.parquet 10% lru 20000",
            "short.parquet 10% arc 20000",
            "short.parquet 50% lru 20000",
            "short.parquet 50% arc 20000",
            "long.parquet 10% lru 40000",
            "long.parquet 10% arc 40000",
            "long.parquet 50% lru 40000",
            "long.parquet 50% arc 40000",
        ]
    );
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let files = Files::new();
    fs::write(files.path().join("broken.parquet"), "PAR1 and no more").expect("written");
    fs::create_dir(files.path().join("taken.csv")).expect("a directory");
    let refused = |arguments: &str, code, why| {
        let arguments: Vec<_> = arguments.split(' ').collect();
        files.refused(&arguments, code, why);
    };
    refused("--dram 25% -o out", 2, "TRACE");
    refused("--dram 25% short.parquet", 2, "--output");
    refused("short.parquet -o out", 2, "--dram");
    refused(
        "--dram 0% short.parquet -o out",
        2,
        "no share of the footprint",
    );
    refused(
        "--dram 25% --replacement lru,magic short.parquet -o out",
        2,
        "there is no replacement policy `magic`",
    );
    refused("--dram 25% --memory magic short.parquet -o out", 2, "magic");
    refused(
        "--dram 25% none.parquet -o out",
        1,
        "cannot read the trace `none.parquet`",
    );
    refused("--dram 25% broken.parquet -o out", 1, "broken.parquet");
    refused("--dram 25% . -o out", 2, "is not a regular file");
    refused(
        "--dram 25% short.parquet -o none/out",
        2,
        "there is no directory",
    );
    refused(
        "--dram 25% short.parquet -o taken",
        2,
        "`taken.csv` is not a regular file",
    );
    refused(
        "--dram 25% short.parquet -o short",
        2,
        "-o would overwrite short.parquet, which TRACE names",
    );
    refused(
        "--dram 25% short.parquet -o /proc/out",
        2,
        "cannot write `/proc/out",
    );
}
