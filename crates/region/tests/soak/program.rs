//! The program: threads that change, check and drop pages at random, and log what they mean to have
//! in them.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Bytes;
use terrace_region::{Board, Extension, Region};

use crate::contents::{Change, DROPPED, WORDS, change, contents, may_begin};
use crate::log::{Log, Wrong};
use crate::plan::{Kind, Plan};

const PAGE: usize = 4096;

/// Pages that a child checks.
const IN_CHILD: u32 = 40;

/// A page as threads see it.
type Words = [AtomicU64];

/// What the threads share.
struct Program<'a> {
    plan: &'a Plan,
    log: &'a Log,
    extension: &'a Extension,
    shared: &'a Region,
    end: Instant,
}

/// A thread with its pages: some of the shared region, between those of the other threads, and all
/// of a region of its own. They are numbered in this order.
struct Thread<'a> {
    program: &'a Program<'a>,
    number: u32,
    own: Region,
    random: Xoshiro256PlusPlus,
}

/// Runs the plan for a time, with its slow memory in `directory` and all that outlives it in
/// `kept`; then writes all pages to a file.
pub fn run(plan: &Plan, time: Duration, directory: &Path, kept: &Path) {
    let open = |name| {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        options.open(kept.join(name)).unwrap()
    };
    let log = Log::open(&open("log"), plan.pages() as usize);
    let board = Arc::new(Board::open(&open("board")).unwrap());
    let extension = Extension::start_with(plan.settings(directory), board).unwrap();
    let shared = extension.map(pages(plan.shared)).unwrap();
    let program = Program {
        plan,
        log: &log,
        extension: &extension,
        shared: &shared,
        end: Instant::now() + time,
    };
    let owns: Vec<Region> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|number| {
                scope.spawn({
                    let program = &program;
                    move || Thread::new(program, number).run()
                })
            })
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join().unwrap());
        ended.collect()
    });
    let file = open("pages");
    for (page, words) in [&shared]
        .into_iter()
        .chain(&owns)
        .flat_map(words_of)
        .enumerate()
    {
        // SAFETY: the threads have ended, so that nothing writes the page.
        let bytes = unsafe { slice::from_raw_parts(words.as_ptr().cast::<u8>(), PAGE) };
        // A system call that touches a page which could not be read is told so.
        match file.write_all_at(bytes, (page * PAGE) as u64) {
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) => log.lose(page as u32),
            written => written.unwrap(),
        }
    }
}

fn pages(number: u32) -> Bytes {
    Bytes::of_pages(number.into())
}

/// Returns the pages of a region.
fn words_of(region: &Region) -> slice::ChunksExact<'_, AtomicU64> {
    let words = region.bytes().0 as usize / 8;
    // SAFETY: the region is this long and lives as long as the borrow; while there are threads, its
    // bytes are accessed as atomic words alone.
    let all: &Words = unsafe { slice::from_raw_parts(region.as_ptr().cast(), words) };
    all.chunks_exact(WORDS)
}

impl<'a> Thread<'a> {
    fn new(program: &'a Program, number: u32) -> Self {
        let seed = program.plan.seed * 8 + u64::from(number);
        Self {
            program,
            number,
            own: program.extension.map(pages(program.plan.own)).unwrap(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
        }
    }

    /// Acts until the time is over, checks all pages, and returns the thread's own region.
    fn run(mut self) -> Region {
        let number = self.mine() + self.program.plan.own;
        let mut next = 0;
        while Instant::now() < self.program.end {
            // Half of the steps go on with the next page, so that neighbours leave together.
            next = match self.below(2) {
                0 => (next + 1) % number,
                _ => self.below(number),
            };
            match self.below(1000) {
                0 => self.fork(next),
                1 => self.map_anew(),
                2..20 => self.drop_pages(next),
                20..200 => self.glance(),
                200..600 => self.advance(next),
                _ => self.check(next),
            }
        }
        (0..number).for_each(|page| self.check(page));
        self.own
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.random.next_u64() % u64::from(limit)) as u32
    }

    /// Returns how many pages of the shared region are this thread's.
    fn mine(&self) -> u32 {
        let plan = self.program.plan;
        (plan.shared - self.number).div_ceil(plan.threads)
    }

    /// Returns a page of this thread, and its number in the log.
    fn page(&self, page: u32) -> (u32, &Words) {
        let plan = self.program.plan;
        let (region, at, first) = match page.checked_sub(self.mine()) {
            None => (self.program.shared, page * plan.threads + self.number, 0),
            Some(at) => (&self.own, at, plan.shared + self.number * plan.own),
        };
        let words = words_of(region)
            .nth(at as usize)
            .expect("a page of the region");
        (first + at, words)
    }

