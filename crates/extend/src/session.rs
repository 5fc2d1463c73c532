//! The session in which a program runs with extended memory.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use terrace_base::{
    Blocked, Bytes, Context, Error, Exit, Inherited, Result, Signals, Target, program,
};
use terrace_policy::{replacement, write};
use terrace_region::Settings;
use terrace_region::figures::{Board, Figures, Rows};
use terrace_region::slow::device::Device;

use crate::elf;
use crate::library::LIBRARY;
use crate::memory::{Memory, catalogue};
use crate::task::{Task, VARIABLE};

/// The variable that names libraries which the dynamic linker loads before all others.
const PRELOAD: &str = "LD_PRELOAD";

/// Replacement policies that evict the same pages whatever is touched between faults.
const DEAF: [&str; 2] = ["fifo", "random"];

/// The least mapping that is extended.
pub const LEAST: Bytes = Bytes(1 << 20);

/// What a program is to be run with.
pub struct Session {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The slow memory.
    pub memory: Memory,
    /// A file of memories beside the built-in ones.
    pub memories: Option<PathBuf>,
    /// The replacement policy with its settings.
    pub replacement: String,
    /// The share of its pages whose next touch it is shown; `None` for none.
    pub references: Option<f64>,
    /// The predictor of the pages that are fetched ahead, with its settings; `None` for none.
    pub prefetch: Option<String>,
    /// The write scheme with its settings.
    pub write: String,
    /// Whether every scheme is asked what it would write.
    pub judge: bool,
    /// Whether small blocks of malloc are extended as well.
    pub small: bool,
    /// Variables of the program's environment beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
}

/// What came of a run.
pub struct Outcome {
    /// End of the program.
    pub exit: Exit,
    /// Wall time from start to end.
    pub wall: Duration,
    /// Figures of the extended memory; `None` if the program had no mapping that is extended.
    pub figures: Option<Figures>,
    /// What every write scheme would have written, in the order of the registry; nothing if none
    /// was asked.
    pub rows: Rows,
    /// Processes with such mappings beside the one that was extended.
    pub others: u64,
}

impl Session {
    /// Checks all that can be checked before anything starts.
    ///
    /// # Errors
    /// Returns a usage error about the program or a setting, and a failure if the kernel does not
    /// allow extended memory to this user or the library is missing.
    pub fn check(&self) -> Result<()> {
        elf::check(&program::find(&self.command)?)?;
        LIBRARY.find()?;
        self.check_replacement()?;
        write::Spec::parse(&self.write).map_err(Error::usage)?;
        self.memory.check(&catalogue(self.memories.as_deref())?)?;
        if self.small && matches!(self.memory, Memory::Device(_)) {
            return Err(Error::usage(
                "small blocks cannot lie on a block device, because forked children would not have them; name a \
                 directory, or leave --small-blocks away",
            ));
        }
        terrace_region::check()
    }

    /// Checks the replacement policy, and what it is told of.
    fn check_replacement(&self) -> Result<()> {
        let spec = replacement::Spec::parse(&self.replacement).map_err(Error::usage)?;
        spec.policy(1, 0, None).map_err(Error::usage)?;
        let Some(share) = self.references else {
            return Ok(());
        };
        Settings::check_references(share)?;
        let name = spec.entry().name;
        match DEAF.contains(&name) {
            true => Err(Error::usage(format!(
                "`{name}` evicts the same pages whatever is referenced, so sampling references only takes time; name \
                 another policy, or leave --references away"
            ))),
            false => Ok(()),
        }
    }

    /// Runs the program with this much DRAM for its extended memory, or without a bound. Signals go
    /// to the program meanwhile.
    ///
    /// # Errors
    /// Returns a usage error if the program cannot be run or its device is no longer free, and a
    /// failure if the system refuses what is needed.
    pub fn run(&self, dram: Option<Bytes>) -> Result<Outcome> {
        let file = tempfile::NamedTempFile::with_prefix("terrace-extend-");
        let file = file.or_fail(|| "cannot make a file for the figures".into())?;
        let board = Board::open(file.as_file()).or_fail(|| "cannot map the figures".into())?;
        let task = Task {
            board: file.path().to_owned(),
            dram,
            memory: self.memory.to_string(),
            memories: self.memories.clone(),
            replacement: self.replacement.clone(),
            references: self.references,
            prefetch: self.prefetch.clone(),
            write: self.write.clone(),
            judge: self.judge,
            least: LEAST,
            small: self.small,
        };
        let signals = Signals::receive()?;
        // Cleared after the end of the program, whatever that was.
        let taken = self.memory.take()?;
        // The program goes on if this process is killed, and then its device must not be anybody
        // else's.
        taken.as_ref().map_or(Ok(()), Device::share)?;
        let mut command = Command::new(program::find(&self.command)?);
        command.arg0(&self.command[0]).args(&self.command[1..]);
        command.env(VARIABLE, task.text());
        command.env(PRELOAD, preloaded()?);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let inherited = Inherited::found();
        let newborn = signals.newborn();
        // SAFETY: between fork and exec the closure only makes system calls; it allocates nothing.
        unsafe {
            command.pre_exec(move || {
                newborn.catch_up();
                inherited.give()
            })
        };
        let started = Instant::now();
        let shown = self.command[0].display();
        let blocked = Blocked::all();
        let child = command.spawn();
        drop(blocked);
        let mut child = child.map_err(|e| Error::usage(format!("cannot run {shown}: {e}")))?;
        signals.aim(Target::program(child.id()));
        signals.pass_on();
        let status = child
            .wait()
            .or_fail(|| "cannot wait for the program".into())?;
        Ok(Outcome {
            exit: status.into(),
            wall: started.elapsed(),
            figures: board.owner().map(|_| board.figures()),
            rows: board.rows(),
            others: board.others(),
        })
    }
}

/// Returns the libraries to load: ours, and those that were to be loaded before.
fn preloaded() -> Result<OsString> {
    let mut libraries = LIBRARY.find()?.into_os_string();
    if let Some(others) = std::env::var_os(PRELOAD) {
        libraries.push(":");
        libraries.push(others);
    }
    Ok(libraries)
}

#[cfg(test)]
mod tests {
    use terrace_policy::replacement::{Answer, PageId, REGISTRY, Touch};

    use super::*;

    /// Returns the pages that a policy evicts if it is told of touches of resident pages, or not.
    fn evicted(spec: &replacement::Spec, told: bool) -> Vec<PageId> {
        let mut policy = spec.policy(20, 0, None).unwrap();
        let touches = (0..5000_u32).map(|at| match at % 3 {
            0 => at % 50,
            _ => at * at % 61,
        });
        let evicted = touches.filter_map(|page| {
            let page = PageId(page);
            let touch = Touch { page, write: false };
            match told || !policy.contains(page) {
                true => Some(policy.touch(touch)),
                false => None,
            }
        });
        let evicted = evicted.filter_map(|answer| match answer {
            Answer::Miss { evicted } => evicted,
            Answer::Hit => None,
        });
        evicted.collect()
    }

    #[test]
    fn policies_are_deaf_that_evict_the_same_whatever_they_are_told() {
        for entry in REGISTRY.iter().filter(|entry| !entry.knows_future()) {
            let spec = replacement::Spec::parse(entry.name).unwrap();
            let same = evicted(&spec, true) == evicted(&spec, false);
            assert_eq!(DEAF.contains(&entry.name), same, "{}", entry.name);
        }
    }
}
