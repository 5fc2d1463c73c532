//! Figures that mean what they say: of daemons, of failed ways, of phases, of waits, of intervals,
//! and of servers.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::common::schema::checked;
use crate::common::{Machine, changes, example, machine, text, wait_for};
use crate::signals::{interruptible, signal};

impl Machine {
    fn file(&self, name: &str) -> PathBuf {
        self.state.path().join(name)
    }
}

/// Starts a command that can be interrupted, and that writes its standard error to a file.
fn begin(mut command: Command, errors: &Path) -> Child {
    interruptible(&mut command);
    let command = command.stdin(Stdio::null());
    let command = command.stderr(fs::File::create(errors).unwrap());
    command.spawn().unwrap()
}

/// A group of processes that can write only so many bytes a second to a disk.
struct SlowDisk(PathBuf);

impl SlowDisk {
    /// Limits writes to the disk of a directory.
    fn of(directory: &Path, bytes_per_second: u64) -> Self {
        let group = PathBuf::from(format!("/sys/fs/cgroup/blkio/slow-{}", std::process::id()));
        fs::create_dir(&group).expect("this test needs block groups of version 1");
        let disk = fs::metadata(directory).unwrap().dev();
        let (major, minor) = (libc::major(disk), libc::minor(disk));
        let limit = format!("{major}:{minor} {bytes_per_second}");
        let made = Self(group);
        fs::write(made.0.join("blkio.throttle.write_bps_device"), limit)
            .expect("this test needs a directory on a whole disk");
        made
    }

