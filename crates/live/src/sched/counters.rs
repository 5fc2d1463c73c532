//! What a task has used: time, and by the processor's counters cycles, instructions and misses of
//! the last-level cache. A machine without counters (most virtual ones) tells time alone.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::time::Duration;

use perf_event::events::Hardware;
use perf_event::{Builder, Counter, Group, GroupData, ReadFormat};

use super::load::Stat;
use crate::system::perf;

/// Events of a task: cycles, instructions, and misses of the last-level cache.
const EVENTS: [Hardware; 3] = [
    Hardware::CPU_CYCLES,
    Hardware::INSTRUCTIONS,
    Hardware::CACHE_MISSES,
];

/// What the processor counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Cycles.
    pub cycles: u64,
    /// Instructions.
    pub instructions: u64,
    /// Misses of the last-level cache.
    pub misses: u64,
}

impl Counts {
    /// Adds others.
    pub fn add(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.instructions += other.instructions;
        self.misses += other.misses;
    }
}

/// What a task has used since it is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// Time that it has run.
    pub time: Duration,
    /// What the processor counted; `None` without counters.
    pub counts: Option<Counts>,
}

/// The counters of one task.
pub(crate) struct Counters {
    group: Option<(Group, Vec<Counter>)>,
    stat: Option<File>,
    last: Reading,
}

/// Returns why this machine counts no misses, if it does not.
pub fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    let ask = || {
        let mut own = Builder::new(Hardware::CACHE_MISSES);
        let refused = own.exclude_kernel(true).build().err()?;
        Some(match refused.raw_os_error() {
            Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
                "the processor shows no counters here, as in most virtual machines".to_owned()
            }
            Some(libc::EACCES | libc::EPERM) => {
                format!("processor counters are refused; {}", perf::remedy(&refused))
            }
            _ => format!("processor counters cannot be used ({refused})"),
        })
    };
    MISSING.get_or_init(ask).as_deref()
}

impl Counters {
    /// Begins to count what a thread uses.
    pub fn of(pid: u32, tid: u32) -> Self {
        Self {
            group: open(tid).ok(),
            stat: File::open(format!("/proc/{pid}/task/{tid}/schedstat")).ok(),
            last: Reading::default(),
        }
    }

    /// Returns what the task has used; of one that has ended, what it had used last.
    pub fn read(&mut self) -> Reading {
        if let Some(now) = self.counted() {
            self.last = now;
        }
        self.last
    }

    fn counted(&mut self) -> Option<Reading> {
        let Some((group, events)) = &mut self.group else {
            let time = self.stat()?.run;
            return Some(Reading { time, counts: None });
        };
        let data = group.read().ok()?;
        let counts = match events.as_slice() {
            [cycles, instructions, misses] => Some(Counts {
                cycles: scaled(&data, cycles)?,
                instructions: scaled(&data, instructions)?,
                misses: scaled(&data, misses)?,
            }),
            _ => None,
        };
        Some(Reading {
            time: data.time_enabled()?,
            counts,
        })
    }

    /// Whether the task has ended, which was there when this began.
    pub fn has_ended(&self) -> bool {
        self.stat.is_some() && self.stat().is_none()
    }

    /// Returns what the kernel says of the task's time; `None` if it has ended.
    pub fn stat(&self) -> Option<Stat> {
        let mut text = [0u8; 96];
        let length = self.stat.as_ref()?.read_at(&mut text, 0).ok()?;
        parse(std::str::from_utf8(&text[..length]).ok()?)
    }
}

/// Parses a line of `/proc/PID/schedstat`.
fn parse(line: &str) -> Option<Stat> {
    let mut numbers = line.split_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    Some(Stat {
        run: Duration::from_nanos(next()?),
        wait: Duration::from_nanos(next()?),
        count: next()?,
    })
}

/// Returns a count, scaled to all the time in which the task ran: the processor may count it for a
/// part only.
fn scaled(data: &GroupData, counter: &Counter) -> Option<u64> {
    let value = data.get(counter)?.value();
    let (all, counted) = (data.time_enabled()?, data.time_running()?);
    match counted.is_zero() || counted >= all {
        true => Some(value),
        false => Some((value as f64 * all.as_secs_f64() / counted.as_secs_f64()) as u64),
    }
}

fn open(tid: u32) -> io::Result<(Group, Vec<Counter>)> {
    let observed = |builder: &mut Builder| {
        builder.observe_pid(tid as i32).any_cpu();
    };
    let mut leader = Group::builder();
    observed(&mut leader);
    let mut group = leader.build_group()?;
    let mut events = Vec::new();
    if missing().is_none() {
        for event in EVENTS {
            let mut builder = Builder::new(event);
            observed(&mut builder);
            builder.read_format(
                ReadFormat::GROUP
                    | ReadFormat::TOTAL_TIME_ENABLED
                    | ReadFormat::TOTAL_TIME_RUNNING
                    | ReadFormat::ID,
            );
            events.push(group.add(&builder)?);
        }
    }
    group.enable()?;
    Ok((group, events))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_line_of_schedstat() {
        let stat = Stat {
            run: Duration::from_nanos(7),
            wait: Duration::from_nanos(8),
            count: 9,
        };
        assert_eq!(parse("7 8 9\n"), Some(stat));
        assert_eq!(parse("7 8"), None);
        assert_eq!(parse("7 x 9"), None);
    }

    #[test]
    fn time_is_that_of_the_task_alone() {
        // SAFETY: returns the number of the calling thread.
        let own = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        let mut counters = Counters::of(std::process::id(), own);
        let first = counters.read().time;
        std::thread::sleep(Duration::from_millis(30));
        let slept = counters.read().time - first;
        assert!(slept < Duration::from_millis(15), "{slept:?}");
        let begin = Instant::now();
        while counters.read().time < first + Duration::from_millis(30) {
            assert!(begin.elapsed() < Duration::from_secs(60));
        }
        assert!(counters.stat().unwrap().run > Duration::ZERO);
    }

    #[test]
    fn of_a_task_that_has_ended_the_last_reading_stays() {
        let mut counters = Counters::of(u32::MAX >> 1, u32::MAX >> 1);
        assert_eq!(counters.read(), Reading::default());
        assert_eq!(counters.stat(), None);
    }
}
