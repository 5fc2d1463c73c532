//! Turns of real programs: what is changed of them is put back on every way out, and no task
//! starves. One file, because one machine is prepared for all of it.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

mod common;
use common::schema::checked;
use common::{Machine, any_machine, end_with_test, text, wait_for};

/// A program that never sleeps.
const BUSY: &str = "while :; do :; done";

/// Returns the machine; fails where tasks cannot be taken out of `SCHED_IDLE` again.
fn machine() -> Machine {
    // SAFETY: takes and returns integers.
    assert_eq!(unsafe { libc::geteuid() }, 0, "this test needs root");
    any_machine()
}

/// A program of the test on one CPU, killed when dropped.
struct Busy(Child);

impl Busy {
    fn start(script: &str) -> Self {
        Self::start_by(&[], script)
    }

    /// Starts it by other programs, each of which starts the next in its own place.
    fn start_by(others: &[&str], script: &str) -> Self {
        Self::start_on(&cpu().to_string(), others, script)
    }

    fn start_on(cpus: &str, others: &[&str], script: &str) -> Self {
        let mut taskset = Command::new("taskset");
        let command = taskset.args(["-c", cpus]).args(others);
        let command = command.args(["sh", "-c", script]);
        end_with_test(command, libc::SIGKILL);
        let busy = Self(command.stdin(Stdio::null()).spawn().expect("util-linux"));
        wait_for("taskset to be done", || {
            let comm = fs::read_to_string(format!("/proc/{}/comm", busy.pid()));
            comm.is_ok_and(|name| name.trim() == "sh")
        });
        busy
    }

    fn several(count: usize) -> Vec<Self> {
        (0..count).map(|_| Self::start(BUSY)).collect()
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn send(&self, signal: i32) {
        send(self.pid(), signal);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn send(pid: u32, signal: i32) {
    // SAFETY: kill takes two integers; the process is a child that was not waited for.
    assert_eq!(unsafe { libc::kill(pid as i32, signal) }, 0);
}

/// The CPUs that a task may use, as a list.
fn cpus_of(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let list = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or_default().trim().to_owned()
}

/// The first CPU that this process may use.
fn cpu() -> usize {
    let list = cpus_of(std::process::id());
    list.split([',', '-']).next().unwrap().parse().unwrap()
}

/// The scheduling of a task.
#[derive(Debug, PartialEq)]
struct Scheduling {
    policy: u32,
    nice: i32,
    /// Of its slice: only tasks of the usual policies have one.
    slice_ns: u64,
    cpus: String,
}

fn scheduling(pid: u32) -> Scheduling {
    // SAFETY: an all-zero sched_attr is a valid value; the kernel writes no more than the size that
    // it is told.
    let attributes = unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>() as u32;
        libc::syscall(libc::SYS_sched_getattr, pid, &raw mut attributes, size, 0);
        attributes
    };
    Scheduling {
        policy: attributes.sched_policy,
        nice: attributes.sched_nice,
        slice_ns: attributes.sched_runtime,
        cpus: cpus_of(pid),
    }
}

fn is_deferred(pid: u32) -> bool {
    scheduling(pid).policy == libc::SCHED_IDLE as u32
}

/// Time that a process has run.
fn run_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let nanos = stat.split_whitespace().next();
    Duration::from_nanos(nanos.map_or(0, |nanos| nanos.parse().unwrap()))
}

/// `terrace sched attach` to these programs.
struct Attached {
    machine: Machine,
    terrace: Child,
    found: Vec<(u32, Scheduling)>,
}

impl Attached {
    /// Attaches by rotation, and waits until one of the programs is deferred.
    fn to(machine: Machine, programs: &[&Busy]) -> Self {
        Self::by("rotation", machine, programs)
    }

    /// The same by another mechanism, which may begin with rotation.
    fn by(mechanism: &str, machine: Machine, programs: &[&Busy]) -> Self {
        let found = programs.iter().map(|it| (it.pid(), scheduling(it.pid())));
        let found: Vec<_> = found.collect();
        let pids: Vec<String> = found.iter().map(|(pid, _)| pid.to_string()).collect();
        let terrace = machine
            .command(&[
                "sched",
                "attach",
                "-q",
                "--slice",
                "20ms",
                "--mechanism",
                mechanism,
            ])
            .args(pids)
            .stdout(Stdio::null())
            .spawn()
            .expect("terrace runs");
        let attached = Self {
            machine,
            terrace,
            found,
        };
        attached.wait_for_turns();
        attached
    }

