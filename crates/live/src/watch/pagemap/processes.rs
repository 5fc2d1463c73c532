//! The processes whose page tables are read, and the descriptors for that.
//!
//! A program may have thousands of processes, and Terrace descriptors for some hundred: the most
//! recently used stay open. A process is identified by its number and its start time, because
//! numbers are reused.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;

use rustc_hash::FxHashMap;
use rustix::process::{Resource, getrlimit};
use terrace_base::process::started;
use terrace_policy::Space;

/// Page tables that are kept open: at most this many, and this fraction of all descriptors.
const MOST_OPEN: usize = 256;
const SHARE: usize = 4;

/// A known process.
#[derive(Default)]
struct Process {
    /// Start time; `None` if it had ended by then.
    started: Option<u64>,
    /// Page tables, if open.
    tables: Option<File>,
    /// Whether they were read since the last search for some to close.
    used: bool,
}

/// The known processes.
pub struct Processes {
    known: FxHashMap<Space, Process>,
    /// All of them, in the order of the checks whether they still run.
    round: VecDeque<Space>,
    /// Processes with open tables, in the order in which they may be closed.
    open: VecDeque<Space>,
    most_open: usize,
    /// Processes that have ended or replaced their memory.
    gone: Vec<Space>,
}

impl Default for Processes {
    fn default() -> Self {
        Self::with_open((descriptors() / SHARE).clamp(1, MOST_OPEN))
    }
}

impl Processes {
    fn with_open(most_open: usize) -> Self {
        Self {
            known: FxHashMap::default(),
            round: VecDeque::new(),
            open: VecDeque::new(),
            most_open,
            gone: Vec::new(),
        }
    }

    /// Adds a process.
    pub fn know(&mut self, space: Space) {
        self.known.entry(space).or_insert_with(|| {
            self.round.push_back(space);
            Process {
                started: started(space.0).unwrap_or_default(),
                ..Process::default()
            }
        });
    }

    /// Whether a process is known.
    pub fn knows(&self, space: Space) -> bool {
        self.known.contains_key(&space)
    }

    /// Returns the number of known processes.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns the known processes.
    pub fn spaces(&self) -> impl Iterator<Item = Space> {
        self.known.keys().copied()
    }

    /// Returns the page tables of a process; `None` if it has ended.
    pub fn tables(&mut self, space: Space) -> Option<&File> {
        self.know(space);
        if self.known[&space].tables.is_none() {
            self.open(space);
        }
        let process = self.known.get_mut(&space)?;
        process.used = true;
        process.tables.as_ref()
    }

    /// Opens the tables of a process again after a read failed; returns whether that worked. It
    /// does not if the process has ended; if it has other memory, by exec or because its number was
    /// reused, it is reported as gone first.
    pub fn renew(&mut self, space: Space) -> bool {
        let had_memory = |tables: &File| tables.read_at(&mut [0; 8], 0).is_ok_and(|read| read > 0);
        if self.tables(space).is_none_or(had_memory) {
            return false;
        }
        self.close(space);
        self.gone.push(space);
        self.tables(space).is_some()
    }

    /// Checks whether the next `count` processes still run; returns those that do not, and those
    /// that have other memory by now.
    pub fn gone(&mut self, count: usize) -> Vec<Space> {
        for _ in 0..count.min(self.round.len()) {
            let Some(space) = self.round.pop_front() else {
                break;
            };
            let Some(process) = self.known.get(&space) else {
                continue;
            };
            // A process that cannot be read now, for want of descriptors, may run.
            if let Ok(now) = started(space.0)
                && (now.is_none() || now != process.started)
            {
                self.gone.push(space);
            }
            self.round.push_back(space);
        }
        std::mem::take(&mut self.gone)
    }

    /// Forgets a process; added again, it counts as another one.
    pub fn forget(&mut self, space: Space) {
        self.close(space);
        if self.known.remove(&space).is_some() {
            self.round.retain(|of| *of != space);
        }
    }

