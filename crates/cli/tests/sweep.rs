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

    /// The number of passes of a name that are finished.
    fn finished(&self, name: &str) -> usize {
        let Ok(files) = fs::read_dir(self.path().join(format!("{name}.results"))) else {
            return 0;
        };
        // One that was killed may leave another name.
        let names = files.flatten().map(|file| file.file_name());
        names
            .filter(|name| name.to_string_lossy().ends_with(".parquet"))
            .count()
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
    let begin = || {
        let mut command = files.command(&["sweep"]);
        command.args(&again).stdout(Stdio::null());
        command
            .stderr(Stdio::piped())
            .spawn()
            .expect("terrace runs")
    };
    let mut killed = begin();
    let started = Instant::now();
    while files.finished("killed") == 0 {
        assert!(
            started.elapsed() < Duration::from_secs(100),
            "nothing is finished"
        );
        std::thread::sleep(Duration::from_millis(1));
    }
    // Another one takes what is there, and does not wait for the first.
    let other = begin();
    std::thread::sleep(Duration::from_millis(100));
    killed.kill().expect("it still runs");
    killed.wait().expect("it ends");
    assert!(!files.path().join("killed.csv").exists());
    let other = other.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(
        said.starts_with("8 machines simulated, 4 of them before: "),
        "{said}"
    );
    assert!(
        files.tables("killed") == files.tables("whole"),
        "they differ"
    );
    // What the killed one was writing has no name.
    assert_eq!(files.finished("killed"), 2);

    let (said, _) = files.done(&again);
    assert!(
        said.starts_with("8 machines simulated, 8 of them before: "),
        "{said}"
    );
    assert!(
        files.tables("killed") == files.tables("whole"),
        "they differ"
    );
}

#[test]
fn sweeps_at_once_of_the_same_name_end_well() {
    let files = Files::new();
    files.generate("long.parquet", "40k");
    let sweeps = [(); 3].map(|()| {
        let mut command = files.command(&["sweep", "-q"]);
        command.args(SWEEP).arg("both").stdout(Stdio::null());
        command.spawn().expect("terrace runs")
    });
    for mut sweep in sweeps {
        assert!(sweep.wait().expect("it ends").success());
    }
    files.done(&[&SWEEP[..], &["one", "-q"]].concat());
    assert!(files.tables("both") == files.tables("one"), "they differ");
    assert_eq!(files.finished("both"), 2);
}

#[test]
fn other_machines_take_what_is_there() {
    let files = Files::new();
    let sweep = |dram| {
        let arguments = ["--dram", dram, "short.parquet", "-o", "out"];
        let (said, _) = files.done(&arguments);
        fs::remove_file(files.path().join("out.parquet")).expect("it is there");
        fs::remove_file(files.path().join("out.csv")).expect("it is there");
        said
    };
    assert!(sweep("10%,50%").starts_with("2 machines simulated: "));
    assert!(sweep("10%,30%,50%").starts_with("3 machines simulated, 2 of them before: "));
    // A file that is torn is said, and its machines are simulated again.
    for file in fs::read_dir(files.path().join("out.results")).expect("results") {
        fs::write(file.expect("a file").path(), "terrace").expect("written");
    }
    let said = sweep("10%");
    assert_eq!(
        said,
        "terrace: in `out.results` 2 files that are damaged or of another version are not used; what \
         is missing is simulated\n1 machines simulated: out.parquet and out.csv\n"
    );
}

#[test]
fn what_an_earlier_version_has_left_is_said() {
    let files = Files::new();
    let journal = files.path().join("out.partial.jsonl");
    fs::write(&journal, "{\"options\":\"some\"}\n").expect("written");
    let (said, _) = files.done(&["--dram", "10%", "short.parquet", "-o", "out"]);
    assert!(
        said.starts_with("terrace: `out.partial.jsonl` is what a sweep of an earlier version"),
        "{said}"
    );
    assert!(journal.exists());
}

/// A format without a digest of its own: its bytes are read once, and then a cache has the digest.
#[test]
fn a_cache_keeps_the_digests_of_other_formats() {
    let files = Files::new();
    files.generate("a.csv", "1k");
    let cache = files.path().join("cache");
    // A file that has just changed may change again without another time.
    let sweep = || {
        let mut command = files.command(&["sweep", "--dram", "10%", "a.csv", "-o", "out"]);
        let status = command.env("TERRACE_CACHE", &cache).output();
        assert!(status.expect("terrace runs").status.success());
        cache.join("digests").exists()
    };
    let begin = Instant::now();
    while !sweep() {
        assert!(begin.elapsed() < Duration::from_secs(60), "nothing is kept");
        std::thread::sleep(Duration::from_millis(500));
    }
    assert_eq!(files.finished("out"), 1);
    let entries = fs::read_dir(cache.join("digests")).expect("digests");
    assert_eq!(entries.count(), 1);
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
