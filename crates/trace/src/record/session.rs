//! The session in which a program is recorded: from its start to its end.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use terrace_base::{
    Blocked, Context, Error, Exit, Inherited, Result, Signals, Target, User, process,
};
use terrace_preload_protocol::report;
use terrace_recorder::lacked;
use terrace_recorder::pool::{Pool, RecordSettings};
use terrace_recorder::program::Emulator;

use super::allocations::Collected;
use super::decode::{Reports, decode};
use super::holder::{Holder, die_with};
use super::memory;
use super::pending::Pending;
use super::recorded::{Cut, Progress, Recorded};
use super::request::Request;
use super::sanitized;
use super::tools::{OBJECTS, Tools};
use super::watcher::Watcher;
use crate::access::Block;
use crate::channel::channel;
use crate::source::{Meta, Sink, Source};

/// How long to wait for accesses before looking whether the program has ended.
const LOOK_AFTER: Duration = Duration::from_millis(5);
/// How often what killed processes left is collected.
const COLLECT_EVERY: Duration = Duration::from_millis(250);
/// How long a program that was asked to end has to do so.
const PATIENCE: Duration = Duration::from_secs(2);

/// The variable of glibc's settings (manual, "Tunables").
const TUNABLES: &str = "GLIBC_TUNABLES";

/// Returns the variable that lets blocks of malloc from this size on have a mapping of their own,
/// whatever was freed before, as `terrace extend` does; the last of several values counts.
fn with_mappings_from(least: u64, before: Option<OsString>) -> OsString {
    let mut tunables = before.unwrap_or_default();
    if !tunables.is_empty() {
        tunables.push(":");
    }
    tunables.push(format!("glibc.malloc.mmap_threshold={least}"));
    tunables
}

/// The variable that names libraries which the dynamic linker loads before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// Returns the libraries to load: the one that tells of allocations, that of the request, and those
/// that were to be loaded before.
fn preloaded(request: &Request, before: Option<OsString>) -> Result<Option<OsString>> {
    let mut libraries = Vec::new();
    if request.allocations.is_some() {
        libraries.push(OBJECTS.find()?.into_os_string());
    }
    libraries.extend(request.library.iter().map(|(file, _)| file.clone().into()));
    if libraries.is_empty() {
        return Ok(None);
    }
    libraries.extend(before);
    Ok(Some(libraries.join(OsStr::new(":"))))
}

