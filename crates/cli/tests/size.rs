//! `terrace size` on programs with a hot and a cold part. What the kernel counts of the program is
//! what its figures are held against.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

mod common;
use common::schema::checked;
use common::{Machine, machine, needs, text, wait_for};

/// Writes its number into each page of 96 MiB, and reads 16 MiB of them again and again. When it is
/// asked to (`check`), it reads all, and writes down how many major faults that took. When it has
/// to end it writes down its major faults and what it has in swap, checks all pages, and ends with
/// code 3 if one is wrong.
const PROGRAM: &str = r#"
import mmap, os, resource, signal, struct, sys, time
pages, hot, state = 24576, 4096, sys.argv[1]
memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
noise = os.urandom(4088)
for page in range(pages):
    memory[page * 4096:(page + 1) * 4096] = struct.pack('<Q', page) + noise
def major(): return resource.getrusage(resource.RUSAGE_SELF).ru_majflt
def swapped():
    return next(int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmSwap'))
def write(name, text):
    open(state + '/' + name + '.new', 'w').write(str(text))
    os.rename(state + '/' + name + '.new', state + '/' + name)
def right(): return all(memory[p * 4096:p * 4096 + 8] == struct.pack('<Q', p) for p in range(pages))
asked = []
signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
write('pid', os.getpid())
begun = major()
while not asked:
    for page in range(hot): memory[page * 4096]
    if os.path.exists(state + '/check'):
        before = major()
        ok = right()
        os.remove(state + '/check')
        write('checked', '%d %d' % (ok, major() - before))
    time.sleep(0.01)
write('end', '%d %d' % (major() - begun, swapped()))
sys.exit(0 if right() else 3)
"#;

/// A policy that takes what it can within seconds.
const FAST: &str = "slowdown:goal=0.2,window=1s,rest=1s,every=200ms,most=0.05";

fn program(machine: &Machine) -> Vec<String> {
    needs("python3");
    let state = machine.state.path().display().to_string();
    ["python3", "-c", PROGRAM, &state].map(str::to_owned).into()
}

fn file(machine: &Machine, name: &str) -> PathBuf {
    machine.state.path().join(name)
}

fn read(machine: &Machine, name: &str) -> Vec<u64> {
    let text = fs::read_to_string(file(machine, name)).expect(name);
    text.split_whitespace()
        .map(|it| it.parse().unwrap())
        .collect()
}

fn document(output: &Output) -> Value {
    let found = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
    assert_eq!(found["schema"], "terrace.size/1", "{}", text(output));
    found
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}"))
}

/// The program in a run that has room for all of it, whose swap area a service can use.
struct Service {
    run: Child,
    pid: String,
}

impl Service {
    fn start(machine: &Machine) -> Self {
        let options = [
            "run",
            "-q",
            "--prefetch",
            "off",
            "--dram",
            "512M",
            "--footprint",
            "600M",
            "--",
        ];
        let run = machine
            .command(&options)
            .args(program(machine))
            .stdout(Stdio::null())
            .spawn()
            .expect("terrace runs");
        wait_for("the program", || file(machine, "pid").exists());
        let pid = read(machine, "pid")[0].to_string();
        Self { run, pid }
    }

    fn size(&self, machine: &Machine, options: &[&str]) -> Command {
        self.size_by(machine, FAST, options)
    }

