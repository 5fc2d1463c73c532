//! What a program may find when it is started.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::commands::Starter;
use crate::common::Machine;
use crate::probe;

/// What is changed in the process that becomes the program, or terrace.
#[derive(Clone, Copy)]
pub struct Circumstance {
    pub name: &'static str,
    /// Async-signal-safe.
    pub change: fn(),
}

pub fn all() -> Vec<Circumstance> {
    let circumstance = |name, change| Circumstance { name, change };
    vec![
        circumstance("as_usual", || ()),
        circumstance("ignored_chld", || ignore(libc::SIGCHLD)),
        circumstance("ignored_pipe", || ignore(libc::SIGPIPE)),
        circumstance("ignored_int", || ignore(libc::SIGINT)),
        circumstance("ignored_hup", || ignore(libc::SIGHUP)),
        circumstance("ignored_all", || (1..=64).for_each(ignore)),
        circumstance("blocked_some", || {
            block(&[
                libc::SIGTERM,
                libc::SIGUSR1,
                libc::SIGCHLD,
                libc::SIGPIPE,
                40,
            ]);
        }),
        circumstance("closed_stdin", || close(0)),
        circumstance("closed_stdout", || close(1)),
        circumstance("closed_stderr", || close(2)),
        circumstance("closed_all", || (0..3).for_each(close)),
        circumstance("descriptors", || {
            // SAFETY: these take integers and a static string.
            unsafe {
                // Above those of the runner of the tests.
                let file = libc::open(c"/etc/passwd".as_ptr(), libc::O_RDONLY);
                libc::dup2(file, 100);
                libc::dup2(1, 117);
                libc::dup2(file, 200);
                libc::close(file);
            }
        }),
        circumstance("low_limits", || {
            limit(libc::RLIMIT_NOFILE, 128, 256);
            limit(libc::RLIMIT_STACK, 1 << 20, 1 << 22);
            limit(libc::RLIMIT_CORE, 0, 4096);
            limit(libc::RLIMIT_MEMLOCK, 65536, 65536);
            limit(libc::RLIMIT_SIGPENDING, 100, 100);
            limit(libc::RLIMIT_CPU, 100, 200);
        }),
        circumstance("priorities", || {
            // SAFETY: these take integers, a static string and a parameter that lives across the
            // call.
            unsafe {
                libc::setpriority(libc::PRIO_PROCESS, 0, 5);
                libc::syscall(libc::SYS_ioprio_set, 1, 0, (2 << 13) | 6);
                let parameter: libc::sched_param = std::mem::zeroed();
                libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameter);
                let file = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY);
                libc::write(file, c"321".as_ptr().cast(), 3);
                libc::close(file);
                libc::prctl(libc::PR_SET_TIMERSLACK, 70_000);
            }
        }),
        circumstance("one_processor", || {
            // SAFETY: an all-zero set is valid, and lives across the calls.
            unsafe {
                let mut set: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(0, &mut set);
                libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
            }
        }),
        circumstance("umask", || {
            // SAFETY: takes an integer.
            unsafe { libc::umask(0o027) };
        }),
        circumstance("no_new_privileges", || {
            // SAFETY: takes integers.
            unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        }),
    ]
}

fn ignore(signal: i32) {
    // SAFETY: takes integers; the signals that cannot be ignored are refused.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

fn block(signals: &[i32]) {
    // SAFETY: the set is ours and lives across the calls.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

fn close(stream: i32) {
    // SAFETY: takes an integer.
    unsafe { libc::close(stream) };
}

fn limit(resource: libc::__rlimit_resource_t, now: u64, most: u64) {
    let limits = libc::rlimit {
        rlim_cur: now,
        rlim_max: most,
    };
    // SAFETY: the limits live across the call.
    unsafe { libc::setrlimit(resource, &raw const limits) };
}

/// Compares what the program finds under a command with what it finds without.
pub fn judge(starter: &Starter, circumstance: &Circumstance) -> Result<(), String> {
    let turn = starter.turn();
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let plain = state(None, circumstance, directory.path())?;
    let under = state(Some(starter), circumstance, directory.path())?;
    turn.inspect(Machine::wait_until_as_found);
    let kept = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::to_owned);
        lines
            .filter(|line| !starter.others.iter().any(|other| line.starts_with(other)))
            .collect()
    };
    let runs: Vec<&str> = under.split("begin\n").skip(1).collect();
    if runs.len() != starter.runs {
        return Err(format!("it was run {} times", runs.len()));
    }
    let plain = kept(plain.trim_start_matches("begin\n"));
    let differ = |under: &&str| compare(&plain, &kept(under));
    let differences: Vec<String> = runs.iter().filter_map(differ).collect();
    match differences.is_empty() {
        true => Ok(()),
        false => Err(differences.join("in another run:\n")),
    }
}

/// Returns how what was found differs from what is found plainly.
fn compare(plain: &[String], under: &[String]) -> Option<String> {
    let lost = plain
        .iter()
        .filter(|line| !under.contains(line))
        .map(|line| format!("- {line}"));
    let new = under
        .iter()
        .filter(|line| !plain.contains(line))
        .map(|line| format!("+ {line}"));
    let changes: Vec<String> = lost.chain(new).collect();
    let changed = || {
        format!(
            "the program finds something else:\n{}\n",
            changes.join("\n")
        )
    };
    (!changes.is_empty()).then(changed)
}

/// Returns what the probe finds.
fn state(
    starter: Option<&Starter>,
    circumstance: &Circumstance,
    directory: &Path,
) -> Result<String, String> {
    let found = directory.join("found");
    let _ = fs::remove_file(&found);
    let program = [
        probe::path(),
        "state",
        found.to_str().expect("a plain name"),
    ];
    if let Some(starter) = starter {
        starter.prepare(directory, &program);
    }
    let errors = directory.join("errors");
    let mut command = Starter::command(starter, directory, &program);
    let file = |name: &str| {
        fs::File::options()
            .append(true)
            .create(true)
            .open(directory.join(name))
    };
    command
        .stdin(Stdio::null())
        .stdout(file("output").expect("a file"))
        .stderr(file("errors").expect("a file"));
    changed(&mut command, circumstance.change);
    let ended = command
        .status()
        .map_err(|error: io::Error| error.to_string())?;
    let said = fs::read_to_string(&errors).unwrap_or_default();
    match ended.success() {
        true => fs::read_to_string(&found).map_err(|error| error.to_string()),
        false => Err(format!("{ended}: {said}")),
    }
}

/// Has a command changed in this way before it begins. What the runner of the tests may ignore is
/// not.
pub fn changed(command: &mut Command, change: fn()) {
    // SAFETY: the changes are system calls alone.
    unsafe {
        command.pre_exec(move || {
            for signal in 1..=64 {
                libc::signal(signal, libc::SIG_DFL);
            }
            block(&[]);
            change();
            Ok(())
        });
    }
}
