//! A program that is being recorded.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use terrace_base::{Context, Error, Result};
use terrace_recorder::pool::{Pool, Settings};
use terrace_recorder::program::{Emulator, Program, Refusal};

use super::decode::decode;
use super::tools::Tools;
use crate::access::Block;
use crate::source::Sink;

/// So long we wait for accesses before we look whether the program has ended.
const LOOK_AFTER: Duration = Duration::from_millis(5);
/// So often what killed processes left is collected.
const COLLECT_EVERY: Duration = Duration::from_millis(250);
/// So long a program that is asked to end has to do so.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is to be recorded.
#[derive(Clone, Debug)]
pub struct Request {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, beginning with its name.
    pub arguments: Vec<OsString>,
    /// What is kept.
    pub settings: Settings,
    /// The recording ends after so many rows, and the program with it.
    pub limit: Option<u64>,
}

/// How far a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows so far.
    pub accesses: u64,
    /// Bytes written so far; 0 where the format does not say.
    pub bytes: u64,
    /// Since the program was started.
    pub wall: Duration,
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// How the program ended.
    pub exit: ExitStatus,
    /// Rows.
    pub accesses: u64,
    /// Processes; a program that a process turned into counts as one more.
    pub processes: u32,
    /// Threads that accessed memory.
    pub threads: u32,
    /// From the program's start until everything was written.
    pub wall: Duration,
    /// Whether the limit was reached.
    pub limited: bool,
    /// Rows that were lost: more threads wrote at a time than there is room for.
    pub lost: u64,
    /// How often a process turned into a program that could not be followed.
    pub departures: u32,
    /// Some of those programs.
    pub departed: Vec<String>,
    /// Processes that the program left running; what they did later is not in the trace.
    pub left: usize,
}

/// A program that is being recorded.
#[derive(Debug)]
pub struct Recording {
    pool: Pool,
    child: Child,
    started: Instant,
    limit: u64,
    accesses: u64,
    /// What is written next; here to keep its room.
    block: Block,
}

impl Recording {
    /// Starts the program.
    ///
    /// # Errors
    /// A usage error where the program cannot be recorded; a failure where the system refuses
    /// memory or the emulator.
    pub fn start(tools: &Tools, request: &Request) -> Result<Self> {
        let program = Program::of(&request.program, &request.arguments).map_err(refused)?;
        let pool = Pool::create(request.settings)
            .or_fail(|| "cannot share memory with the program".into())?;
        let path = pool.path().unwrap_or_default();
        let emulator = Emulator {
            file: tools.emulator.clone(),
            plugin: Emulator::plugin(&tools.plugin, &path),
        };
        let arguments = emulator.arguments(&program);
        let started = Instant::now();
        let child = Command::new(&emulator.file)
            .arg0(&arguments[0])
            .args(&arguments[1..])
            .spawn()
            .or_fail(|| format!("cannot start {}", emulator.file.display()))?;
        Ok(Self {
            pool,
            child,
            started,
            limit: request.limit.unwrap_or(u64::MAX),
            accesses: 0,
            block: Block::default(),
        })
    }

    /// The program's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes what the program does into `sink` until it ends. The sink is not finished.
    ///
    /// # Errors
    /// A failure of the sink; the program is ended then.
    pub fn drain(
        &mut self,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Recorded> {
        let drained = self.drain_until_the_end(sink, watch);
        self.pool.end();
        let exit = drained.or_else(|error| {
            self.end_the_program()?;
            Err(error)
        })?;
        for index in self.pool.abandoned() {
            self.write(index, sink)?;
        }
        let (departures, departed) = self.pool.departures();
        let departed = departed.iter().map(|p| String::from_utf8_lossy(p).into());
        Ok(Recorded {
            exit,
            accesses: self.accesses,
            processes: self.pool.processes(),
            threads: self.pool.threads(),
            wall: self.started.elapsed(),
            limited: self.accesses >= self.limit,
            lost: self.pool.dropped(),
            departures,
            departed: departed.collect(),
            left: self.pool.living().len(),
        })
    }

    fn drain_until_the_end(
        &mut self,
        sink: &mut dyn Sink,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<ExitStatus> {
        let mut published = 0;
        let mut collected = Instant::now();
        loop {
            // Asked first: what it published before it ended is ready when it has.
            let ended = self.ended()?;
            for index in self.pool.ready() {
                self.write(index, sink)?;
                self.pool.release(index);
                watch(self.progress(sink));
            }
            if collected.elapsed() >= COLLECT_EVERY {
                for index in self.pool.abandoned() {
                    self.write(index, sink)?;
                    self.pool.release(index);
                }
                collected = Instant::now();
            }
            if let Some(exit) = ended {
                return Ok(exit);
            }
            if self.accesses >= self.limit {
                self.pool.end();
                return self.end_the_program();
            }
            published = self.pool.wait(published, LOOK_AFTER);
        }
    }

    fn write(&mut self, index: usize, sink: &mut dyn Sink) -> Result<()> {
        let room = self.limit - self.accesses;
        decode(self.pool.chunk(index), room, &mut self.block);
        self.accesses += self.block.len() as u64;
        sink.write(&self.block)
    }

    fn progress(&self, sink: &dyn Sink) -> Progress {
        Progress {
            accesses: self.accesses,
            bytes: sink.bytes(),
            wall: self.started.elapsed(),
        }
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        let ended = self.child.try_wait();
        ended.or_fail(|| "cannot wait for the program".into())
    }

    /// Asks every recorded process to end, and makes it.
    fn end_the_program(&mut self) -> Result<ExitStatus> {
        let asked = Instant::now();
        self.signal(libc::SIGTERM);
        while asked.elapsed() < PATIENCE {
            if let Some(exit) = self.ended()? {
                return Ok(exit);
            }
            std::thread::sleep(LOOK_AFTER);
        }
        self.signal(libc::SIGKILL);
        let exit = self.child.wait();
        exit.or_fail(|| "cannot wait for the program".into())
    }

    fn signal(&self, signal: i32) {
        // The program itself may have become one beyond our sight.
        let mut pids = self.pool.living();
        pids.push(self.pid());
        for pid in pids {
            // SAFETY: kill takes two integers. A process that has ended is no error here.
            unsafe { libc::kill(pid as libc::pid_t, signal) };
        }
    }
}

fn refused(refusal: Refusal) -> Error {
    Error::usage(match refusal {
        Refusal::Unreadable(file, error) => {
            format!("cannot read {}: {error}", file.display())
        }
        Refusal::Foreign(file) => format!(
            "{} is no program of x86-64 Linux; others cannot be recorded",
            file.display()
        ),
        Refusal::NoProgram(file) => {
            format!("{} is no program; a script needs a #! line", file.display())
        }
        Refusal::Privileged(file) => format!(
            "{} runs with its owner's rights, which the emulator cannot give it; record a copy \
             without the set-user-id bit",
            file.display()
        ),
        Refusal::TooDeep(file) => format!(
            "the #! line of {} leads from script to script without an end",
            file.display()
        ),
    })
}
