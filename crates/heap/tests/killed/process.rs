//! A process of its own, which does what its role says and writes lines of what it has done.
//!
//! It is this program once more, with one test that plays the role.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::mem;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::{copied, created, fork, work};

/// What the process is told.
const ROLE: &str = "TERRACE_ROLE";
const POOL: &str = "TERRACE_POOL";

/// A process that plays a role.
pub struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<JoinHandle<()>>,
}

/// The body of the processes that the tests start; no test by itself.
#[test]
#[ignore = "started by other tests"]
fn plays_in_another_process() {
    let told = |name| env::var(name).expect("started by another test");
    let (role, pool) = (told(ROLE), PathBuf::from(told(POOL)));
    let words: Vec<&str> = role.split(' ').collect();
    match words[..] {
        ["mix", seed] => work::mix(&pool, seed.parse().unwrap()),
        ["threads", count, seed] => {
            work::threads(&pool, count.parse().unwrap(), seed.parse().unwrap());
        }
        ["fork", end] => fork::fork(&pool, end),
        ["create"] => created::create(&pool),
        ["store"] => copied::store(&pool),
        _ => panic!("nobody plays {role:?}"),
    }
}

/// Writes one line, in one write, so that it appears wholly or not at all. The process ends if no
/// reader is left.
pub fn say(line: &str) {
    let mut out = std::io::stderr();
    if out.write_all(format!("{line}\n").as_bytes()).is_err() {
        std::process::exit(1);
    }
}

/// Waits until it is told to go on, or is alone: until its standard input ends.
pub fn wait_until_told() {
    let _ = std::io::read_to_string(std::io::stdin());
}

impl Process {
    /// Starts a process that works on a pool, and waits until it has said its first line.
    ///
    /// # Panics
    ///
    /// If that is not `first`.
    pub fn start(role: &str, pool: &Path, first: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "process::plays_in_another_process"]);
        command.arg("--nocapture");
        command.env(ROLE, role).env(POOL, pool);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.next().expect("the process says a line").unwrap();
        if said != first {
            let more: Vec<_> = lines.map_while(Result::ok).collect();
            panic!("{role}: {said}\n{}", more.join("\n"));
        }
        // It would block if nothing read its output.
        let all = Arc::<Mutex<Vec<String>>>::default();
        let said = Arc::clone(&all);
        let reader = thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| said.lock().unwrap().push(line));
        });
        Self {
            stdin: child.stdin.take(),
            child,
            lines: all,
            reader: Some(reader),
        }
    }

    /// Has it go on where it waits.
    pub fn tell(&mut self) {
        self.stdin = None;
    }

    /// Kills it; says by which signal it ended, and all that it has said after the first line.
    pub fn kill(mut self) -> (Option<i32>, Vec<String>) {
        self.child.kill().unwrap();
        let signal = self.child.wait().unwrap().signal();
        (signal, self.said())
    }

    /// Waits for its end; says how that came, and all that it has said.
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        self.tell();
        let status = self.child.wait().unwrap();
        (status, self.said())
    }

    /// How many lines after the first it has said by now.
    pub fn lines(&self) -> usize {
        self.lines.lock().unwrap().len()
    }

    fn said(&mut self) -> Vec<String> {
        self.reader.take().unwrap().join().unwrap();
        mem::take(&mut self.lines.lock().unwrap())
    }
}

impl Drop for Process {
    /// Ends the process when a test fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
