//! Real runs: real cgroups, real swap, real signals. They need root and run one at a time, for
//! they share the machine's swap; elsewhere each says that it was skipped.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::Value;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The machine, as one test has it for itself; holds at its end that all is as it was.
struct Machine {
    _lock: MutexGuard<'static, ()>,
    state: tempfile::TempDir,
    before: Vec<String>,
}

/// What a run may change.
fn traces() -> Vec<String> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let mut traces = vec![read("/proc/swaps"), read("/proc/sys/vm/page-cluster")];
    for root in [
        "/sys/fs/cgroup",
        "/sys/fs/cgroup/memory",
        "/sys/fs/cgroup/unified",
    ] {
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.path().display().to_string());
        traces.extend(names.filter(|name| name.contains("/terrace-")));
    }
    traces
}

/// The machine, or none, said loudly, where a run is not possible.
fn machine() -> Option<Machine> {
    let lock = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    let doctor = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["doctor", "--json"])
        .output()
        .expect("terrace runs");
    let found: Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    if found["ready"] != true {
        // Not by a macro: the test harness would swallow it.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: {} needs what `terrace doctor` marks NO here",
            std::thread::current().name().unwrap_or("a live test")
        );
        return None;
    }
    // Under the target directory: a temporary directory may be DRAM, where no tier can be.
    let state = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a state directory");
    Some(Machine {
        _lock: lock,
        state,
        before: traces(),
    })
}

impl Machine {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command
            .args(arguments)
            .env("TERRACE_STATE_DIR", self.state.path());
        command
    }

    fn terrace(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("terrace runs")
    }

    /// `terrace run --dram 64M --footprint 256M` with these options and program.
    fn run(&self, options: &[&str], program: &[&str]) -> Output {
        self.terrace(&Self::arguments(options, program))
    }

    fn arguments<'a>(options: &[&'a str], program: &[&'a str]) -> Vec<&'a str> {
        let common = ["run", "--dram", "64M", "--footprint", "256M"];
        [&common, options, &["--"], program].concat()
    }

    /// Runs a program and returns the JSON document.
    fn measure(&self, options: &[&str], program: &[&str]) -> Value {
        let file = self.state.path().join("result");
        let file = file.to_str().unwrap();
        let output = self.run(&[options, &["-q", "--json", file]].concat(), program);
        assert!(output.status.success(), "{}", text(&output));
        serde_json::from_str(&fs::read_to_string(file).unwrap()).expect("JSON")
    }

    /// A program that runs until it is told to end, and what it printed first.
    fn start_sleeper(&self, script: &str) -> Child {
        let ready = self.state.path().join("ready");
        let script = format!("touch {}; {script}", ready.display());
        let child = self
            .command(&Self::arguments(&["-q"], &["sh", "-c", &script]))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("terrace runs");
        wait_for("the program to start", || ready.exists());
        child
    }

    fn swap_files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.state.path()).unwrap().flatten();
        let paths = entries.map(|entry| entry.path());
        paths
            .filter(|path| path.extension().is_some_and(|e| e == "swap"))
            .collect()
    }

    /// Holds that nothing was left behind.
    fn assert_as_found(&self) {
        assert_eq!(traces(), self.before);
        assert_eq!(self.swap_files(), [] as [PathBuf; 0]);
        let journals = fs::read_dir(self.state.path()).unwrap().flatten();
        let journals = journals.filter(|e| e.path().extension().is_some_and(|e| e == "json"));
        assert_eq!(journals.count(), 0, "a journal was left");
    }
}

fn walk() -> String {
    let terrace = Path::new(env!("CARGO_BIN_EXE_terrace"));
    let examples = terrace.parent().unwrap().join("examples");
    examples.join("walk").to_str().unwrap().to_owned()
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        assert!(
            since.elapsed() < Duration::from_secs(30),
            "waited for {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes two integers; the child has not been waited for, so the number is its.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_program_larger_than_its_dram_runs_through_and_is_accounted_for() {
    let Some(machine) = machine() else { return };
    let result = machine.measure(&[], &[&walk(), "192", "17", "2"]);
    assert_eq!(result["schema"], "terrace.run/1");
    assert_eq!(result["settings"]["dram_bytes"], 64 << 20);
    let run = &result["runs"][0];
    assert_eq!(run["way"], "terrace");
    assert_eq!(run["exit"]["code"], 0);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value} in {run}"));
    assert!(run["wall_s"][0].as_f64().unwrap() > 0.0);
    assert!(number(&run["tier_written_bytes"]) > 100 << 20, "{run}");
    assert!(number(&run["tier_read_bytes"]) > 100 << 20, "{run}");
    assert!(number(&run["peak_resident_bytes"]) <= 64 << 20, "{run}");
    assert!(number(&run["footprint_bytes"]) > 150 << 20, "{run}");
    let prefetch = &run["prefetch"];
    let ends = ["used", "late", "wasted"].map(|end| number(&prefetch[end]));
    assert_eq!(ends.iter().sum::<u64>(), number(&prefetch["issued"]));
    // A constant stride over 48 k pages, a third of them resident at most.
    assert!(ends[0] + ends[1] > 10_000, "{run}");
    machine.assert_as_found();
}