    /// Opens the tables of a known process, after closing others if necessary.
    fn open(&mut self, space: Space) {
        let Ok(file) = File::open(format!("/proc/{}/pagemap", space.0)) else {
            return;
        };
        while self.open.len() >= self.most_open {
            self.close_one();
        }
        self.open.push_back(space);
        if let Some(process) = self.known.get_mut(&space) {
            process.tables = Some(file);
        }
    }

    /// Closes the tables that were opened first among those not used since the last search.
    fn close_one(&mut self) {
        while let Some(space) = self.open.pop_front() {
            let Some(process) = self.known.get_mut(&space) else {
                continue;
            };
            if std::mem::take(&mut process.used) {
                self.open.push_back(space);
            } else {
                process.tables = None;
                return;
            }
        }
    }

    fn close(&mut self, space: Space) {
        if let Some(process) = self.known.get_mut(&space)
            && process.tables.take().is_some()
        {
            self.open.retain(|of| *of != space);
        }
    }
}

/// Returns the number of descriptors that this process may have.
fn descriptors() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| limit as usize)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Waits for its standard input to end.
    fn child() -> Child {
        let mut command = Command::new("cat");
        let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().expect("cat")
    }

    fn end(mut child: Child) {
        drop(child.stdin.take());
        child.wait().expect("cat ends");
    }

    #[test]
    fn of_many_processes_the_tables_of_a_few_are_open() {
        let children: Vec<Child> = (0..12).map(|_| child()).collect();
        let mut processes = Processes::with_open(3);
        for _ in 0..2 {
            for child in &children {
                assert!(processes.tables(Space(child.id())).is_some());
                let open = processes.known.values().filter(|p| p.tables.is_some());
                assert!(open.count() <= 3);
                assert!(processes.open.len() <= 3);
            }
        }
        assert_eq!(processes.len(), 12);
        assert_eq!(processes.gone(100), []);
        children.into_iter().for_each(end);
        // A few at a time.
        assert_eq!(processes.gone(5).len(), 5);
        assert_eq!(processes.gone(7).len(), 7);
        let spaces: Vec<Space> = processes.spaces().collect();
        spaces.iter().for_each(|space| processes.forget(*space));
        assert_eq!(processes.open.len() + processes.round.len(), 0);
    }

    #[test]
    fn tables_in_use_stay_open() {
        let children: Vec<Child> = (0..6).map(|_| child()).collect();
        let mut processes = Processes::with_open(3);
        let first = Space(children[0].id());
        for child in &children {
            processes.tables(first);
            processes.tables(Space(child.id()));
        }
        assert!(processes.known[&first].tables.is_some());
        children.into_iter().for_each(end);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let mut processes = Processes::default();
        let here = Space(std::process::id());
        processes.know(here);
        assert_eq!(processes.gone(1), []);
        processes.known.get_mut(&here).unwrap().started = Some(0);
        assert_eq!(processes.gone(1), [here]);
        processes.forget(here);
        processes.know(here);
        assert_eq!(processes.gone(1), []);
    }

    #[test]
    fn memory_that_was_replaced_is_read_anew() {
        let mut shell = Command::new("sh")
            .args(["-c", "read go; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sh");
        let space = Space(shell.id());
        let mut processes = Processes::default();
        assert!(processes.tables(space).is_some());
        assert!(!processes.renew(space), "it has the memory that it had");
        // What cat answers, it answers after the exec.
        let mut input = shell.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, b"go\nhere\n").unwrap();
        let mut answer = [0; 5];
        let output = shell.stdout.as_mut().unwrap();
        std::io::Read::read_exact(output, &mut answer).unwrap();
        assert!(processes.renew(space));
        assert_eq!(processes.gone(1), [space]);
        drop(input);
        end(shell);
        assert!(!processes.renew(space));
        assert_eq!(processes.gone(1).first(), Some(&space));
    }
}