    /// Brings a page to its next version.
    fn advance(&self, page: u32) {
        let (number, words) = self.page(page);
        let log = self.program.log;
        let version = log.version(number) + 1;
        log.begin(number, version);
        match change(self.program.plan.seed, number, version) {
            Change::Word(at, word) => words[at].store(word, Ordering::Relaxed),
            Change::Whole(all) => {
                for (word, new) in words.iter().zip(*all) {
                    word.store(new, Ordering::Relaxed);
                }
            }
        }
        log.end(number, version);
    }

    /// Drops the contents of a page, and of those behind it if they are in the thread's own region.
    fn drop_pages(&mut self, page: u32) {
        let number = self.mine() + self.program.plan.own;
        let pages = match page < self.mine() {
            true => 1,
            false => 1 + self.below((number - page).min(8)),
        };
        self.zero(page..page + pages, |thread| {
            let (_, words) = thread.page(page);
            let (start, bytes) = (words.as_ptr().cast_mut(), pages as usize * PAGE);
            // SAFETY: pages of a region, which are this thread's.
            let dropped = unsafe { libc::madvise(start.cast(), bytes, libc::MADV_DONTNEED) };
            assert_eq!(dropped, 0);
        });
    }

    /// Unmaps the thread's own region, and maps another one.
    fn map_anew(&mut self) {
        let (mine, plan) = (self.mine(), self.program.plan);
        self.zero(mine..mine + plan.own, |thread| {
            let extension = thread.program.extension;
            // The first is unmapped before or after the second is there: it comes to another
            // address.
            if thread.below(2) == 0 {
                thread.own = extension.map(pages(1)).unwrap();
            }
            thread.own = extension.map(pages(plan.own)).unwrap();
        });
    }

    /// Has `act` make zeros of pages.
    fn zero(&mut self, pages: std::ops::Range<u32>, act: impl FnOnce(&mut Self)) {
        let log = self.program.log;
        let numbers: Vec<u32> = pages.map(|page| self.page(page).0).collect();
        let zeros = |number| (log.version(number) / DROPPED + 1) * DROPPED;
        let versions: Vec<u32> = numbers.iter().map(|&number| zeros(number)).collect();
        let logged = || numbers.iter().zip(&versions);
        logged().for_each(|(&number, &version)| log.begin(number, version));
        act(self);
        logged().for_each(|(&number, &version)| log.end(number, version));
    }

    /// Forks a child that checks some pages, as they are at this moment, and waits for its end.
    fn fork(&self, from: u32) {
        let has_pages = self.program.plan.kind != Kind::Device;
        // SAFETY: the child touches pages and the log alone, and the parent waits for it.
        let child = unsafe { libc::fork() };
        match child {
            -1 => panic!("{}", std::io::Error::last_os_error()),
            0 => {
                let number = self.mine() + self.program.plan.own;
                let pages = (0..IN_CHILD).map(|at| (from + at * at) % number);
                pages
                    .filter(|_| has_pages)
                    .for_each(|page| self.check(page));
                // SAFETY: ends the child, and runs nothing that is the parent's.
                unsafe { libc::_exit(0) }
            }
            child => {
                let mut status = 0;
                // SAFETY: waits for a child of ours.
                let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
                let is_lost = libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGBUS;
                let may_be_lost = self.program.plan.kind == Kind::FailingReads;
                let is_right = status == 0 || is_lost && may_be_lost;
                assert!(ended == child && is_right, "a child ended with {status:#x}");
            }
        }
    }

    /// Looks at the first word of any page of the shared region, so that threads fault on the same
    /// page.
    fn glance(&mut self) {
        let page = self.below(self.program.plan.shared);
        let words = words_of(self.program.shared).nth(page as usize);
        let found = words.expect("a page of the region")[0].load(Ordering::Relaxed);
        if !may_begin(page, found) {
            self.wrong(page, 0, found);
        }
    }

    /// Checks that a page holds what it has to.
    fn check(&self, page: u32) {
        let (number, words) = self.page(page);
        let version = self.program.log.version(number);
        let expected = contents(self.program.plan.seed, number, version);
        for (at, (word, expected)) in words.iter().zip(*expected).enumerate() {
            let found = word.load(Ordering::Relaxed);
            if found != expected {
                self.wrong(number, at, found);
            }
        }
    }

    fn wrong(&self, page: u32, at: usize, found: u64) -> ! {
        let version = self.program.log.version(page);
        let wrong = Wrong {
            page,
            version,
            at,
            found,
        };
        self.program.log.wrong(&wrong);
        eprintln!("{wrong:?}");
        std::process::abort();
    }
}
