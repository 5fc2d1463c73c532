//! Switching an area off: one on the whole machine at a time, in a process of its own, and awaited.
//!
//! While the kernel switches an area off it takes the area's size off its count of free swap, reads
//! every page back, and marks the task that asked for it as the first that the OOM killer ends. It
//! cannot be interrupted within the pages of one program. So:
//!
//! - all processes of terrace share a lock, which the process in `swapoff(2)` holds until the
//!   kernel returns, whoever is killed meanwhile; a swapoff of anybody else is seen by the kernel's
//!   figures, and waited for as well;
//! - it is a process of its own, so that the OOM killer takes that one, and the caller lives on to
//!   tell of it;
//! - it is begun only if there is room ([`super::room`]), after the pages of programs that end have
//!   been given up: it would pin their memory, and read back what nobody needs.
//!
//! An area that has no room stays on. The kernel sets the priority of an area when it is switched
//! on, and never later, so that of an area that cannot be switched off cannot be lowered.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, RawFd};
use rustix::process::{Pid, PidfdFlags, WaitId, WaitIdOptions, pidfd_open, waitid};
use terrace_base::block::swaps::{Swap, active};
use terrace_base::memory::meminfo;
use terrace_base::{Blocked, Bytes, Context, Error, Result};

use super::holders::{holders, named};
use super::room::Room;
use super::swaps::find;
use crate::machine::sysctl::open_lock;
use crate::system::lock::{Say, wait};
use crate::system::memory::Mapping;
use crate::system::privilege::is_root;

/// The lock, which names the area while one is switched off.
const LOCK: &str = "/run/terrace-swapoff.lock";
/// Pause between two looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time after which a wait is reported.
const QUIET: Duration = Duration::from_secs(1);
/// Time in which the pages of programs that end are given up is over when none were for this long.
const SETTLED: Duration = Duration::from_millis(50);
/// How often that is looked at, at most.
const LOOKS: usize = 400;
/// Time for which an area that is listed, but not known to swapoff, is watched for signs of another
/// swapoff.
const SIGNS: Duration = Duration::from_secs(2);

/// Time without a change after which what looks like a swapoff of another program is taken for
/// none.
const MOTIONLESS: Duration = Duration::from_secs(30);

/// Switches an area off, which is known by `path` and open in `file`, if it is on. Waits for other
/// swapoffs first, and until the kernel has finished.
///
/// # Errors
/// A failure that names the area, what is in it and whose that is, if there is no room for it, or
/// the kernel refuses. The area stays on then.
pub(super) fn switch_off(path: &Path, file: &File, say: Say) -> Result<()> {
    if find(path).is_none() {
        return Ok(());
    }
    let lock = take_turn(path, say)?;
    let mut unknown_since = None;
    loop {
        await_others(say);
        let Some(swap) = settled(path) else {
            return Ok(());
        };
        if let Some(obstacle) = Room::look(path).obstacle(swap.used) {
            return Err(stays_on(
                &swap,
                &format!("have no room elsewhere: {obstacle}"),
            ));
        }
        match in_a_process(path, file, lock.as_ref(), say) {
            Ok(()) => return Ok(()),
            // Somebody else is about to switch it off; or what is listed is another with its path,
            // of a container.
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOENT)) => {
                let since = *unknown_since.get_or_insert_with(Instant::now);
                if find(path).is_none() || since.elapsed() > SIGNS {
                    return Ok(());
                }
                thread::sleep(LOOK_EVERY);
            }
            // What a program in the way had is free now; the rest may have room.
            Err(e)
                if e.raw_os_error() == Some(libc::ENOMEM)
                    && find(path).is_none_or(|now| now.used < swap.used) => {}
            Err(e) => {
                let swap = find(path).unwrap_or(swap);
                return Err(stays_on(&swap, &format!("were not read back: {e}")));
            }
        }
    }
}

/// Returns the sentence on an area that stays.
fn stays_on(swap: &Swap, why: &str) -> Error {
    Error::failure(format!(
        "the swap area {} of {} stays on, at priority {}, which the kernel sets only when it switches an area on: {} in \
         it, of programs that run, {why}; {}",
        swap.path.display(),
        swap.size,
        swap.priority,
        swap.used,
        named(&holders()),
    ))
}

/// Returns the area once no more of its pages are given up by programs that have just ended; `None`
/// if it is off.
fn settled(path: &Path) -> Option<Swap> {
    let mut swap = find(path)?;
    for _ in 0..LOOKS {
        if swap.used == Bytes(0) {
            break;
        }
        thread::sleep(SETTLED);
        let now = find(path)?;
        if now.used >= swap.used {
            return Some(now);
        }
        swap = now;
    }
    Some(swap)
}

