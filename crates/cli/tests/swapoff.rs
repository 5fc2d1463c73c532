//! Giving the tier back: beside neighbours whose pages are in it, and after a `kill -9` of any
//! command. Long: every command is killed.

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

mod common;
use common::lasting::{Run, areas, children, is_guardian};
use common::{Machine, machine, text, wait_for};
use tempfile::TempDir;

/// What a neighbour keeps in memory, and the limit of its group.
const KEPT: &str = "tail -c 160000000";
const NUMBERS: &str = "seq 22000000";
const LIMIT: u64 = 40 << 20;

/// A memory group of somebody else with a limit, and a program in it that is larger and lasts until
/// it is told to end; both are gone when it is dropped.
struct Neighbour {
    group: PathBuf,
    stop: PathBuf,
    child: Option<Child>,
}

impl Neighbour {
    fn start(machine: &Machine) -> Self {
        let first = Path::new("/sys/fs/cgroup/memory");
        let top = match first.exists() {
            true => first,
            false => Path::new("/sys/fs/cgroup"),
        };
        let group = top.join(format!("neighbour-{}", std::process::id()));
        let stop = machine.state.path().join("neighbour-stop");
        let mut it = Self {
            group,
            stop,
            child: None,
        };
        fs::create_dir(&it.group).expect("a group");
        it.limit(LIMIT);
        let script = format!(
            "echo $$ >{}/cgroup.procs; ({NUMBERS}; until test -e {}; do sleep 0.05; done) | {KEPT} | cksum",
            it.group.display(),
            it.stop.display()
        );
        let child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn();
        it.child = Some(child.expect("it starts"));
        it
    }

    fn limit(&self, bytes: u64) {
        let file = ["memory.limit_in_bytes", "memory.max"].map(|name| self.group.join(name));
        let file = file.iter().find(|file| file.exists()).expect("a limit");
        fs::write(file, bytes.to_string()).expect("it is set");
    }

    /// How often the kernel has killed in the group.
    fn kills(&self) -> u64 {
        let events = ["memory.oom_control", "memory.events"].map(|name| self.group.join(name));
        let events = events.iter().find_map(|file| fs::read_to_string(file).ok());
        let events = events.expect("events");
        let count = events
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "));
        count.expect("a count").trim().parse().unwrap()
    }

    fn processes(&self) -> Vec<i32> {
        let listed = fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default();
        listed.lines().filter_map(|pid| pid.parse().ok()).collect()
    }

