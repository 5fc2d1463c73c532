//! A terminal of our own (pty(7)).

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// The side of a terminal at which a person sits.
pub struct Terminal {
    person: File,
    programs: File,
}

impl Terminal {
    pub fn open() -> Self {
        let (mut person, mut programs) = (0, 0);
        let none = std::ptr::null_mut();
        // SAFETY: writes two descriptors, which nobody else owns.
        let (person, programs) = unsafe {
            let settings = std::ptr::null();
            let done = libc::openpty(
                &raw mut person,
                &raw mut programs,
                none,
                settings,
                settings.cast(),
            );
            assert_eq!(done, 0, "{}", io::Error::last_os_error());
            for fd in [person, programs] {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
            (OwnedFd::from_raw_fd(person), OwnedFd::from_raw_fd(programs))
        };
        Self {
            person: person.into(),
            programs: programs.into(),
        }
    }

    /// Starts a command that leads a session with this terminal, which is its three streams.
    pub fn start(&mut self, command: &mut Command) -> Child {
        let stream = || self.programs.try_clone().expect("a descriptor");
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let programs = self.programs.as_raw_fd();
        // SAFETY: system calls alone.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                match libc::ioctl(programs, libc::TIOCSCTTY, 0) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                }
            });
        }
        command.spawn().expect("it starts")
    }

    /// Types a character.
    pub fn types(&mut self, character: u8) {
        self.person.write_all(&[character]).expect("a terminal");
    }

    /// Hangs up: the person's side goes away.
    pub fn hang_up(self) {}
}
