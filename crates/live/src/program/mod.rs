//! The program: started in its cgroup, and waited for.

pub(crate) mod image;
pub mod input;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use terrace_base::program::{find, is_path};
use terrace_base::{Blocked, Context, Error, Exit, Inherited, Result, Signals, Target, User};

use crate::nodes::binding;
use crate::program::image::Image;
use crate::program::input::Input;
use crate::system::cpus::Cpus;

/// What a program used, as `wait4` tells it: of itself and of the children it waited for.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// End of the program.
    pub exit: Exit,
    /// Wall time from start to end.
    pub wall: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
}

/// A program to start: its command, directory, input, output and user.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Working directory; `None` is that of this process.
    pub directory: Option<PathBuf>,
    /// Standard input.
    pub input: Input,
    /// File to which output is appended, with an empty input; `None` inherits the output of this
    /// process.
    pub log: Option<PathBuf>,
    /// User that the program runs as; `None` is the user of this process.
    pub user: Option<User>,
    /// Variables of its environment beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether the program may have transparent huge pages. A run allows them if DRAM suffices.
    pub huge_pages: bool,
    /// Whether its memory is laid out the same in each run.
    pub fixed_addresses: bool,
    /// Node from which all its memory comes; `None` leaves that to the kernel.
    pub node: Option<u32>,
    /// Processors on which it runs; `None` for those of this process.
    pub processors: Option<Cpus>,
    /// Whether it sees the limit of its group, and not memory as without Terrace (`view`).
    pub sees_limit: bool,
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
    /// Returns the executable file of the command; see [`find`].
    ///
    /// # Errors
    /// A usage error if there is no such file, or it may not be executed.
    pub fn find(&self) -> Result<PathBuf> {
        match (&self.directory, self.words.first()) {
            (Some(directory), Some(name)) if is_path(name) => find(&[directory.join(name).into()]),
            _ => find(&self.words),
        }
    }

    fn command(&self) -> Result<Command> {
        // The image is what is executed; std only forks, with these descriptors.
        let mut command = Command::new(self.find()?);
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(path) = &self.log {
            let mut options = File::options();
            let log = options.create(true).append(true).mode(0o644).open(path);
            let (log, errors) = log
                .and_then(|log| Ok((log.try_clone()?, log)))
                .or_fail(|| format!("cannot write {}", path.display()))?;
            command.stdin(Stdio::null()).stdout(log).stderr(errors);
        } else {
            let input = self.input.open();
            command.stdin(input.or_fail(|| "cannot use standard input".into())?);
        }
        Ok(command)
    }

    fn image(&self) -> Result<Image> {
        let of_user = self.user.iter().flat_map(User::environment);
        let of_user = of_user.map(|(name, value)| (name.into(), value));
        let own: Vec<(OsString, OsString)> =
            of_user.chain(self.environment.iter().cloned()).collect();
        // In the order of this process's, which a program may print.
        let mut environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
        environment.retain(|(name, _)| !own.iter().any(|(named, _)| named == name));
        environment.extend(own);
        Image::new(&self.find()?, &self.words, environment.into_iter())
            .map_err(|e| Error::usage(format!("cannot run {}: {e}", self.words[0].display())))
    }

    /// Returns what the program is given as this process found it.
    fn inherited(&self) -> Inherited {
        let found = Inherited::found();
        match (&self.log, &self.input) {
            (Some(_), _) => (0..=2).fold(found, Inherited::with_stream),
            (None, Input::Ours) => found,
            (None, _) => found.with_stream(0),
        }
    }

    fn cannot_run(&self, error: &io::Error) -> Error {
        let name = self.words[0].display();
        match (error.raw_os_error(), &self.user) {
            (Some(libc::ENOEXEC), _) => Error::usage(format!(
                "{name} is no program this machine can run; a script needs a #! line"
            )),
            (Some(libc::EACCES), Some(user)) => Error::usage(format!(
                "the user {} may not run {name}; give that user access to it and to the \
                 directories above it, or name another user with ‘user’",
                user.name()
            )),
            _ => Error::usage(format!("cannot run {name}: {error}")),
        }
    }
}

