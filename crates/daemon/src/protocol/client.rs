//! The side of those who ask.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use terrace_base::{Context, Error, Result};

use super::{
    Answer, Answered, Asked, Events, Heat, LONGEST_ANSWER, Reloaded, Request, Status, VERSION,
};

/// Longer than any wait for an event.
const PATIENCE: Duration = Duration::from_secs(45);

/// A connection to the daemon.
pub struct Client {
    stream: BufReader<UnixStream>,
}

impl Client {
    /// Connects to the daemon at a socket.
    ///
    /// # Errors
    /// A failure if nobody answers there; a usage error if the caller may not ask.
    pub fn connect(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Error::failure(format!(
                "no terraced answers at {}; start it, as by systemctl start terraced",
                socket.display()
            )),
            io::ErrorKind::PermissionDenied => Error::usage(
                "terraced answers root and the members of the group `terrace`; become one of them",
            ),
            _ => Error::failure(format!("cannot connect to {}: {e}", socket.display())),
        })?;
        let lost = || "cannot ask terraced".to_owned();
        stream.set_read_timeout(Some(PATIENCE)).or_fail(lost)?;
        stream.set_write_timeout(Some(PATIENCE)).or_fail(lost)?;
        Ok(Self {
            stream: BufReader::new(stream),
        })
    }

    /// Returns how all targets fare.
    ///
    /// # Errors
    /// A failure if the daemon does not say.
    pub fn status(&mut self) -> Result<Status> {
        match self.ask(Request::Status)? {
            Answer::Status(status) => Ok(*status),
            _ => Err(other()),
        }
    }

    /// Returns what has happened behind an event, and waits so many seconds for something.
    ///
    /// # Errors
    /// A failure if the daemon does not say.
    pub fn events(&mut self, after: u64, wait: u32) -> Result<Events> {
        match self.ask(Request::Events { after, wait })? {
            Answer::Events(events) => Ok(events),
            _ => Err(other()),
        }
    }

    /// Returns what is known of the memory of a target, by address.
    ///
    /// # Errors
    /// A failure if there is no such target, or the daemon does not say.
    pub fn heat(&mut self, target: &str) -> Result<Heat> {
        let target = target.to_owned();
        match self.ask(Request::Heat { target })? {
            Answer::Heat(heat) => Ok(heat),
            _ => Err(other()),
        }
    }

    /// Has the configuration read again.
    ///
    /// # Errors
    /// A failure that says what is wrong with it, or who may ask.
    pub fn reload(&mut self) -> Result<Reloaded> {
        match self.ask(Request::Reload)? {
            Answer::Reloaded(reloaded) => Ok(reloaded),
            _ => Err(other()),
        }
    }

    fn ask(&mut self, request: Request) -> Result<Answer> {
        let lost = || "terraced does not answer".to_owned();
        let asked = Asked {
            version: VERSION,
            request,
        };
        let mut line = serde_json::to_vec(&asked).expect("a request is JSON");
        line.push(b'\n');
        // One that takes no more peers says so, and reads nothing.
        let written = self.stream.get_mut().write_all(&line).or_fail(lost);
        let mut answer = Vec::new();
        let mut bounded = self.stream.by_ref().take(LONGEST_ANSWER as u64);
        let read = bounded.read_until(b'\n', &mut answer).or_fail(lost);
        if answer.is_empty() {
            written?;
        }
        read?;
        if answer.is_empty() {
            return Err(Error::failure(
                "terraced has closed the connection; try again",
            ));
        }
        let answered: Answered = serde_json::from_slice(&answer).map_err(|_| other())?;
        match answered.answer {
            Answer::Error(why) => Err(Error::failure(why)),
            answer => Ok(answer),
        }
    }
}

fn other() -> Error {
    Error::failure("terraced has answered something else; use the terrace that came with it")
}