#[test]
fn the_fault_stream_of_forked_processes_is_seen() {
    let Some(machine) = machine() else { return };
    let result = machine.measure(&[], &[&walk(), "192", "17", "2", "fork"]);
    let used = &result["runs"][0]["prefetch"]["used"];
    assert!(used.as_u64().unwrap() > 10_000, "{result}");
    machine.assert_as_found();
}

#[test]
fn first_touches_cost_no_prefetch() {
    let Some(machine) = machine() else { return };
    let result = machine.measure(&[], &[&walk(), "48", "1", "1"]);
    let run = &result["runs"][0];
    assert_eq!(run["prefetch"]["issued"], 0, "{run}");
    // Not nothing: the kernel may put away a few idle pages whatever the budget.
    assert!(
        run["tier_written_bytes"].as_u64().unwrap() < 1 << 20,
        "{run}"
    );
    machine.assert_as_found();
}

#[test]
fn prefetch_off_is_the_kernel_alone() {
    let Some(machine) = machine() else { return };
    let result = machine.measure(&["--prefetch", "off"], &[&walk(), "96", "1", "1"]);
    assert_eq!(result["runs"][0]["way"], "kernel");
    assert_eq!(result["runs"][0]["prefetch"], Value::Null);
    machine.assert_as_found();
}

#[test]
fn a_comparison_runs_all_ways_as_often_as_asked() {
    let Some(machine) = machine() else { return };
    let options = ["--compare", "--repeat", "2", "--endurance", "600TBW"];
    let result = machine.measure(&options, &[&walk(), "96", "3", "1"]);
    let runs = result["runs"].as_array().unwrap();
    let ways: Vec<_> = runs
        .iter()
        .map(|run| run["way"].as_str().unwrap())
        .collect();
    assert_eq!(ways, ["all-dram", "kernel", "kernel-cpf", "terrace"]);
    for run in runs {
        assert_eq!(run["wall_s"].as_array().unwrap().len(), 2, "{run}");
    }
    // The program's own file may have to be read; its memory never.
    assert_eq!(runs[0]["tier_read_bytes"], 0, "{}", runs[0]);
    assert!(runs[3]["lifetime_years"].as_f64().unwrap() > 0.0);
    machine.assert_as_found();
}

#[test]
fn a_share_of_the_footprint_is_measured_by_a_first_run() {
    let Some(machine) = machine() else { return };
    let file = machine.state.path().join("result");
    let output = machine.terrace(&[
        "run",
        "--dram",
        "50%",
        "-q",
        "--json",
        file.to_str().unwrap(),
        "--",
        &walk(),
        "128",
        "1",
        "20",
    ]);
    assert!(output.status.success(), "{}", text(&output));
    let result: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let settings = &result["settings"];
    assert_eq!(settings["footprint_measured"], true);
    let dram = settings["dram_bytes"].as_f64().unwrap();
    let footprint = settings["footprint_bytes"].as_f64().unwrap();
    assert!((dram / footprint - 0.5).abs() < 0.001, "{settings}");
    assert!((120e6..160e6).contains(&footprint), "{settings}");
    machine.assert_as_found();
}

#[test]
fn streams_and_exit_codes_are_the_program_s_own() {
    let Some(machine) = machine() else { return };
    let arguments = Machine::arguments(&["-q"], &["sh", "-c", "cat; echo err >&2; exit 7"]);
    let mut child = machine
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"in and out")
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"in and out");
    assert_eq!(output.stderr, b"err\n");
    machine.assert_as_found();
}

#[test]
fn death_by_a_signal_is_passed_on() {
    let Some(machine) = machine() else { return };
    let output = machine.run(&["-q"], &["sh", "-c", "kill -SEGV $$"]);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
    machine.assert_as_found();
}