    fn kill(&self) {
        for pid in self.processes() {
            // SAFETY: takes two integers; the process is in the group of this test.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// Has it end, and checks that no page of it was lost.
    fn end(mut self) {
        fs::write(&self.stop, "").unwrap();
        let child = self.child.take().expect("it was not waited for");
        let summed = child.wait_with_output().unwrap();
        let alone = Command::new("sh")
            .args(["-c", &format!("{NUMBERS} | {KEPT} | cksum")])
            .output()
            .unwrap();
        assert_eq!(summed.stdout, alone.stdout, "pages were lost");
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.kill();
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
        wait_for("the group to be empty", || {
            fs::remove_dir(&self.group).is_ok()
        });
    }
}

fn wait_for_pages(machine: &Machine) {
    wait_for("the neighbour to be swapped out", || {
        areas(machine).iter().sum::<u64>() > 100 << 10
    });
}

/// A loop that does little, and the longest time by which a turn of it was late.
struct Pauses {
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<Duration>,
}

impl Pauses {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let (mut longest, pause) = (Duration::ZERO, Duration::from_millis(5));
            while !told.load(Ordering::Relaxed) {
                let since = Instant::now();
                thread::sleep(pause);
                // A process of another's that has to be found and read, as a shell would.
                let _ = fs::read("/proc/self/status");
                longest = longest.max(since.elapsed().saturating_sub(pause));
            }
            longest
        });
        Self { over, thread }
    }

    /// Prints the longest, and checks that the machine was not lost; its aim is a second.
    fn end(self, what: &str) {
        self.over.store(true, Ordering::Relaxed);
        let longest = self.thread.join().unwrap();
        println!("longest pause of a loop while {what}: {longest:.1?}");
        assert!(longest < Duration::from_secs(20), "{longest:?}");
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn pages_that_a_neighbour_s_limit_has_no_room_for_stay_until_it_ends() {
    let machine = machine();
    let run = Run::start(&machine, "run");
    let neighbour = Neighbour::start(&machine);
    wait_for_pages(&machine);
    let pauses = Pauses::start();
    let output = run.end();
    pauses.end("a run ends beside a neighbour without room");
    assert!(output.status.success());
    let said = text(&output);
    for part in [
        "stays on",
        "at priority 32767",
        "has a limit of 40.0 MiB",
        "tail (process ",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(areas(&machine).len(), 1, "{said}");
    let doctor = machine.terrace(&["doctor", "--clean"]);
    assert_eq!(doctor.status.code(), Some(1), "{}", text(&doctor));
    assert!(
        text(&doctor).contains("clean again when they have ended"),
        "{}",
        text(&doctor)
    );
    assert_eq!(neighbour.kills(), 0, "it has lost nothing");
    neighbour.end();
    // Without doctor.
    machine.wait_until_as_found();
    let doctor = machine.terrace(&["doctor", "--clean"]);
    assert!(doctor.status.success(), "{}", text(&doctor));
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn pages_with_room_are_read_back_whether_their_program_lives_or_is_killed_meanwhile() {
    let machine = machine();
    for killed in [false, true] {
        let run = Run::start(&machine, &format!("run-{killed}"));
        let neighbour = Neighbour::start(&machine);
        wait_for_pages(&machine);
        neighbour.limit(1 << 30);
        let pauses = Pauses::start();
        run.ask_to_end();
        if killed {
            wait_for("the swapoff to begin", || {
                !swapoff_processes().is_empty() || areas(&machine).is_empty()
            });
            neighbour.kill();
        }
        let output = run.end();
        pauses.end("a run ends beside a neighbour with room");
        assert_eq!(text(&output), "", "nothing stays");
        assert!(areas(&machine).is_empty());
        if !killed {
            neighbour.end();
        }
        machine.wait_until_as_found();
    }
}

/// The one that ends first leaves the neighbour's pages to the other, without a word.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn of_two_runs_beside_a_neighbour_the_last_gives_back() {
    let machine = machine();
    let first = Run::start(&machine, "first");
    let second = Run::start(&machine, "second");
    let neighbour = Neighbour::start(&machine);
    wait_for_pages(&machine);
    let output = first.end();
    assert_eq!(text(&output), "", "it is left to the other");
    assert_eq!(areas(&machine).len(), 2);
    let said = text(&second.end());
    assert!(said.contains("stays on"), "{said}");
    assert_eq!(
        areas(&machine).len(),
        1,
        "only what is in use stays: {said}"
    );
    assert_eq!(neighbour.kills(), 0);
    neighbour.end();
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_swapoff_waits_for_the_one_before_however_long_it_takes() {
    let machine = machine();
    let mut run = Run::start(&machine, "run");
    let lock = fs::File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open("/run/terrace-swapoff.lock")
        .unwrap();
    // SAFETY: takes integers; the file is open.
    assert_eq!(unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) }, 0);
    run.ask_to_end();
    let pauses = Pauses::start();
    // Much longer than it takes until it tells what it waits for.
    for _ in 0..100 {
        thread::sleep(Duration::from_millis(100));
        assert!(!run.is_over() && areas(&machine).len() == 1, "it waits");
    }
    // Somebody who cleans waits as well, and says so; a kill of those who wait costs nothing.
    let mut doctor = machine.command(&["doctor", "--clean"]);
    let mut doctor = doctor
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    drop(lock);
    let output = run.end();
    assert!(doctor.wait().unwrap().success());
    pauses.end("a run waits for a swapoff");
    assert!(output.status.success(), "{}", text(&output));
    machine.wait_until_as_found();
}

/// The processes in swapoff, by their names: those of terrace.
fn swapoff_processes() -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let is_one = |path: &Path| {
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        name.trim() == "terrace-swapoff"
    };
    let processes = processes.filter(|it| is_one(&it.path()));
    let numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
    numbers.collect()
}

/// A process in swapoff that is stopped, with the lock for which all others wait; it goes on when
/// this is dropped.
struct Stopped(i32);

impl Drop for Stopped {
    fn drop(&mut self) {
        // SAFETY: takes two integers; the process is of the run of this test, which waits for it.
        unsafe { libc::kill(self.0, libc::SIGCONT) };
    }
}

/// Stops the process in swapoff; `None` if the area went before that.
fn stop_swapoff(machine: &Machine) -> Option<Stopped> {
    let mut found = None;
    wait_for("the swapoff to begin", || {
        found = swapoff_processes().first().copied();
        if let Some(pid) = found {
            // SAFETY: takes two integers; the process is of the run of this test.
            unsafe { libc::kill(pid, libc::SIGSTOP) };
        }
        found.is_some() || areas(machine).is_empty()
    });
    let pid = found?;
    let stopped = Stopped(pid);
    let stat = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    wait_for("it to be stopped, or to end", || {
        stat().is_empty() || stat().contains(") T ") || stat().contains(") Z ")
    });
    stat().contains(") T ").then_some(stopped)
}