    /// The process that guards the tasks.
    fn guardian(&self) -> u32 {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.terrace.id())).unwrap();
        let children = tasks
            .flatten()
            .flat_map(|task| fs::read_to_string(task.path().join("children")));
        let children: String = children.collect();
        let guardian = children.split_whitespace().next();
        guardian.expect("a guardian").parse().unwrap()
    }

    fn wait_for_turns(&self) {
        wait_for("a program to be deferred", || {
            self.found.iter().any(|(pid, _)| is_deferred(*pid))
        });
    }

    fn is_put_back(&self) -> bool {
        self.found.iter().all(|(pid, found)| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
            let ended = stat.is_err() || stat.unwrap().contains(") Z ");
            ended || scheduling(*pid) == *found
        })
    }

    /// Ends it by a signal, and checks that all is as it was found.
    fn end(mut self, signal: i32) {
        send(self.terrace.id(), signal);
        let status = self.terrace.wait().unwrap();
        match signal {
            libc::SIGKILL => wait_for("the guardian to put all back", || self.is_put_back()),
            _ => assert!(status.success(), "{status}"),
        }
        assert!(self.is_put_back());
        wait_for("the journal to be removed", || {
            !self
                .machine
                .files()
                .iter()
                .any(|name| name.ends_with(".json"))
        });
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.terrace.kill();
        let _ = self.terrace.wait();
    }
}