#[test]
fn a_sigterm_reaches_the_program_and_all_is_put_back() {
    let Some(machine) = machine() else { return };
    let mut child = machine.start_sleeper("trap 'exit 5' TERM; while :; do sleep 0.05; done");
    assert_ne!(
        traces(),
        machine.before,
        "a run leaves traces while it runs"
    );
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    machine.assert_as_found();
}

#[test]
fn a_signal_to_the_whole_group_ends_the_program_and_all_is_put_back() {
    let Some(machine) = machine() else { return };
    // A process group of its own stands for the foreground of a terminal.
    let ready = machine.state.path().join("ready");
    let script = format!(
        "trap 'exit 6' INT; touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let mut command = machine.command(&Machine::arguments(&["-q"], &["sh", "-c", &script]));
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    // Who runs the tests in the background may ignore it, and a shell cannot trap what is ignored.
    // SAFETY: signal takes two integers, and may be called between fork and exec.
    unsafe {
        std::os::unix::process::CommandExt::pre_exec(&mut command, || {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.spawn().unwrap();
    wait_for("the program to start", || ready.exists());
    // SAFETY: kill takes two integers; the group is the child's.
    assert_eq!(unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) }, 0);
    assert_eq!(child.wait().unwrap().code(), Some(6));
    machine.assert_as_found();
}

#[test]
fn processes_that_outlive_the_program_are_waited_for() {
    let Some(machine) = machine() else { return };
    let since = Instant::now();
    let output = machine.run(&[], &["sh", "-c", "(sleep 1; true) & exit 0"]);
    assert!(since.elapsed() > Duration::from_secs(1));
    assert!(output.status.success());
    assert!(text(&output).contains("still run"), "{}", text(&output));
    machine.assert_as_found();
}

#[test]
fn after_a_kill_the_program_goes_on_and_doctor_cleans_up() {
    let Some(machine) = machine() else { return };
    let stop = machine.state.path().join("stop");
    let script = format!("while ! test -e {}; do sleep 0.05; done", stop.display());
    let mut child = machine.start_sleeper(&script);
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    assert_eq!(machine.swap_files().len(), 1);

    let clean = || text(&machine.terrace(&["doctor", "--clean"]));
    assert!(clean().contains("still runs"), "its program is left alone");
    assert_eq!(machine.swap_files().len(), 1, "and its tier too");

    fs::write(&stop, "").unwrap();
    wait_for("the program to end", || clean().contains("put back"));
    assert!(clean().contains("nothing was left behind"));
    machine.assert_as_found();
}

/// Also where there is more swap on the machine: what another run has is its own.
#[test]
fn a_program_beyond_budget_and_tier_is_told_apart() {
    let Some(machine) = machine() else { return };
    let mut other = machine.start_sleeper("exec sleep 60");
    let arguments = ["run", "--dram", "16M", "--footprint", "8M", "--"];
    let walk = walk();
    let output = machine.terrace(&[&arguments[..], &[&walk, "256", "1", "1"]].concat());
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGKILL),
        "{}",
        text(&output)
    );
    assert!(
        text(&output).contains("more than its DRAM budget of 16.0 MiB plus the tier"),
        "{}",
        text(&output)
    );
    signal(&other, libc::SIGTERM);
    other.wait().unwrap();
    machine.assert_as_found();
}