    /// Has a command run in the group.
    fn is_of(&self, command: &mut Command) {
        let processes = fs::OpenOptions::new()
            .write(true)
            .open(self.0.join("cgroup.procs"));
        let mut processes = processes.unwrap();
        // SAFETY: a write to a descriptor may be done between fork and exec.
        unsafe { command.pre_exec(move || processes.write_all(b"0")) };
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        wait_for("the group to be empty", || fs::remove_dir(&self.0).is_ok());
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

/// Reads the lines of `--interval-to`, of which the last may be written now.
fn lines(text: &str) -> Vec<Value> {
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.map(checked).collect()
}

/// It forks twice, ends at once, and works for a second and more.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_daemon_is_measured_until_its_group_is_empty() {
    let machine = machine();
    let script =
        "(setsid sh -c 'head -c 300000000 /dev/zero | md5sum; sleep 1' >/dev/null 2>&1 &); exit 0";
    let results = machine.measure(&["--prefetch", "off"], &["sh", "-c", script]);
    let way = &results["runs"][0];
    assert!(number(way, "counted_s") >= 1.0, "{way}");
    assert!(way["wall_s"][0].as_f64().unwrap() >= 1.0, "{way}");
    if way["cpu_of_group"] == true {
        assert!(
            number(way, "user_s") + number(way, "system_s") > 0.05,
            "{way}"
        );
    }
}

/// It succeeds once, in unlimited DRAM, and fails in the other ways.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_way_that_fails_has_no_ratio() {
    let machine = machine();
    let marker = machine.file("marker");
    let script = format!("test -e {0} && exit 3; touch {0}", marker.display());
    let file = machine.file("result");
    let options = [
        "--compare",
        "--prefetch",
        "off",
        "--json",
        file.to_str().unwrap(),
    ];
    let output = machine.run(&options, &["sh", "-c", &script]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(
        said.contains("kernel failed, so it is not compared: the program ended with code 3."),
        "{said}"
    );
    assert!(!said.contains("all-dram failed"), "{said}");
    let row = said
        .lines()
        .find(|line| line.starts_with("| kernel "))
        .unwrap();
    assert!(row.contains("failed") && !row.contains('x'), "{row}");
    let results = checked(serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap());
    let [all_dram, kernel] = [&results["runs"][0], &results["runs"][1]];
    assert!(number(all_dram, "wall_median_s") > 0.0 && all_dram["failed"].is_null());
    assert_eq!(kernel["failed"], "the program ended with code 3");
    for figure in ["wall_median_s", "vs_all_dram", "vs_kernel"] {
        assert!(kernel[figure].is_null(), "{figure}: {kernel}");
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_phase_begins_to_count_when_it_is_told_to() {
    let machine = machine();
    let walk = example("walk");
    // All that it reads from the tier it reads in the phase, however slow the tier is.
    let script = format!("sleep 2; exec {walk} 128 17 1");
    let options = [
        "--prefetch",
        "off",
        "--endurance",
        "600TBW",
        "--after",
        "1s",
    ];
    let results = machine.measure(&options, &["sh", "-c", &script]);
    let way = &results["runs"][0];
    let (from, time) = (number(way, "counted_from_s"), number(way, "counted_s"));
    let wall = way["wall_s"][0].as_f64().unwrap();
    assert!(from >= 1.0 && (from + time - wall).abs() < 1e-6, "{way}");
    assert!(number(way, "major_faults") > 1000.0, "{way}");
    let rate = number(way, "tier_written_bytes") / time;
    let years = 600e12 / rate / (365.25 * 86400.0);
    assert!(
        (number(way, "lifetime_years") / years - 1.0).abs() < 1e-6,
        "{way}"
    );

    // What came before does not count, unless it took longer than the time named here.
    let late = machine.file("late");
    let script = format!(
        "began=$(date +%s); {walk} 128 17 1 >/dev/null; test $(($(date +%s) - began)) -lt 9 || touch {}; sleep 12",
        late.display()
    );
    let results = machine.measure(
        &["--prefetch", "off", "--after", "10s"],
        &["sh", "-c", &script],
    );
    let faults = number(&results["runs"][0], "major_faults");
    assert!(late.exists() || faults < 500.0, "{results}");

    let output = machine.run(&["--prefetch", "off", "--after", "1h"], &["true"]);
    let said = text(&output);
    assert!(
        said.contains("ended before the 3600 s of --after"),
        "{said}"
    );
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn waits_are_measured_in_all_ways_alike_and_intervals_add_up() {
    let machine = machine();
    let file = machine.file("lines");
    let options = [
        "--compare",
        "--latency",
        "--interval",
        "0.2s",
        "--interval-to",
        file.to_str().unwrap(),
    ];
    let results = machine.measure(&options, &[&example("walk"), "128", "17", "1"]);
    let lines = lines(&fs::read_to_string(&file).unwrap());
    for (index, way) in results["runs"].as_array().unwrap().iter().enumerate() {
        let waits = &way["waits"];
        let [p50, p99, worst] = ["p50_us", "p99_us", "worst_us"].map(|name| number(waits, name));
        assert!(p50 <= p99 && p99 <= worst, "{waits}");
        assert!(number(waits, "major") <= number(waits, "count"), "{waits}");
        let faults = number(way, "major_faults");
        let measured = number(waits, "major") + number(waits, "lost");
        assert!(
            measured >= 0.9 * faults - 10.0,
            "{measured} of {faults}: {waits}"
        );
        let moments = waits["timeline"].as_array().unwrap().iter();
        let counted: f64 = moments.map(|moment| number(moment, "count")).sum();
        assert!((counted - number(waits, "count")).abs() < 0.5, "{waits}");
        let of_run: Vec<_> = lines
            .iter()
            .filter(|line| number(line, "run") as usize == index + 1)
            .collect();
        let sum: f64 = of_run.iter().map(|line| number(line, "major_faults")).sum();
        assert!((sum - faults).abs() < 0.5, "{sum} {faults}");
        assert!(
            of_run
                .iter()
                .all(|line| line["waits"].is_object() && line["way"] == way["way"])
        );
    }
    let kernel = &results["runs"][1]["waits"];
    assert!(
        number(kernel, "count") > 100.0 && number(kernel, "p50_us") > 0.0,
        "{kernel}"
    );
}

/// A server: it uses its memory for ever. It is started once, and gets its budget as it runs.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_server_is_measured_as_it_runs() {
    let machine = machine();
    let before = changes();
    let [starts, figures, result, errors] =
        ["starts", "figures", "result", "errors"].map(|name| machine.file(name));
    let script = format!(
        "echo start >> {}; exec {} 128 17 1000000",
        starts.display(),
        example("walk")
    );
    let command = machine.command(&[
        "run",
        "--dram",
        "50%",
        "--measure",
        "2s",
        "--prefetch",
        "off",
        "--interval",
        "0.1s",
        "--interval-to",
        figures.to_str().unwrap(),
        "--json",
        result.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script,
    ]);
    let run = begin(command, &errors);
    let said = || fs::read_to_string(&errors).unwrap();
    wait_for("the server to have its budget, and to fault", || {
        let lines = lines(&fs::read_to_string(&figures).unwrap_or_default());
        let faults = lines.iter().filter(|line| line["dram_bytes"].is_u64());
        faults.map(|line| number(line, "major_faults")).sum::<f64>() > 1000.0
            || said().contains("runs on without a limit")
    });
    signal(&run, libc::SIGTERM);
    run.wait_with_output().unwrap();
    let said = said();
    assert!(said.contains("runs without a limit for 2 s"), "{said}");
    assert!(said.contains("its peak in the first 2 s"), "{said}");
    let results = checked(serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap());
    let settings = &results["settings"];
    let [dram, footprint] = ["dram_bytes", "footprint_bytes"].map(|name| number(settings, name));
    assert!((dram / footprint - 0.5).abs() < 0.01, "{settings}");
    assert_eq!(settings["measured_after_s"], 2.0);
    assert_eq!(
        fs::read_to_string(&starts).unwrap(),
        "start\n",
        "it was started once"
    );
    assert_eq!(changes(), before);

    let ended = machine.terrace(&["run", "--dram", "50%", "--measure", "1h", "--", "true"]);
    let said = text(&ended);
    assert!(
        ended.status.success() && said.contains("ended before that, and had no limit"),
        "{said}"
    );
}

/// The disk of the tier takes 2 MB a second, and the program fetches more from there.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_server_gets_its_budget_on_a_slow_disk() {
    let machine = machine();
    let slow = SlowDisk::of(machine.state.path(), 2_000_000);
    let errors = machine.file("errors");
    let walk = example("walk");
    let mut command = machine.command(&[
        "run",
        "--dram",
        "50%",
        "--measure",
        "2s",
        "--prefetch",
        "off",
        "--",
        walk.as_str(),
        "128",
        "17",
        "1000000",
    ]);
    slow.is_of(&mut command);
    let mut run = begin(command, &errors);
    let said = || fs::read_to_string(&errors).unwrap();
    wait_for("the server to have its budget", || {
        ["it has its budget", "runs on without a limit"]
            .iter()
            .any(|end| said().contains(end))
    });
    signal(&run, libc::SIGTERM);
    run.wait().unwrap();
    assert!(said().contains("it has its budget"), "{}", said());
    machine.assert_as_found();
}

/// Whoever waits for a run that measures is told what it waits for.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_run_that_measures_says_that_it_ends_with_the_program() {
    let machine = machine();
    let said = text(&machine.terrace(&[
        "run",
        "--dram",
        "100%",
        "--prefetch",
        "off",
        "--",
        example("walk").as_str(),
        "8",
        "1",
        "1",
    ]));
    assert!(
        said.contains("it ends when the program ends; for a program that does not end"),
        "{said}"
    );
}
