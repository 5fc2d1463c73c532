//! What is known of pages, held against a twin that asks each page one by one; and a process of our
//! own whose pages are moved.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use proptest::prelude::*;
use terrace_base::Bytes;
use terrace_base::process::Figures;

use super::chunk::{Chunk, SAMPLE, TRIAL};
use super::pages::Pages;
use super::set::{PAGES, Set};
use crate::journal::Journal;
use crate::tier::{Demand, Spec, Tier};

const REST: (u64, u64) = (60, 3600);

/// A page, as the twin knows it.
#[derive(Clone, Copy, Default, PartialEq)]
struct Page {
    is_on_trial: bool,
    is_away: bool,
    is_hot: bool,
    is_retried: bool,
}

/// A chunk whose pages are asked one by one; times in seconds.
struct Twin {
    pages: Vec<Page>,
    until: u64,
    rest: u64,
    ended: u32,
    back: u32,
    touched: u64,
}

impl Twin {
    fn new() -> Self {
        Self {
            pages: vec![Page::default(); PAGES],
            until: 0,
            rest: 0,
            ended: 0,
            back: 0,
            touched: 0,
        }
    }

    fn set(&self, of: fn(&Page) -> bool) -> Set {
        let pages = self.pages.iter().enumerate();
        pages
            .filter(|(_, page)| of(page))
            .map(|(at, _)| at)
            .collect()
    }

    fn halve(&mut self) {
        self.back = self.back.min(self.ended);
        if self.ended > 1024 {
            self.ended /= 2;
            self.back /= 2;
        }
    }

    fn observe(&mut self, out: &[bool], now: u64) {
        let (mut retried, mut proved, mut some) = (0, 0, false);
        for (page, is_out) in self.pages.iter_mut().zip(out) {
            let came_back = (page.is_on_trial || page.is_away) && !is_out;
            if page.is_retried {
                retried += 1;
                proved += u64::from(came_back);
                page.is_retried = false;
            }
            if came_back {
                self.ended += u32::from(page.is_on_trial);
                self.back += 1;
                self.touched += 1;
                *page = Page {
                    is_hot: true,
                    ..Page::default()
                };
                some = true;
            }
        }
        self.halve();
        if retried > 0 {
            self.rest = match 2 * proved >= retried {
                true => (2 * self.rest).min(REST.1),
                false => REST.0,
            };
        }
        if some {
            self.rest = self.rest.max(REST.0);
            self.until = now + self.rest;
        }
    }

    fn candidates(&self, own: &[bool], now: u64) -> Vec<usize> {
        let free = (0..PAGES).filter(|&at| {
            let page = &self.pages[at];
            let is_left_alone = page.is_hot && now < self.until;
            own[at] && !page.is_on_trial && !page.is_away && !is_left_alone
        });
        let most = if self.ended == 0 { SAMPLE } else { PAGES };
        free.take(most).collect()
    }

    fn try_out(&mut self, pages: &[usize]) {
        for &at in pages {
            let page = &mut self.pages[at];
            page.is_retried |= page.is_hot;
            page.is_hot = false;
            page.is_on_trial = true;
        }
    }

    fn leave(&mut self, pages: &[usize]) {
        for &at in pages {
            self.ended += 1;
            self.pages[at].is_on_trial = false;
            self.pages[at].is_away = true;
        }
        self.halve();
    }

    fn fetch(&mut self, pages: &[usize]) {
        pages.iter().for_each(|&at| self.pages[at].is_away = false);
        self.try_out(pages);
    }
}

/// What happens to a chunk.
#[derive(Clone, Debug)]
enum Act {
    /// The program touches pages: one in so many, from one on.
    Touch(usize, usize),
    /// So many candidates are tried.
    Try(usize),
    /// Trials end: pages on trial leave.
    Leave,
    /// So many pages come back.
    Fetch(usize),
    /// Seconds pass.
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        (1..40_usize, 0..40_usize).prop_map(|(step, from)| Act::Touch(step, from)),
        (1..600_usize).prop_map(Act::Try),
        Just(Act::Leave),
        (1..600_usize).prop_map(Act::Fetch),
        (1..4000_u64).prop_map(Act::Pass),
    ]
}