    fn size_by(&self, machine: &Machine, control: &str, options: &[&str]) -> Command {
        let common = ["size", "--json=-", "--control", control, "--pid", &self.pid];
        let mut command = machine.command(&[&common, options].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// KiB in swap.
    fn swapped(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap_or_default();
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("VmSwap:"));
        line.map_or(0, |line| {
            line.trim().trim_end_matches(" kB").parse().unwrap()
        })
    }

    /// The limits of its group, as the kernel shows them.
    fn limits(&self) -> Vec<String> {
        let groups = fs::read_to_string(format!("/proc/{}/cgroup", self.pid)).expect("it runs");
        let path = groups.lines().find_map(|line| {
            line.split_once(":memory:")
                .or_else(|| line.split_once("0::"))
        });
        let path = path.expect("a group").1.trim_start_matches('/');
        let files = [
            format!("/sys/fs/cgroup/memory/{path}/memory.limit_in_bytes"),
            format!("/sys/fs/cgroup/memory/{path}/memory.memsw.limit_in_bytes"),
            format!("/sys/fs/cgroup/{path}/memory.max"),
            format!("/sys/fs/cgroup/{path}/memory.high"),
        ];
        let found: Vec<_> = files.iter().flat_map(fs::read_to_string).collect();
        assert!(!found.is_empty(), "{groups}");
        found
    }

    /// Has it read all of its memory; returns the major faults of that.
    fn check(&self, machine: &Machine) -> u64 {
        let _ = fs::remove_file(file(machine, "checked"));
        fs::write(file(machine, "check"), "").unwrap();
        wait_for("the memory to be read", || {
            file(machine, "checked").exists()
        });
        let found = read(machine, "checked");
        assert_eq!(found[0], 1, "its memory is as it wrote it");
        found[1]
    }

    fn end(mut self) {
        let pid: i32 = self.pid.parse().unwrap();
        // SAFETY: takes integers; the program's parent has not ended.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        assert!(self.run.wait().unwrap().success(), "no page of it was lost");
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_cold_part_leaves_and_the_hot_one_stays() {
    let machine = machine();
    let trace = file(&machine, "program.parquet").display().to_string();
    let generate = [
        "trace",
        "gen",
        "zipf",
        "--footprint",
        "96M",
        "--accesses",
        "300K",
    ];
    let made = machine.terrace(&[&generate[..], &["-o", &trace]].concat());
    assert!(made.status.success(), "{}", text(&made));
    let options = [
        "size",
        "--json=-",
        "--for",
        "40s",
        "--control",
        FAST,
        "--trace",
        &trace,
    ];
    let mut command = machine.command(&options);
    let output = command.arg("--").args(program(&machine)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let found = document(&output);
    assert_eq!(found["end"], "time");
    let [major, swapped] = read(&machine, "end")[..] else {
        panic!("two numbers");
    };
    // The cold part is 80 MiB, the hot one has 4096 pages.
    assert!(swapped > 40 << 10, "{swapped} KiB: {found}");
    assert!(major < 400, "{major} major faults: {found}");
    let left = number(&found["decisions"]["left_bytes"]) / 1024.0;
    let written = number(&found["all"]["written_bytes"]) / 1024.0;
    assert!(
        (left - swapped as f64).abs() < left / 4.0 + 20480.0,
        "{left} {swapped}: {found}"
    );
    assert!(written >= left, "what left was written: {found}");
    assert!(
        number(&found["footprint_bytes"]) >= (96 << 20) as f64,
        "{found}"
    );
    let levels = found["levels"].as_array().unwrap();
    assert!(levels.len() >= 3, "{found}");
    assert_beside(&machine, &found, &trace);
    machine.assert_as_found();
}

/// The simulated curve is what `terrace sim pages` says of the same sizes.
fn assert_beside(machine: &Machine, found: &Value, trace: &str) {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let curve = list(&found["simulated"]["levels"]);
    let sizes = |levels: &[Value]| -> Vec<u64> {
        let sizes = levels
            .iter()
            .map(|it| number(&it["dram_bytes"]) as u64 / 4096);
        sizes.collect()
    };
    assert_eq!(sizes(&curve), sizes(&list(&found["levels"])), "{found}");
    let pages: Vec<_> = sizes(&curve).iter().map(|it| format!("{it}p")).collect();
    let output = machine.terrace(&[
        "sim",
        "pages",
        "--json=-",
        "--dram",
        &pages.join(","),
        trace,
    ]);
    let simulated: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let runs = list(&simulated["runs"]);
    assert_eq!(runs.len(), curve.len());
    for (level, run) in curve.iter().zip(runs) {
        let lost = 1.0 - 1.0 / number(&run["slowdown"]);
        let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * other.abs();
        assert!(close(number(&level["slowdown"]), lost), "{level} {run}");
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_service_has_back_what_left_and_keeps_its_limits() {
    let machine = machine();
    let service = Service::start(&machine);
    let limits = service.limits();
    let output = service.size(&machine, &["--for", "15s"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let found = document(&output);
    let decisions = &found["decisions"];
    assert!(
        number(&decisions["left_bytes"]) > (20 << 20) as f64,
        "{found}"
    );
    assert!(
        number(&decisions["restored_bytes"]) > number(&decisions["left_bytes"]) / 2.0,
        "{found}"
    );
    assert_eq!(service.limits(), limits);
    // It is in DRAM again, so that to read it takes hardly a major fault.
    let faults = service.check(&machine);
    assert!(faults < 1000, "{faults} major faults: {found}");
    service.end();
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_kill_leaves_a_service_as_it_is_and_a_second_hand_is_refused() {
    let machine = machine();
    let service = Service::start(&machine);
    let limits = service.limits();
    let mut first = service.size(&machine, &[]).spawn().unwrap();
    wait_for("memory to leave", || service.swapped() > 10 << 10);
    let second = service.size(&machine, &["--for", "1s"]).output().unwrap();
    assert_eq!(second.status.code(), Some(1), "{}", text(&second));
    let said = text(&second);
    assert!(
        said.contains("another process of terrace controls"),
        "{said}"
    );
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(service.limits(), limits);
    service.check(&machine);
    let third = service.size(&machine, &["--for", "1s"]).output().unwrap();
    assert_eq!(third.status.code(), Some(0), "{}", text(&third));
    service.end();
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_a_burst_touches_is_given_back() {
    let machine = machine();
    let service = Service::start(&machine);
    // A look with more than 4 ms of stalls is one too many.
    let control = "slowdown:goal=0.005,window=1s,rest=1s,every=200ms,most=0.05";
    let mut sized = service.size_by(&machine, control, &["--for", "40s"]);
    let sized = sized.spawn().unwrap();
    wait_for("memory to leave", || service.swapped() > 20 << 10);
    // What is on trial is in DRAM, and hurts nobody.
    std::thread::sleep(std::time::Duration::from_secs(8));
    let faults = service.check(&machine);
    assert!(faults > 0, "something had left");
    let output = sized.wait_with_output().unwrap();
    let found = document(&output);
    let decisions = &found["decisions"];
    assert!(number(&decisions["returns"]) > 0.0, "{found}");
    assert!(number(&decisions["came_bytes"]) > 0.0, "{found}");
    service.end();
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_program_that_ends_ends_it_with_its_code() {
    let machine = machine();
    let output = machine.terrace(&["size", "--", "sh", "-c", "sleep 1; exit 5"]);
    assert_eq!(output.status.code(), Some(5), "{}", text(&output));
    assert!(
        text(&output).contains("too short a time"),
        "{}",
        text(&output)
    );
    let service = Service::start(&machine);
    let sized = service.size(&machine, &[]).spawn().unwrap();
    wait_for("memory to leave", || service.swapped() > 10 << 10);
    service.end();
    let output = sized.wait_with_output().unwrap();
    assert_eq!(document(&output)["end"], "program");
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_is_not_there_has_its_sentence() {
    let machine = machine();
    for (arguments, code, why) in [
        (&["--pid", "4194303"][..], 2, "there is no process"),
        (
            &["--unit", "no-such-unit"][..],
            2,
            "no unit `no-such-unit` runs here",
        ),
        (
            &["--unit", "a", "--tier", "zram"][..],
            2,
            "are for a program behind --",
        ),
        (&["--", "/no/such/program"][..], 2, "does not exist"),
        (
            &["--control", "fast", "--", "true"][..],
            2,
            "there is no control policy `fast`",
        ),
        (
            &["--slowdown", "7", "--", "true"][..],
            2,
            "is no share of time",
        ),
        (
            &["--trace", "/no/such/trace", "--", "true"][..],
            1,
            "/no/such/trace",
        ),
        (&[][..], 2, "is missing"),
    ] {
        let output = machine.terrace(&[&["size"], arguments].concat());
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            text(&output)
        );
        assert!(
            text(&output).contains(why),
            "{arguments:?}: {}",
            text(&output)
        );
    }
    machine.assert_as_found();
}
