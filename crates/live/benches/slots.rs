//! What the map of swap slots takes, with 75 GiB swapped: memory and pauses.
//!
//! `cargo bench -p terrace-live --bench slots [-- GIBIBYTES [PATTERN]]` prints, for several ways in
//! which programs have their memory swapped, the bytes that a swapped page takes (resident memory,
//! as the kernel counts it), nanoseconds a page as it is noted first and when it is found
//! unchanged, and the longest pause: of 32 pages noted, of a process forgotten, and of one step of
//! clearing away what it left. Places are given out to pages in runs of 16 from all over memory.
//! Times are processor times of the one thread, so that a neighbour's load is not in them; each
//! pattern has a process of its own, so that none has its memory from another.

use std::fs;
use std::process::Command;
use std::time::Duration;

use terrace_live::watch::slots::Slots;
use terrace_policy::{Location, PAGE_BYTES, Page, Slot, Space};

const GIBIBYTES: u64 = 75;
/// Pages that went to the tier together, side by side.
const RUN: u64 = 16;
/// Pages noted between two looks at the clock.
const CALLS: u64 = 32;
/// Pages cleared away in one step.
const STEP: u64 = 4096;

/// How the swapped pages of programs lie.
struct Pattern {
    name: &'static str,
    processes: u64,
    /// One page in this many is swapped.
    sparse: u64,
}

const PATTERNS: [Pattern; 4] = [
    Pattern {
        name: "one process",
        processes: 1,
        sparse: 1,
    },
    Pattern {
        name: "one page in 64",
        processes: 1,
        sparse: 64,
    },
    Pattern {
        name: "one page in 512",
        processes: 1,
        sparse: 512,
    },
    Pattern {
        name: "1,000 processes",
        processes: 1000,
        sparse: 1,
    },
];

impl Pattern {
    /// The page of a number, in the order in which page tables are read.
    fn page(&self, number: u64, pages: u64) -> Location {
        let each = pages.div_ceil(self.processes);
        let space = Space((number / each) as u32 + 1);
        Location::new(space, Page(0x7_f000_0000 + number % each * self.sparse))
    }
}

/// The place of a page: runs from all over, for the factor is a prime.
fn place(number: u64, pages: u64) -> Slot {
    let runs = pages / RUN;
    let run = (number / RUN) * 7919 % runs;
    Slot(run * RUN + number % RUN)
}

fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages = statm.split_whitespace().nth(1).expect("a second field");
    pages.parse::<u64>().expect("a number") * PAGE_BYTES
}

/// The processor time of this thread.
fn now() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes the time to where it is told, which lives through the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0, "Linux has this clock");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn timed(action: impl FnOnce()) -> Duration {
    let begin = now();
    action();
    now() - begin
}

/// Notes all pages; the time it took, and the longest of some calls.
fn note(slots: &mut Slots, pattern: &Pattern, pages: u64) -> (Duration, Duration) {
    let calls = (0..pages).step_by(CALLS as usize).map(|first| {
        timed(|| {
            for number in first..pages.min(first + CALLS) {
                slots.note(pattern.page(number, pages), place(number, pages));
            }
        })
    });
    calls.fold((Duration::ZERO, Duration::ZERO), |(all, longest), took| {
        (all + took, longest.max(took))
    })
}

/// Forgets all processes; the longest that it took for one.
fn forget(slots: &mut Slots, pattern: &Pattern) -> Duration {
    let spaces = 1..=pattern.processes as u32;
    let times = spaces.map(|space| timed(|| slots.forget(Space(space))));
    times.max().unwrap_or_default()
}

/// Clears away what they left; the longest step.
fn tidy(slots: &mut Slots, pages: u64) -> Duration {
    let steps = (0..2 * pages / STEP).map(|_| timed(|| slots.tidy(STEP)));
    steps.max().unwrap_or_default()
}

fn measure(pattern: &Pattern, pages: u64) {
    let before = resident();
    let mut slots = Slots::default();
    let (first, longest) = note(&mut slots, pattern, pages);
    let bytes = (resident() - before) as f64 / pages as f64;
    let (again, longest_again) = note(&mut slots, pattern, pages);
    let forgotten = forget(&mut slots, pattern);
    let cleared = tidy(&mut slots, pages);
    let each = |took: Duration| took.as_secs_f64() * 1e9 / pages as f64;
    let micros = |took: Duration| took.as_secs_f64() * 1e6;
    println!(
        "{:16} {:10.1} {:9.0} {:9.0} {:12.0} {:12.1} {:12.0}",
        pattern.name,
        bytes,
        each(first),
        each(again),
        micros(longest.max(longest_again)),
        micros(forgotten),
        micros(cleared)
    );
}

fn main() {
    // `cargo bench` adds an option of its own.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = arguments.iter().filter_map(|text| text.parse().ok());
    let gibibytes = numbers.next().unwrap_or(GIBIBYTES);
    let pages = gibibytes * ((1 << 30) / PAGE_BYTES);
    if let Some(number) = numbers.next() {
        return measure(&PATTERNS[number as usize], pages);
    }
    println!("{pages} pages swapped");
    println!(
        "{:16} {:>10} {:>9} {:>9} {:>12} {:>12} {:>12}",
        "", "bytes/page", "first ns", "again ns", "note 32 us", "forget us", "clear us"
    );
    let own = std::env::current_exe().expect("the path of this program");
    for number in 0..PATTERNS.len() {
        let arguments = [gibibytes.to_string(), number.to_string()];
        let status = Command::new(&own).args(arguments).status();
        assert!(status.expect("this program runs").success());
    }
}
