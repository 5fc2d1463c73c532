//! How far a recording is, and what came of it.

use std::process::ExitStatus;
use std::time::Duration;

use terrace_base::{Bytes, Error, Exit, Result};

use crate::lost::Loss;

/// Processes and threads are numbered by 16 bits in a trace.
const NUMBERS: u32 = 1 << 16;

/// How far a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Rows so far.
    pub accesses: u64,
    /// Bytes written so far; 0 where the format does not say.
    pub bytes: u64,
    /// Time since the program was started.
    pub wall: Duration,
}

/// What ended a recording, and the program with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The number of rows that were asked for.
    Rows,
    /// The memory of the emulator, which was more than it might take.
    Memory {
        /// What it took.
        taken: Bytes,
        /// What it might take.
        limit: Bytes,
    },
    /// A program with a sanitizer, which the program started.
    Sanitizer,
    /// A second signal that asked for the end, as by Ctrl-C.
    Signal(i32),
}

/// What was recorded.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// How the emulator ended, and the program with it.
    pub status: ExitStatus,
    /// Rows.
    pub accesses: u64,
    /// Processes; a program that a process turned into counts as one more.
    pub processes: u32,
    /// Threads that accessed memory.
    pub threads: u32,
    /// Time from the program's start until everything was written.
    pub wall: Duration,
    /// What ended the recording before the program did, if anything.
    pub cut: Option<Cut>,
    /// The program with a sanitizer that ended the recording, if one did, and the name of the
    /// sanitizer.
    pub sanitized: Option<(String, &'static str)>,
    /// The instruction that the emulator lacks and the program needs, if it was ended by that.
    pub lacked: Option<String>,
    /// What the format of the trace had no room for.
    pub unkept: Vec<Loss>,
    /// Rows that were lost: more threads wrote at a time than there is room for.
    pub lost: u64,
    /// Rows whose page could not be compared with what was reported of it: there was no memory for
    /// a copy.
    pub unreported: u64,
    /// How often a process turned into a program that could not be followed.
    pub departures: u32,
    /// Some of those programs.
    pub departed: Vec<String>,
    /// Processes that the program left running; what they did later is not in the trace.
    pub left: usize,
}

impl Recorded {
    /// Returns how a command ends that has recorded the program: as the program did; with success
    /// where the limit of rows ended it, with failure where that of memory or a sanitizer did, and
    /// by the signal that did.
    pub fn exit(&self) -> Exit {
        match self.cut {
            Some(Cut::Rows) => Exit::Code(0),
            Some(Cut::Memory { .. } | Cut::Sanitizer) => Exit::Code(1),
            Some(Cut::Signal(signal)) => Exit::Signal(signal),
            None => self.status.into(),
        }
    }

    /// Checks that neither the emulator's memory, nor a sanitizer, nor a lack of instructions ended
    /// the program.
    ///
    /// # Errors
    /// A failure that says which of them did, and what to do.
    pub fn check(&self) -> Result<()> {
        if let Some(Cut::Memory { taken, limit }) = self.cut {
            return Err(Error::failure(format!(
                "the program was ended because it took {taken} in the emulator, more than the {limit} that it might; \
                 record a smaller part of its work, or set --memory-limit of terrace record higher"
            )));
        }
        if let Some((program, sanitizer)) = &self.sanitized {
            return Err(Error::failure(format!(
                "the program was ended because it started {program}, which is built with \
                 {sanitizer}, whose shadow memory spans more addresses than the emulator can keep \
                 account of; have it start a build without it (without -fsanitize)"
            )));
        }
        match &self.lacked {
            Some(instruction) => Err(Error::failure(format!(
                "the program was ended by SIGILL because the emulator lacks an instruction that it uses, {instruction}; \
                 build it for a processor without it (-march=x86-64-v2)"
            ))),
            None => Ok(()),
        }
    }

    /// Returns what a trace says of the recording when it is over.
    pub fn about(&self) -> Vec<(&'static str, String)> {
        let mut about = vec![
            ("recorded.processes", self.processes.to_string()),
            ("recorded.threads", self.threads.to_string()),
        ];
        let remarks = self.remarks();
        if !remarks.is_empty() {
            about.push(("recorded.remarks", remarks.join("; ")));
        }
        about
    }

    /// Returns what a reader of the trace must know, a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.departures > 0 {
            let mut programs = self.departed.clone();
            programs.sort();
            programs.dedup();
            remarks.push(format!(
                "{} started outside the emulator and were not recorded: {}",
                counted(self.departures.into(), "program"),
                programs.join(", ")
            ));
        }
        if self.lost > 0 {
            remarks.push(format!(
                "{} were lost: too many threads at a time",
                counted(self.lost, "access")
            ));
        }
        if self.unreported > 0 {
            remarks.push(format!(
                "what {} changed is not recorded: there was no memory for copies of their pages",
                counted(self.unreported, "row")
            ));
        }
        if self.left > 0 {
            remarks.push(format!(
                "the program left {} running; what they do now is not recorded",
                counted(self.left as u64, "process")
            ));
        }
        let shared = [(self.processes, "processes"), (self.threads, "threads")];
        for (number, what) in shared.into_iter().filter(|(number, _)| *number > NUMBERS) {
            remarks.push(format!(
                "of {number} {what} those from number 65535 on share that number"
            ));
        }
        remarks
    }
}

/// Returns a number with its noun: "1 process", "2 processes".
pub fn counted(number: u64, noun: &str) -> String {
    match (number, noun.ends_with('s')) {
        (1, _) => format!("1 {noun}"),
        (_, true) => format!("{number} {noun}es"),
        (_, false) => format!("{number} {noun}s"),
    }
}