proptest! {
    #[test]
    fn a_chunk_knows_what_its_pages_know_one_by_one(acts in prop::collection::vec(act(), 1..80)) {
        let (mut chunk, mut twin, mut out, mut now) = (Chunk::default(), Twin::new(), [false; PAGES], 0);
        let mut left = 0;
        let set = |pages: &[usize]| pages.iter().copied().collect::<Set>();
        for act in acts {
            let time = Duration::from_secs(now);
            let observed: Set = (0..PAGES).filter(|&at| out[at]).collect();
            match act {
                Act::Touch(step, from) => (from..PAGES).step_by(step).for_each(|at| out[at] = false),
                Act::Try(count) => {
                    chunk.observe(&observed, time);
                    twin.observe(&out, now);
                    let own: Set = (0..PAGES).filter(|&at| !out[at]).collect();
                    let chosen = chunk.candidates(&own, time, |_| ());
                    let is_in: Vec<bool> = out.iter().map(|is_out| !is_out).collect();
                    let twins = twin.candidates(&is_in, now);
                    prop_assert_eq!(chosen, set(&twins));
                    let tried = &twins[..count.min(twins.len())];
                    chunk.try_out(&set(tried), time);
                    twin.try_out(tried);
                    tried.iter().for_each(|&at| out[at] = true);
                }
                Act::Leave => {
                    chunk.observe(&observed, time);
                    twin.observe(&out, now);
                    left += 1;
                    let leaving: Vec<usize> = (0..PAGES).filter(|&at| twin.pages[at].is_on_trial).collect();
                    prop_assert_eq!(chunk.trial(), set(&leaving));
                    chunk.leave(&set(&leaving), left);
                    twin.leave(&leaving);
                }
                Act::Fetch(count) => {
                    chunk.observe(&observed, time);
                    twin.observe(&out, now);
                    let away: Vec<usize> = (0..PAGES).filter(|&at| twin.pages[at].is_away).collect();
                    prop_assert_eq!(chunk.away(), set(&away));
                    let pages = &away[..count.min(away.len())];
                    chunk.fetch(&set(pages), time);
                    twin.fetch(pages);
                }
                Act::Pass(seconds) => now += seconds,
            }
            prop_assert_eq!(chunk.trial(), twin.set(|page| page.is_on_trial));
            prop_assert_eq!(chunk.away(), twin.set(|page| page.is_away));
            let heat = (u64::from(twin.back) + 1) * 1000 / (u64::from(twin.ended) + 2);
            prop_assert_eq!(chunk.heat(), heat);
            prop_assert_eq!(chunk.touched(), twin.touched);
            prop_assert!(chunk.trial().and(&chunk.away()).is_empty(), "a page is in one place");
        }
    }
}

fn pages(range: std::ops::Range<usize>) -> Set {
    range.collect()
}

#[test]
fn of_a_chunk_of_which_nothing_is_known_a_sample_is_tried() {
    let mut chunk = Chunk::default();
    let all = pages(0..PAGES);
    let sample = chunk.candidates(&all, Duration::ZERO, |pages| pages.reverse());
    assert_eq!(
        sample,
        pages(PAGES - SAMPLE..PAGES),
        "in the order of chance"
    );
    chunk.try_out(&sample, Duration::ZERO);
    assert!(!chunk.is_due(TRIAL - Duration::from_millis(1)));
    assert!(chunk.is_due(TRIAL));
    // None of them was touched, so the whole chunk may go.
    chunk.observe(&sample, TRIAL);
    chunk.leave(&sample, 1);
    assert_eq!(chunk.heat(), 100);
    assert_eq!(
        chunk.candidates(&all, TRIAL, |_| ()).count(),
        (PAGES - SAMPLE) as u64
    );
}

