//! A placement in force: objects of its allocation sites stay in DRAM.
//!
//! The library in the program (`terrace-preload`) asks for each
//! new stack of calls whether its objects are placed; here the answers are found, by what the
//! program's files say of the calls, as in recordings. A file that has no debug symbols any more,
//! or another one, has other names, and nothing of it is placed.

mod grants;

use std::collections::HashSet;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;
use terrace_base::{Bytes, Context, Error, Result};
use terrace_preload_protocol::placement::{FRAMES, MORE, PLACED, VARIABLE, task};
use terrace_trace::record::{OBJECTS_LIBRARY, Symbols};

use grants::Grants;

/// The variable that names libraries which the dynamic linker loads before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// DRAM beside that of the placement, with which a program can run.
const BESIDE: Bytes = Bytes(4 << 20);

/// How long a question may take to arrive.
const PATIENCE: Duration = Duration::from_secs(1);

/// A placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The file that says so.
    pub path: PathBuf,
    /// The name of the program's file.
    pub program: String,
    /// The most bytes that its objects have together.
    pub bytes: Bytes,
    /// By site, the names of the calls that lead to it, the innermost first.
    pub sites: Vec<Vec<String>>,
}

impl Placement {
    /// Checks that it is one of the program in this file.
    ///
    /// # Errors
    /// A usage error if it is that of another program.
    pub fn check_program(&self, file: &Path) -> Result<()> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        match name == self.program {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "{} is the placement of {}, and {name} is to be run; record that with terrace record --allocations, and \
                 place it with terrace place",
                self.path.display(),
                self.program
            ))),
        }
    }

    /// Returns what is left of the DRAM of a program beside its placed objects.
    ///
    /// # Errors
    /// A usage error if that is too little to run in.
    pub fn rest(&self, dram: Bytes) -> Result<Bytes> {
        let rest = Bytes(dram.0.saturating_sub(self.bytes.0));
        match rest < BESIDE {
            true => Err(Error::usage(format!(
                "the placement needs {} of DRAM, of {dram} that the program gets, and {BESIDE} have to be left; give more \
                 DRAM, or place less with terrace place --fast",
                self.bytes
            ))),
            false => Ok(rest),
        }
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Stacks of calls that allocate.
    pub stacks: usize,
    /// Sites of the placement among them.
    pub sites: usize,
}

/// Answers the questions of a program; ends when it is dropped.
#[derive(Debug)]
pub struct Answers {
    directory: TempDir,
    bytes: Bytes,
    node: Option<u32>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Asked>>,
}

impl Answers {
    /// Begins to answer. The objects belong on memory node `node`, or anywhere in DRAM.
    ///
    /// # Errors
    /// A failure if there can be no socket.
    pub fn start(placement: &Placement, node: Option<u32>) -> Result<Self> {
        let cannot = || "cannot make a socket for the placement".to_owned();
        let directory = tempfile::Builder::new().prefix("terrace-place-").tempdir();
        let directory = directory.or_fail(cannot)?;
        let socket = socket(&directory);
        let listener = UnixListener::bind(&socket).or_fail(cannot)?;
        // The program may run as another user.
        for (path, mode) in [(directory.path(), 0o711), (&*socket, 0o666)] {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(path, permissions).or_fail(cannot)?;
        }
        let ends = Arc::new(AtomicBool::new(false));
        let mut oracle = Oracle::of(placement);
        let over = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            for question in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                // A program that ends while it asks needs no answer.
                let _ = question.and_then(|question| oracle.serve(question));
            }
            oracle.asked()
        });
        Ok(Self {
            directory,
            bytes: placement.bytes,
            node,
            ends,
            thread: Some(thread),
        })
    }

    /// Returns the variable that tells a library in the program where to ask.
    pub fn variable(&self) -> (OsString, OsString) {
        let socket = socket(&self.directory);
        let text = task(self.node, &socket.to_string_lossy());
        (VARIABLE.into(), text.into())
    }

    /// Returns the variables with which a program keeps its placed objects in DRAM, and lets it:
    /// where they are not on a node they are locked, which is limited, and the program inherits the
    /// limit of this process.
    ///
    /// # Errors
    /// A failure if the library is missing, or the limit cannot be raised.
    pub fn environment(&self) -> Result<Vec<(OsString, OsString)>> {
        let mut libraries = OBJECTS_LIBRARY.find()?.into_os_string();
        if let Some(others) = std::env::var_os(PRELOAD) {
            libraries.push(":");
            libraries.push(others);
        }
        if self.node.is_none() {
            allow_locks(self.bytes)?;
        }
        Ok(vec![self.variable(), (PRELOAD.into(), libraries)])
    }

    /// Ends, and returns what was asked.
    pub fn finish(mut self) -> Asked {
        self.end()
    }

    fn end(&mut self) -> Asked {
        self.ends.store(true, Ordering::Relaxed);
        // The thread waits for a question.
        let woken = UnixStream::connect(socket(&self.directory));
        let thread = self.thread.take().filter(|_| woken.is_ok());
        thread
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.end();
    }
}

fn socket(directory: &TempDir) -> PathBuf {
    directory.path().join("socket")
}

