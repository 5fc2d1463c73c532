//! Waits at faults (`--latency`) beside the kernel's own count of the program's group, which the
//! test reads itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::schema::checked;
use crate::common::{example, machine, text, wait_for};
use crate::signals::signal;

/// Faults that a shell may have beside those of the program that it waits for.
const OF_A_SHELL: u64 = 200;

fn number(value: &Value, key: &str) -> f64 {
    let number = value[key].as_f64();
    number.unwrap_or_else(|| panic!("{key} of {value}"))
}

/// A program that walks over memory until it is killed, and a shell that waits until it may end.
struct Walker {
    pid: PathBuf,
    end: PathBuf,
}

impl Walker {
    fn below(directory: &Path) -> Self {
        let [pid, end] = ["walker", "end"].map(|name| directory.join(name));
        Self { pid, end }
    }

    fn script(&self) -> String {
        format!(
            "{} 256 17 1000000 & echo $! > {1}.new; mv {1}.new {1}; wait; \
             while ! test -e {2}; do sleep 0.1; done",
            example("walk"),
            self.pid.display(),
            self.end.display()
        )
    }

    fn pid(&self) -> Option<i32> {
        fs::read_to_string(&self.pid).ok()?.trim().parse().ok()
    }

    /// Returns `memory.stat` of its group; `None` if it has ended.
    fn statistics(&self) -> Option<PathBuf> {
        statistics(&fs::read_to_string(format!("/proc/{}/cgroup", self.pid()?)).ok()?)
    }

    fn kill(&self) {
        // SAFETY: kill takes two integers; the shell waits for the program, so the number is its.
        assert_eq!(unsafe { libc::kill(self.pid().unwrap(), libc::SIGKILL) }, 0);
    }
}

/// Returns the path of `memory.stat` of the group that a process has by its `/proc/PID/cgroup`.
fn statistics(of: &str) -> Option<PathBuf> {
    let first = of.lines().find_map(|line| {
        let (_, path) = line.split_once(":memory:")?;
        Some(format!("/sys/fs/cgroup/memory{path}"))
    });
    let second = || Some(format!("/sys/fs/cgroup{}", of.trim().strip_prefix("0::")?));
    Some(PathBuf::from(first.or_else(second)?).join("memory.stat"))
}

/// Returns a count of `memory.stat`.
fn counted(statistics: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(statistics).expect("the group's statistics");
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.expect("a count").trim().parse().expect("a number")
}

/// Returns the group's major faults. Reading them also keeps the kernel's accounts of the group
/// fresh.
fn major_faults(statistics: &Path) -> u64 {
    counted(statistics, "pgmajfault ")
}

/// Waits until the group has so many major faults more; returns all of them.
fn await_faults(statistics: &Path, more: u64) -> u64 {
    let first = major_faults(statistics);
    let mut now = first;
    wait_for("faults", || {
        now = major_faults(statistics);
        now >= first + more
    });
    now
}

/// Stops terrace until its program has run for this long and has faulted meanwhile; returns the
/// group's major faults then. Returns `None` if the program may have run for as long before.
fn stop_until(terrace: &Child, walker: &Walker, after: Duration) -> Option<u64> {
    let spawned = Instant::now();
    wait_for("the walker", || walker.pid().is_some());
    let is_there = Instant::now();
    let statistics = walker.statistics()?;
    await_faults(&statistics, 2000);
    signal(terrace, libc::SIGSTOP);
    let is_early = spawned.elapsed() < after;
    let mut faults = await_faults(&statistics, 3000);
    while is_there.elapsed() < after {
        std::thread::sleep(Duration::from_millis(1));
        faults = major_faults(&statistics);
    }
    is_early.then_some(faults)
}

