//! The program: found, started in its cgroup, waited for.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use terrace_base::{Context, Error, Result};

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Exit {
    fn from_status(status: libc::c_int) -> Self {
        if libc::WIFSIGNALED(status) {
            Self::Signal(libc::WTERMSIG(status))
        } else {
            Self::Code(libc::WEXITSTATUS(status))
        }
    }

    /// Whether it ended well.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

/// What a program used, as `wait4` tells it: of itself and of the children it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// How it ended.
    pub exit: Exit,
    /// From its start to its end.
    pub wall: Duration,
    /// Time on a CPU in its own code.
    pub user: Duration,
    /// Time on a CPU in the kernel.
    pub system: Duration,
}

/// What to start, and where.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// The directory it is started in; none is the one we are in.
    pub directory: Option<PathBuf>,
    /// The file its output is appended to, its input being empty then; without one it has ours.
    pub log: Option<PathBuf>,
}

impl From<Vec<OsString>> for Invocation {
    fn from(words: Vec<OsString>) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }
}

impl Invocation {
    /// The file that it names; see [`find`].
    ///
    /// # Errors
    /// A usage error where there is none, or it may not be run.
    pub fn find(&self) -> Result<PathBuf> {
        match (&self.directory, self.words.first()) {
            (Some(directory), Some(name)) if is_path(name) => find(&[directory.join(name).into()]),
            _ => find(&self.words),
        }
    }

    fn command(&self) -> Result<Command> {
        let mut command = Command::new(self.find()?);
        command.arg0(&self.words[0]).args(&self.words[1..]);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(path) = &self.log {
            let log = File::options().create(true).append(true).open(path);
            let log = log.or_fail(|| format!("cannot write {}", path.display()))?;
            let errors = log.try_clone();
            let errors = errors.or_fail(|| format!("cannot write {}", path.display()))?;
            command.stdin(Stdio::null()).stdout(log).stderr(errors);
        }
        Ok(command)
    }
}

/// A program that runs.
#[derive(Debug)]
pub struct Program {
    pid: libc::pid_t,
    started: Instant,
}

impl Program {
    /// Starts a program in the cgroups whose `cgroup.procs` files are given.
    ///
    /// # Errors
    /// A usage error where the program cannot be run, a failure where a cgroup refuses it.
    pub fn start(invocation: &Invocation, entrances: &[PathBuf]) -> Result<Self> {
        let mut child = invocation.command()?;
        let doors: Vec<File> = entrances
            .iter()
            .map(|path| {
                OpenOptions::new()
                    .write(true)
                    .open(path)
                    .or_fail(|| format!("cannot open {}", path.display()))
            })
            .collect::<Result<_>>()?;
        let descriptors: Vec<_> = doors.iter().map(AsRawFd::as_raw_fd).collect();
        // SAFETY: between fork and exec the closure only calls write(2) on descriptors opened
        // before, which is async-signal-safe; it allocates nothing.
        unsafe {
            child.pre_exec(move || descriptors.iter().try_for_each(|&door| enter(door)));
        }
        let started = Instant::now();
        let child = child
            .spawn()
            .map_err(|e| cannot_run(&invocation.words[0], &e))?;
        Ok(Self {
            pid: child.id() as libc::pid_t,
            started,
        })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// A failure where the kernel does not let us wait.
    pub fn wait(self) -> Result<Ended> {
        let mut status = 0;
        // SAFETY: an all-zero rusage is a valid value of it.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both pointers are to values of ours of the right types.
            let got = unsafe { libc::wait4(self.pid, &raw mut status, 0, &raw mut usage) };
            if got == self.pid {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error).or_fail(|| "cannot wait for the program".into());
            }
        }
        Ok(Ended {
            exit: Exit::from_status(status),
            wall: self.started.elapsed(),
            user: duration(usage.ru_utime),
            system: duration(usage.ru_stime),
        })
    }
}

/// Joins the cgroup whose `cgroup.procs` is open as `door`.
fn enter(door: i32) -> io::Result<()> {
    // SAFETY: writes one byte of a static string to a descriptor that is open.
    match unsafe { libc::write(door, c"0".as_ptr().cast(), 1) } {
        1 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000)
}

