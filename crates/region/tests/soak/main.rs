//! A program that changes pages at a tenth of DRAM over every kind of slow memory: no wrong byte,
//! and nothing left behind, whether it ends by itself or is killed.
//!
//! The program is a process of its own. It logs the versions of its pages in memory that this
//! process owns. A run that ends by itself writes its pages to a file, which is compared with the
//! log. `TERRACE_SOAK_SECONDS` says how long each kind of memory is tried (1 unless told; `make
//! soak`), and `TERRACE_SOAK_SEED` what is drawn.

mod contents;
mod disk;
mod hostile;
mod log;
#[path = "../common/loop_device.rs"]
mod loop_device;
mod plan;
mod program;

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_region::slow::device::Device;
use terrace_region::{Board, Figures};

use disk::{Mounted, free};
use log::Log;
use loop_device::Loop;
use plan::{Kind, Plan};

/// What the program is told: its kind, its seed, its time in milliseconds, and two directories,
/// with a tab between.
const TOLD: &str = "TERRACE_SOAK_TOLD";

/// The time that what the kernel does later may take.
const SOON: Duration = Duration::from_secs(120);

/// The time that the program may take to end once its time is over: it checks all pages and writes
/// them.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs after which a kind of memory has shown what it is there for, or never does.
const MOST: u32 = 60;

/// What the runs over a kind of memory were.
#[derive(Debug, Default)]
struct Seen {
    ended: u32,
    killed: u32,
    ended_by_sigbus: u32,
    fetches: u64,
    pages_written: u64,
    write_errors: u64,
}

impl Seen {
    /// Returns how many runs there were.
    fn runs(&self) -> u32 {
        self.ended + self.killed + self.ended_by_sigbus
    }

    /// Whether there was what the kind is there for.
    fn is_enough(&self, kind: Kind) -> bool {
        let ended = self.ended > 0;
        let as_it_has_to = match kind {
            Kind::Emulated | Kind::File | Kind::Device => ended,
            Kind::Full | Kind::FailingWrites => ended && self.write_errors > 0,
            Kind::FailingReads => self.ended_by_sigbus > 0,
        };
        as_it_has_to && self.killed > 0 && self.fetches > 0 && self.pages_written > 0
    }
}

#[test]
#[ignore = "started by other tests"]
fn soaks_in_another_process() {
    let told = env::var(TOLD).expect("started by another test");
    // SAFETY: the call takes numbers. The program ends with the test, however that ends.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let words: Vec<&str> = told.split('\t').collect();
    let [kind, seed, time, directory, kept] = words[..] else {
        panic!("told {told:?}");
    };
    let kind = Kind::ALL
        .into_iter()
        .find(|known| format!("{known:?}") == kind);
    let plan = Plan::draw(kind.unwrap(), seed.parse().unwrap());
    let time = Duration::from_millis(time.parse().unwrap());
    program::run(&plan, time, Path::new(directory), Path::new(kept));
}

fn number(variable: &str, otherwise: u64) -> u64 {
    env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// Runs programs over a kind of memory; half of the programs are killed.
fn soak(kind: Kind, directory: &Path) {
    let seed = number("TERRACE_SOAK_SEED", 1);
    let end = Instant::now() + Duration::from_secs(number("TERRACE_SOAK_SECONDS", 1));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut seen = Seen::default();
    let goes_on = |seen: &Seen| !seen.is_enough(kind) && seen.runs() < MOST;
    while goes_on(&seen) || Instant::now() < end {
        let plan = Plan::draw(kind, random.next_u64() >> 32);
        eprintln!("{plan:?}");
        let time = Duration::from_millis(100 + random.next_u64() % 500);
        let kills = seen.killed < seen.ended + seen.ended_by_sigbus;
        one_run(&plan, time, kills, directory, &mut seen);
    }
    eprintln!("{kind:?} with seed {seed}: {seen:?}");
    assert!(seen.is_enough(kind), "{kind:?}: {seen:?}");
}

/// Runs a program, kills it at that time or has it end then, and verifies all that it leaves.
fn one_run(plan: &Plan, time: Duration, kills: bool, directory: &Path, seen: &mut Seen) {
    let kept = tempfile::tempdir().unwrap();
    let create = |name| {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        options.open(kept.path().join(name)).unwrap()
    };
    let log = Log::open(&create("log"), plan.pages() as usize);
    let board = Board::open(&create("board")).unwrap();
    let room = free(directory);
    let runs = if kills { 2 * SOON } else { time };
    let mut program = start(plan, runs, directory, kept.path());
    if kills {
        std::thread::sleep(time);
        program.kill().unwrap();
    }
    let status = wait(&mut program, time, plan);
    let said = fs::read_to_string(kept.path().join("said")).unwrap();
    if let Some(wrong) = log.first_wrong() {
        panic!("{wrong:?} of {plan:?}\n{said}");
    }
    let figures = board.figures();
    match status.signal() {
        Some(libc::SIGKILL) if kills => seen.killed += 1,
        Some(libc::SIGBUS) if plan.kind == Kind::FailingReads => seen.ended_by_sigbus += 1,
        _ => {
            assert!(status.success() && !kills, "{status} of {plan:?}\n{said}");
            verify(plan, &log, &kept.path().join("pages"), &figures);
            seen.ended += 1;
        }
    }
    nothing_is_left(program.id(), directory, room, plan);
    assert!(
        figures.write_errors > 0 || figures.peak_dram <= plan.dram,
        "{plan:?}: {figures:?}"
    );
    seen.fetches += figures.fetches;
    seen.pages_written += figures.pages_written;
    seen.write_errors += figures.write_errors;
}

/// Starts the program, in a group of processes of its own.
fn start(plan: &Plan, time: Duration, directory: &Path, kept: &Path) -> Child {
    let (directory, kept_text) = (directory.display(), kept.display());
    let told = format!(
        "{:?}\t{}\t{}\t{directory}\t{kept_text}",
        plan.kind,
        plan.seed,
        time.as_millis()
    );
    let said = File::create(kept.join("said")).unwrap();
    Command::new(env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "soaks_in_another_process",
        ])
        .env(TOLD, told)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .process_group(0)
        .spawn()
        .unwrap()
}

