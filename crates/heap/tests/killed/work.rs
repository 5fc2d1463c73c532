//! What processes do until they are killed, and what must be there then, by what they have said.

use std::path::{Path, PathBuf};
use std::thread;

use terrace_heap::{Cause, Heap, Mapped, Mode, Options, check, use_lane};

use crate::common::used;
use crate::oracle::containers::Containers;
use crate::oracle::history::{Entry, Event, History, Log, State};
use crate::oracle::mix::{Habits, Model, program};
use crate::oracle::registers::{self, Registers};
use crate::process::{Process, say, wait_until_told};

/// What each process says first.
pub const FIRST: &str = "at work";
/// Bytes of a pool at first.
const POOL: u64 = 4 << 20;

/// A pool on which processes work one after the other, and are killed.
pub enum Victim {
    /// One thread, and all that it has done.
    Mix { pool: PathBuf, model: Box<Model> },
    /// Threads, and what they began with.
    Threads {
        pool: PathBuf,
        count: usize,
        state: State,
    },
}

/// What one thread does.
fn habits() -> Habits {
    Habits {
        keys: 300,
        longest: 20_000,
        pool: POOL,
        growths: 16,
    }
}

/// Role: carries out a program, and says of each operation whether it has happened.
pub fn mix(pool: &Path, seed: u64) {
    let heap = Heap::open(pool).unwrap();
    let containers = Containers::open(&heap).unwrap();
    say(FIRST);
    for op in program(seed, habits()) {
        match containers.apply(&op) {
            Ok(true) => say("+"),
            Ok(false) => say("-"),
            Err(error) => return lost(&error),
        }
    }
}

/// Role: threads work, and say what they do.
pub fn threads(pool: &Path, count: usize, seed: u64) {
    let heap = Heap::open(pool).unwrap();
    drop(Registers::open(&heap).unwrap());
    say(FIRST);
    thread::scope(|scope| {
        for thread in 0..count {
            let heap = &heap;
            scope.spawn(move || {
                use_lane(thread);
                let say = |event| say(&encode(thread, &event));
                if let Err(error) = registers::work(heap, thread, (seed, usize::MAX), &say) {
                    lost(&error);
                }
            });
        }
    });
}

/// The device is gone: nothing more is acknowledged until the process is killed. Pages cannot be
/// written any more, or read: a missing page looks the same if the file was cut.
fn lost(error: &terrace_heap::Error) {
    let unreadable = error.to_string().contains("or its device cannot read it");
    assert!(error.cause() == Cause::System || unreadable, "{error}");
    wait_until_told();
}

/// An event as one line: the thread, what happened, and entries that were seen and are set.
fn encode(thread: usize, event: &Event) -> String {
    let entries = |entries: &[Entry]| {
        let entry = |&(key, value): &Entry| match value {
            Some(value) => format!("{key}={value}"),
            None => format!("{key}"),
        };
        entries.iter().map(entry).collect::<Vec<_>>().join(",")
    };
    match event {
        Event::Means { seen, sets } => {
            format!("{thread} means {};{}", entries(seen), entries(sets))
        }
        Event::Ended { seen } => format!("{thread} ended {}", entries(seen)),
        Event::Failed => format!("{thread} failed "),
    }
}

fn decode(line: &str) -> Option<(usize, Event)> {
    let number = |text: &str| text.parse::<u64>().unwrap();
    let entries = |text: &str| {
        let all = text.split(',').filter(|entry| !entry.is_empty());
        let entry = |entry: &str| match entry.split_once('=') {
            Some((key, value)) => (number(key), Some(number(value))),
            None => (number(entry), None),
        };
        all.map(entry).collect::<Vec<_>>()
    };
    let [thread, what, rest] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let event = match (what, rest.split_once(';')) {
        ("means", Some((seen, sets))) => Event::Means {
            seen: entries(seen),
            sets: entries(sets),
        },
        ("ended", None) => Event::Ended {
            seen: entries(rest),
        },
        ("failed", None) => Event::Failed,
        _ => return None,
    };
    Some((number(thread) as usize, event))
}

