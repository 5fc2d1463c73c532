//! What a program sees of its memory limit: what it would see without terrace, and what others see
//! of its mounts.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

mod common;
use common::{Machine, machine, text, wait_for};

/// Prints what the files of its own group say of limits, as runtimes read them, and those of the
/// groups above.
const LIMITS: &str = r#"
import os, sys
own = [line.strip().split(':', 2) for line in open('/proc/self/cgroup')]
v1 = [path for _, controllers, path in own if 'memory' in controllers.split(',')]
top = '/sys/fs/cgroup/memory' if v1 else '/sys/fs/cgroup'
group = top + (v1 or [path for _, controllers, path in own if not controllers])[0]
def read(name):
    try: return open(group + '/' + name).read()
    except OSError: return ''
names = ('memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', 'memory.soft_limit_in_bytes', 'memory.max',
         'memory.high', 'memory.swap.max')
# Where a group has no such file, it has no limit.
seen = [read(name).strip().replace('max', '') for name in names]
stat = dict(line.split() for line in read('memory.stat').splitlines())
seen += [stat.get('hierarchical_memory_limit', ''), stat.get('hierarchical_memsw_limit', '')]
with open(sys.argv[1], 'a') as out: print(*seen, sep=',', file=out)
"#;

/// The same program, again and again.
struct Reader {
    machine: Machine,
    seen: PathBuf,
}

impl Reader {
    fn new() -> Self {
        let machine = machine();
        let seen = machine.state.path().join("seen");
        Self { machine, seen }
    }

    /// What the program sees when it is started without terrace.
    fn plainly(&self, admit: impl Fn(&mut Command)) -> String {
        let mut python = Command::new("python3");
        python.args(["-c", LIMITS]).arg(&self.seen);
        admit(&mut python);
        assert!(python.status().expect("python3 runs").success());
        self.lines().remove(0)
    }

    /// What it sees in each run of terrace with these options, and what the results say.
    fn under(&self, options: &[&str], admit: impl Fn(&mut Command)) -> (Vec<String>, Value) {
        let result = self.machine.state.path().join("result");
        let common = [
            "run",
            "-q",
            "--dram",
            "64M",
            "--json",
            result.to_str().unwrap(),
        ];
        let program = ["--", "python3", "-c", LIMITS, self.seen.to_str().unwrap()];
        let mut command = self.machine.command(&[&common, options, &program].concat());
        admit(&mut command);
        let output = command.output().expect("terrace runs");
        assert!(output.status.success(), "{}", text(&output));
        let document = fs::read_to_string(result).unwrap();
        let document: Value = serde_json::from_str(&document).expect("JSON");
        (self.lines(), document["settings"]["memory_view"].clone())
    }

    /// The lines written since the last call.
    fn lines(&self) -> Vec<String> {
        let lines = fs::read_to_string(&self.seen).unwrap();
        fs::remove_file(&self.seen).unwrap();
        lines.lines().map(str::to_owned).collect()
    }
}

