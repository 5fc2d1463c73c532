//! The waits of many services, by one stream of all faults of the machine.
//!
//! The stream takes 1.2 us of each fault of every program, and memory for its rings. So it is on
//! only while services wait: from the look at which one has new major faults, or the machine waits
//! for memory, until some seconds after the last of these. Of the time before it was on the waits
//! are estimated: the major faults, times what one takes on the average.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustc_hash::FxHashMap;
use terrace_base::{Result, lock};

use super::faults::Fault;
use super::reader::Reader;
use crate::group::members::{Asked, Members};
use crate::system::clock;
use crate::system::worker::Worker;
use crate::watch::faults::Whose;

/// Time for which the stream stays on after the last sign of waits.
const LINGER: Duration = Duration::from_secs(10);
/// Pauses between two looks at the rings: while there is much in them, and at most. The least ring
/// has room for a twentieth of a second of the densest faults.
const PAUSES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(40));
/// Events found at once that are much: a twelfth of what a ring holds.
const MUCH: usize = 2_000;
/// Time for which it is remembered whose a process is: numbers are used again.
const REMEMBERED: Duration = Duration::from_secs(5);
/// What a major fault takes until some are measured: a page from flash.
const ASSUMED: Duration = Duration::from_micros(100);
/// Faults after which the older half of the average counts half.
const RECENT: u32 = 4096;

/// The waits of many services.
#[derive(Default)]
pub(crate) struct SharedWaits {
    state: Arc<Mutex<State>>,
    worker: Mutex<Option<Worker>>,
}

/// A service among those whose waits are measured; no longer when it is dropped.
pub(crate) struct Share {
    of: Arc<SharedWaits>,
    number: u64,
}

/// The waits of a service since they were last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waited {
    /// All of them together; of several threads they add up.
    pub total: Duration,
    /// Whether they were measured, and not estimated.
    pub is_measured: bool,
    /// Events of any program that found a ring full.
    pub lost: u64,
}

#[derive(Default)]
struct State {
    services: BTreeMap<u64, Service>,
    /// Number of the next service.
    next: u64,
    /// Whose processes are, as far as that was asked.
    owners: FxHashMap<u32, Option<u64>>,
    /// When that began to be remembered.
    asked: Duration,
    /// Since when the stream is on.
    on: Option<Duration>,
    /// Until when it is wanted.
    until: Duration,
    major: Average,
}

/// What is known of a service since it was last asked for.
struct Service {
    members: Members,
    waits: Duration,
    lost: u64,
    asked: Duration,
}

/// The average time of recent major faults.
#[derive(Default)]
struct Average {
    total: Duration,
    count: u32,
}

impl SharedWaits {
    /// Takes in a service. The stream is switched on, so that it is known at once whether it can
    /// be.
    ///
    /// # Errors
    /// A failure if the kernel has no such events or the privilege is missing.
    pub fn follow(self: &Arc<Self>, members: Members) -> Result<Share> {
        let now = clock::now();
        let number = lock(&self.state).follow(members, now);
        let share = Share {
            of: Arc::clone(self),
            number,
        };
        self.want(now)?;
        Ok(share)
    }

    /// Has the stream on for a while from now on.
    fn want(&self, now: Duration) -> Result<()> {
        let mut worker = lock(&self.worker);
        let mut state = lock(&self.state);
        state.until = now + LINGER;
        if state.on.is_some() {
            return Ok(());
        }
        let reader = Reader::open(&Whose::All)?;
        state.on = Some(clock::now());
        drop(state);
        let kept = Arc::clone(&self.state);
        let started = Worker::start("terrace-waits", move |stop| watch(reader, &kept, stop));
        if started.is_err() {
            lock(&self.state).on = None;
        }
        // The one before has ended, or is about to.
        *worker = Some(started?);
        Ok(())
    }
}

impl Share {
    /// Returns the waits since the call before, in which the service had so many major faults.
    /// `presses` tells that programs of the machine waited for memory meanwhile.
    ///
    /// # Errors
    /// A failure if the stream has to be switched on and cannot be.
    pub fn since(&mut self, major_faults: u64, presses: bool) -> Result<Waited> {
        let now = clock::now();
        let waited = lock(&self.of.state).since(self.number, major_faults, now);
        if major_faults > 0 || presses {
            self.of.want(now)?;
        }
        Ok(waited)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = lock(&self.of.state);
        state.services.remove(&self.number);
        state.owners.clear();
    }
}

