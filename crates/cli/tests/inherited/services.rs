//! Commands that start no program of the user's: they do their work in each circumstance, end by
//! signals as their help says, and put everything back.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::circumstances::{Circumstance, changed};
use crate::common::{Machine, any_machine, changes, wait_for};
use crate::probe;
use crate::terminal::Terminal;

/// Such a command.
#[derive(Clone, Copy)]
pub struct Service {
    pub name: &'static str,
    /// Circumstances that mean nothing for it, and why.
    nothing: &'static [(&'static str, &'static str)],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Attach,
    Mount,
    Calibrate,
}

/// How it is asked to end.
#[derive(Clone, Copy)]
pub struct Request {
    pub name: &'static str,
    change: fn(),
    has_terminal: bool,
    steps: &'static [Step],
    /// The exit code of what serves.
    code: i32,
}

#[derive(Clone, Copy)]
enum Step {
    Kill(i32),
    Type(u8),
    HangUp,
    /// It must still be at work.
    Works,
}

use Step::{HangUp, Kill, Type, Works};

const CTRL_C: u8 = 3;

pub fn all() -> [Service; 3] {
    const OF_PROGRAMS: &str = "it gives nothing of this to a program";
    [
        Service {
            name: "attach",
            nothing: &[("umask", OF_PROGRAMS)],
            kind: Kind::Attach,
        },
        Service {
            name: "mount",
            nothing: &[],
            kind: Kind::Mount,
        },
        Service {
            name: "calibrate",
            // It takes ten seconds.
            nothing: &[
                ("ignored_int", "as ignored_all"),
                ("ignored_hup", "as ignored_all"),
                ("ignored_pipe", "as ignored_all"),
                ("closed_stdin", "as closed_all"),
                ("closed_stderr", "as closed_all"),
                ("descriptors", OF_PROGRAMS),
                ("umask", OF_PROGRAMS),
                ("no_new_privileges", OF_PROGRAMS),
                ("one_processor", "it measures on one"),
            ],
            kind: Kind::Calibrate,
        },
    ]
}

pub fn requests() -> [Request; 8] {
    let request = |name, steps| Request {
        name,
        change: || (),
        has_terminal: false,
        steps,
        code: 0,
    };
    [
        request("term", &[Kill(libc::SIGTERM)]),
        request("int", &[Kill(libc::SIGINT)]),
        request("hup", &[Kill(libc::SIGHUP)]),
        request(
            "several",
            &[Kill(libc::SIGHUP), Kill(libc::SIGTERM), Kill(libc::SIGINT)],
        ),
        request(
            "stopped_and_continued",
            &[
                Kill(libc::SIGSTOP),
                Kill(libc::SIGCONT),
                Works,
                Kill(libc::SIGTERM),
            ],
        ),
        Request {
            change: || {
                // SAFETY: takes integers.
                unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
            },
            ..request("nohup", &[Kill(libc::SIGHUP), Works, Kill(libc::SIGTERM)])
        },
        Request {
            has_terminal: true,
            ..request("ctrl_c", &[Type(CTRL_C)])
        },
        Request {
            has_terminal: true,
            // Its figures cannot be printed any more.
            code: 1,
            ..request("terminal_lost", &[HangUp])
        },
    ]
}

impl Service {
    /// Whether a circumstance means something for it.
    pub fn heeds(&self, name: &str) -> bool {
        !self.nothing.iter().any(|(nothing, _)| *nothing == name)
    }