impl Victim {
    /// A new pool; `threads` work on it, and none is one thread with all containers.
    pub fn create(pool: &Path, mode: Mode, options: &Options, threads: usize) -> Self {
        let heap = Heap::create_with(pool, POOL, mode, options).unwrap();
        let pool = pool.to_path_buf();
        match threads {
            0 => {
                let model = Box::new(Containers::open(&heap).unwrap().state().unwrap());
                Victim::Mix { pool, model }
            }
            count => {
                let state = Registers::open(&heap).unwrap().state().unwrap();
                Victim::Threads { pool, count, state }
            }
        }
    }

    fn pool(&self) -> &Path {
        let (Victim::Mix { pool, .. } | Victim::Threads { pool, .. }) = self;
        pool
    }

    /// Starts a process. While it lives no other one gets in.
    pub fn start(&self, seed: u64) -> Process {
        let role = match self {
            Victim::Mix { .. } => format!("mix {seed}"),
            Victim::Threads { count, .. } => format!("threads {count} {seed}"),
        };
        let process = Process::start(&role, self.pool(), FIRST);
        let refused = Heap::open(self.pool()).err().map(|error| error.to_string());
        let refused = refused.expect("a pool is open once");
        assert!(refused.contains("is open already"), "{refused}");
        process
    }

    /// Looks whether all is there that a process has acknowledged, whole, and nothing else;
    /// `certain` lines of what it has said were heard before its end began.
    pub fn look(&mut self, seed: u64, said: &[String], certain: usize) {
        let found = check::check(Mapped::open(self.pool(), Mode::Private).unwrap());
        assert_eq!(found, [], "after process {seed}");
        let heap = Heap::open(self.pool()).unwrap();
        match self {
            Victim::Mix { model, .. } => look_at_mix(&heap, model, seed, (said, certain)),
            Victim::Threads { state, .. } => look_at_threads(&heap, state, seed, (said, certain)),
        }
    }
}

fn look_at_mix(heap: &Heap, model: &mut Model, seed: u64, (said, certain): (&[String], usize)) {
    let containers = Containers::open(heap).unwrap();
    assert_eq!(containers.objects().unwrap(), used(heap));
    let mut ops = program(seed, habits());
    let found = containers.state().unwrap();
    let mut lines = said.iter().map(|line| &line[..]);
    let mut happens = |model: &mut Model, line: Option<&str>| {
        let op = ops.next().expect("a program has no end");
        match line {
            // What was under way may have happened.
            Some("+") | None => model.apply(&op),
            Some("-") => {}
            _ => panic!("process {seed}: {}", said.join("\n")),
        }
    };
    lines
        .by_ref()
        .take(certain)
        .for_each(|line| happens(model, Some(line)));
    for uncertain in certain..=said.len() {
        if found == *model {
            return;
        }
        let line = lines.next();
        assert_eq!(line.is_none(), uncertain == said.len());
        happens(model, line);
    }
    let count = said.len();
    assert!(
        found == *model,
        "after process {seed}, {certain} to {count} acknowledged"
    );
}

fn look_at_threads(heap: &Heap, state: &mut State, seed: u64, (said, certain): (&[String], usize)) {
    let registers = Registers::open(heap).unwrap();
    assert_eq!(registers.objects().unwrap(), used(heap));
    let event = |line: &String| {
        // A line that is none is what the process says when it panics.
        decode(line).unwrap_or_else(|| panic!("process {seed}: {line:?} is no event: {said:#?}"))
    };
    let log: Log = said.iter().map(event).collect();
    let left = registers.state().unwrap();
    assert!(
        History::new(&log, certain).explains(state, &left),
        "after process {seed}: {state:?} and {} do not lead to {left:?}",
        said.join("\n")
    );
    *state = left;
}