/// A program that is being recorded.
///
/// While the session lasts, signals sent to this process do not end it but go to the program; what
/// the program did until it ended is a trace all the same.
pub struct Session {
    signals: Signals,
    pool: Pool,
    /// Gives the processes of another user access to the pool.
    _holder: Option<Holder>,
    /// Ends what the program forked, if this process is killed; none once the recording is over.
    watcher: Option<Watcher>,
    child: Child,
    started: Instant,
    limit: u64,
    memory: memory::Watch,
    programs: sanitized::Watch,
    /// The program with a sanitizer that was met, and the sanitizer.
    sanitized: Option<(String, &'static str)>,
    /// What ended the recording before the program did, so far.
    cut: Option<Cut>,
    accesses: u64,
    /// The accesses that are written next, kept for their memory.
    block: Block,
    /// Discards that were read and have no row yet.
    pending: Pending,
    /// The allocations so far; none if they are not recorded.
    allocations: Option<Collected>,
    /// Which accesses are kept, and what is said of them.
    settings: RecordSettings,
    /// By chunk, how much of it was read; none where no contents are recorded.
    reports: Option<HashMap<usize, Reports>>,
}

impl Session {
    /// Starts the program with this standard input; none is that of this process. It is killed when
    /// the calling thread ends, however that happens, and what it has forked is killed when this
    /// process ends.
    ///
    /// # Errors
    /// Returns a usage error if the program cannot be recorded or the settings contradict each
    /// other, and a failure if the system refuses memory or the emulator.
    pub fn start(tools: &Tools, request: &Request, input: Option<Stdio>) -> Result<Self> {
        request.check()?;
        let signals = Signals::receive()?;
        let program = request.executed()?;
        let settings = RecordSettings {
            allocations: request.allocations.is_some(),
            ..request.settings
        };
        let pool =
            Pool::create(settings).or_fail(|| "cannot share memory with the program".into())?;
        let user = request.user.clone();
        let holder = match (&user, pool.file()) {
            (Some(user), Some(file)) => Some(Holder::of(file, user)?),
            _ => None,
        };
        let path = holder.as_ref().map(Holder::path).or_else(|| pool.path());
        let emulator = Emulator {
            file: tools.emulator.clone(),
            plugin: Emulator::plugin(&tools.plugin, &path.unwrap_or_default()),
        };
        let arguments = emulator.arguments(&program);
        let preloaded = preloaded(request, std::env::var_os(PRELOAD))?;
        let watcher = Watcher::of(&pool)?;
        let started = Instant::now();
        let mut command = Command::new(&emulator.file);
        command.arg0(&arguments[0]).args(&arguments[1..]);
        command.envs(request.user.iter().flat_map(User::environment));
        if let Some(least) = request.settings.least_mapping {
            command.env(
                TUNABLES,
                with_mappings_from(least, std::env::var_os(TUNABLES)),
            );
        }
        // The emulator hands its environment on; in itself the libraries do nothing that is
        // recorded.
        command.envs(preloaded.map(|libraries| (PRELOAD, libraries)));
        command.envs(
            request
                .allocations
                .map(|least| (report::LEAST, least.to_string())),
        );
        command.envs(request.library.iter().map(|(_, variable)| variable.clone()));
        let mut inherited = Inherited::found();
        if let Some(input) = input {
            command.stdin(input);
            inherited = inherited.with_stream(0);
        }
        let parent = std::process::id();
        let newborn = signals.newborn();
        // SAFETY: between fork and exec the closure only makes system calls, with what was made
        // ready before; it allocates nothing.
        unsafe {
            command.pre_exec(move || {
                user.as_ref().map_or(Ok(()), User::assume)?;
                die_with(parent)?;
                newborn.catch_up();
                inherited.give()
            });
        }
        let blocked = Blocked::all();
        let child = command.spawn();
        drop(blocked);
        let child = child.or_fail(|| format!("cannot start {}", emulator.file.display()))?;
        signals.aim(Target::program(child.id()));
        signals.pass_on();
        Ok(Self {
            signals,
            pool,
            _holder: holder,
            watcher: Some(watcher),
            child,
            started,
            limit: request.limit.unwrap_or(u64::MAX),
            memory: memory::Watch::of(request.memory_limit),
            programs: sanitized::Watch::new(),
            sanitized: None,
            cut: None,
            accesses: 0,
            block: Block::default(),
            pending: Pending::default(),
            allocations: request.allocations.map(|_| Collected::default()),
            settings: request.settings,
            reports: request.settings.contents.then(HashMap::new),
        })
    }