    /// Has it do its work in a circumstance.
    pub fn work(&self, circumstance: &Circumstance) -> Result<(), String> {
        let stage = Stage::set(self.kind);
        let mut command = stage.command(true);
        let file = |name: &str| fs::File::create(stage.path(name)).expect("a file");
        command
            .stdin(Stdio::null())
            .stdout(file("output"))
            .stderr(file("errors"));
        changed(&mut command, circumstance.change);
        let mut child = command.spawn().expect("it starts");
        stage.use_it(&mut child)?;
        let end = child.wait().expect("its end");
        let said = fs::read_to_string(stage.path("errors")).unwrap_or_default();
        if !end.success() {
            return Err(format!("{end}: {said}"));
        }
        let output = fs::read_to_string(stage.path("output")).unwrap_or_default();
        let is_heard = !["closed_stdout", "closed_all"].contains(&circumstance.name);
        if output.is_empty() == is_heard {
            return Err(format!("it printed `{output}`"));
        }
        stage.strike()
    }

    /// Asks it to end while it is at work.
    pub fn end(&self, request: &Request) -> Result<(), String> {
        let stage = Stage::set(self.kind);
        let mut command = stage.command(false);
        changed(&mut command, request.change);
        let mut terminal = request.has_terminal.then(Terminal::open);
        let mut child = match &mut terminal {
            Some(terminal) => terminal.start(&mut command),
            None => {
                let errors = fs::File::create(stage.path("errors")).expect("a file");
                command
                    .process_group(0)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null());
                command.stderr(errors).spawn().expect("it starts")
            }
        };
        stage.await_work(&mut child)?;
        for step in request.steps {
            match step {
                // SAFETY: takes integers; the child was not waited for.
                Kill(signal) => assert_eq!(unsafe { libc::kill(child.id() as i32, *signal) }, 0),
                Type(key) => terminal.as_mut().expect("a terminal").types(*key),
                HangUp => terminal.take().expect("a terminal").hang_up(),
                Works => stage.await_work(&mut child)?,
            }
        }
        let end = child.wait().expect("its end");
        let said = fs::read_to_string(stage.path("errors")).unwrap_or_default();
        match self.kind {
            Kind::Calibrate if end.success() => Err("it says that it has measured".into()),
            Kind::Attach | Kind::Mount if end.code() != Some(request.code) => {
                Err(format!("{end}: {said}"))
            }
            _ => stage.strike(),
        }
    }
}

/// The machine, and what a service needs on it.
struct Stage {
    machine: Machine,
    kind: Kind,
    /// What is attached to.
    host: Option<Host>,
}

/// A run of a program that notes signals.
struct Host {
    run: Child,
    pid: i32,
}