#[test]
fn pages_in_use_are_left_alone_longer_and_longer() {
    let mut chunk = Chunk::default();
    let (all, none) = (pages(0..SAMPLE), Set::default());
    let mut now = Duration::ZERO;
    for rest in [60, 120, 240, 480, 960, 1920, 3600, 3600] {
        let chosen = chunk.candidates(&all, now, |_| ());
        assert_eq!(chosen, all);
        chunk.try_out(&chosen, now);
        now += TRIAL;
        chunk.observe(&none, now);
        let rest = Duration::from_secs(rest);
        let before = chunk.candidates(&all, now + rest - Duration::from_secs(1), |_| ());
        assert!(before.is_empty(), "{rest:?}");
        now += rest;
    }
    // Once they are cold they leave, and begin anew when they come back.
    chunk.try_out(&all, now);
    now += TRIAL;
    chunk.observe(&all, now);
    chunk.leave(&all, 1);
    chunk.observe(&none, now);
    assert!(
        !chunk
            .candidates(&all, now + Duration::from_secs(60), |_| ())
            .is_empty()
    );
}

/// Fills memory, reads and writes parts of it when told, and tells its major faults after that.
const PROGRAM: &str = r"
import mmap, os, resource, sys
pages = int(sys.argv[1])
memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(pages): memory[page * 4096:page * 4096 + 4096] = os.urandom(4096)
print(0, flush=True)
for line in sys.stdin:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
    for page in range(pages // 2): memory[page * 4096]
    for page in range(pages // 2, pages): memory[page * 4096] = page % 251
    print(resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before, flush=True)
";

/// A program with so many pages, of which one half is read and the other is written.
struct Program(std::process::Child, std::io::Lines<BufReader<ChildStdout>>);

impl Program {
    fn start(pages: usize) -> Self {
        let mut command = Command::new("python3");
        command.args(["-c", PROGRAM, &pages.to_string()]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "0");
        Self(child, lines)
    }

    /// Has it touch all, and returns its major faults meanwhile.
    fn touch(&mut self) -> u64 {
        let input = self.0.stdin.as_mut().unwrap();
        input.write_all(b"\n").unwrap();
        self.1.next().unwrap().unwrap().parse().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A page that was only read since its trial has its copy in the tier still.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn pages_that_leave_at_once_are_not_taken_to_be_on_trial() {
    const COUNT: usize = 4 * PAGES;
    let state = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let mut journal = Journal::begin(state.path()).unwrap();
    let (size, spec) = (Some(Bytes(256 << 20)), Spec::Directory(state.path().into()));
    let demand = Demand {
        wanted: size,
        least: Bytes(0),
        allowed: size,
    };
    let tier = Tier::prepare(&spec, &demand, &mut journal, &mut |_| {}).unwrap();
    let mut program = Program::start(COUNT);
    let started = Figures::of(program.0.id()).unwrap().unwrap().started;
    let mut pages = Pages::new();
    pages.of([(program.0.id(), started)].into_iter());
    let mut now = Duration::ZERO;
    let mut taken = |pages: &mut Pages, seconds| {
        now += Duration::from_secs(seconds);
        pages.take(1 << 20, now).unwrap()
    };
    // Samples first, and then the others.
    taken(&mut pages, 0);
    program.touch();
    // All that is tried for the first time stays in DRAM.
    let first = taken(&mut pages, 5);
    assert!(first.tried > COUNT as u64 / 2, "{first:?}");
    assert!(first.pages < COUNT as u64 / 8, "{first:?}");
    assert!(
        program.touch() < 64,
        "a touch of a page on trial is no read"
    );
    // What the interpreter does not use leaves.
    taken(&mut pages, 5);
    let before = pages.away();
    // Half of it was only read meanwhile, and is gone.
    let second = taken(&mut pages, 121);
    let half = COUNT as u64 / 2;
    let about = half * 3 / 4..half * 5 / 4;
    assert!(about.contains(&second.pages), "{second:?}");
    let away = pages.away() - before;
    assert!(about.contains(&away), "{away}");
    // Readahead brings several at once.
    assert!(program.touch() > half / 16, "they were in the tier alone");
    drop(program);
    tier.remove(&mut |_| {}).unwrap();
}