/// Has a command started where the test is.
fn here(_: &mut Command) {}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_program_sees_in_each_way_what_it_sees_without_terrace() {
    let reader = Reader::new();
    let plain = reader.plainly(here);
    let ways = ["--compare", "--prefetch", "stream"];
    let (seen, view) = reader.under(&ways, here);
    // The first of them measures the footprint.
    assert_eq!(seen, vec![plain; 5]);
    assert_eq!(view, "machine");
    reader.machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_program_may_see_its_limit() {
    let reader = Reader::new();
    let plain = reader.plainly(here);
    let (seen, view) = reader.under(&["--footprint", "128M", "--see-limit"], here);
    assert_eq!(seen.len(), 1);
    assert!(
        seen[0].contains("67108864"),
        "{seen:?}, and plainly {plain}"
    );
    assert_eq!(view, "limit");
    reader.machine.assert_as_found();
}

/// A group with a limit, as a container or a unit is; removed when dropped.
struct Unit(PathBuf);

impl Unit {
    /// Below the group of this test; none where the groups of a version cannot be nested so.
    fn new() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own
            .lines()
            .find_map(|line| line.split_once(":memory:"))?
            .1
            .to_owned();
        let top = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let group = top.join(format!("view-{}", std::process::id()));
        fs::create_dir(&group).expect("a memory cgroup below ours");
        fs::write(group.join("memory.limit_in_bytes"), "300M").unwrap();
        Some(Self(group))
    }

    /// Has a command start in it.
    fn admit(&self, command: &mut Command) {
        let door = fs::File::options()
            .write(true)
            .open(self.0.join("cgroup.procs"))
            .unwrap();
        // SAFETY: between fork and exec the closure only writes to a descriptor that is open.
        unsafe {
            command.pre_exec(move || std::io::Write::write_all(&mut &door, b"0"));
        }
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        wait_for("the group to be left", || fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_limit_that_holds_for_terrace_stays_visible() {
    let reader = Reader::new();
    let Some(unit) = Unit::new() else {
        eprintln!(
            "SKIPPED: this needs memory cgroups of version 1; make test-vm has those of version 2"
        );
        return;
    };
    let admit = |command: &mut Command| unit.admit(command);
    let plain = reader.plainly(admit);
    assert!(plain.contains(&(300 << 20).to_string()), "{plain}");
    let ways = ["--footprint", "128M", "--compare", "--prefetch", "stream"];
    let (seen, _) = reader.under(&ways, admit);
    assert_eq!(seen, vec![plain; 4]);
    reader.machine.assert_as_found();
}

/// The mounts of this machine with their propagation; peers have other numbers each time.
fn mounts() -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let without_numbers = |line: &str| {
        let words = line.split(' ').map(|word| match word.split_once(':') {
            Some((kind @ ("shared" | "master"), _)) => kind,
            _ => word,
        });
        words.collect::<Vec<_>>().join(" ")
    };
    mounts.lines().map(without_numbers).collect()
}

/// A file system in memory, mounted on a directory and unmounted when dropped.
struct Mounted(PathBuf);

impl Mounted {
    fn on(directory: PathBuf, option: &str) -> Self {
        fs::create_dir_all(&directory).unwrap();
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=64k", option, "none"])
            .arg(&directory);
        assert!(mount.status().expect("mount runs").success());
        Self(directory)
    }

    fn unmounts(directory: &Path) -> bool {
        let mut unmount = Command::new("umount");
        let unmount = unmount.arg(directory).stderr(Stdio::null());
        unmount.status().expect("umount runs").success()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        Self::unmounts(&self.0);
    }
}

/// A run that mounts below `at`, waits for a mount of others, and undoes its own.
fn mounter(machine: &Machine, at: &Path) -> Child {
    let script = r#"
        set -e
        cd /
        mkdir -p $0/ours $0/theirs
        mount -t tmpfs -o size=64k none $0/ours
        echo mounted >$0/ours/file
        while ! [ -e $0/theirs/file ]; do sleep 0.02; done
        umount $0/ours
        while [ -e $0/theirs/file ]; do sleep 0.02; done
        echo unmounted >$0/end
        while ! [ -e $0/over ]; do sleep 0.02; done"#;
    let options = [
        "run",
        "-q",
        "--dram",
        "64M",
        "--footprint",
        "64M",
        "--prefetch",
        "off",
    ];
    let program = ["--", "sh", "-c", script, at.to_str().unwrap()];
    let mut command = machine.command(&[&options[..], &program].concat());
    command.stdin(Stdio::null()).spawn().expect("terrace runs")
}

fn mounts_reach_others(machine: &Machine, at: &Path) {
    let mut run = mounter(machine, at);
    wait_for("the program's mount", || at.join("ours/file").exists());
    let theirs = Mounted::on(at.join("theirs"), "--no-mtab");
    fs::write(at.join("theirs/file"), "").unwrap();
    wait_for("the program to unmount", || !at.join("ours/file").exists());
    drop(theirs);
    wait_for("the program to see that", || at.join("end").exists());
    assert_eq!(
        covers(),
        [] as [String; 0],
        "what the program sees is seen by all"
    );
    fs::write(at.join("over"), "").unwrap();
    assert!(run.wait().unwrap().success());
}

/// Mounts on files of the groups of runs.
fn covers() -> Vec<String> {
    let mut mounts = mounts();
    mounts.retain(|line| line.contains("/memory."));
    mounts
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn mounts_are_seen_by_others_whatever_their_propagation() {
    let machine = machine();
    let top = machine.state.path().join("mounts");
    for option in ["--make-private", "--make-shared"] {
        let mounted = Mounted::on(top.join(option), option);
        let before = mounts();
        mounts_reach_others(&machine, &mounted.0);
        assert_eq!(mounts(), before, "{option}");
    }
    machine.assert_as_found();
}

/// Two of them need what is private shared; the first to end leaves it so.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_last_run_leaves_mounts_as_they_were() {
    let machine = machine();
    let mounted = Mounted::on(machine.state.path().join("mounts"), "--make-private");
    let before = mounts();
    let mut first = mounter(&machine, &mounted.0.join("first"));
    wait_for("the first", || mounted.0.join("first/ours/file").exists());
    mounts_reach_others(&machine, &mounted.0.join("second"));
    fs::create_dir_all(mounted.0.join("first/theirs")).unwrap();
    let theirs = Mounted::on(mounted.0.join("first/theirs"), "--no-mtab");
    fs::write(mounted.0.join("first/theirs/file"), "").unwrap();
    wait_for("the first to unmount", || {
        !mounted.0.join("first/ours/file").exists()
    });
    drop(theirs);
    fs::write(mounted.0.join("first/over"), "").unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(mounts(), before);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn mounts_of_a_killed_run_are_put_back() {
    let machine = machine();
    let mounted = Mounted::on(machine.state.path().join("mounts"), "--make-private");
    let before = mounts();
    let mut run = mounter(&machine, &mounted.0);
    wait_for("the program's mount", || {
        mounted.0.join("ours/file").exists()
    });
    run.kill().unwrap();
    run.wait().unwrap();
    // Its program goes on, and ends.
    let theirs = Mounted::on(mounted.0.join("theirs"), "--no-mtab");
    fs::write(mounted.0.join("theirs/file"), "").unwrap();
    wait_for("the program to unmount", || {
        !mounted.0.join("ours/file").exists()
    });
    drop(theirs);
    fs::write(mounted.0.join("over"), "").unwrap();
    wait_for("its group to be empty", || {
        let cleaned = machine.terrace(&["doctor", "--clean"]);
        cleaned.status.success()
    });
    assert_eq!(mounts(), before);
    machine.assert_as_found();
}

/// The limit itself is there for all to read but the program.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn others_see_the_limit_of_the_group() {
    let machine = machine();
    let ready = machine.state.path().join("ready");
    let script =
        "cat /proc/self/cgroup >$0.new; mv $0.new $0; while [ -e $0 ]; do sleep 0.02; done";
    let options = ["run", "-q", "--dram", "64M", "--footprint", "128M"];
    let program = ["--", "sh", "-c", script, ready.to_str().unwrap()];
    let mut command = machine.command(&[&options[..], &program].concat());
    let mut run = command.stdin(Stdio::null()).spawn().expect("terrace runs");
    wait_for("the program", || ready.exists());
    let groups = fs::read_to_string(&ready).unwrap();
    let read = |top: &str, group: &str, file: &str| {
        let file = Path::new(top)
            .join(group.trim_start_matches('/'))
            .join(file);
        fs::read_to_string(file).unwrap()
    };
    let v1 = groups.lines().find_map(|line| line.split_once(":memory:"));
    let limit = match v1 {
        Some((_, group)) => read("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"),
        None => {
            let unified = groups.lines().find_map(|line| line.strip_prefix("0::"));
            read("/sys/fs/cgroup", unified.unwrap(), "memory.high")
        }
    };
    assert_eq!(covers(), [] as [String; 0]);
    fs::remove_file(&ready).unwrap();
    assert!(run.wait().unwrap().success());
    assert_eq!(limit.trim(), "67108864");
    machine.assert_as_found();
}

#[test]
fn doctor_says_what_programs_see() {
    let output: Output = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["doctor", "--json"])
        .output()
        .expect("terrace runs");
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let checks = found["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == "memory limits");
    let check = check.expect("a check");
    let said = check["found"].as_str().unwrap();
    match check["verdict"].as_str().unwrap() {
        "ok" => assert!(
            said.starts_with("programs see those that hold for terrace"),
            "{said}"
        ),
        _ => assert!(
            check["fix"].as_str().unwrap().contains("size themselves"),
            "{check}"
        ),
    }
}
