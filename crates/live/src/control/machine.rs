//! What services share: whether the machine is short of memory by itself, and what measures waits.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use terrace_base::memory::meminfo;
use terrace_base::{Bytes, lock};

use super::pressure::total;
use crate::system::clock;
use crate::watch::waits::SharedWaits;

/// Part of the memory below which a machine is short. Above that no program has to wait for memory:
/// the kernel reclaims in the background below its high watermarks, which are a hundredth or less
/// (vm.min_free_kbytes, vm.watermark_scale_factor).
const PART: u64 = 50;
/// Share of the time in which all of a machine waits for memory, beyond what services explain.
const FULL: f64 = 0.05;
/// Share of the time in which programs wait for memory, below which nobody looks at whose waits
/// they are.
const SOME: f64 = 0.01;
/// Time for which what was read of the machine is used for all services that are looked at.
const ROUND: Duration = Duration::from_millis(200);

/// The machine, which all services of a process share: it is read once for those that are looked
/// at together, and one stream measures the waits of all.
#[derive(Clone, Default)]
pub struct Machine {
    pressure: Arc<Mutex<Pressure>>,
    waits: Arc<SharedWaits>,
}

impl Machine {
    /// Returns what measures waits.
    pub(super) fn waits(&self) -> &Arc<SharedWaits> {
        &self.waits
    }

    /// Whether programs waited for memory of late, for more than a moment; false if the kernel does
    /// not tell.
    pub(super) fn presses(&self) -> bool {
        let mut pressure = lock(&self.pressure);
        pressure.refresh(clock::now(), read);
        pressure.some > pressure.passed.mul_f64(SOME)
    }

    /// Whether it is short of memory: little is available, or all of it stood still for memory for
    /// more of the time than services explain. One of them stood still for `stalled`.
    pub(super) fn is_short(&self, stalled: Duration) -> bool {
        let mut pressure = lock(&self.pressure);
        pressure.refresh(clock::now(), read);
        pressure.explained += stalled;
        pressure.has_little || pressure.is_still()
    }

    /// Notes time in which the kernel reclaimed for us: it counts that as a stall of ours.
    pub(super) fn reclaimed_for(&self, time: Duration) {
        lock(&self.pressure).explained += time;
    }

    /// Whether little memory is available.
    pub fn has_little() -> bool {
        let available = meminfo("MemAvailable:").unwrap_or(Bytes(u64::MAX));
        is_little(available, meminfo("MemTotal:").unwrap_or_default())
    }
}

/// What is read of the machine: whether little memory is available, and the times in which some
/// and all of it stood still for memory, if the kernel tells them.
type Reading = (bool, Option<[Duration; 2]>);

fn read() -> Reading {
    // A kernel without this information (psi=0) has no such file, or does not let it be read.
    let text = fs::read_to_string("/proc/pressure/memory").unwrap_or_default();
    let times = total(&text, "some").zip(total(&text, "full"));
    (Machine::has_little(), times.map(Into::into))
}

/// How the machine stands, between the last two readings.
#[derive(Default)]
struct Pressure {
    read_at: Option<Duration>,
    times: Option<[Duration; 2]>,
    has_little: bool,
    /// Time between the readings, and how much of it some and all of the machine stood still.
    passed: Duration,
    some: Duration,
    full: Duration,
    /// Stalls that services told since the last reading, and between the two before.
    explained: Duration,
    explained_before: Duration,
}

impl Pressure {
    /// Reads the machine, if it was not read for these looks.
    fn refresh(&mut self, now: Duration, read: impl FnOnce() -> Reading) {
        let passed = self.read_at.map(|at| now.saturating_sub(at));
        if passed.is_some_and(|passed| passed < ROUND) {
            return;
        }
        self.read_at = Some(now);
        let (has_little, times) = read();
        let grown = |at: usize| {
            let pair = times.zip(self.times);
            let grown = pair.map(|(now, before)| now[at].saturating_sub(before[at]));
            grown.unwrap_or_default()
        };
        (self.some, self.full) = (grown(0), grown(1));
        (self.has_little, self.times) = (has_little, times);
        self.passed = passed.unwrap_or_default();
        self.explained_before = std::mem::take(&mut self.explained);
    }

    /// Whether the machine stood still for longer than services explain. Those that have not been
    /// asked yet in this round explain what they did in the one before.
    fn is_still(&self) -> bool {
        let explained = self.explained.max(self.explained_before);
        is_still(self.full, self.passed, explained)
    }
}

fn is_little(available: Bytes, all: Bytes) -> bool {
    available.0 < all.0 / PART
}

fn is_still(full: Duration, passed: Duration, stalled: Duration) -> bool {
    full.saturating_sub(stalled) > passed.mul_f64(FULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_or_stalls_of_others() {
        let gib = |count: u64| Bytes(count << 30);
        assert!(is_little(gib(1), gib(64)) && !is_little(gib(2), gib(64)));
        let ms = Duration::from_millis;
        assert!(is_still(ms(60), ms(1000), ms(0)));
        assert!(!is_still(ms(60), ms(1000), ms(20)), "the service's own");
        assert!(!is_still(ms(40), ms(1000), ms(0)));
    }

    #[test]
    fn a_machine_is_read_once_a_round_and_stalls_of_all_services_explain_its_own() {
        let ms = Duration::from_millis;
        let mut pressure = Pressure::default();
        let mut look = |now, full, stalled| {
            let mut is_read = false;
            pressure.refresh(ms(now), || {
                is_read = true;
                (false, Some([ms(full + 1), ms(full)]))
            });
            pressure.explained += ms(stalled);
            (is_read, pressure.is_still(), pressure.some)
        };
        assert_eq!(look(0, 0, 0), (true, false, ms(0)));
        assert_eq!(look(1, 0, 0), (false, false, ms(0)));
        // Two services stall, each for a part of it.
        assert_eq!(
            look(500, 300, 150),
            (true, true, ms(300)),
            "the other is not asked yet"
        );
        assert_eq!(look(501, 300, 150), (false, false, ms(300)));
        assert_eq!(
            look(1000, 600, 150),
            (true, false, ms(300)),
            "as in the round before"
        );
        assert_eq!(look(1001, 600, 150), (false, false, ms(300)));
        assert_eq!(look(1500, 900, 0), (true, false, ms(300)));
        // Neither stalls any more, but the machine does.
        assert_eq!(look(2000, 1200, 0), (true, true, ms(300)));
        assert_eq!(look(2500, 1200, 0), (true, false, ms(0)));
    }
}
