//! Two runs beside each other, which the kernel has swap to the same areas.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

mod common;
use common::{end_with_test, machine, wait_for};

/// Its last 60 MB are what the program of the second run keeps in memory.
const NUMBERS: &str = "seq 9000000";
const KEPT: &str = "tail -c 60000000";

/// A run whose program lasts until a file is there.
struct Run {
    child: Option<Child>,
    stop: std::path::PathBuf,
}

impl Run {
    /// Starts `script`, in which `held` and `stop` stand for files of this run.
    fn start(state: &Path, name: &str, script: &str) -> Self {
        let file = |what: &str| state.join(format!("{name}-{what}"));
        let (held, stop) = (file("held"), file("stop"));
        let wait = format!(
            "touch {}; while ! test -e {}; do sleep 0.05; done",
            held.display(),
            stop.display()
        );
        let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"));
        end_with_test(&mut terrace, libc::SIGTERM);
        let child = terrace
            .args(["run", "-q", "--dram", "16M", "--footprint", "128M"])
            .args(["--prefetch", "off", "--", "sh", "-c"])
            .arg(script.replace("WAIT", &wait))
            .env("TERRACE_STATE_DIR", state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("terrace runs");
        let run = Self {
            child: Some(child),
            stop,
        };
        wait_for("a program to hold its memory", || held.exists());
        run
    }

    /// Has the program end, and waits for its run.
    fn end(mut self) -> Output {
        fs::write(&self.stop, "").unwrap();
        let child = self.child.take().expect("it was not waited for");
        let output = child.wait_with_output().expect("terrace ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert_eq!(told, "", "nothing was left behind");
        output
    }

    fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::write(&self.stop, "");
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

/// Used KiB and priority of a run's area, while it is on.
fn area(run: u32) -> Option<(u64, i32)> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap();
    let line = swaps
        .lines()
        .find(|line| line.contains(&format!("/terrace-{run}.swap")))?;
    let columns: Vec<_> = line.split_whitespace().collect();
    Some((columns[3].parse().unwrap(), columns[4].parse().unwrap()))
}

/// The first run is given the higher priority, so that the program of the second is swapped to its
/// area; it ends first.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn an_area_with_another_run_s_pages_is_left_to_that_run() {
    let machine = machine();
    let state = &machine.state;
    let first = Run::start(state.path(), "first", "WAIT");
    let held = format!("({NUMBERS}; WAIT) | {KEPT} | cksum");
    let second = Run::start(state.path(), "second", &held);
    let (first_id, second_id) = (first.id(), second.id());
    wait_for("the second to be swapped out", || {
        area(first_id).expect("it is on").0 > 32 << 10
    });
    let priorities = [first_id, second_id].map(|run| area(run).expect("it is on").1);
    assert!(priorities[0] > priorities[1], "{priorities:?}");

    first.end();
    let (used, _) = area(first_id).expect("the area is left on");
    assert!(used > 32 << 10, "nothing was read back: {used} KiB");
    // It is no leftover while a run goes on that will remove it.
    let told = String::from_utf8_lossy(&machine.terrace(&["doctor"]).stdout).into_owned();
    assert!(told.contains("nothing left behind"), "{told}");
    machine.terrace(&["doctor", "--clean"]);
    assert!(area(first_id).is_some(), "doctor leaves it to that run");

    let counted = second.end();
    let script = format!("{NUMBERS} | {KEPT} | cksum");
    let alone = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(counted.stdout, alone.stdout, "no page was lost");
    assert_eq!((area(first_id), area(second_id)), (None, None));
    let left = fs::read_dir(state.path()).unwrap().flatten();
    let left: Vec<_> = left
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert!(
        !left
            .iter()
            .any(|name| name.ends_with("json") || name.ends_with("swap")),
        "{left:?}"
    );
}