/// Waits for the end of a program; one that does not end has a thread that waits for ever, and is
/// killed.
fn wait(program: &mut Child, time: Duration, plan: &Plan) -> ExitStatus {
    let end = Instant::now() + time + PATIENCE;
    loop {
        if let Some(status) = program.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > end {
            program.kill().unwrap();
            program.wait().unwrap();
            panic!("{plan:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Compares the pages of a program that has ended with what its log says.
fn verify(plan: &Plan, log: &Log, pages: &Path, figures: &Figures) {
    let bytes = fs::read(pages).unwrap();
    let mut lost = 0;
    for page in 0..plan.pages() {
        if log.is_lost(page) {
            lost += 1;
            continue;
        }
        assert!(!log.is_under_way(page), "{plan:?}: page {page}");
        let expected = contents::contents(plan.seed, page, log.version(page));
        let found = &bytes[page as usize * 4096..][..4096];
        let (words, _) = found.as_chunks::<8>();
        let right = words
            .iter()
            .zip(*expected)
            .all(|(word, expected)| u64::from_ne_bytes(*word) == expected);
        assert!(
            right,
            "{plan:?}: page {page} in version {}",
            log.version(page)
        );
    }
    assert!(
        lost <= figures.read_errors,
        "{plan:?}: {lost} pages are lost"
    );
}

/// Expects that no process, no file and no space is taken any more.
fn nothing_is_left(program: u32, directory: &Path, room: u64, plan: &Plan) {
    let group = -(program as i32);
    // SAFETY: signal 0 is none; it asks whether there are processes.
    soon("processes", plan, || unsafe { libc::kill(group, 0) } != 0);
    let names = fs::read_dir(directory).unwrap().count();
    // `lost+found` of ext4, and the link to the device.
    let own = ["lost+found", plan::DEVICE];
    let own = own.iter().filter(|name| directory.join(name).exists());
    assert_eq!(names, own.count(), "{plan:?}: files are left");
    if plan.kind == Kind::Device {
        let is_free = || Device::check(&directory.join(plan::DEVICE)).is_ok();
        soon("claims of the device", plan, is_free);
    }
    if plan.kind == Kind::Full {
        // The kernel gives the space back once it has ended the transfers of a killed program.
        soon("space", plan, || free(directory) >= room);
    }
}

fn soon(what: &str, plan: &Plan, is_so: impl Fn() -> bool) {
    let end = Instant::now() + SOON;
    while !is_so() {
        assert!(Instant::now() < end, "{plan:?}: {what} are left");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn over_emulated_memories() {
    soak(Kind::Emulated, directory().path());
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn over_a_file() {
    soak(Kind::File, directory().path());
}

/// The device is made once, so that each program takes what the one before gave back or left. Its
/// blocks are pages.
#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn over_a_device() {
    let (directory, device) = (directory(), Loop::new(16 << 20, 4096));
    symlink(&device.path, directory.path().join(plan::DEVICE)).unwrap();
    soak(Kind::Device, directory.path());
}

/// Bytes of a file system that holds less than the pages beyond DRAM.
const SMALL: u64 = 1 << 20;

#[test]
#[ignore = "needs root: userfaultfd and mounts"]
fn over_full_memory() {
    let directory = directory();
    let _mounted = Mounted::in_memory(directory.path(), SMALL);
    soak(Kind::Full, directory.path());
}

#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn on_a_full_disk() {
    let (directory, image) = (directory(), tempfile::NamedTempFile::new().unwrap());
    let _mounted = Mounted::ext4(directory.path(), image.path(), 2 * SMALL);
    soak(Kind::Full, directory.path());
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn with_writes_that_fail() {
    soak(Kind::FailingWrites, directory().path());
}

/// A program that touches a page which cannot be read ends, and has seen no wrong byte before.
#[test]
#[ignore = "needs root: userfaultfd"]
fn with_reads_that_fail() {
    soak(Kind::FailingReads, directory().path());
}