/// Waits for the lock, and names the area in it. `None` for a user who cannot share it with root.
fn take_turn(path: &Path, say: Say) -> Result<Option<File>> {
    if !is_root() {
        return Ok(None);
    }
    let mut lock = open_lock(Path::new(LOCK))?;
    let mut patience = Patience::default();
    let waits = |_| {
        patience.tell(say, || {
            let named = held_for(&lock);
            let Some(swap) = named.and_then(|path| find(&path)) else {
                return "waits for another process of terrace that switches a swap area off".into();
            };
            format!(
                "waits until {} is switched off; {} are left",
                swap.path.display(),
                swap.used
            )
        });
        true
    };
    wait(LOOK_EVERY, || lock.try_lock(), waits);
    let name = path.as_os_str().as_bytes();
    lock.seek(SeekFrom::Start(0))
        .and_then(|_| lock.write_all(name))
        .and_then(|()| lock.set_len(name.len() as u64))
        .or_fail(|| format!("cannot write {LOCK}"))?;
    Ok(Some(lock))
}

/// Returns the area that a lock names.
fn held_for(mut lock: &File) -> Option<PathBuf> {
    let mut name = Vec::new();
    lock.seek(SeekFrom::Start(0)).ok()?;
    lock.read_to_end(&mut name).ok()?;
    Some(PathBuf::from(std::ffi::OsString::from(
        String::from_utf8(name).ok()?,
    )))
}

/// Waits until nobody on this machine switches an area off, or what looks like it has not moved for
/// long: in a container the figures may be made up.
fn await_others(say: Say) {
    let mut patience = Patience::default();
    let mut seen = (Bytes(0), Instant::now());
    loop {
        let missing = missing(&active(), meminfo("SwapTotal:"));
        if missing != seen.0 {
            seen = (missing, Instant::now());
        }
        if missing == Bytes(0) || seen.1.elapsed() > MOTIONLESS {
            return;
        }
        patience.wait(say, || {
            "waits until another program has switched a swap area off (swapoff)".into()
        });
    }
}

/// Returns how much of the listed areas the machine's swap lacks: while one is switched off it is
/// listed, but only what is in use of it counts.
pub(super) fn missing(listed: &[Swap], total: Option<Bytes>) -> Bytes {
    let sizes: u64 = listed.iter().map(|swap| swap.size.0).sum();
    Bytes(sizes.saturating_sub(total.map_or(sizes, |total| total.0)))
}

/// A wait that is reported once, when it is long.
#[derive(Default)]
struct Patience {
    since: Option<Instant>,
    told: bool,
}

impl Patience {
    fn wait(&mut self, say: Say, sentence: impl FnOnce() -> String) {
        self.tell(say, sentence);
        thread::sleep(LOOK_EVERY);
    }

    fn tell(&mut self, say: Say, sentence: impl FnOnce() -> String) {
        let since = *self.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= QUIET && !std::mem::replace(&mut self.told, true) {
            say(&sentence());
        }
    }
}