/// Lets this process and those it starts lock this much memory.
///
/// # Errors
/// A failure if the limit cannot be raised, and is not above that of this process anyway.
fn allow_locks(bytes: Bytes) -> Result<()> {
    let limit = getrlimit(Resource::Memlock);
    let enough = |limit: Option<u64>| limit.map(|limit| limit.max(bytes.0));
    let raised = Rlimit {
        current: enough(limit.current),
        maximum: enough(limit.maximum),
    };
    match setrlimit(Resource::Memlock, raised) {
        // Who may lock anything need not be able to raise limits.
        Err(_) if may_lock(bytes.0 as usize) => Ok(()),
        raised => raised
            .map_err(std::io::Error::from)
            .or_fail(|| format!("cannot allow {bytes} of locked memory")),
    }
}

/// Whether this process may lock this much memory.
fn may_lock(bytes: usize) -> bool {
    let (access, kind) = (
        libc::PROT_READ,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
    );
    // SAFETY: a new mapping, which is not touched, and unmapped again.
    unsafe {
        let start = libc::mmap(std::ptr::null_mut(), bytes.max(1), access, kind, -1, 0);
        if start == libc::MAP_FAILED {
            return false;
        }
        let locked = libc::syscall(libc::SYS_mlock2, start, bytes.max(1), libc::MLOCK_ONFAULT);
        libc::munmap(start, bytes.max(1));
        locked == 0
    }
}

/// Knows the answers.
struct Oracle {
    sites: Vec<Vec<String>>,
    symbols: Symbols,
    stacks: HashSet<Vec<String>>,
    met: HashSet<usize>,
    grants: Grants,
}

impl Oracle {
    fn of(placement: &Placement) -> Self {
        Self {
            sites: placement.sites.clone(),
            symbols: Symbols::default(),
            stacks: HashSet::new(),
            met: HashSet::new(),
            grants: Grants::of(placement.bytes),
        }
    }

    /// Answers a question.
    fn serve(&mut self, mut question: UnixStream) -> std::io::Result<()> {
        question.set_read_timeout(Some(PATIENCE))?;
        let process = socket_peercred(&question)?.pid.as_raw_nonzero().get() as u32;
        let answer = match number(&mut question)? {
            PLACED => {
                let count = number(&mut question)?.min(FRAMES as u64);
                let addresses = (0..count).map(|_| number(&mut question));
                let addresses: Vec<u64> = addresses.collect::<std::io::Result<_>>()?;
                u64::from(self.is_placed(process, &addresses)?)
            }
            MORE => {
                let (program, bytes) = (number(&mut question)?, number(&mut question)?);
                self.grants.give(process, program, bytes)
            }
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        question.write_all(&answer.to_ne_bytes())
    }

    /// Whether the calls at these addresses of a process are those of a site.
    fn is_placed(&mut self, process: u32, addresses: &[u64]) -> std::io::Result<bool> {
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps"))?;
        let names = self.symbols.site_in(&maps, addresses).names();
        let site = self.sites.iter().position(|site| *site == names);
        self.met.extend(site);
        self.stacks.insert(names);
        Ok(site.is_some())
    }

    fn asked(&self) -> Asked {
        Asked {
            stacks: self.stacks.len(),
            sites: self.met.len(),
        }
    }
}

fn number(from: &mut UnixStream) -> std::io::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placement() -> Placement {
        Placement {
            path: "p.toml".into(),
            program: "lulesh".to_owned(),
            bytes: Bytes(60 << 20),
            sites: vec![vec!["a".to_owned()]],
        }
    }

    #[test]
    fn another_program_and_too_little_dram_are_refused() {
        let placement = placement();
        assert_eq!(placement.check_program(Path::new("/x/lulesh")), Ok(()));
        let error = placement.check_program(Path::new("/bin/sort")).unwrap_err();
        let said = "p.toml is the placement of lulesh, and sort is to be run";
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(placement.rest(Bytes(64 << 20)), Ok(BESIDE));
        let error = placement.rest(Bytes((64 << 20) - 1)).unwrap_err();
        assert!(
            error.to_string().contains("needs 60.0 MiB of DRAM"),
            "{error}"
        );
    }

    /// An address that is in no file is named by itself, as no site is.
    #[test]
    fn questions_are_answered() {
        let answers = Answers::start(&placement(), None).unwrap();
        let (name, value) = answers.variable();
        let value = value.into_string().unwrap();
        let (rest, path) = value.rsplit_once(' ').unwrap();
        assert_eq!((name.to_str(), rest), (Some(VARIABLE), "-"));
        let ask = |words: &[u64]| {
            let mut stream = UnixStream::connect(path).unwrap();
            let question: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
            stream.write_all(&question).unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).ok()?;
            answer.try_into().map(u64::from_ne_bytes).ok()
        };
        assert_eq!(ask(&[PLACED, 2, 1, 2]), Some(0));
        assert_eq!(ask(&[PLACED, 1, 3]), Some(0));
        assert_eq!(ask(&[PLACED, 2, 1, 2]), Some(0));
        assert_eq!(ask(&[MORE, 1, 40 << 20]), Some(40 << 20));
        assert_eq!(ask(&[MORE, 1, 40 << 20]), Some(0));
        // One that is broken off, or asks for something else, ends no thread.
        drop(UnixStream::connect(path).unwrap());
        assert_eq!(ask(&[PLACED, u64::MAX]), None);
        assert_eq!(ask(&[7]), None);
        let directory = answers.directory.path().to_owned();
        assert_eq!(
            answers.finish(),
            Asked {
                stacks: 2,
                sites: 0
            }
        );
        assert!(!directory.exists());
    }
}
