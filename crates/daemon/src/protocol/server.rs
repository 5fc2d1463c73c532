//! The side of the daemon: a thread a connection, few of them, none for long without a request.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::net::sockopt::socket_peercred;
use terrace_base::{Context, Result};

use super::{Answer, Events, Heat, LONGEST_REQUEST, Reloaded, Request, Status, line, parse};

/// The most connections, and the most of those that are not root's.
const CONNECTIONS: usize = 32;
const OTHERS: usize = 24;

/// A connection without a request for so long is closed.
const IDLE: Duration = Duration::from_secs(60);
/// The time in which a request has to come in, from its first byte to its end, and in which an
/// answer has to be taken.
const LINE: Duration = Duration::from_secs(5);
/// The longest wait for an event.
const LONGEST_WAIT: u32 = 30;
/// Bytes that are written at once; between two pieces is looked at the clock.
const PIECE: usize = 1 << 16;

/// What the daemon answers. No answer may take long.
pub trait Backend: Send + Sync {
    /// Returns how all targets fare.
    ///
    /// # Errors
    /// A sentence, if the daemon is busy for too long.
    fn status(&self) -> std::result::Result<Status, String>;

    /// Returns what has happened behind an event, and waits so long for something.
    fn events(&self, after: u64, wait: Duration) -> Events;

    /// Returns what is known of the memory of a target, by address.
    ///
    /// # Errors
    /// A sentence, if there is no such target, or the daemon is busy for too long.
    fn heat(&self, target: &str) -> std::result::Result<Heat, String>;

    /// Reads the configuration again.
    ///
    /// # Errors
    /// A sentence, if it is wrong; then the old one goes on.
    fn reload(&self) -> std::result::Result<Reloaded, String>;
}

/// The socket; its file is removed when this is dropped.
pub struct Server {
    path: PathBuf,
}

/// Limits of time, which are short in tests.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    pub idle: Duration,
    pub line: Duration,
}

impl Server {
    /// Makes the socket, which the group with this number may use as well, and answers on it from
    /// now on.
    ///
    /// # Errors
    /// A failure if the socket cannot be made.
    pub fn start(path: &Path, group: Option<u32>, backend: Arc<dyn Backend>) -> Result<Self> {
        let limits = Limits {
            idle: IDLE,
            line: LINE,
        };
        Self::within(path, group, backend, limits)
    }

    pub(super) fn within(
        path: &Path,
        group: Option<u32>,
        backend: Arc<dyn Backend>,
        limits: Limits,
    ) -> Result<Self> {
        let cannot = || format!("cannot make the socket {}", path.display());
        let listener = bind(path, group).or_fail(cannot)?;
        let name = "terraced-accept".to_owned();
        let accept = move || accept(&listener, &backend, limits);
        thread::Builder::new()
            .name(name)
            .spawn(accept)
            .or_fail(cannot)?;
        Ok(Self { path: path.into() })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Binds the socket under another name, and gives it its name once it has its mode: nobody finds
/// one that all may use. A file that a killed daemon has left is replaced so.
fn bind(path: &Path, group: Option<u32>) -> io::Result<UnixListener> {
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = UnixListener::bind(&new)?;
    let mode = match group {
        Some(group) => {
            chown(&new, None, Some(group))?;
            0o660
        }
        None => 0o600,
    };
    fs::set_permissions(&new, fs::Permissions::from_mode(mode))?;
    fs::rename(&new, path)?;
    Ok(listener)
}

/// A place among the connections, given back when dropped.
struct Seat(Arc<AtomicUsize>);

impl Seat {
    fn take(taken: &Arc<AtomicUsize>, most: usize) -> Option<Self> {
        let more = |taken| (taken < most).then_some(taken + 1);
        let found = taken.fetch_update(Ordering::SeqCst, Ordering::SeqCst, more);
        found.is_ok().then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn accept(listener: &UnixListener, backend: &Arc<dyn Backend>, limits: Limits) {
    let taken = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Out of descriptors, as a rule: some will be free again.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let is_root = socket_peercred(&stream).is_ok_and(|peer| peer.uid.is_root());
        let most = if is_root { CONNECTIONS } else { OTHERS };
        let seat = Seat::take(&taken, most);
        let backend = Arc::clone(backend);
        let mut connection = Connection {
            stream,
            is_root,
            limits,
            unread: Vec::new(),
        };
        let Some(seat) = seat else {
            let why = format!("{most} connections are open already; try again later");
            let _ = connection.answer(&line(Answer::Error(why)));
            continue;
        };
        let serve = move || {
            let _seat = seat;
            let _ = connection.serve(&*backend);
        };
        let thread = thread::Builder::new().name("terraced-peer".to_owned());
        // Without a thread the connection is closed.
        let _ = thread.stack_size(256 << 10).spawn(serve);
    }
}

struct Connection {
    stream: UnixStream,
    is_root: bool,
    limits: Limits,
    /// What came in behind the last request.
    unread: Vec<u8>,
}

impl Connection {
    /// Answers until the peer closes, or is too slow.
    fn serve(&mut self, backend: &dyn Backend) -> io::Result<()> {
        while let Some(request) = self.request()? {
            let answer = match parse(&request) {
                Ok(request) => perform(backend, self.is_root, &request),
                Err(why) => Answer::Error(why),
            };
            self.answer(&line(answer))?;
        }
        Ok(())
    }

    /// Returns the next line; `None` at the end, or after a line that is too long, which is
    /// answered.
    fn request(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut until = Instant::now() + self.limits.idle;
        let mut began = !self.unread.is_empty();
        if began {
            until = Instant::now() + self.limits.line;
        }
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let rest = self.unread.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.unread, rest)));
            }
            if self.unread.len() >= LONGEST_REQUEST {
                let why =
                    format!("a request has {LONGEST_REQUEST} bytes at most; send a shorter one");
                self.answer(&line(Answer::Error(why)))?;
                return Ok(None);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_read_timeout(Some(left))?;
            let mut bytes = [0; 1024];
            let room = (LONGEST_REQUEST - self.unread.len()).min(bytes.len());
            let number = self.stream.read(&mut bytes[..room])?;
            if number == 0 {
                return Ok(None);
            }
            if !began {
                began = true;
                until = Instant::now() + self.limits.line;
            }
            self.unread.extend_from_slice(&bytes[..number]);
        }
    }

    fn answer(&mut self, mut line: &[u8]) -> io::Result<()> {
        let until = Instant::now() + self.limits.line;
        while !line.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.stream.set_write_timeout(Some(left))?;
            let number = self.stream.write(&line[..line.len().min(PIECE)])?;
            line = &line[number..];
        }
        Ok(())
    }
}

/// Does what a peer asks for, which is root or not.
pub(super) fn perform(backend: &dyn Backend, is_root: bool, request: &Request) -> Answer {
    let answer = match request {
        Request::Status => backend
            .status()
            .map(|status| Answer::Status(Box::new(status))),
        Request::Events { after, wait } => {
            let wait = Duration::from_secs((*wait).min(LONGEST_WAIT).into());
            Ok(Answer::Events(backend.events(*after, wait)))
        }
        Request::Heat { target } => backend.heat(target).map(Answer::Heat),
        Request::Reload if !is_root => {
            Err("only root may reload the configuration; run this as root".to_owned())
        }
        Request::Reload => backend.reload().map(Answer::Reloaded),
    };
    answer.unwrap_or_else(Answer::Error)
}
