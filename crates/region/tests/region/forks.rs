//! Forks: a child has all pages as they were at that moment, and both processes go on by
//! themselves.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Bytes;
use terrace_policy::{prefetch, write};
use terrace_region::slow::Slow;
use terrace_region::{Extension, Figures, Region, Settings};

use crate::alone::alone;
use crate::faulty::{Fault, Faulty};
use crate::mappings::Adopted;
use crate::oracle::{PAGE, contents};
use crate::{disk, emulated, settings};

/// How many generations of children there are.
const GENERATIONS: u32 = 2;

/// Held to read by a thread of the first process that forks it, and to write by a test that needs
/// pages that are not shared: the kernel moves no others. A test can hold it only while no process
/// is forked.
pub static FORKING: RwLock<()> = RwLock::new(());

/// A process that this one has forked.
pub struct Child(libc::pid_t);

impl Child {
    /// Forks a process that does this and ends; if one of its threads panics, it says why.
    pub fn run(act: impl FnOnce()) -> Self {
        // The lock of a child can be one that a thread waits for which only its parent has.
        let is_first = say_why_in_children() == std::process::id();
        let _forking = is_first.then(|| FORKING.read().unwrap_or_else(PoisonError::into_inner));
        // SAFETY: what runs in the child takes only locks that its own thread holds, or that fork
        // resets.
        match unsafe { libc::fork() } {
            -1 => panic!("cannot fork: {}", std::io::Error::last_os_error()),
            0 => {
                let ended = catch_unwind(AssertUnwindSafe(act));
                // SAFETY: ends this process, without the handlers of the test's.
                unsafe { libc::_exit(i32::from(ended.is_err())) }
            }
            child => Self(child),
        }
    }

    fn status(self) -> i32 {
        let mut status = 0;
        // SAFETY: waits for a child of ours.
        assert_eq!(unsafe { libc::waitpid(self.0, &raw mut status, 0) }, self.0);
        status
    }

    pub fn expect_success(self) {
        let status = ExitStatus::from_raw(self.status());
        assert!(status.success(), "a child ended with {status}");
    }
}

/// Has the reason of a panic in a child be written to standard error itself: what the test's
/// harness has captured is lost with the child. Returns the first process.
///
/// The hook is set before the first fork: another thread that panics at the moment of a fork holds
/// its lock, and the child would wait for that thread, which it does not have.
fn say_why_in_children() -> u32 {
    static FIRST: OnceLock<u32> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let first = std::process::id();
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| match std::process::id() {
            id if id == first => usual(panic),
            id => {
                let line = format!("child {id}: {panic}\n");
                let _ = rustix::io::write(std::io::stderr(), line.as_bytes());
            }
        }));
        first
    })
}

/// Pages of one thread, and their versions.
struct Part<'a> {
    pages: &'a mut [[u8; PAGE]],
    versions: Vec<u32>,
    random: Xoshiro256PlusPlus,
    generation: u32,
}

impl<'a> Part<'a> {
    fn new(bytes: &'a mut [u8], seed: u64) -> Self {
        let (pages, _) = bytes.as_chunks_mut::<PAGE>();
        Self {
            versions: vec![0; pages.len()],
            pages,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            generation: 0,
        }
    }

    fn check(&self, page: usize) {
        let expected = contents(page, self.versions[page]);
        assert!(
            self.pages[page] == expected,
            "page {page} of version {} in generation {}",
            self.versions[page],
            self.generation
        );
    }

    fn check_all(&self) {
        (0..self.pages.len()).for_each(|page| self.check(page));
    }

    fn change(&mut self, page: usize) {
        self.versions[page] += 1;
        self.pages[page] = contents(page, self.versions[page]);
    }

    /// Checks and changes pages, forks now and then, and waits for the children.
    fn exercise(&mut self, steps: usize, forks: usize) {
        let mut children: Vec<Child> = Vec::new();
        for step in 0..steps {
            let draw = self.random.next_u64();
            let page = (draw >> 32) as usize % self.pages.len();
            self.check(page);
            if draw & 1 == 0 {
                self.change(page);
            }
            if forks > 0 && step % (steps / forks) == steps / forks / 2 {
                let child = Child::run(|| self.live_as_child(steps, forks));
                // One goes on beside the next.
                if let Some(child) = children.pop() {
                    child.expect_success();
                }
                children.push(child);
            }
        }
        self.check_all();
        children.into_iter().for_each(Child::expect_success);
    }

    fn live_as_child(&mut self, steps: usize, forks: usize) {
        self.generation += 1;
        let seed = self.random.next_u64() ^ u64::from(self.generation);
        self.random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let forks = match self.generation < GENERATIONS {
            true => forks.min(1),
            false => 0,
        };
        if seed.is_multiple_of(2) {
            self.check_all();
        }
        self.exercise(steps / 4, forks);
    }
}