/// Waits until each of the programs has run for some time more.
fn wait_until_all_ran(pids: &[u32]) {
    let before: Vec<Duration> = pids.iter().map(|pid| run_time(*pid)).collect();
    wait_for("each program to run", || {
        let mut pairs = pids.iter().zip(&before);
        pairs.all(|(pid, before)| run_time(*pid) > *before + Duration::from_millis(100))
    });
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn all_is_put_back_after_an_interrupt_a_termination_and_a_kill() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGKILL] {
        let programs = Busy::several(3);
        let all: Vec<&Busy> = programs.iter().collect();
        Attached::to(machine(), &all).end(signal);
        wait_until_all_ran(&programs.iter().map(Busy::pid).collect::<Vec<_>>());
    }
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn what_a_killed_guardian_could_not_put_back_is_put_back_by_doctor() {
    let programs = Busy::several(3);
    let mut attached = Attached::to(machine(), &programs.iter().collect::<Vec<_>>());
    let guardian = attached.guardian();
    send_to_other(guardian);
    send(attached.terrace.id(), libc::SIGKILL);
    attached.terrace.wait().unwrap();
    assert!(
        !attached.is_put_back(),
        "the programs run on as they were left"
    );
    let doctor = attached.machine.terrace(&["doctor"]);
    let found = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(found.contains("the scheduling of the tasks"), "{found}");
    let cleaned = attached.machine.terrace(&["doctor", "--clean"]);
    assert!(cleaned.status.success(), "{}", text(&cleaned));
    assert!(attached.is_put_back());
    attached.machine.assert_as_found();
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn while_terrace_is_stopped_no_task_is_deferred() {
    let programs = Busy::several(3);
    let attached = Attached::to(machine(), &programs.iter().collect::<Vec<_>>());
    send(attached.terrace.id(), libc::SIGSTOP);
    wait_for("the guardian to put all back", || attached.is_put_back());
    send(attached.terrace.id(), libc::SIGCONT);
    attached.wait_for_turns();
    attached.end(libc::SIGTERM);
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn a_task_that_is_stopped_and_one_that_dies_hold_nobody_up() {
    let programs = Busy::several(4);
    let attached = Attached::to(machine(), &programs.iter().collect::<Vec<_>>());
    let pids: Vec<u32> = programs.iter().map(Busy::pid).collect();
    programs[0].send(libc::SIGSTOP);
    wait_until_all_ran(&pids[1..]);
    programs[0].send(libc::SIGCONT);
    wait_until_all_ran(&pids);
    // The others run while a stopped one has the turn, too; but they have no turns.
    for _ in 0..5 {
        let holder = || programs.iter().find(|it| !is_deferred(it.pid()));
        let stopped = holder().unwrap_or(&programs[0]);
        stopped.send(libc::SIGSTOP);
        wait_for("the turn to be passed on", || {
            let mut others = programs.iter().filter(|it| it.pid() != stopped.pid());
            others.any(|it| !is_deferred(it.pid()))
        });
        stopped.send(libc::SIGCONT);
    }
    // In its turn, most likely: until one is found that is not deferred.
    wait_for("a turn", || {
        programs[1..].iter().any(|it| !is_deferred(it.pid()))
    });
    let holder = programs[1..].iter().find(|it| !is_deferred(it.pid()));
    let holder = holder.unwrap_or(&programs[3]);
    holder.send(libc::SIGKILL);
    let others: Vec<u32> = pids
        .into_iter()
        .filter(|pid| *pid != holder.pid())
        .collect();
    wait_until_all_ran(&others);
    attached.end(libc::SIGTERM);
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn a_task_that_chose_another_policy_keeps_it() {
    let programs = Busy::several(3);
    let attached = Attached::to(machine(), &programs.iter().collect::<Vec<_>>());
    let pid = programs[0].pid();
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: reads the parameter; the process is a child that was not waited for.
    let done = unsafe { libc::sched_setscheduler(pid as i32, libc::SCHED_BATCH, &raw const none) };
    assert_eq!(done, 0);
    wait_until_all_ran(&programs.iter().map(Busy::pid).collect::<Vec<_>>());
    assert_eq!(scheduling(pid).policy, libc::SCHED_BATCH as u32);
    let mut attached = attached;
    attached.found.retain(|(found, _)| *found != pid);
    attached.end(libc::SIGTERM);
    assert_eq!(scheduling(pid).policy, libc::SCHED_BATCH as u32);
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn children_of_a_deferred_task_inherit_nothing_for_long() {
    let work = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done";
    let parent = Busy::start(&format!(
        "sleep 60 & sleep 60 & while :; do {work}; (:) & done"
    ));
    let others = Busy::several(2);
    let attached = Attached::to(machine(), &[&parent, &others[0], &others[1]]);
    wait_until_all_ran(&[parent.pid(), others[0].pid(), others[1].pid()]);
    let sleepers: Vec<u32> = children(parent.pid()).into_iter().take(2).collect();
    wait_for("the sleeping children to be as usual", || {
        sleepers.iter().all(|pid| !is_deferred(*pid))
    });
    parent.send(libc::SIGSTOP);
    attached.end(libc::SIGTERM);
    let left: Vec<u32> = children(parent.pid())
        .into_iter()
        .filter(|pid| is_deferred(*pid))
        .collect();
    let mut processes = left
        .iter()
        .map(|pid| fs::read_to_string(format!("/proc/{pid}/stat")));
    assert!(
        processes.all(|stat| stat.is_err() || stat.unwrap().contains(") Z ")),
        "{left:?}"
    );
    sleepers.iter().for_each(|pid| send_to_other(*pid));
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn programs_of_several_cpus_have_their_turns_there_and_keep_them() {
    let cpus = cpus_of(std::process::id());
    let programs: Vec<Busy> = (0..5).map(|_| Busy::start_on(&cpus, &[], BUSY)).collect();
    let attached = Attached::to(machine(), &programs.iter().collect::<Vec<_>>());
    for _ in 0..3 {
        wait_until_all_ran(&programs.iter().map(Busy::pid).collect::<Vec<_>>());
    }
    attached.end(libc::SIGTERM);
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn threads_of_a_child_that_come_later_take_turns_and_are_put_back() {
    let several = "sleep 2; timeout 90 xz -T2 -0 --block-size=1MiB -c /dev/zero >/dev/null; :";
    let late = Busy::start(several);
    let others = Busy::several(2);
    let attached = Attached::to(machine(), &[&others[0], &others[1], &late]);
    let compressors = || children(late.pid()).into_iter().flat_map(children);
    let threads = || -> Vec<u32> { compressors().flat_map(other_threads).collect() };
    wait_for("a thread to be deferred", || {
        threads().into_iter().any(is_deferred)
    });
    attached.end(libc::SIGTERM);
    let threads = threads();
    assert!(!threads.is_empty());
    assert!(!threads.into_iter().any(is_deferred));
    compressors().for_each(send_to_other);
}

/// Numbers of the threads of a process but the first.
fn other_threads(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
    let threads = threads.flatten().flatten();
    let threads = threads.filter_map(|it| it.file_name().to_str()?.parse().ok());
    threads.filter(|tid| *tid != pid).collect()
}

/// Numbers of the children of a process.
fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

/// A task is told to be CPU-bound after a quarter of a second; those that a loop starts have turns
/// before.
#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn what_a_loop_starts_again_and_again_takes_turns_from_its_start_on() {
    let looped = Busy::start(&format!("while :; do timeout 2 sh -c '{BUSY}'; done"));
    let others = Busy::several(2);
    let attached = Attached::to(machine(), &[&others[0], &others[1], &looped]);
    let mut known: Vec<(u32, Instant)> = Vec::new();
    wait_for("a new task to take turns at once", || {
        let timeouts = children(looped.pid()).into_iter();
        for pid in timeouts.flat_map(children) {
            if known.iter().all(|(other, _)| *other != pid) {
                known.push((pid, Instant::now()));
            }
        }
        let young = known
            .iter()
            .skip(1)
            .filter(|(_, begin)| begin.elapsed() < Duration::from_millis(200));
        let mut young = young.map(|(pid, _)| *pid);
        young.any(is_deferred)
    });
    attached.end(libc::SIGTERM);
}

/// Tasks of several sessions are groups of their own to the kernel, which compares no policies
/// between them.
#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn programs_of_several_sessions_run_on_and_are_put_back() {
    let programs: Vec<Busy> = (0..3).map(|_| Busy::start_by(&["setsid"], BUSY)).collect();
    let pids: Vec<u32> = programs.iter().map(Busy::pid).collect();
    let attached = Attached::by("auto", machine(), &programs.iter().collect::<Vec<_>>());
    // Beyond the time in which rotation is judged.
    for _ in 0..5 {
        wait_until_all_ran(&pids);
        std::thread::sleep(Duration::from_secs(1));
    }
    attached.end(libc::SIGTERM);
}

/// Kills a process that is no child of ours.
fn send_to_other(pid: u32) {
    // SAFETY: kill takes two integers; its parent is stopped, so the number is still its.
    unsafe { libc::kill(pid as i32, libc::SIGKILL) };
}

#[test]
#[ignore = "needs root to leave SCHED_IDLE; run by make test-root"]
fn shares_of_time_are_equal() {
    /// A turn in seconds, and how many of them one program may have had more or less than its
    /// share: turns are whole, and a busy machine has few of them.
    const TURN: f64 = 0.03;
    const FEW: f64 = 8.0;
    let machine = machine();
    let cpu = cpu().to_string();
    let busy = "timeout 14 sh -c 'while :; do :; done' || true";
    let mut arguments = vec![
        "sched",
        "run",
        "-q",
        "--json=-",
        "--slice",
        "30ms",
        "--mechanism",
        "rotation",
        "--cpus",
        &cpu,
    ];
    for _ in 0..4 {
        arguments.extend(["--", "sh", "-c", busy]);
    }
    let output = machine.terrace(&arguments);
    assert!(output.status.success(), "{}", text(&output));
    let document = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
    let policy = &document["policies"][0];
    assert_eq!(policy["mechanism"], "rotation", "{policy}");
    let programs = policy["programs"].as_array().unwrap();
    let cpu = programs.iter().map(|it| it["cpu_s"][0].as_f64().unwrap());
    let cpu: f64 = cpu.sum();
    for program in programs {
        let share = program["share"].as_f64().unwrap();
        let more = (share - 0.25).abs() * cpu;
        assert!(more < FEW * TURN, "{share} of {cpu} s: {policy}");
    }
    machine.assert_as_found();
}

#[test]
fn a_mix_that_is_left_to_the_kernel_needs_no_privilege() {
    let machine = any_machine();
    let begin = Instant::now();
    let output = machine.terrace(&[
        "sched", "run", "--slice", "off", "--json=-", "--", "sh", "-c", "exit 0", "--", "sh", "-c",
        "exit 3",
    ]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    let document = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
    assert_eq!(document["schema"], "terrace.sched/1");
    let programs = document["policies"][0]["programs"].as_array().unwrap();
    let exits: Vec<&Value> = programs.iter().map(|it| &it["exit"][0]).collect();
    assert_eq!(exits, ["code 0", "code 3"]);
    assert!(begin.elapsed() < Duration::from_secs(60));
    machine.assert_as_found();
}
