//! A task that is watched: what it uses, and whether it sleeps.

use std::fs::{self, File};
use std::time::Duration;

use terrace_base::process::Figures;

use super::counters::Counters;
use super::load::{Load, Stat};
use super::sample::Sample;

/// Pauses between two looks at the waits of a task: each that finds none is twice as long as the
/// one before.
const WAITS_EVERY: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(64));

/// A task that is watched.
pub(crate) struct Watched {
    /// Its process.
    pub pid: u32,
    /// Start time, in clock ticks since boot.
    pub started: u64,
    /// The process that started it: its own, if it is not the first thread.
    pub parent: u32,
    /// Index of its program.
    pub program: usize,
    /// Its name (`comm`).
    pub name: String,
    /// Whether it is CPU-bound or sleeps.
    pub load: Load,
    /// What it has used.
    pub counters: Counters,
    /// How often it got a CPU, as of the last look.
    pub scheduled: u64,
    state: File,
    waits: Waits,
}

/// The waits of a task that sleeps.
#[derive(Default)]
struct Waits {
    /// At the last look.
    stat: Option<Stat>,
    /// When the next is due, and the pause before it.
    next: Duration,
    pause: Duration,
}

impl Watched {
    /// Begins to watch a task; `None` if it has ended. Its name is asked for if it is not given.
    pub fn begin(
        pid: u32,
        tid: u32,
        parent: u32,
        program: usize,
        name: Option<String>,
    ) -> Option<Self> {
        let files = format!("/proc/{pid}/task/{tid}");
        let state = File::open(format!("{files}/stat")).ok()?;
        let ask = || fs::read_to_string(format!("{files}/comm")).unwrap_or_default();
        Some(Self {
            pid,
            started: Figures::read(&state)?.started,
            parent,
            program,
            name: name.unwrap_or_else(|| ask().trim().to_owned()),
            load: Load::default(),
            scheduled: 0,
            counters: Counters::of(pid, tid),
            state,
            waits: Waits::default(),
        })
    }

    /// Measures its load.
    pub fn look(&mut self, now: Duration) {
        let Some(stat) = self.counters.stat() else {
            return;
        };
        let wants = || Figures::read(&self.state).is_some_and(|it| it.state == 'R');
        self.load.look(now, stat, wants);
        self.scheduled = stat.count;
    }

    /// Adds its waits since the last look, if one is due.
    pub fn look_at_waits(&mut self, now: Duration, all: &mut Sample) {
        if now < self.waits.next {
            return;
        }
        if let Some(stat) = self.counters.stat() {
            self.waits.look(now, stat, all);
        }
    }
}

impl Waits {
    /// Adds the waits since the last look. The kernel reports their sum.
    fn look(&mut self, now: Duration, stat: Stat, all: &mut Sample) {
        let before = self.stat.replace(stat);
        let times = before.map_or(0, |before| stat.count.saturating_sub(before.count));
        if let Some(before) = before.filter(|_| times > 0) {
            let mean = stat.wait.saturating_sub(before.wait).as_secs_f64() / times as f64;
            (0..times).for_each(|_| all.add(mean));
        }
        self.pause = match times {
            0 => (self.pause * 2).clamp(WAITS_EVERY.0, WAITS_EVERY.1),
            _ => Duration::ZERO,
        };
        self.next = now + self.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Looks every 4 ms at a task that wakes up at these times, in ms, and waits 1 ms each time.
    fn waits(wakes: &[u32]) -> (Sample, u32) {
        let (mut waits, mut all, mut looks) = (Waits::default(), Sample::default(), 0);
        for now in (0..1000).step_by(4) {
            if now * MS < waits.next {
                continue;
            }
            let count = wakes.iter().filter(|at| **at < now).count() as u32;
            let stat = Stat {
                run: Duration::ZERO,
                wait: count * MS,
                count: u64::from(count),
            };
            waits.look(now * MS, stat, &mut all);
            looks += 1;
        }
        (all, looks)
    }

    #[test]
    fn each_wait_is_seen_and_a_task_that_sleeps_on_is_looked_at_rarely() {
        let (all, looks) = waits(&[10, 300, 305, 310, 900]);
        assert_eq!(all.count(), 5);
        assert_eq!(all.most(), Some(0.001));
        assert!(looks < 50, "{looks}");
        let often: Vec<u32> = (0..900).step_by(5).collect();
        assert_eq!(waits(&often).0.count(), 180);
    }
}