impl State {
    fn follow(&mut self, members: Members, now: Duration) -> u64 {
        self.next += 1;
        let service = Service {
            members,
            waits: Duration::ZERO,
            lost: 0,
            asked: now,
        };
        self.services.insert(self.next, service);
        // Its processes may have been found to be nobody's.
        self.owners.clear();
        self.next
    }

    fn since(&mut self, number: u64, major_faults: u64, now: Duration) -> Waited {
        let (on, each) = (self.on, self.major.get());
        let Some(service) = self.services.get_mut(&number) else {
            return Waited::default();
        };
        let before = std::mem::replace(&mut service.asked, now);
        let (waits, lost) = (
            std::mem::take(&mut service.waits),
            std::mem::take(&mut service.lost),
        );
        let is_measured = lost == 0 && on.is_some_and(|on| on <= before);
        let estimate = each.saturating_mul(u32::try_from(major_faults).unwrap_or(u32::MAX));
        Waited {
            total: match is_measured {
                true => waits,
                false => waits.max(estimate),
            },
            is_measured,
            lost,
        }
    }

    /// Adds a fault of any program.
    fn add(&mut self, fault: Fault) {
        if !fault.has_waited() {
            return;
        }
        let Some(owner) = self.owner(fault.space.0) else {
            return;
        };
        if fault.is_major {
            self.major.add(fault.took);
        }
        if let Some(service) = self.services.get_mut(&owner) {
            service.waits += fault.took;
        }
    }

    /// Returns whose a process is; one that has ended and was never listed is nobody's.
    fn owner(&mut self, pid: u32) -> Option<u64> {
        if let Some(owner) = self.owners.get(&pid) {
            return *owner;
        }
        let asked = Asked::about(pid);
        let mut services = self.services.iter();
        let owner = services.find(|(_, service)| service.members.has(&asked));
        let owner = owner.map(|(number, _)| *number);
        self.owners.insert(pid, owner);
        owner
    }

    fn forget(&mut self, now: Duration) {
        if now > self.asked + REMEMBERED {
            self.asked = now;
            self.owners.clear();
        }
    }
}

impl Average {
    fn add(&mut self, time: Duration) {
        self.total += time;
        self.count += 1;
        if self.count == RECENT {
            self.total /= 2;
            self.count /= 2;
        }
    }

    fn get(&self) -> Duration {
        match self.count {
            0 => ASSUMED,
            count => self.total / count,
        }
    }
}