/// Has a process of its own switch the area off, which holds the lock until it ends, and waits for
/// it.
fn in_a_process(path: &Path, file: &File, lock: Option<&File>, say: Say) -> io::Result<()> {
    let name = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let answer = Answer::new()?;
    let kept = [Some(file), lock].map(|file| file.map(AsRawFd::as_raw_fd));
    // The child inherits our handlers and the pipe that they write to.
    let blocked = Blocked::all();
    // SAFETY: what the child does until it exits is system calls on values made before, and
    // allocates nothing; no destructor runs in it.
    let child = match unsafe { libc::fork() } {
        0 => switch_off_and_exit(&name, kept, &answer),
        child => child,
    };
    let failed = io::Error::last_os_error();
    drop(blocked);
    let Some(child) = Pid::from_raw(child).filter(|_| child > 0) else {
        return Err(failed);
    };
    let process = pidfd_open(child, PidfdFlags::empty())?;
    let mut patience = Patience::default();
    while !has_ended(&process) {
        patience.wait(say, || {
            let left = find(path).map_or(Bytes(0), |swap| swap.used);
            format!(
                "waits until {} is switched off; {left} are left",
                path.display()
            )
        });
    }
    // Where SIGCHLD is ignored it has gone without this.
    let _ = waitid(WaitId::PidFd(process.as_fd()), WaitIdOptions::EXITED);
    match answer.get() {
        Answer::NONE => Err(io::Error::other(
            "the process that switches it off was killed, as the kernel does first when the machine has no memory left",
        )),
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

fn has_ended(process: &impl AsFd) -> bool {
    let mut asked = [rustix::event::PollFd::new(
        process,
        rustix::event::PollFlags::IN,
    )];
    let now = rustix::event::Timespec::default();
    rustix::event::poll(&mut asked, Some(&now)).is_ok_and(|ready| ready > 0)
}

/// Body of the process.
fn switch_off_and_exit(name: &CString, kept: [Option<RawFd>; 2], answer: &Answer) -> ! {
    // SAFETY: these take integers and static strings.
    unsafe {
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"terrace-swapoff".as_ptr());
    }
    close_all_but(kept);
    let code = loop {
        // SAFETY: `name` ends in NUL; swapoff reads nothing else of ours.
        if unsafe { libc::swapoff(name.as_ptr()) } == 0 {
            break 0;
        }
        // SAFETY: it is the address of an integer of this thread.
        match unsafe { *libc::__errno_location() } {
            // A stop of the process interrupts it; it goes on where it stopped.
            libc::EINTR => {}
            code => break code,
        }
    };
    answer.set(code);
    // SAFETY: takes an integer; it runs nothing of the process this was forked from.
    unsafe { libc::_exit(0) }
}

fn close_all_but(kept: [Option<RawFd>; 2]) {
    let (one, other) = (kept[0].unwrap_or(-1), kept[1].unwrap_or(-1));
    let (low, high) = (one.min(other), one.max(other));
    close_range(0, low - 1);
    close_range(low + 1, high - 1);
    close_range(high + 1, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if (0..=last).contains(&first) {
        // SAFETY: takes integers; what is closed is of no use in this process.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

/// What the process has come to, in memory that both share.
struct Answer(Mapping);

impl Answer {
    /// No answer: the process was killed. A mapping is zero at first, so what is kept is one more
    /// than the code.
    const NONE: i32 = -1;

    fn new() -> io::Result<Self> {
        Mapping::new(size_of::<AtomicI32>(), libc::MAP_SHARED).map(Self)
    }

    fn set(&self, code: i32) {
        self.value().store(code + 1, Ordering::SeqCst);
    }

    fn get(&self) -> i32 {
        self.value().load(Ordering::SeqCst) - 1
    }

    fn value(&self) -> &AtomicI32 {
        // SAFETY: the mapping is zero at first, holds nothing but this atomic, and lives as long as
        // we do.
        unsafe { self.0.start().cast().as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap(size: u64, used: u64) -> Swap {
        Swap {
            path: "/a/terrace-7.swap".into(),
            size: Bytes(size << 20),
            used: Bytes(used << 20),
            priority: 32767,
        }
    }

    #[test]
    fn a_swapoff_of_whomever_is_seen_by_what_is_missing_in_the_total() {
        let listed = [swap(1024, 600), swap(512, 0)];
        let total = |mib: u64| Some(Bytes(mib << 20));
        assert_eq!(missing(&listed, total(1536)), Bytes(0));
        assert_eq!(
            missing(&listed, total(512 + 600)),
            Bytes(424 << 20),
            "the first is going"
        );
        assert_eq!(missing(&[], total(0)), Bytes(0));
        assert_eq!(missing(&listed, None), Bytes(0));
    }

    #[test]
    fn an_area_that_stays_is_named_with_all_that_is_known() {
        let text = stays_on(&swap(1024, 600), "have no room elsewhere").to_string();
        for part in [
            "/a/terrace-7.swap of ",
            "600 MiB in it",
            "at priority 32767",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn an_answer_comes_back_and_a_killed_process_gives_none() {
        let answer = Answer::new().unwrap();
        assert_eq!(answer.get(), Answer::NONE);
        answer.set(libc::ENOMEM);
        assert_eq!(answer.get(), libc::ENOMEM);
        answer.set(0);
        assert_eq!(answer.get(), 0);
    }

    #[test]
    fn what_is_no_area_is_refused_by_the_kernel_in_a_process() {
        let file = tempfile::tempfile().unwrap();
        let error = in_a_process(Path::new("/none"), &file, None, &mut |_| {}).unwrap_err();
        let code = error.raw_os_error();
        assert!(matches!(code, Some(libc::EINVAL | libc::EPERM)), "{error}");
    }

    #[test]
    fn an_area_that_is_not_on_needs_nothing() {
        let file = tempfile::tempfile().unwrap();
        switch_off(Path::new("/no/such.swap"), &file, &mut |_| {}).unwrap();
    }
}
