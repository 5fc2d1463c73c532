//! Tasks that begin, and programs that tasks turn into: by perf, on all CPUs.
//!
//! The kernel writes a record into the ring of a CPU at each fork and each `execve`
//! (`PERF_RECORD_FORK`, `PERF_RECORD_COMM`), so that new tasks are known without a list of all
//! processes.

use perf_event::events::Software;
use perf_event::{Builder, Sampler};

use crate::system::cpus::Cpus;

/// Bytes of the ring of a CPU: room for some 300 forks.
const RING_BYTES: usize = 16 * 1024;
/// Types of records (linux/perf_event.h).
const LOST: u32 = 2;
const COMM: u32 = 3;
const FORK: u32 = 7;
/// The mark of a name that `execve` has given.
const EXEC: u16 = 1 << 13;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Birth {
    /// A thread began.
    Began {
        /// Its process.
        pid: u32,
        /// Its number.
        tid: u32,
        /// The process that started it: its own, if it is not the first thread.
        parent: u32,
    },
    /// A process turned into another program.
    Became {
        /// Its number, which is that of its only thread.
        pid: u32,
        /// The name of the program.
        name: String,
    },
    /// A ring was full: some are not known.
    Lost,
}

/// The stream of them.
pub(crate) struct Births(Vec<Sampler>);

impl Births {
    /// Opens the stream; `None` if the kernel does not let this process have it.
    pub fn open() -> Option<Self> {
        let cpus = Cpus::online().ok()?;
        Some(Self(cpus.iter().map(ring).collect::<Option<_>>()?))
    }

    /// Returns what happened since the last call, in the order of time for each CPU.
    pub fn drain(&mut self) -> Vec<Birth> {
        let mut all = Vec::new();
        for ring in &mut self.0 {
            while let Some(record) = ring.next_record() {
                all.extend(parse(record.ty(), record.misc(), &record.to_contiguous()));
            }
        }
        all
    }
}

/// Parses a record; `None` for those of no interest.
fn parse(kind: u32, mark: u16, body: &[u8]) -> Option<Birth> {
    let number = |index: usize| {
        let bytes = body.get(4 * index..4 * index + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    match kind {
        LOST => Some(Birth::Lost),
        FORK => Some(Birth::Began {
            pid: number(0)?,
            parent: number(1)?,
            tid: number(2)?,
        }),
        COMM if mark & EXEC != 0 => {
            let name = body.get(8..)?.split(|&byte| byte == 0).next()?;
            Some(Birth::Became {
                pid: number(0)?,
                name: String::from_utf8_lossy(name).into_owned(),
            })
        }
        _ => None,
    }
}

fn ring(cpu: usize) -> Option<Sampler> {
    let built = Builder::new(Software::DUMMY)
        .task(true)
        .comm(true)
        .comm_exec(true)
        .include_kernel()
        .any_pid()
        .one_cpu(cpu)
        .wakeup_watermark(RING_BYTES / 2)
        .build();
    let mut sampler = built.ok()?.sampled(RING_BYTES).ok()?;
    sampler.enable().ok()?;
    Some(sampler)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_bodies_of_records() {
        let fork = [10u32, 5, 11, 6].map(u32::to_ne_bytes).concat();
        let began = Birth::Began {
            pid: 10,
            tid: 11,
            parent: 5,
        };
        assert_eq!(parse(FORK, 0, &fork), Some(began));
        assert_eq!(parse(FORK, 0, &fork[..11]), None);
        let name = [&[7u32, 7].map(u32::to_ne_bytes).concat()[..], b"xz\0\0\0\0"].concat();
        let became = Birth::Became {
            pid: 7,
            name: "xz".to_owned(),
        };
        assert_eq!(parse(COMM, EXEC, &name), Some(became));
        assert_eq!(parse(COMM, 0, &name), None, "a thread named itself");
        assert_eq!(parse(COMM, EXEC, &name[..7]), None);
        assert_eq!(parse(LOST, 0, &[]), Some(Birth::Lost));
        assert_eq!(parse(4, 0, &fork), None);
    }

    #[test]
    #[ignore = "needs root for perf on all CPUs; run by make test-root"]
    fn a_child_and_its_program_are_seen() {
        let mut births = Births::open().expect("perf");
        let child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait_with_output().unwrap();
        let mut seen = Vec::new();
        let begin = Instant::now();
        while seen.len() < 2 && begin.elapsed() < Duration::from_secs(600) {
            let own = |it: &Birth| match it {
                Birth::Began { pid: new, .. } | Birth::Became { pid: new, .. } => *new == pid,
                Birth::Lost => false,
            };
            seen.extend(births.drain().into_iter().filter(own));
        }
        let parent = std::process::id();
        let became = Birth::Became {
            pid,
            name: "true".to_owned(),
        };
        let began = Birth::Began {
            pid,
            tid: pid,
            parent,
        };
        assert!(seen.contains(&began) && seen.contains(&became), "{seen:?}");
    }
}