/// Reads the rings until `stop` is set, or the stream is no longer wanted.
fn watch(mut reader: Reader, state: &Mutex<State>, stop: &AtomicBool) {
    let mut pause = PAUSES.0;
    loop {
        let now = clock::now();
        let ends = stop.load(Ordering::Relaxed) || lock(state).until < now;
        let found = reader.gather(ends);
        let mut state = lock(state);
        state.forget(now);
        let lost: u64 = reader.losses().map(|loss| loss.events).sum();
        let services = state.services.values_mut();
        services.for_each(|service| service.lost += lost);
        reader.report(|fault| state.add(fault));
        if ends {
            state.on = None;
            return;
        }
        drop(state);
        pause = match found > MUCH {
            true => PAUSES.0,
            false => PAUSES.1.min(pause * 2),
        };
        std::thread::park_timeout(pause);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use rustix::fs::{Advice, fadvise};
    use terrace_base::process::Figures;
    use terrace_policy::Space;

    use super::*;
    use crate::group::members::Scope;
    use crate::watch::waits::Waits;

    const MS: Duration = Duration::from_millis(1);

    /// A program that goes on until it is dropped.
    struct Program(Child);

    impl Program {
        fn start(command: &mut Command) -> Self {
            Self(command.stdin(Stdio::piped()).spawn().unwrap())
        }

        fn members(&self) -> Members {
            let root = self.0.id();
            let started = Figures::of(root).unwrap().unwrap().started;
            let members = Members::of(Scope::Tree { root, started });
            assert_eq!(members.list().len(), 1);
            members
        }

        fn fault(&self, took: Duration, is_major: bool) -> Fault {
            let space = Space(self.0.id());
            Fault {
                space,
                began: Duration::ZERO,
                took,
                is_major,
            }
        }
    }

    impl Drop for Program {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn reader() -> Program {
        Program::start(Command::new("cat").stdout(Stdio::null()))
    }

    #[test]
    fn waits_are_of_the_service_whose_process_faulted() {
        let (one, two, stranger) = (reader(), reader(), reader());
        let mut state = State::default();
        let first = state.follow(one.members(), MS);
        // Before the second is a service.
        state.add(two.fault(MS, true));
        let second = state.follow(two.members(), MS);
        state.on = Some(MS);
        state.add(one.fault(MS * 3, true));
        state.add(two.fault(MS * 5, false));
        state.add(two.fault(MS * 2, true));
        state.add(stranger.fault(MS * 100, true));
        // It found its page.
        state.add(one.fault(MS / 100, false));
        let mut since = |number, now| state.since(number, 1, now);
        let measured = |total| Waited {
            total,
            is_measured: true,
            lost: 0,
        };
        assert_eq!(since(first, MS * 10), measured(MS * 3));
        assert_eq!(since(second, MS * 10), measured(MS * 7));
        assert_eq!(since(second, MS * 20), measured(Duration::ZERO));
    }

    #[test]
    fn waits_of_the_time_before_the_stream_was_on_are_estimated() {
        let one = reader();
        let mut state = State::default();
        let number = state.follow(one.members(), MS);
        let total = |waited: Waited| (waited.total, waited.is_measured);
        assert_eq!(total(state.since(number, 7, MS * 2)), (ASSUMED * 7, false));
        // It was switched on after the look.
        state.on = Some(MS * 3);
        state.add(one.fault(MS * 4, true));
        state.add(one.fault(MS * 6, true));
        assert_eq!(total(state.since(number, 4, MS * 4)), (MS * 20, false));
        state.add(one.fault(MS * 4, true));
        assert_eq!(total(state.since(number, 4, MS * 5)), (MS * 4, true));
        // Events were lost: it is at least what is known of it.
        state.services.get_mut(&number).unwrap().lost = 9;
        state.add(one.fault(MS * 50, false));
        let waited = state.since(number, 1, MS * 6);
        assert_eq!((total(waited), waited.lost), ((MS * 50, false), 9));
        assert_eq!(
            total(state.since(number, 1, MS * 7)),
            (Duration::ZERO, true)
        );
    }

    #[test]
    fn the_average_follows() {
        let mut average = Average::default();
        (0..RECENT - 1).for_each(|_| average.add(MS));
        assert_eq!(average.get(), MS);
        (0..8 * RECENT).for_each(|_| average.add(MS * 3));
        assert!(average.get() > MS * 29 / 10 && average.get() <= MS * 3);
    }

    /// A copy of a program whose file is not in memory.
    fn cold(directory: &Path) -> PathBuf {
        let file = directory.join("program");
        fs::copy("/bin/bash", &file).unwrap();
        let opened = File::open(&file).unwrap();
        opened.sync_all().unwrap();
        fadvise(&opened, 0, None, Advice::DontNeed).unwrap();
        file
    }

    #[test]
    #[ignore = "needs root for perf on all CPUs; run by make test-root"]
    fn one_stream_for_all_finds_what_one_for_each_finds() {
        let directory = tempfile::tempdir().unwrap();
        let file = cold(directory.path());
        let script = format!("read -r go; exec {} -c 'read -r it'", file.display());
        let mut program = Program::start(Command::new("sh").args(["-c", &script]));
        let all = Arc::new(SharedWaits::default());
        let own = Waits::measure(&Whose::Members(program.members())).unwrap();
        let mut share = all.follow(program.members()).unwrap();
        share.since(0, false).unwrap();
        let go = program.0.stdin.as_mut().unwrap().write_all(b"go\n");
        go.unwrap();
        std::thread::sleep(MS * 500);
        let (own, shared) = (own.take_recent(), share.since(1, false).unwrap());
        assert!(
            own.waits.major > 0 && shared.is_measured,
            "{own:?} {shared:?}"
        );
        let (own, shared) = (own.waits.total.as_secs_f64(), shared.total.as_secs_f64());
        assert!((0.7..1.4).contains(&(shared / own)), "{shared} {own}");
        // Nobody waits any more.
        lock(&all.state).until = Duration::ZERO;
        while lock(&all.state).on.is_some() {
            std::thread::yield_now();
        }
        assert!(!share.since(0, false).unwrap().is_measured);
        assert_eq!(lock(&all.state).on, None, "nothing asks for it");
        share.since(1, false).unwrap();
        assert!(lock(&all.state).on.is_some());
    }
}
