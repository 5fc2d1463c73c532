//! The fast memory of a placement, as its program's processes have it: together no more than there
//! is.

use std::collections::BTreeMap;

use terrace_base::Bytes;
use terrace_base::process::Figures;

/// Part of the whole that is given at once, if there is as much, so that small objects are not
/// asked for one by one.
const PART: u64 = 64;

/// A process, and the program that it runs: one that has become another program has no objects any
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Holder {
    process: u32,
    started: u64,
    program: u64,
}

impl Holder {
    /// Whether it still runs. A process whose first thread has ended counts as ended.
    fn lives(&self) -> bool {
        started(self.process) == Some(self.started)
    }
}

/// What each process has.
#[derive(Debug)]
pub(super) struct Grants {
    whole: u64,
    held: BTreeMap<Holder, u64>,
}

impl Grants {
    pub fn of(whole: Bytes) -> Self {
        Self {
            whole: whole.0,
            held: BTreeMap::new(),
        }
    }

    /// Gives a process that runs a program at least `bytes` more, until it ends; returns how many,
    /// or 0 if there are not as many left.
    pub fn give(&mut self, process: u32, program: u64, bytes: u64) -> u64 {
        let Some(started) = started(process) else {
            return 0;
        };
        let holder = Holder {
            process,
            started,
            program,
        };
        self.held
            .retain(|other, _| other.process != process || *other == holder);
        if bytes > self.left() {
            self.held.retain(|other, _| other.lives());
        }
        let left = self.left();
        if bytes > left {
            return 0;
        }
        let given = bytes.max(left.min(self.whole / PART));
        *self.held.entry(holder).or_default() += given;
        given
    }

    fn left(&self) -> u64 {
        self.whole - self.held.values().sum::<u64>()
    }
}

/// Returns the start time of a process; `None` if it has ended.
fn started(process: u32) -> Option<u64> {
    let figures = Figures::of(process).ok().flatten()?;
    (!figures.has_ended).then_some(figures.started)
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn sleeper() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn end(mut process: Child) {
        process.kill().unwrap();
        process.wait().unwrap();
    }

    #[test]
    fn processes_share_the_whole() {
        let (one, other) = (sleeper(), sleeper());
        let mut grants = Grants::of(Bytes(6400));
        assert_eq!(grants.give(one.id(), 1, 10), 100, "a part at once");
        assert_eq!(grants.give(one.id(), 1, 5000), 5000);
        assert_eq!(grants.give(other.id(), 1, 1301), 0);
        assert_eq!(grants.give(other.id(), 1, 1250), 1250);
        assert_eq!(grants.give(other.id(), 1, 10), 50, "what is left");
        assert_eq!(grants.give(one.id(), 1, 1), 0);
        end(other);
        assert_eq!(grants.give(one.id(), 1, 1300), 1300, "an ended one's");
        // The process runs another program.
        assert_eq!(grants.give(one.id(), 2, 6400), 6400);
        assert_eq!(grants.give(one.id(), 2, u64::MAX), 0);
        end(one);
        assert_eq!(grants.give(u32::MAX, 1, 1), 0, "there is no such process");
    }

    #[test]
    fn one_that_only_waits_for_its_parent_has_ended() {
        let (mut ended, living) = (Command::new("true").spawn().unwrap(), sleeper());
        let mut grants = Grants::of(Bytes(64));
        let holder = Holder {
            process: ended.id(),
            started: Figures::of(ended.id()).unwrap().unwrap().started,
            program: 1,
        };
        grants.held.insert(holder, 64);
        while started(ended.id()).is_some() {
            std::thread::yield_now();
        }
        assert_eq!(grants.give(living.id(), 1, 64), 64);
        ended.wait().unwrap();
        end(living);
    }
}
