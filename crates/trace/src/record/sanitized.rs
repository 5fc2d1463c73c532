//! Programs with a sanitizer among those that the recorded program starts: they are met when they
//! run in the emulator.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use terrace_base::Bytes;
use terrace_recorder::program::Emulator;

use super::sanitizer;

/// The least time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A look may take this share of the time.
const SHARE: u32 = 20;
/// Bytes of addresses beyond which a process is asked for its mappings: no other program needs a
/// terabyte, or only a few.
const VAST: u64 = 1 << 40;
/// The upper part of AddressSanitizer's shadow memory as `/proc/PID/maps` names it, the same in
/// each program of x86-64 (compiler-rt, `asan_mapping.h`).
const SHADOW: &str = "2008fff7000-10007fff8000 ";

/// Looks at the programs of processes from time to time.
pub(super) struct Watch {
    next: Instant,
    /// Sanitizers of the programs that were met, by where they were.
    known: HashMap<PathBuf, Option<&'static str>>,
}

impl Watch {
    pub fn new() -> Self {
        Self {
            next: Instant::now(),
            known: HashMap::new(),
        }
    }

    /// Returns a program with a sanitizer that one of these processes runs, and the sanitizer, if
    /// it is time to look.
    pub fn look(
        &mut self,
        processes: impl FnOnce() -> Vec<u32>,
    ) -> Option<(PathBuf, &'static str)> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        let found = processes().into_iter().find_map(|pid| self.of(pid));
        self.next = Instant::now() + (now.elapsed() * SHARE).max(LOOK_EVERY);
        found
    }

    fn of(&mut self, pid: u32) -> Option<(PathBuf, &'static str)> {
        let program = program(pid)?;
        // A relative name is one of its directory.
        let file = Path::new(&format!("/proc/{pid}/cwd")).join(&program);
        let known = self.known.entry(file);
        let known = *known.or_insert_with_key(|file| sanitizer::of(file));
        // One that is linked statically and has no symbols is known by its memory alone.
        let found = known.or_else(|| has_shadow(pid).then_some("AddressSanitizer"));
        found.map(|sanitizer| (program, sanitizer))
    }
}

/// Returns the program that the emulator runs as this process; `None` if it runs none, or has
/// ended.
fn program(pid: u32) -> Option<PathBuf> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<_> = line
        .split(|&byte| byte == 0)
        .map(OsStr::from_bytes)
        .collect();
    Emulator::program_of(&words).map(PathBuf::from)
}

/// Whether a process has AddressSanitizer's shadow memory.
fn has_shadow(pid: u32) -> bool {
    let statm = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .next()
        .and_then(|pages| pages.parse().ok());
    let is_vast = pages.is_some_and(|pages| Bytes::of_pages(pages).0 > VAST);
    is_vast && {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        maps.lines().any(|line| line.starts_with(SHADOW))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_emulator_runs_has_none() {
        let own = std::process::id();
        assert_eq!((program(own), program(u32::MAX)), (None, None));
        assert!(!has_shadow(own) && !has_shadow(u32::MAX));
        let mut watch = Watch::new();
        assert_eq!(watch.look(|| vec![own]), None);
        assert_eq!(watch.look(|| panic!("it is not time yet")), None);
    }
}
