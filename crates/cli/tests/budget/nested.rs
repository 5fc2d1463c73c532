//! The program's group is below that of its caller: limits of the unit that terrace is started in
//! hold for it. With memory cgroups of version 1, which nest as they are; version 2's are for
//! `make test-vm`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::TOUCH;
use crate::common::{Machine, machine, text};

const LIMIT: u64 = 24 << 20;

/// A group as a unit with a limit has it, below our own; removed when dropped.
struct Unit(PathBuf);

impl Unit {
    fn new(name: &str) -> Self {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| {
            let (controller, path) = line.split_once(':')?.1.split_once(':')?;
            (controller == "memory").then_some(path)
        });
        let own = own.expect("memory cgroups of version 1");
        let top = Path::new("/sys/fs/cgroup/memory").join(own.trim_start_matches('/'));
        let group = top.join(format!("{name}-{}", std::process::id()));
        fs::create_dir(&group).expect("a memory cgroup below ours");
        fs::write(group.join("memory.limit_in_bytes"), LIMIT.to_string()).unwrap();
        Self(group)
    }

    /// Has a command start in it.
    fn admit(&self, command: &mut Command) {
        let door = fs::OpenOptions::new()
            .write(true)
            .open(self.0.join("cgroup.procs"))
            .unwrap();
        // SAFETY: between fork and exec the closure only writes to a descriptor that is open.
        unsafe {
            command.pre_exec(move || std::io::Write::write_all(&mut &door, b"0"));
        }
    }

    fn peak(&self) -> u64 {
        let peak = fs::read_to_string(self.0.join("memory.max_usage_in_bytes")).unwrap();
        peak.trim().parse().unwrap()
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        let since = Instant::now();
        while fs::remove_dir(&self.0).is_err() && since.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// 76 MiB of them were reached from a unit of 20, when the group was made at the root.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_limit_of_the_unit_holds_for_the_program() {
    let machine = machine();
    let unit = Unit::new("limited");
    let options = ["--dram", "64M", "--footprint", "128M", "--prefetch", "off"];
    let mut command = machine.python(&options, TOUCH, &["76"]);
    unit.admit(&mut command);
    let (said, run) = machine.measure(command);
    assert!(said.parse::<u64>().unwrap() > 76 << 20);
    let peak = run["peak_resident_bytes"].as_u64().unwrap();
    assert!(peak <= LIMIT, "{peak} of {LIMIT}: {run}");
    assert!(unit.peak() <= LIMIT);
    machine.assert_empty(&unit.0);
}

/// What ends a unit ends the processes of its group and of those below.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn who_ends_the_unit_reaches_the_program() {
    let machine = machine();
    let unit = Unit::new("stopped");
    let script = "import sys, time\nprint('ready', flush=True)\ntime.sleep(60)";
    let options = ["--dram", "64M", "--footprint", "64M", "--prefetch", "off"];
    let mut command = machine.python(&options, script, &[]);
    unit.admit(&mut command);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut ready = [0; 6];
    let output = child.stdout.as_mut().unwrap();
    std::io::Read::read_exact(output, &mut ready).unwrap();
    let groups = fs::read_dir(&unit.0).unwrap().flatten();
    let groups: Vec<_> = groups
        .filter(|entry| {
            entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(b"terrace-")
        })
        .collect();
    let processes = fs::read_to_string(groups[0].path().join("cgroup.procs")).unwrap();
    let program: i32 = processes.trim().parse().expect("one process");
    // SAFETY: kill takes two integers; the process is in a group that was made for it.
    assert_eq!(unsafe { libc::kill(program, libc::SIGTERM) }, 0);
    assert!(!child.wait().unwrap().success());
    machine.assert_empty(&unit.0);
}

/// Groups that a program makes below its own: waited for, and gone with it.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn groups_of_the_program_s_own_are_waited_for_and_removed() {
    let machine = machine();
    let unit = Unit::new("dividing");
    let script = "
import os, sys, time
own = next(line for line in open('/proc/self/cgroup') if ':memory:' in line)
below = '/sys/fs/cgroup/memory' + own.strip().split(':', 2)[2] + '/below'
os.mkdir(below)
if os.fork() == 0:
    open(below + '/cgroup.procs', 'w').write('0')
    time.sleep(1)
    open(sys.argv[1], 'w').write('done')
";
    let done = machine.state.path().join("done");
    let options = ["--dram", "64M", "--footprint", "64M", "--prefetch", "off"];
    let mut command = machine.python(&options, script, &[done.to_str().unwrap()]);
    unit.admit(&mut command);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        done.exists(),
        "the process in the group below was not waited for"
    );
    Machine::assert_empty(&machine, &unit.0);
}