impl Stage {
    fn set(kind: Kind) -> Self {
        let mut machine = any_machine();
        let host = (kind == Kind::Attach).then(|| Host::start(&machine));
        machine.before = changes();
        if kind == Kind::Mount {
            for name in ["source", "mounted"] {
                fs::create_dir(machine.state.path().join(name)).expect("a directory");
            }
            fs::write(machine.state.path().join("source/read"), "read").expect("a file");
        }
        Self {
            machine,
            kind,
            host,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.machine.state.path().join(name)
    }

    /// Returns the command; `ends` tells whether it is to end soon by itself, if it can.
    fn command(&self, ends: bool) -> Command {
        let pid = self.host.as_ref().map(|host| host.pid.to_string());
        let (source, mounted) = (self.path("source"), self.path("mounted"));
        let mut words: Vec<&str> = match self.kind {
            Kind::Attach => vec!["attach", pid.as_ref().expect("a program")],
            Kind::Mount => vec!["mount", path(&source), path(&mounted)],
            Kind::Calibrate => vec!["calibrate"],
        };
        if ends && self.kind == Kind::Attach {
            words.extend(["--for", "0.5s"]);
        }
        // Not by `Machine::command`: it has the command end with the thread that starts it.
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command
            .args(words)
            .env("TERRACE_STATE_DIR", self.machine.state.path())
            .env_remove("SUDO_UID");
        command
    }

    /// Waits until it is at work.
    fn await_work(&self, child: &mut Child) -> Result<(), String> {
        let mut ended: Option<ExitStatus> = None;
        wait_for("its work", || {
            ended = child.try_wait().expect("its state");
            ended.is_some() || self.is_at_work()
        });
        match ended {
            None => Ok(()),
            Some(end) => {
                let said = fs::read_to_string(self.path("errors")).unwrap_or_default();
                Err(format!("it has ended: {end}: {said}"))
            }
        }
    }

    fn is_at_work(&self) -> bool {
        let notes = |what: &str| {
            self.machine.files().iter().any(|name| {
                let text = fs::read_to_string(self.path(name)).unwrap_or_default();
                name.ends_with(".json") && text.contains(what)
            })
        };
        match self.kind {
            Kind::Attach => notes("page_cluster"),
            Kind::Mount => self.path("mounted/read").exists(),
            Kind::Calibrate => notes("tier"),
        }
    }

    /// Has it do what it is for, and asks it to end if it does not by itself.
    fn use_it(&self, child: &mut Child) -> Result<(), String> {
        if self.kind != Kind::Mount {
            return Ok(());
        }
        self.await_work(child)?;
        let read = fs::read_to_string(self.path("mounted/read"));
        let written = fs::write(self.path("mounted/written"), "written");
        let found = fs::read_to_string(self.path("source/written"));
        let did = [read.ok(), written.ok().map(|()| String::new()), found.ok()];
        // In place of a signal, which it may ignore.
        let unmounted = Command::new("umount").arg(self.path("mounted")).status();
        match did.map(|it| it.unwrap_or("nothing".into())) {
            [read, _, found] if read != "read" || found != "written" => {
                Err(format!("it read `{read}` and wrote `{found}`"))
            }
            _ if !unmounted.is_ok_and(|status| status.success()) => Err("it stays".into()),
            _ => Ok(()),
        }
    }

    /// Checks that all is as before.
    fn strike(mut self) -> Result<(), String> {
        if let Some(host) = self.host.take() {
            host.end(&self.path("log"))?;
            self.machine.before = changes();
        }
        let mounts = fs::read_to_string("/proc/self/mounts").expect("mounts");
        if mounts.contains(path(&self.path("mounted"))) {
            return Err("its mount is left".into());
        }
        self.machine.wait_until_as_found();
        Ok(())
    }
}

impl Host {
    fn start(machine: &Machine) -> Self {
        let log = machine.state.path().join("log");
        let mut run = machine
            .command(&["run", "-q", "--dram", "64M", "--footprint", "128M"])
            .args(["--prefetch", "off", "--", probe::path(), "signals"])
            .arg(&log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("terrace runs");
        let children = format!("/proc/{0}/task/{0}/children", run.id());
        let mut pid = None;
        wait_for("the program", || {
            assert!(run.try_wait().expect("its state").is_none());
            let children = fs::read_to_string(&children).unwrap_or_default();
            let name = |pid: &str| fs::read_to_string(format!("/proc/{pid}/comm"));
            let is_it = |pid: &&str| name(pid).is_ok_and(|name| name == "probe\n");
            let is_ready = fs::read_to_string(&log).is_ok_and(|text| text == "ready\n");
            pid = children
                .split_whitespace()
                .find(is_it)
                .and_then(|pid| pid.parse().ok());
            is_ready && pid.is_some()
        });
        Self {
            run,
            pid: pid.expect("it was found"),
        }
    }

    /// Ends it, and checks that it has received nothing else.
    fn end(mut self, log: &Path) -> Result<(), String> {
        // SAFETY: takes integers; it was not waited for.
        unsafe { libc::kill(self.pid, libc::SIGTERM) };
        let end = self.run.wait().expect("its end");
        let noted = fs::read_to_string(log).unwrap_or_default();
        match noted == "ready\nTERM\n" && end.code() == Some(32 + libc::SIGTERM) {
            true => Ok(()),
            false => Err(format!(
                "the program that was attached to noted: {noted} {end}"
            )),
        }
    }
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a plain name")
}