/// A swapoff takes as long as it takes: it is stopped here, as by a slow disk.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_run_waits_for_its_own_swapoff_however_long_it_takes() {
    let machine = machine();
    for attempt in 0..10 {
        let mut run = Run::start(&machine, &format!("run-{attempt}"));
        let neighbour = Neighbour::start(&machine);
        wait_for_pages(&machine);
        neighbour.limit(1 << 30);
        run.ask_to_end();
        let stopped = stop_swapoff(&machine);
        let was_stopped = stopped.is_some();
        if let Some(stopped) = stopped {
            for _ in 0..100 {
                thread::sleep(Duration::from_millis(100));
                assert!(!run.is_over(), "it waits");
            }
            assert_eq!(areas(&machine).len(), 1, "the area is on");
            drop(stopped);
        }
        assert_eq!(text(&run.end()), "", "nothing stays");
        neighbour.end();
        machine.wait_until_as_found();
        if was_stopped {
            return;
        }
    }
    panic!("no swapoff lasted long enough to be stopped");
}

/// The most processes of terrace that were in swapoff at once.
struct Swapoffs {
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<usize>,
}

impl Swapoffs {
    fn watch() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut most = 0;
            while !told.load(Ordering::Relaxed) {
                most = most.max(swapoff_processes().len());
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        Self { over, thread }
    }

    fn most(self) -> usize {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

/// Each with a state directory of its own, so that only the machine tells one of the other. The
/// first swapoff is stopped, so that the other has all the time to begin.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn of_two_runs_that_end_at_once_one_switches_off_after_the_other() {
    let machine = machine();
    let other = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    for attempt in 0..10 {
        let mut first = Run::start(&machine, &format!("first-{attempt}"));
        let second = Run::beside(&machine, &format!("second-{attempt}"), other.path());
        let neighbour = Neighbour::start(&machine);
        wait_for_pages(&machine);
        neighbour.limit(1 << 30);
        let swapoffs = Swapoffs::watch();
        first.ask_to_end();
        let stopped = stop_swapoff(&machine);
        let was_stopped = stopped.is_some();
        second.ask_to_end();
        if let Some(stopped) = stopped {
            thread::sleep(Duration::from_secs(3));
            assert!(!first.is_over());
            drop(stopped);
        }
        assert_eq!(text(&first.end()), "");
        assert_eq!(text(&second.end()), "");
        let most = swapoffs.most();
        assert!(most <= 1, "{most} at once");
        neighbour.end();
        machine.wait_until_as_found();
        if was_stopped {
            return;
        }
    }
    panic!("no swapoff lasted long enough to be stopped");
}

/// The area of another run will go, too: what were pushed there would have to be moved again.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_area_of_another_run_is_no_room() {
    let machine = machine();
    let other = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let first = Run::start(&machine, "first");
    // The neighbour's pages go to the area of the first, which has the higher priority.
    let second = Run::beside(&machine, "second", other.path());
    let neighbour = Neighbour::start(&machine);
    wait_for_pages(&machine);
    let before = areas(&machine);
    let said = text(&first.end());
    assert!(said.contains("stays on"), "{said}");
    let now = areas(&machine);
    assert_eq!(now.len(), 1, "{said}");
    assert!(
        now[0] > before[0] / 2,
        "its pages were moved: {before:?}, {now:?}"
    );
    assert_eq!(neighbour.kills(), 0);
    neighbour.end();
    assert_eq!(text(&second.end()), "");
    machine.wait_until_as_found();
}

