//! Standard input under several runs of a program: each is given all of it.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

mod common;
use common::{Machine, machine, needs, text};

impl Machine {
    /// `terrace run` with these options, of a shell with this script; what all runs printed is
    /// in its output.
    fn run(&self, options: &[&str], script: &str) -> Command {
        self.shell("run", options, script)
    }

    fn shell(&self, name: &str, options: &[&str], script: &str) -> Command {
        let mut command = self.command(&[name]);
        command
            .args(options)
            .args(["--", "sh", "-c", script])
            .env_remove("SUDO_UID")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// Three ways, and before them the run that measures.
const FOUR_RUNS: [&str; 5] = ["--dram", "64M", "--compare", "--prefetch", "off"];

fn given(mut child: Child, input: &[u8]) -> Output {
    let mut pipe = child.stdin.take().expect("a pipe");
    pipe.write_all(input).expect("terrace reads");
    drop(pipe);
    child.wait_with_output().expect("terrace ends")
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_pipe_is_given_to_each_run_from_its_start() {
    let machine = machine();
    let before = machine.files();
    let child = machine.run(&FOUR_RUNS, "cat").spawn().unwrap();
    let output = given(child, b"one line\n");
    assert_eq!(printed(&output), "one line\n".repeat(4));
    assert_eq!(machine.files(), before, "something was left");

    let share = [
        "--dram",
        "100%",
        "--footprint",
        "64M",
        "--repeat",
        "2",
        "-q",
    ];
    let child = machine.run(&share, "head -c 3").spawn().unwrap();
    assert_eq!(printed(&given(child, b"one line\n")), "oneone");
}

/// The run that measures, one with all the DRAM, one under the budget, and the recorded one.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_validation_gives_a_pipe_to_the_recorded_run_too() {
    let machine = machine();
    needs("qemu-x86_64");
    let before = machine.files();
    let options = ["-q", "--repeat", "1", "--dram", "32M"];
    let child = machine.shell("validate", &options, "cat").spawn().unwrap();
    let output = given(child, b"one line\n");
    assert_eq!(printed(&output), "one line\n".repeat(4));
    assert_eq!(machine.files(), before, "something was left");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_file_is_given_from_where_it_was() {
    let machine = machine();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(b"read before\nfirst\nsecond\n").unwrap();
    file.seek(SeekFrom::Start(12)).unwrap();
    let given = file.try_clone().unwrap();
    // `dd` reads no further than it is told, as a pipe's reader would.
    let script = "dd bs=6 count=1 status=none";
    let output = machine.run(&FOUR_RUNS, script).stdin(given).output();
    assert_eq!(printed(&output.unwrap()), "first\n".repeat(4));
    assert_eq!(
        file.stream_position().unwrap(),
        18,
        "where the last run stopped"
    );
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_single_run_is_given_the_pipe_itself() {
    let machine = machine();
    let options = ["--dram", "64M", "--footprint", "64M", "-q"];
    let script = "readlink /proc/self/fd/0; cat";
    let child = machine.run(&options, script).spawn().unwrap();
    let printed = printed(&given(child, b"all\n"));
    assert!(
        printed.starts_with("pipe:") && printed.ends_with("]\nall\n"),
        "{printed}"
    );
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_terminal_is_given_to_the_last_run_and_it_is_said() {
    let machine = machine();
    let (_master, terminal) = terminal();
    let options = ["--dram", "64M", "--footprint", "64M", "--repeat", "3"];
    let script = "if [ -t 0 ]; then echo terminal; else wc -c; fi";
    let output = machine
        .run(&options, script)
        .stdin(terminal)
        .output()
        .unwrap();
    assert_eq!(printed(&output), "0\n0\nterminal\n");
    assert!(
        text(&output).contains("the last run is given it"),
        "{}",
        text(&output)
    );
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_pipe_without_an_end_fills_the_room_and_that_is_said() {
    let machine = machine();
    let before = machine.files();
    let mut endless = Command::new("yes").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = machine.run(&FOUR_RUNS, "cat");
    command.stdin(endless.stdout.take().unwrap());
    // SAFETY: both calls take integers, or a limit that lives across the call. A file that may
    // not grow stands for a disk that is full.
    unsafe {
        command.pre_exec(|| {
            let limit = libc::rlimit {
                rlim_cur: 1 << 20,
                rlim_max: 1 << 20,
            };
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
            libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit);
            Ok(())
        });
    }
    let output = command.output().unwrap();
    // Closes its end of the pipe, so that this one ends.
    drop(command);
    let _ = endless.kill();
    let _ = endless.wait();
    let said = text(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("standard input cannot be kept in"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(machine.files(), before, "something was left");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_signal_while_a_pipe_is_read_ends_all_and_runs_nothing() {
    let machine = machine();
    let before = machine.files();
    let log = machine.state.path().join("said");
    let mut command = machine.run(&FOUR_RUNS, "echo run");
    // Tests that a shell runs in the background inherit that this signal is ignored.
    // SAFETY: `signal` may be called between fork and exec, and takes no memory of ours.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let child = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
    for _ in 0..1000 {
        if fs::read_to_string(&log).unwrap().contains("to its end") {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: takes two integers; the child was not waited for, so the number is its.
    assert_eq!(unsafe { libc::kill(child.id() as i32, libc::SIGINT) }, 0);
    let mut child = child;
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(open);
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGINT),
        "{}",
        text(&output)
    );
    assert!(output.stdout.is_empty(), "it ran");
    fs::remove_file(log).unwrap();
    assert_eq!(machine.files(), before, "something was left");
}

/// A terminal, and the side from which it is one.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut master, mut terminal) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: two integers of ours are written; the rest may be null.
    let opened = unsafe {
        libc::openpty(
            &raw mut master,
            &raw mut terminal,
            none,
            none.cast(),
            none.cast(),
        )
    };
    assert_eq!(opened, 0, "no terminal");
    // SAFETY: both were just opened, and belong to nobody else.
    unsafe { [master, terminal].map(|fd| std::os::fd::FromRawFd::from_raw_fd(fd)) }.into()
}
