//! Streams, exit codes and signals: of the program, as if Terrace were not there.

use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Machine, changes, machine, text, wait_for};

pub fn signal(child: &Child, signal: i32) {
    // SAFETY: kill takes two integers; the child has not been waited for, so the number is its.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

/// Has the command heed `SIGINT`: who runs the tests in the background may ignore it, and a shell
/// cannot trap what is ignored.
pub fn interruptible(command: &mut Command) {
    // SAFETY: signal takes two integers, and may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn streams_and_exit_codes_are_the_program_s_own() {
    let machine = machine();
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
#[ignore = "needs root and swap; run by make test-root"]
fn death_by_a_signal_is_passed_on() {
    let machine = machine();
    let output = machine.run(&["-q"], &["sh", "-c", "kill -SEGV $$"]);
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_sigterm_reaches_the_program_and_all_is_put_back() {
    let machine = machine();
    let mut child = machine.start_sleeper("trap 'exit 5' TERM; while :; do sleep 0.05; done");
    assert_ne!(
        changes(),
        machine.before,
        "a run leaves traces while it runs"
    );
    signal(&child, libc::SIGTERM);
    assert_eq!(child.wait().unwrap().code(), Some(5));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_signal_to_the_whole_group_ends_the_program_and_all_is_put_back() {
    let machine = machine();
    // A process group of its own stands for the foreground of a terminal.
    let ready = machine.state.path().join("ready");
    let script = format!(
        "trap 'exit 6' INT; touch {}; while :; do sleep 0.05; done",
        ready.display()
    );
    let mut command = machine.command(&Machine::arguments(&["-q"], &["sh", "-c", &script]));
    command.process_group(0);
    interruptible(&mut command);
    let mut child = command.spawn().unwrap();
    wait_for("the program to start", || ready.exists());
    // SAFETY: kill takes two integers; the group is the child's.
    assert_eq!(unsafe { libc::kill(-(child.id() as i32), libc::SIGINT) }, 0);
    assert_eq!(child.wait().unwrap().code(), Some(6));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn processes_that_outlive_the_program_are_waited_for() {
    let machine = machine();
    let since = Instant::now();
    let output = machine.run(&[], &["sh", "-c", "(sleep 1; true) & exit 0"]);
    assert!(since.elapsed() > Duration::from_secs(1));
    assert!(output.status.success());
    assert!(text(&output).contains("still run"), "{}", text(&output));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn after_a_kill_the_program_goes_on_and_its_end_leaves_nothing() {
    let machine = machine();
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
    machine.wait_until_as_found();
    assert!(clean().contains("nothing was left behind"));
}

/// The second of four runs gets it; the program handles it, so that nothing else tells of it.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn an_interrupted_comparison_says_which_ways_were_done() {
    let machine = machine();
    let runs = machine.state.path().join("runs");
    let script = format!(
        "trap 'exit 0' INT; echo >> {0}; test $(wc -l < {0}) -lt 2 || kill -INT $PPID; \
         sleep 0.5 & wait",
        runs.display()
    );
    let arguments = |options: &[&'static str]| {
        let options = [options, &["--compare"]].concat();
        let mut command = machine.command(&Machine::arguments(&options, &["sh", "-c", &script]));
        interruptible(&mut command);
        command
    };
    let output = arguments(&[]).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{said}");
    let sentence =
        "terrace: interrupted by signal 2 in run 2 of 4 (kernel); done before it: all-dram\n";
    assert!(said.contains(sentence), "{said}");
    std::fs::remove_file(&runs).unwrap();
    let output = arguments(&["-q"]).output().unwrap();
    let said = text(&output);
    assert_eq!(output.status.signal(), Some(libc::SIGINT), "{said}");
    assert!(!said.contains("interrupted"), "{said}");
    machine.assert_as_found();
}