/// Kills the command at this time after its start; nothing of it may be left once its programs have
/// ended.
fn kill_after(machine: &Machine, arguments: &[&str], after: Duration) {
    let mut child = machine
        .command(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("terrace runs");
    thread::sleep(after);
    let _ = child.kill();
    child.wait().unwrap();
    println!("{arguments:?} killed after {after:?}");
    machine.wait_until_as_found();
    wait_for("its guardian to end", || guardians(machine) == 0);
}

/// Number of guardians for this state directory.
fn guardians(machine: &Machine) -> usize {
    let of = machine.state.path().display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let commands = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    let commands = commands.map(|it| String::from_utf8_lossy(&it).into_owned());
    let is_ours = |command: &String| command.contains("guard") && command.contains(&of);
    commands.filter(is_ours).count()
}

/// A suite of this program of the shell.
fn suite(program: &str) -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let text = format!(
        r#"
dram = ["25%"]
repeat = 1

[[program]]
name = "count"
description = "counts"
command = ["sh", "-c", "{program}"]
footprint = "64M"
"#
    );
    fs::write(folder.path().join("suite.toml"), text).unwrap();
    folder
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_kill_at_any_moment_leaves_nothing_after_the_program_s_end() {
    let machine = machine();
    let readings = machine.state.path().join("readings");
    let readings = readings.to_str().unwrap();
    let program = "seq 9000000 | tail -c 40000000 | cksum";
    let run = ["run", "-q", "--dram", "16M", "--footprint", "64M"];
    let suite = suite(program);
    let suite = suite.path().to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &[&run[..], &["--", "sh", "-c", program]].concat(),
        &[&run[..], &["--compare", "--", "sh", "-c", program]].concat(),
        &["calibrate", "-q", "--json", readings],
        &["sched", "run", "-q", "--", "sh", "-c", program],
        &["bench", suite],
        &["validate", "-q", "--dram", "16M", "--", "sh", "-c", program],
    ];
    for command in commands {
        for milliseconds in [3, 15, 40, 100, 300, 900] {
            kill_after(&machine, command, Duration::from_millis(milliseconds));
        }
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_killed_attach_leaves_the_run_beside_it_alone() {
    let machine = machine();
    let knob = || fs::read_to_string("/proc/sys/vm/page-cluster").unwrap();
    let found = knob();
    let run = Run::start(&machine, "run");
    let program = children(run.id())
        .into_iter()
        .find(|pid| !is_guardian(*pid))
        .expect("a program");
    for milliseconds in [5, 50, 300, 1000] {
        let mut attach = machine
            .command(&["attach", "-q", &program.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(Duration::from_millis(milliseconds));
        let _ = attach.kill();
        attach.wait().unwrap();
        wait_for("the attach to be put back", || {
            let journals = machine
                .files()
                .into_iter()
                .filter(|name| name.ends_with(".json"));
            journals.count() == 1 && knob() == found
        });
    }
    assert_eq!(areas(&machine).len(), 1, "the run goes on");
    assert_eq!(text(&run.end()), "");
    machine.wait_until_as_found();
}

/// A stop of a systemd unit kills the guardian, too.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_is_left_where_the_guardian_was_killed_as_well_the_next_run_takes_over() {
    let machine = machine();
    let run = Run::start(&machine, "run");
    let guardians: Vec<u32> = children(run.id())
        .into_iter()
        .filter(|pid| is_guardian(*pid))
        .collect();
    assert_eq!(guardians.len(), 1, "one for the command");
    for pid in [guardians[0], run.id()] {
        // SAFETY: takes two integers; the processes are of this test.
        unsafe { libc::kill(pid as i32, libc::SIGKILL) };
    }
    drop(run);
    wait_for("the program to end", || {
        let groups = common::changes()
            .into_iter()
            .filter(|it| it.contains("/terrace-"));
        let procs =
            groups.filter_map(|it| fs::read_to_string(Path::new(&it).join("cgroup.procs")).ok());
        procs.into_iter().all(|listed| listed.is_empty())
    });
    assert_eq!(areas(&machine).len(), 1, "nobody has put it back");
    let next = machine.terrace(&[
        "run",
        "-q",
        "--dram",
        "16M",
        "--footprint",
        "64M",
        "--",
        "true",
    ]);
    assert!(next.status.success(), "{}", text(&next));
    machine.assert_as_found();
}

/// The guardian keeps nothing of the command open: its pipes, and descriptors that it was started
/// with.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_guardian_keeps_nothing_of_its_command() {
    let machine = machine();
    let run = Run::start(&machine, "run");
    let guardian = children(run.id())
        .into_iter()
        .find(|pid| is_guardian(*pid))
        .expect("one");
    let open = fs::read_dir(format!("/proc/{guardian}/fd"))
        .unwrap()
        .flatten();
    let open: Vec<_> = open
        .filter_map(|it| fs::read_link(it.path()).ok())
        .collect();
    for path in &open {
        let path = path.display().to_string();
        assert!(
            path == "/dev/null" || path.starts_with("anon_inode") || path.ends_with("/stat"),
            "{open:?}"
        );
    }
    let stat = fs::read_to_string(format!("/proc/{guardian}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    assert_eq!(
        fields[3],
        guardian.to_string(),
        "a session of its own: {stat}"
    );
    assert_eq!(text(&run.end()), "");
    assert!(
        !Path::new(&format!("/proc/{guardian}")).exists(),
        "it goes before its command"
    );
    machine.assert_as_found();
}