/// Threads that check, change, and fork, each with its own part of a region.
pub fn exercise(region: &mut Region, threads: usize, steps: usize, forks: usize) {
    let pages = region.as_slice().len() / PAGE;
    let parts = region
        .as_mut_slice()
        .chunks_mut(pages.div_ceil(threads) * PAGE);
    std::thread::scope(|scope| {
        for (thread, bytes) in parts.enumerate() {
            scope.spawn(move || Part::new(bytes, thread as u64).exercise(steps, forks));
        }
    });
}

pub fn slow_memories() -> [(&'static str, Box<dyn Slow>); 3] {
    [
        ("pcm", emulated("pcm")),
        ("nvme-flash", emulated("nvme-flash")),
        ("file", Box::new(disk())),
    ]
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn children_and_grandchildren_go_on_over_every_kind_of_memory() {
    for (threads, dram, forks) in [(1, 60, 6), (4, 60, 3), (2, Settings::LEAST_DRAM, 3)] {
        for (name, slow) in slow_memories() {
            let extension = Extension::start(Settings::new(Bytes::of_pages(dram), slow)).unwrap();
            let mut region = extension.map(Bytes::of_pages(600)).unwrap();
            exercise(&mut region, threads, 1000, forks);
            let figures = extension.figures();
            assert_eq!(figures.kept, 0, "{name}: {figures:?}");
            assert!(figures.peak_dram <= dram, "{name}: {figures:?}");
            assert!(
                figures.fetches + figures.prefetched > 400,
                "{name}: {figures:?}"
            );
        }
    }
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn with_every_write_scheme_and_every_predictor() {
    let predictors = prefetch::REGISTRY
        .iter()
        .filter(|entry| !entry.knows_future());
    let mut predictors = predictors.cycle();
    let mut memories = slow_memories().into_iter();
    for entry in write::REGISTRY {
        for pin in ["on", "off"] {
            let spec = format!("{}:pin={pin}", entry.name);
            let predictor = predictors.next().unwrap().name;
            let next = memories.next().or_else(|| {
                memories = slow_memories().into_iter();
                memories.next()
            });
            let (name, slow) = next.unwrap();
            let settings = Settings {
                write: write::Spec::parse(&spec).unwrap(),
                prefetch: Some(prefetch::Spec::parse(predictor).unwrap()),
                judge: true,
                ..Settings::new(Bytes::of_pages(40), slow)
            };
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(300)).unwrap();
            eprintln!("{spec} with {predictor} over {name}");
            exercise(&mut region, 2, 600, 2);
        }
    }
}

/// Returns the figures, and the pages that the scheme of the first row has written, of the same
/// evictions: figures are ahead of rows while a page leaves. After a minute it returns what there
/// is.
fn settled(extension: &Extension) -> (Figures, u64) {
    let begin = Instant::now();
    loop {
        extension.finish();
        let (figures, written) = (extension.figures(), extension.rows()[0].bytes / 4096);
        let evicted = figures.evicted_dirty + figures.evicted_clean;
        if written == evicted || begin.elapsed() > Duration::from_secs(60) {
            return (figures, written);
        }
    }
}

/// The child's figures are added to those of its parent where both show them in a file.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_children_evict_is_counted() {
    let file = tempfile::tempfile().unwrap();
    let board = std::sync::Arc::new(terrace_region::Board::open(&file).unwrap());
    let settings = Settings {
        judge: true,
        ..settings(64, "pcm")
    };
    let extension = Extension::start_with(settings, board).unwrap();
    let mut region = extension.map(Bytes::of_pages(640)).unwrap();
    let mut part = Part::new(region.as_mut_slice(), 7);
    (0..640).for_each(|page| part.change(page));
    let before = settled(&extension);
    let child = Child::run(|| {
        (0..640).for_each(|page| part.change(page));
        extension.finish();
    });
    child.expect_success();
    let after = settled(&extension);
    let evicted = after.0.evicted_dirty - before.0.evicted_dirty;
    assert!((576..=720).contains(&evicted), "{evicted}");
    let clean = after.0.evicted_clean - before.0.evicted_clean;
    assert_eq!(after.0.peak_dram, 64);
    let written = after.1 - before.1;
    assert_eq!(written, evicted + clean, "the scheme that writes all");
}

/// Pages that a fork has shared leave as others do, and clean ones are not written for it.
#[test]
#[ignore = "needs root: userfaultfd"]
fn shared_pages_leave_clean_and_within_the_bound() {
    let settings = Settings {
        prefetch: None,
        ..settings(200, "pcm")
    };
    let extension = Extension::start(settings).unwrap();
    let mut region = extension.map(Bytes::of_pages(1000)).unwrap();
    let mut part = Part::new(region.as_mut_slice(), 8);
    (0..1000).for_each(|page| part.change(page));
    part.check_all();
    let before = extension.figures();
    for _ in 0..5 {
        Child::run(|| part.check_all()).expect_success();
        part.check_all();
    }
    let after = extension.figures();
    assert_eq!(after.evicted_dirty, before.evicted_dirty, "{after:?}");
    assert!(
        after.evicted_clean > before.evicted_clean + 4000,
        "{after:?}"
    );
    assert_eq!(after.kept, 0, "{after:?}");
    assert!(after.peak_dram <= 200, "{after:?}");
}

/// A process has its pages whatever becomes of the one that has forked it, or that it has forked.
#[test]
#[ignore = "needs root: userfaultfd"]
fn one_is_killed_and_the_other_goes_on() {
    for (name, slow) in slow_memories() {
        let extension = Extension::start(Settings::new(Bytes::of_pages(50), slow)).unwrap();
        let mut region = extension.map(Bytes::of_pages(500)).unwrap();
        let mut part = Part::new(region.as_mut_slice(), 9);
        (0..500).for_each(|page| part.change(page));
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let parent = Child::run(|| {
            part.exercise(500, 0);
            let _ = Child::run(|| {
                part.live_as_child(8000, 0);
                writer.write_all(b"right").unwrap();
            });
            part.exercise(500, 0);
            // SAFETY: ends this process as nothing else does.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
        part.exercise(500, 0);
        assert!(libc::WIFSIGNALED(parent.status()));
        part.exercise(2000, 0);
        drop(writer);
        let mut said = String::new();
        reader.read_to_string(&mut said).unwrap();
        assert_eq!(said, "right", "{name}");
    }
}

/// A child starts threads, and its extension and regions end as any.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_child_maps_and_ends_regions() {
    let extension = Extension::start(settings(64, "pcm")).unwrap();
    let mut region = extension.map(Bytes::of_pages(300)).unwrap();
    let mut part = Part::new(region.as_mut_slice(), 10);
    (0..300).for_each(|page| part.change(page));
    let versions = part.versions.clone();
    let child = Child::run(|| {
        let mut own = extension.map(Bytes::of_pages(300)).unwrap();
        exercise(&mut own, 3, 1000, 1);
        let mut part = Part::new(region.as_mut_slice(), 11);
        part.versions = versions;
        part.check_all();
        drop((own, region, extension));
    });
    child.expect_success();
}

/// A slow memory that cannot be shared keeps its pages from children, and so does a fork that goes
/// past the C library: a touch ends the child, and it never sees zeros.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_child_that_is_not_followed_ends_at_the_first_touch_and_harms_nobody() {
    let unshared = Faulty::new(*emulated("pcm"), Fault::Writes(u64::MAX));
    let slows: [(Box<dyn Slow>, bool); 2] = [(Box::new(unshared), false), (emulated("pcm"), true)];
    for (slow, by_call) in slows {
        let extension = Extension::start(Settings::new(Bytes::of_pages(16), slow)).unwrap();
        let mut mapping = Adopted::new(&extension, 100);
        (0..100).for_each(|page| mapping.write(page, page as u64 + 1));
        let forking = FORKING.read();
        // SAFETY: the child makes no call but to end.
        let child = unsafe {
            match by_call {
                true => libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) as libc::pid_t,
                false => libc::fork(),
            }
        };
        if child == 0 {
            // SAFETY: the mapping is not there in the child: it ends with SIGSEGV.
            unsafe {
                mapping.word(3).read_volatile();
                libc::_exit(0);
            }
        }
        drop(forking);
        let status = Child(child).status();
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV);
        mapping.check_all();
        assert_eq!(extension.figures().peak_footprint, 100);
        mapping.unmap(&extension, true);
    }
}

/// A thread unmaps memory and says so to nobody, as the C library does in `free`, while another one
/// forks: the child goes on with what is still there.
#[test]
#[ignore = "needs root: userfaultfd"]
fn children_go_on_without_what_is_unmapped_at_that_moment() {
    alone(
        "forks::children_go_on_without_what_is_unmapped_at_that_moment",
        fork_while_memory_is_unmapped,
    );
}

fn fork_while_memory_is_unmapped() {
    let extension = Extension::start(settings(100, "pcm")).unwrap();
    let mut region = extension.map(Bytes::of_pages(200)).unwrap();
    let mut part = Part::new(region.as_mut_slice(), 12);
    (0..200).for_each(|page| part.change(page));
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let mut mapping = Adopted::new(&extension, 8);
                (0..8).for_each(|page| mapping.write(page, page as u64 + 1));
                mapping.unmap(&extension, false);
            }
        });
        let forks = (0..200).map(|_| Child::run(|| part.exercise(20, 0)).status());
        let ends: Vec<i32> = forks.collect();
        ended.store(true, Ordering::Relaxed);
        assert_eq!(ends, [0; 200]);
    });
    part.check_all();
}