/// The file that `command` names, looked for in `PATH` as a shell does.
///
/// # Errors
/// A usage error where there is none, or it may not be run.
pub fn find(command: &[OsString]) -> Result<PathBuf> {
    let Some(name) = command.first() else {
        return Err(Error::usage(
            "no program was given; write it behind --, as in: terrace run --dram 4G -- ./program",
        ));
    };
    let candidates: Vec<PathBuf> = if is_path(name) {
        vec![name.into()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        std::env::split_paths(&path)
            .map(|directory| directory.join(name))
            .collect()
    };
    if let Some(found) = candidates.iter().find(|path| is_executable(path)) {
        return Ok(found.clone());
    }
    let shown = name.display();
    Err(match candidates.iter().find(|path| path.exists()) {
        Some(path) if path.is_dir() => Error::usage(format!(
            "{shown} is a directory; name the program in it that shall run"
        )),
        Some(_) => Error::usage(format!(
            "the program {shown} may not be run; make it executable (chmod +x)"
        )),
        None => Error::usage(format!(
            "the program {shown} does not exist; check its name, or give its path"
        )),
    })
}

/// Whether a program's name is not looked for in `PATH`.
fn is_path(name: &OsStr) -> bool {
    name.as_encoded_bytes().contains(&b'/')
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn cannot_run(name: &OsStr, error: &io::Error) -> Error {
    let name = name.display();
    if error.raw_os_error() == Some(libc::ENOEXEC) {
        return Error::usage(format!(
            "{name} is no program this machine can run; a script needs a #! line"
        ));
    }
    Error::usage(format!("cannot run {name}: {error}"))
}

/// Ends this process as the program ended: with its code or by its signal.
pub fn end_like(exit: Exit) -> ! {
    match exit {
        Exit::Code(code) => std::process::exit(code),
        Exit::Signal(signal) => {
            // SAFETY: all of these take integers, or a limit that lives across the call. The
            // limit keeps us from leaving a core file beside the program's.
            unsafe {
                let none = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
            std::process::exit(128 + signal)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Invocation {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        words.into()
    }

    #[test]
    fn what_cannot_be_run_has_its_own_sentence() {
        for (command, why) in [
            (&[][..], "no program was given"),
            (&["no-such-program"][..], "does not exist"),
            (&["/no/such/program"][..], "does not exist"),
            (&["/etc/passwd"][..], "may not be run"),
            (&["/"][..], "is a directory"),
        ] {
            let error = Program::start(&words(command), &[])
                .unwrap_err()
                .to_string();
            assert!(error.contains(why), "{command:?}: {error}");
        }
    }

    #[test]
    fn codes_and_signals_come_back() {
        let run = |script: &str| {
            let program = Program::start(&words(&["sh", "-c", script]), &[]).unwrap();
            program.wait().unwrap().exit
        };
        assert_eq!(run("exit 0"), Exit::Code(0));
        assert_eq!(run("exit 7"), Exit::Code(7));
        assert_eq!(run("kill -9 $$"), Exit::Signal(9));
    }

    #[test]
    fn a_directory_and_a_log_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("script"), "pwd -P; cat; echo end >&2").unwrap();
        let log = directory.path().join("log");
        let invocation = Invocation {
            directory: Some(directory.path().to_owned()),
            log: Some(log.clone()),
            ..words(&["sh", "script"])
        };
        for _ in 0..2 {
            let program = Program::start(&invocation, &[]).unwrap();
            assert!(program.wait().unwrap().exit.success());
        }
        let there = directory.path().canonicalize().unwrap();
        let once = format!("{}\nend\n", there.display());
        assert_eq!(std::fs::read_to_string(log).unwrap(), once.repeat(2));

        let relative = Invocation {
            words: vec!["./script".into()],
            ..invocation
        };
        let error = relative.find().unwrap_err().to_string();
        assert!(error.contains("may not be run"), "{error}");
    }

    #[test]
    fn a_cgroup_that_refuses_stops_the_start() {
        let error = Program::start(&words(&["true"]), &["/no/such/cgroup.procs".into()]);
        assert!(error.unwrap_err().to_string().contains("cgroup.procs"));
    }
}