/// A running program.
#[derive(Debug)]
pub struct Program {
    pid: libc::pid_t,
    started: Instant,
}

impl Program {
    /// Starts a program in the cgroups whose `cgroup.procs` files are given, and prepares `signals`
    /// for it; they are aimed at it afterwards.
    ///
    /// # Errors
    /// A usage error if the program cannot be run, a failure if a cgroup refuses it.
    pub fn start(
        invocation: &Invocation,
        entrances: &[PathBuf],
        signals: &Signals,
    ) -> Result<Self> {
        let mut child = invocation.command()?;
        let door = |path: &PathBuf| {
            let door = File::options().write(true).open(path);
            door.or_fail(|| format!("cannot open {}", path.display()))
        };
        let doors: Vec<File> = entrances.iter().map(door).collect::<Result<_>>()?;
        let descriptors: Vec<_> = doors.iter().map(AsRawFd::as_raw_fd).collect();
        let user = invocation.user.clone();
        let image = invocation.image()?;
        let (huge_pages, fixed_addresses) = (invocation.huge_pages, invocation.fixed_addresses);
        let (node, processors) = (invocation.node, invocation.processors.clone());
        let inherited = invocation.inherited();
        let newborn = signals.newborn();
        // SAFETY: between fork and exec the closure only makes system calls, with what was made
        // ready before; it allocates nothing. The cgroup comes before root is given up.
        unsafe {
            child.pre_exec(move || {
                descriptors.iter().try_for_each(|&door| enter(door))?;
                if !huge_pages {
                    // Its children inherit this. A kernel without huge pages ignores it.
                    libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0);
                }
                if fixed_addresses {
                    // So do they inherit this; a set-user-ID program does not.
                    libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                }
                // They inherit this, too, and so do the programs that they become.
                node.map_or(Ok(()), binding::bind)?;
                processors.as_ref().map_or(Ok(()), |own| own.set(0))?;
                user.as_ref().map_or(Ok(()), User::assume)?;
                newborn.catch_up();
                inherited.give()?;
                Err(image.execute())
            });
        }
        let started = Instant::now();
        let blocked = Blocked::all();
        let child = child.spawn();
        drop(blocked);
        let child = child.map_err(|e| {
            signals.aim(Target::Nobody);
            invocation.cannot_run(&e)
        })?;
        Ok(Self {
            pid: child.id() as libc::pid_t,
            started,
        })
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.pid as u32
    }

    /// Returns when it was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Waits for the end of the program.
    ///
    /// # Errors
    /// A failure if the kernel refuses the wait.
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
            exit: ExitStatus::from_raw(status).into(),
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn words(words: &[&str]) -> Invocation {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        words.into()
    }

    fn start(invocation: &Invocation, entrances: &[PathBuf]) -> Result<Program> {
        Program::start(invocation, entrances, &Signals::receive()?)
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
            let error = start(&words(command), &[]).unwrap_err().to_string();
            assert!(error.contains(why), "{command:?}: {error}");
        }
    }

    #[test]
    fn what_the_kernel_does_not_know_is_run_by_no_shell() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        std::fs::write(&script, "touch by-a-shell\n").unwrap();
        std::fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let invocation = Invocation {
            words: vec![script.into()],
            directory: Some(directory.path().to_owned()),
            ..Invocation::default()
        };
        let error = start(&invocation, &[]).unwrap_err().to_string();
        assert!(error.contains("needs a #! line"), "{error}");
        assert!(!directory.path().join("by-a-shell").exists());
    }

    #[test]
    fn codes_and_signals_come_back() {
        let run = |script: &str| {
            let program = start(&words(&["sh", "-c", script]), &[]).unwrap();
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
            let program = start(&invocation, &[]).unwrap();
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
        let error = start(&words(&["true"]), &["/no/such/cgroup.procs".into()]);
        assert!(error.unwrap_err().to_string().contains("cgroup.procs"));
    }
}