/// Terrace does not run when the moment of `--after` comes, so that what it learns of the faults
/// before it, it learns afterwards.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn waits_of_a_phase_are_those_whose_faults_began_in_it() {
    let machine = machine();
    let result = machine.state.path().join("result");
    for seconds in [5, 20, 80] {
        let walker = Walker::below(machine.state.path());
        for file in [&walker.pid, &walker.end] {
            let _ = fs::remove_file(file);
        }
        let after = format!("{seconds}s");
        let script = walker.script();
        let mut terrace = machine
            .command(&[
                "run",
                "--dram",
                "64M",
                "--footprint",
                "256M",
                "-q",
                "--prefetch",
                "off",
                "--latency",
                "--after",
                &after,
                "--json",
                result.to_str().unwrap(),
                "--",
                "sh",
                "-c",
                &script,
            ])
            .stdin(Stdio::null())
            .spawn()
            .expect("terrace runs");
        let before = stop_until(&terrace, &walker, Duration::from_secs(seconds));
        signal(&terrace, libc::SIGCONT);
        let statistics = walker.statistics().expect("its group");
        await_faults(&statistics, 3000);
        walker.kill();
        wait_for("the shell to wait", || walker.statistics().is_none());
        let end = major_faults(&statistics);
        fs::write(&walker.end, "").unwrap();
        assert!(terrace.wait().unwrap().success());
        let Some(before) = before else { continue };

        let results = checked(serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap());
        let way = &results["runs"][0];
        let waits = &way["waits"];
        // The phase may have begun when the walker had been killed, on a busy machine.
        if number(way, "major_faults") <= OF_A_SHELL as f64 {
            continue;
        }
        let most = (end - before + OF_A_SHELL) as f64;
        assert!(number(way, "major_faults") <= most, "{most}: {way}");
        assert!(number(waits, "major") <= most, "{most}: {way}");
        assert!(
            number(waits, "major") + number(waits, "lost") > 0.0,
            "{way}"
        );
        let from = number(way, "counted_from_s");
        let timeline = waits["timeline"].as_array().unwrap();
        let of_timeline: f64 = timeline.iter().map(|it| number(it, "count")).sum();
        assert_eq!(of_timeline, number(waits, "count"), "{waits}");
        // The clocks of the two are read one after the other.
        let first = &timeline[0];
        assert!(number(first, "from_s") > from - 1.0, "{from}: {first}");
        return;
    }
    panic!("terrace could not be stopped in time, or did not go on in time");
}

/// The events that fit into the rings of the beginnings of faults, of 40 bytes each.
fn room() -> f64 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors * (1 << 20) / 40) as f64
}

/// Terrace does not run while its program faults, so that most events find the rings full.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_was_lost_is_said_and_marked() {
    let machine = machine();
    let file = |name: &str| machine.state.path().join(name);
    let [result, lines, ready, go, walked, end] =
        ["result", "lines", "ready", "go", "walked", "end"].map(file);
    let script = format!(
        "cat /proc/self/cgroup > {0}.new; mv {0}.new {0}; \
         while ! test -e {1}; do sleep 0.1; done; {2} 256 17 1; \
         touch {3}; while ! test -e {4}; do sleep 0.1; done",
        ready.display(),
        go.display(),
        example("walk"),
        walked.display(),
        end.display()
    );
    let options = [
        "run",
        "--dram",
        "64M",
        "--footprint",
        "256M",
        "--prefetch",
        "off",
        "--see-limit",
        "--latency",
        "--interval",
        "0.2s",
        "--interval-to",
        lines.to_str().unwrap(),
        "--json",
        result.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        &script,
    ];
    let terrace = machine
        .command(&options)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("terrace runs");
    wait_for("the shell", || ready.exists());
    let statistics = statistics(&fs::read_to_string(&ready).unwrap()).expect("its group");
    signal(&terrace, libc::SIGSTOP);
    fs::write(&go, "").unwrap();
    // Reading them keeps the kernel's accounts of the group fresh, which terrace does not now.
    let mut faults = 0;
    wait_for("the walk", || {
        faults = counted(&statistics, "pgfault ");
        walked.exists()
    });
    signal(&terrace, libc::SIGCONT);
    // The kernel tells of losses with the next event, as of the processes that the shell starts.
    wait_for("an interval that is not whole", || {
        let lines = fs::read_to_string(&lines).unwrap_or_default();
        let mut lines = lines
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.any(|line| line["waits"]["whole"] == false)
    });
    fs::write(&end, "").unwrap();
    let output = terrace.wait_with_output().unwrap();
    let said = text(&output);
    assert!(output.status.success(), "{said}");

    let results = checked(serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap());
    let waits = &results["runs"][0]["waits"];
    let least = 1.0 - room() / faults as f64 - 0.05;
    let missing = number(waits, "missing_share");
    assert!(missing >= least && missing < 1.0, "{least}: {waits}");
    assert!(
        number(waits, "lost") > 0.0 && waits["whole"] == false,
        "{waits}"
    );
    let timeline = waits["timeline"].as_array().unwrap();
    assert!(timeline.iter().any(|it| it["whole"] == false), "{waits}");
    let row = said.lines().find(|line| line.contains("- median")).unwrap();
    assert!(row.contains(" *"), "{said}");
    assert!(
        said.contains("% of the faults (") && said.contains("* Events were lost"),
        "{said}"
    );
}