#[test]
fn tiers_that_cannot_be_are_refused_and_leave_nothing() {
    let Some(machine) = machine() else { return };
    for (tier, why) in [("/dev/shm", "tmpfs"), ("/proc", "name")] {
        let output = machine.run(&["--tier", tier], &["true"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(why), "{}", text(&output));
    }
    let output = machine.terrace(&["run", "--dram", "64M", "--footprint", "4P", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("are needed"), "{}", text(&output));
    machine.assert_as_found();
}

/// A loop device over a file, while there are any.
struct Loop(String);

impl Loop {
    fn over(file: &Path) -> Option<Self> {
        let output = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output()
            .ok()
            .filter(|output| output.status.success());
        let Some(output) = output else {
            let _ = writeln!(
                std::io::stderr(),
                "SKIPPED: no loop device for a device tier"
            );
            return None;
        };
        Some(Self(
            String::from_utf8(output.stdout).unwrap().trim().into(),
        ))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_block_device_is_a_tier_if_it_is_blank_and_is_blank_again_afterwards() {
    let Some(machine) = machine() else { return };
    let path = machine.state.path().join("disk");
    let file = fs::File::create(&path).unwrap();
    file.set_len(512 << 20).unwrap();
    let Some(device) = Loop::over(&path) else {
        return;
    };
    let options = ["--tier", &device.0];
    for _ in 0..2 {
        let result = machine.measure(&options, &[&walk(), "128", "1", "1"]);
        let written = result["runs"][0]["tier_written_bytes"].as_u64().unwrap();
        assert!(written > 32 << 20, "{result}");
        let mut start = vec![1u8; 128 << 10];
        std::io::Read::read_exact(&mut fs::File::open(&device.0).unwrap(), &mut start).unwrap();
        assert!(start.iter().all(|&byte| byte == 0), "it is not blank again");
    }

    // What an ext4 file system has at byte 1080.
    let write = fs::OpenOptions::new().write(true).open(&device.0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&write, &[0x53, 0xef], 1080).unwrap();
    drop(write);
    let output = machine.run(&options, &["true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("holds data"), "{}", text(&output));
    drop(device);
    machine.assert_as_found();
}

#[test]
fn compressed_memory_is_a_tier() {
    let Some(machine) = machine() else { return };
    if !Path::new("/sys/block/zram0").exists() && !Path::new("/sys/class/zram-control").exists() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: no zram here");
        return;
    }
    let result = machine.measure(&["--tier", "zram"], &[&walk(), "128", "1", "1"]);
    let written = result["runs"][0]["tier_written_bytes"].as_u64().unwrap();
    assert!(written > 32 << 20, "{result}");
    machine.assert_as_found();
}

#[test]
fn what_the_machine_swaps_to_is_a_tier_if_there_is_any() {
    let Some(machine) = machine() else { return };
    let output = machine.run(&["-q", "--tier", "existing"], &["true"]);
    if fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1 {
        assert!(output.status.success(), "{}", text(&output));
    } else {
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output).contains("swaps to nothing"),
            "{}",
            text(&output)
        );
    }
    machine.assert_as_found();
}

#[test]
fn too_little_privilege_is_named() {
    let Some(machine) = machine() else { return };
    let terrace = env!("CARGO_BIN_EXE_terrace");
    let output = Command::new("setpriv")
        .args(["--bounding-set=-all", "--inh-caps=-all", terrace])
        .args(["run", "--dram", "64M", "--", "true"])
        .output()
        .expect("setpriv is part of Debian's util-linux");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("CAP_SYS_ADMIN"), "{}", text(&output));
    machine.assert_as_found();
}

#[test]
fn a_machine_is_measured_and_a_simulated_run_held_against_a_live_one() {
    let Some(machine) = machine() else { return };
    let path = |name: &str| machine.state.path().join(name).display().to_string();
    let (readings, measured, trace) = (path("readings"), path("machine"), path("trace.parquet"));
    let output = machine.terrace(&["calibrate", "--json", &readings, "--machine", &measured]);
    assert!(output.status.success(), "{}", text(&output));
    machine.assert_as_found();
    let document: Value = serde_json::from_str(&fs::read_to_string(&readings).unwrap()).unwrap();
    let swap = &document["calibration"]["swap"];
    let cost = |name: &str| swap[name].as_f64().unwrap();
    assert!(cost("fault") > cost("first_touch"), "{swap}");

    // The same walk as a trace: each pass over more pages than fit misses all of them.
    let generated = machine.terrace(&[
        "trace",
        "gen",
        "sequential",
        "--footprint",
        "64M",
        "--accesses",
        "200000",
        "-o",
        &trace,
    ]);
    assert!(generated.status.success(), "{}", text(&generated));
    let simulated = machine.terrace(&[
        "sim",
        "pages",
        "--machine",
        &measured,
        "--dram",
        "16M",
        "--json",
        &trace,
    ]);
    assert!(simulated.status.success(), "{}", text(&simulated));

    let result = path("result");
    let arguments = [
        "validate",
        "-q",
        "--repeat",
        "1",
        "--dram",
        "32M",
        "--calibration",
        &readings,
        "--trace",
        &trace,
        "--json",
        &result,
        "--",
    ];
    let walk = walk();
    let output = machine.terrace(&[&arguments[..], &[walk.as_str(), "64", "1", "2"]].concat());
    assert!(output.status.success(), "{}", text(&output));
    machine.assert_as_found();
    let document: Value = serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap();
    assert_eq!(document["schema"], "terrace.validate/1");
    let figures = document["figures"].as_array().unwrap();
    let faults = figures.iter().find(|f| f["name"] == "major faults");
    let live = faults.unwrap()["live"].as_f64().unwrap();
    assert!(live > 10_000.0, "{document}");
}