    /// Records the program until it ends, and completes the trace.
    ///
    /// # Errors
    /// Returns a failure of the sink; the program is ended then.
    pub fn write(
        mut self,
        sink: Box<dyn Sink>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Recorded> {
        self.record(sink, progress)
    }

    /// Records the program until it ends, while `read` reads the trace on another thread; nothing
    /// is stored.
    ///
    /// # Errors
    /// Returns the error of `read`, or else a failure of the recording; the program is ended then.
    pub fn feed<T: Send>(
        mut self,
        read: impl FnOnce(Box<dyn Source>) -> Result<T> + Send,
    ) -> Result<(T, Recorded)> {
        let (sink, source) = channel(Meta {
            has_contents: self.reports.is_some(),
            tells_zeros: self.settings.tell_zeros(),
            ..Meta::of("recording", true)
        });
        thread::scope(|scope| {
            let reader = scope.spawn(|| read(source));
            let recorded = self.record(sink, &mut |_| ());
            let read = reader.join();
            // Where reading fails, that the recording could not go on follows from it.
            let read = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            let recorded = recorded?;
            recorded.check()?;
            Ok((read, recorded))
        })
    }

    fn record(
        &mut self,
        mut sink: Box<dyn Sink>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Recorded> {
        if self.reports.is_some() && !sink.keeps_contents() {
            self.end_the_program()?;
            return Err(Error::usage(
                "only the native format keeps what pages hold; let the trace's name end in .parquet, or leave \
                 --contents away",
            ));
        }
        if self.settings.depends && !sink.keeps_dependences() {
            self.end_the_program()?;
            return Err(Error::usage(
                "only the native format keeps where addresses come from; let the trace's name end in .parquet, or \
                 leave --dependences away",
            ));
        }
        if self.allocations.is_some() && !sink.keeps_allocations() {
            self.end_the_program()?;
            return Err(Error::usage(
                "only the native format keeps allocations; let the trace's name end in .parquet, or leave \
                 --allocations away",
            ));
        }
        let recorded = self.drain(&mut *sink, progress);
        self.signals.aim(Target::Nobody);
        let mut recorded = recorded?;
        if let Some(collected) = self.allocations.take() {
            sink.allocations(collected.finish(&self.pool));
        }
        for (key, value) in recorded.about() {
            sink.note(key, &value);
        }
        recorded.unkept = sink.lost();
        sink.finish()?;
        Ok(recorded)
    }

    /// Writes what the program does into `sink` until it ends.
    fn drain(
        &mut self,
        sink: &mut dyn Sink,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Recorded> {
        let drained = self.drain_until_the_end(sink, progress);
        self.pool.end();
        let status = drained.or_else(|error| {
            self.end_the_program()?;
            Err(error)
        })?;
        // Processes that the program left running go on.
        self.watcher = None;
        for index in self.pool.ready_or_abandoned() {
            self.append(index, true, sink)?;
        }
        let (departures, departed) = self.pool.departures();
        let departed = departed.iter().map(|p| String::from_utf8_lossy(p).into());
        Ok(Recorded {
            status,
            accesses: self.accesses,
            processes: self.pool.processes(),
            threads: self.pool.threads(),
            wall: self.started.elapsed(),
            cut: self
                .cut
                .or((self.accesses >= self.limit).then_some(Cut::Rows)),
            sanitized: self.sanitized.take(),
            lacked: self.lacked(status),
            unkept: Vec::new(),
            lost: self.pool.dropped(),
            unreported: self.pool.unreported(),
            departures,
            departed: departed.collect(),
            left: match self.cut {
                Some(Cut::Memory { .. } | Cut::Sanitizer | Cut::Signal(_)) => 0,
                Some(Cut::Rows) | None => self.pool.living().len(),
            },
        })
    }

    /// Returns the instruction that was missing when the program ended.
    fn lacked(&self, status: ExitStatus) -> Option<String> {
        let by_it = [Exit::Signal(libc::SIGILL), Exit::Code(128 + libc::SIGILL)];
        by_it
            .contains(&status.into())
            .then(|| lacked::name(&self.pool.translated()))?
    }

    fn drain_until_the_end(
        &mut self,
        sink: &mut dyn Sink,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ExitStatus> {
        let mut published = 0;
        let mut collected = Instant::now();
        loop {
            // Asked first: what it has published before its end is ready then.
            let ended = self.ended()?;
            let collect = collected.elapsed() >= COLLECT_EVERY;
            // Asked before those that are ready: what their threads wrote earlier comes first then.
            let held = self.held();
            let chunks = match collect {
                true => self.pool.ready_or_abandoned(),
                false => self.pool.ready(),
            };
            for &index in &chunks {
                self.append(index, true, sink)?;
                self.release(index);
                progress(self.progress(sink));
            }
            for index in held.into_iter().filter(|index| !chunks.contains(index)) {
                self.append(index, false, sink)?;
            }
            if collect {
                collected = Instant::now();
            }
            if let Some(exit) = ended {
                return Ok(exit);
            }
            if self.accesses >= self.limit {
                self.cut = Some(Cut::Rows);
                self.pool.end();
                return self.end_the_program();
            }
            self.cut = self.is_beyond().or_else(|| self.is_killed());
            self.cut = self.cut.or_else(|| self.is_sanitized());
            if self.cut.is_some() {
                return self.kill_the_program();
            }
            published = self.pool.wait(published, LOOK_AFTER);
        }
    }

    /// Returns the chunks that threads hold, if contents are recorded. A thread that waits for long
    /// holds reports of pages that others go on reporting; without these, theirs would have to be
    /// kept back.
    fn held(&self) -> Vec<usize> {
        match self.reports {
            Some(_) => self.pool.held(),
            None => Vec::new(),
        }
    }

    fn release(&mut self, index: usize) {
        if let Some(reports) = self.reports.as_mut().and_then(|all| all.get_mut(&index)) {
            reports.begin();
        }
        self.pool.release(index);
    }

    /// Writes the rows of a chunk, which is `whole` where nothing is written to it any more.
    fn append(&mut self, index: usize, whole: bool, sink: &mut dyn Sink) -> Result<()> {
        let room = self.limit - self.accesses;
        let chunk = self.pool.chunk(index);
        if let Some(collected) = &mut self.allocations {
            collected.add(chunk, self.accesses, self.limit);
        }
        match &mut self.reports {
            Some(reports) => {
                let reports = reports.entry(index).or_default();
                reports.decode(chunk, whole, room, &mut self.block);
            }
            None => decode(chunk, self.settings, room, &mut self.block),
        }
        self.pending.place(chunk.thread(), &mut self.block);
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

    /// Returns that one of the programs has a sanitizer.
    fn is_sanitized(&mut self) -> Option<Cut> {
        let (pool, program) = (&self.pool, self.child.id());
        let processes = || [pool.living(), vec![program]].concat();
        let (program, sanitizer) = self.programs.look(processes)?;
        self.sanitized = Some((program.display().to_string(), sanitizer));
        Some(Cut::Sanitizer)
    }

    /// Returns that the emulator takes more memory than it may.
    fn is_beyond(&mut self) -> Option<Cut> {
        let (pool, program) = (&self.pool, self.child.id());
        let processes = || [pool.living(), vec![program]].concat();
        let taken = self.memory.look(processes)?;
        let limit = self.memory.limit();
        Some(Cut::Memory { taken, limit })
    }

    /// Returns that a second signal has asked for the end.
    fn is_killed(&self) -> Option<Cut> {
        let asked = self.signals.asked_to_end()?;
        (self.signals.requests() > 1).then_some(Cut::Signal(asked))
    }

    /// Kills every recorded process.
    fn kill_the_program(&mut self) -> Result<ExitStatus> {
        let asked = Instant::now();
        self.signal(libc::SIGKILL);
        // One that was just forked enters the pool later.
        while asked.elapsed() < PATIENCE && !self.pool.living().is_empty() {
            self.signal(libc::SIGKILL);
            std::thread::sleep(LOOK_AFTER);
        }
        let exit = self.child.wait();
        exit.or_fail(|| "cannot wait for the program".into())
    }

    /// Asks every recorded process to end, and kills it after [`PATIENCE`].
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
        // The program may have become one that is not recorded; it is a child that was not waited
        // for. Of the others the pool tells again whether they are still recorded.
        let program = self.child.id();
        let processes = || [self.pool.living(), vec![program]].concat();
        process::signal_all(&processes, signal);
    }
}
