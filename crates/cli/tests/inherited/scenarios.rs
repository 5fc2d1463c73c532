//! Signals that a program receives, and how it ends.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::circumstances::changed;
use crate::commands::Starter;
use crate::common::{Machine, wait_for};
use crate::probe;
use crate::terminal::Terminal;

/// Where the program runs.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Without a terminal, in a group of its own.
    Apart,
    /// It leads a session with a terminal.
    Leader,
    /// In the group of a shell without job control, which leads the session.
    BelowShell,
    /// As a job in the foreground, in a group of its own.
    Job,
}

/// What is done.
#[derive(Clone, Copy)]
enum Step {
    /// A signal to the process that was started.
    Kill(i32),
    /// A signal to its process group.
    KillGroup(i32),
    /// A key of the terminal.
    Type(u8),
    /// The terminal is lost.
    HangUp,
    /// Wait until the program has noted this so many times.
    Await(&'static str, usize),
    /// Wait until a shell says this.
    AwaitShell(&'static str),
}

/// A program that notes signals, and what it is sent.
#[derive(Clone)]
pub struct Scenario {
    pub name: &'static str,
    place: Place,
    change: fn(),
    /// Signals that the program leaves at their default.
    left: &'static [&'static str],
    /// A shell's script in place of the probe.
    script: Option<&'static str>,
    steps: Vec<Step>,
}

use Step::{Await, AwaitShell, HangUp, Kill, KillGroup, Type};

/// Handles a signal, and ends a while before its child does.
const LEAVES_A_CHILD: &str = "
    trap 'echo handled >>log' HUP TERM
    (trap 'echo the child was signalled >>log' HUP TERM
     exec 9>>log; echo ready >>log
     until grep -q left log; do sleep 0.05; done
     sleep 0.5; echo the child has ended >>log) &
    until grep -q handled log; do sleep 0.05; done
    echo left >>log
    exit 4";

const CTRL_C: u8 = 3;
const CTRL_Z: u8 = 26;

pub fn all() -> Vec<Scenario> {
    let scenario = |name, place, steps: &[Step]| Scenario {
        name,
        place,
        change: || (),
        left: &[],
        script: None,
        steps: steps.to_vec(),
    };
    let script = |name, text, change| Scenario {
        name,
        place: Place::Apart,
        change,
        left: &[],
        script: Some(text),
        steps: Vec::new(),
    };
    vec![
        scenario("term", Place::Apart, &[Kill(libc::SIGTERM)]),
        scenario(
            "term_to_the_group",
            Place::Apart,
            &[KillGroup(libc::SIGTERM)],
        ),
        scenario(
            "many",
            Place::Apart,
            &[
                Kill(libc::SIGUSR1),
                Await("USR1", 1),
                Kill(libc::SIGWINCH),
                Await("WINCH", 1),
                Kill(libc::SIGTTIN),
                Await("TTIN", 1),
                Kill(libc::SIGTSTP),
                Await("TSTP", 1),
                Kill(libc::SIGCONT),
                Await("CONT", 1),
                Kill(libc::SIGABRT),
                Await("ABRT", 1),
                KillGroup(libc::SIGUSR2),
                Await("USR2", 1),
                Kill(libc::SIGUSR1),
                Await("USR1", 2),
                Kill(libc::SIGQUIT),
            ],
        ),
        scenario("terminal_lost_by_the_leader", Place::Leader, &[HangUp]),
        scenario("terminal_lost_below_a_shell", Place::BelowShell, &[HangUp]),
        scenario("ctrl_c", Place::Leader, &[Type(CTRL_C)]),
        scenario("ctrl_c_to_a_job", Place::Job, &[Type(CTRL_C)]),
        Scenario {
            left: &["20"],
            ..scenario(
                "ctrl_z_and_on",
                Place::Job,
                &[
                    Type(CTRL_Z),
                    AwaitShell("stopped by TSTP"),
                    Await("CONT", 1),
                    Type(CTRL_C),
                ],
            )
        },
        scenario(
            "ctrl_z_that_is_handled",
            Place::Job,
            &[Type(CTRL_Z), Await("TSTP", 1), Type(CTRL_C)],
        ),
        scenario(
            "stopped_and_continued",
            Place::Apart,
            &[
                KillGroup(libc::SIGSTOP),
                KillGroup(libc::SIGCONT),
                Await("CONT", 1),
                Kill(libc::SIGINT),
            ],
        ),
        scenario(
            "stopped_and_continued_alone",
            Place::Apart,
            &[
                Kill(libc::SIGSTOP),
                Kill(libc::SIGCONT),
                Await("CONT", 1),
                Kill(libc::SIGINT),
            ],
        ),
        Scenario {
            change: || {
                // SAFETY: takes integers.
                unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
            },
            ..scenario(
                "nohup",
                Place::Apart,
                &[Kill(libc::SIGHUP), Kill(libc::SIGTERM)],
            )
        },
        Scenario {
            change: || {
                // SAFETY: takes an integer.
                unsafe { libc::alarm(1) };
            },
            ..scenario(
                "an_alarm_of_before",
                Place::Apart,
                &[Await("ALRM", 1), Kill(libc::SIGTERM)],
            )
        },
        Scenario {
            steps: vec![Await("ready", 1), Kill(libc::SIGHUP)],
            ..script(
                "a_handled_hup_is_not_for_what_is_left",
                LEAVES_A_CHILD,
                || (),
            )
        },
        Scenario {
            steps: vec![Await("ready", 1), Kill(libc::SIGTERM)],
            ..script(
                "a_handled_term_is_not_for_what_is_left",
                LEAVES_A_CHILD,
                || (),
            )
        },
        script("exit_code_with_ignored_chld", "(exit 3); exit 5", || {
            // SAFETY: takes integers.
            unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        }),
        script("pipe_that_is_ignored", "kill -PIPE $$; exit 6", || {
            // SAFETY: takes integers.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        }),
        script("pipe_at_its_default", "kill -PIPE $$; exit 6", || ()),
        script("death_by_a_signal", "kill -USR1 $$; exit 6", || ()),
        script(
            "a_signal_to_its_own_group",
            "trap 'echo TERM >>log' TERM; kill -TERM 0; sleep 0.4; exit 7",
            || (),
        ),
    ]
}

/// Compares the signals that the program receives under a command, and its end, with those without.
pub fn judge(starter: &Starter, scenario: &Scenario) -> Result<(), String> {
    let turn = starter.turn();
    let plain = play(None, scenario);
    let under = play(Some(starter), scenario);
    turn.inspect(Machine::wait_until_as_found);
    let is_same = match starter.runs {
        1 => plain == under,
        // It says by itself that it was ended, or that its program has failed.
        _ => plain.noted == under.noted && plain.stops() == under.stops() && !under.end.success(),
    };
    match is_same {
        true => Ok(()),
        false => Err(format!("plainly:\n{plain:?}\nunder terrace:\n{under:?}")),
    }
}

/// What came of it.
#[derive(Debug, PartialEq)]
struct Played {
    noted: Vec<String>,
    end: ExitStatus,
    shell: String,
}

impl Played {
    /// Returns what a shell saw of stops.
    fn stops(&self) -> Vec<&str> {
        let lines = self.shell.lines();
        lines.filter(|line| line.starts_with("stopped")).collect()
    }
}

fn play(starter: Option<&Starter>, scenario: &Scenario) -> Played {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory");
    let log = directory.path().join("log");
    let mut program = vec![probe::path(), "signals", "log"];
    program.extend(scenario.left);
    if let Some(script) = scenario.script {
        program = vec!["bash", "-c", script];
    }
    let mut command = started(starter, scenario, directory.path(), &program);
    changed(&mut command, scenario.change);
    let errors = fs::File::create(directory.path().join("errors")).expect("a file");
    let mut terminal = (scenario.place != Place::Apart).then(Terminal::open);
    let mut child = match &mut terminal {
        Some(terminal) => terminal.start(&mut command),
        None => {
            command
                .process_group(0)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(errors);
            command.spawn().expect("it starts")
        }
    };
    if scenario.script.is_none() {
        wait_for("the program", || noted(&log, "ready") == 1);
    }
    for step in &scenario.steps {
        carry_out(*step, &child, &mut terminal, directory.path());
    }
    let ended = child.wait().expect("its end");
    wait_for("the program to end", || !is_open(&log));
    let mut noted: Vec<String> = text(&log).lines().map(str::to_owned).collect();
    noted.sort();
    Played {
        noted,
        end: ended,
        shell: text(&directory.path().join("shell")),
    }
}

fn started(
    starter: Option<&Starter>,
    scenario: &Scenario,
    directory: &Path,
    program: &[&str],
) -> Command {
    if let Some(starter) = starter {
        starter.prepare(directory, program);
    }
    let words = Starter::words(starter, program);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let before: &[&str] = match scenario.place {
        Place::Apart | Place::Leader => &[],
        // It waits for the program, as the script goes on behind it.
        Place::BelowShell => &["sh", "-c", "\"$@\"; exit $?", "sh"],
        Place::Job => &[probe::path(), "shell", "shell"],
    };
    Starter::command(None, directory, &[before, &words].concat())
}

fn carry_out(step: Step, child: &Child, terminal: &mut Option<Terminal>, directory: &Path) {
    let pid = child.id() as i32;
    match step {
        // SAFETY: takes integers; the child was not waited for, and leads a group of its own.
        Kill(signal) => assert_eq!(unsafe { libc::kill(pid, signal) }, 0),
        // SAFETY: as above.
        KillGroup(signal) => assert_eq!(unsafe { libc::kill(-pid, signal) }, 0),
        Type(character) => terminal.as_mut().expect("a terminal").types(character),
        HangUp => terminal.take().expect("a terminal").hang_up(),
        Await(what, times) => {
            wait_for(what, || noted(&directory.join("log"), what) >= times);
        }
        AwaitShell(what) => wait_for(what, || noted(&directory.join("shell"), what) >= 1),
    }
}

/// How often something was noted.
fn noted(log: &Path, what: &str) -> usize {
    text(log).lines().filter(|line| *line == what).count()
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// Whether a process has the file open.
fn is_open(file: &Path) -> bool {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter_map(|process| fs::read_dir(process.path().join("fd")).ok())
        .flatten()
        .flatten()
        .any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|target| target == file))
}
