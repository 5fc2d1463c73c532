//! What a program loses by sharing the last-level cache, as Fedorov 2016 shows it for benchmarks:
//! its slowdown beside a neighbour that sweeps through memory (figure 3.1), and how much of the
//! cache is replaced while another task has its CPU (figure 3.2).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use terrace_base::{Bytes, Error, Exit, Result};
use terrace_policy::sched::Spec;

use super::Wanted;
use super::cache::{Cache, sweep};
use super::counters::{self, Counters};
use super::figures::ProgramFigures;
use super::run::{Mix, Session, Settings};
use crate::program::Invocation;
use crate::system::cpus::Cpus;
use crate::system::worker::Worker;

/// Memory that the neighbour sweeps through, in cache sizes, and at most.
const SWEPT: (u64, Bytes) = (2, Bytes(256 << 20));

/// A run of the program.
#[derive(Clone, Debug)]
pub struct Beside {
    /// Neighbour: none, on another CPU, or on the same CPU.
    pub neighbour: Neighbour,
    /// What the program did.
    pub program: ProgramFigures,
    /// Misses of the neighbour; `None` without one or without counters.
    pub neighbour_misses: Option<u64>,
}

/// Where the neighbour runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// There is none.
    None,
    /// On another CPU, all the time.
    OtherCpu,
    /// On the same CPU, in turns.
    SameCpu,
}

/// Results of a profile.
#[derive(Clone, Debug)]
pub struct Results {
    /// The cache of this machine.
    pub cache: Cache,
    /// Runs of the program; none if none was given.
    pub runs: Vec<Beside>,
}

/// Measures the cache, and then the program alone and beside neighbours.
///
/// # Errors
/// A usage error if the program cannot be run, a failure if it fails or is interrupted.
pub fn perform(program: Option<&Invocation>, told: &mut dyn FnMut(&str)) -> Result<Results> {
    if let Some(program) = program {
        program.find()?;
    }
    told("measures the last-level cache");
    let cache = Cache::measure();
    let mut runs = Vec::new();
    if let Some(program) = program {
        if let Some(why) = counters::missing() {
            told(&format!("misses are not counted: {why}"));
        }
        let mut session = Session::open()?;
        let cpus = Cpus::of(0).unwrap_or_else(|_| Cpus::one(0));
        let mut cpus = cpus.iter();
        let first = cpus.next().unwrap_or(0);
        let beside = [
            (Neighbour::None, None),
            (Neighbour::OtherCpu, cpus.next()),
            (Neighbour::SameCpu, Some(first)),
        ];
        for (neighbour, cpu) in beside {
            if neighbour == Neighbour::None || cpu.is_some() {
                runs.push(run(&mut session, program, first, neighbour, cpu, &cache)?);
            }
        }
        session.close()?;
    }
    Ok(Results { cache, runs })
}

fn run(
    session: &mut Session,
    program: &Invocation,
    cpu: usize,
    neighbour: Neighbour,
    place: Option<usize>,
    cache: &Cache,
) -> Result<Beside> {
    let swept = (cache.stated_bytes.unwrap_or(cache.effective_bytes) * SWEPT.0).min(SWEPT.1.0);
    let sweeper = place
        .map(|place| Sweeper::start(place, swept))
        .transpose()?;
    let settings = Settings {
        cpus: Some(Cpus::one(cpu)),
        mechanism: Wanted::Auto,
        cache: Some(Bytes(cache.effective_bytes)),
        waits: false,
        time: None,
    };
    let off = Spec::parse("off").map_err(Error::usage)?;
    let mix = Mix::Programs(vec![program.clone()]);
    let outcome = session.run(&mix, &off, &settings, &mut |_| {})?;
    let neighbour_misses = sweeper.and_then(Sweeper::finish);
    let figures = outcome.programs.into_iter().next();
    let figures = figures.ok_or_else(|| Error::failure("the program was not seen"))?;
    match figures.exit {
        _ if session.asked_to_end().is_some() => Err(Error::failure("a signal ended the profile")),
        Some(exit) if exit.success() => Ok(Beside {
            neighbour,
            program: figures,
            neighbour_misses,
        }),
        Some(Exit::Code(code)) => Err(Error::failure(format!(
            "the program ended with code {code}, so nothing can be compared; make it succeed"
        ))),
        _ => Err(Error::failure(
            "the program was killed, so nothing can be compared",
        )),
    }
}

/// A thread that sweeps through memory.
struct Sweeper {
    counters: Counters,
    at_first: Option<u64>,
    _thread: Worker,
}

impl Sweeper {
    fn start(cpu: usize, bytes: u64) -> Result<Self> {
        let (tell, told) = mpsc::channel();
        let work = move |stop: &AtomicBool| {
            let _ = Cpus::one(cpu).set(0);
            // SAFETY: returns the number of the calling thread.
            let _ = tell.send(unsafe { libc::syscall(libc::SYS_gettid) } as u32);
            let mut memory = vec![1; bytes as usize / size_of::<u64>()];
            while !stop.load(Ordering::Relaxed) {
                sweep(&mut memory);
            }
        };
        let thread = Worker::start("terrace-sweep", work)?;
        let tid = told.recv_timeout(Duration::from_secs(10));
        let tid = tid.map_err(|_| Error::failure("the neighbour does not start"))?;
        let mut counters = Counters::of(std::process::id(), tid);
        Ok(Self {
            at_first: counters.read().counts.map(|counts| counts.misses),
            counters,
            _thread: thread,
        })
    }

    /// Returns its misses, if they were counted.
    fn finish(mut self) -> Option<u64> {
        let now = self.counters.read().counts?.misses;
        Some(now.saturating_sub(self.at_first?))
    }
}
