//! Demotion: pages that were not used for a while go from zram to the disk below it.
//!
//! Linux, Documentation/admin-guide/blockdev/zram.rst, "writeback". All pages are marked idle; a
//! page that is touched leaves zram, and with it the mark. What still has the mark after an
//! interval is written, and so are pages that cannot be compressed, because in zram they take as
//! much DRAM as before.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use terrace_base::{Context, Result};

use super::zram;
use crate::system::worker::Task;

/// Time for which a page in zram is not touched before it goes to the disk, up to twice that.
/// Chosen, not measured: at 60 us a read, a page that comes back right then has cost six millionths
/// of this time.
const IDLE_AFTER: Duration = Duration::from_secs(10);
/// Pages that are written by one request, which cannot be interrupted: half a second at 60 us each.
const STEP: u64 = 8192;

/// The thread that has pages written; ends when dropped.
#[derive(Debug)]
pub(super) struct Demotion(Task);

impl Demotion {
    /// Begins with the pages of a zram device that has a disk below it.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(number: u32) -> Result<Self> {
        let task = Task::start("terrace-demote", move |over| {
            demote(number, over).or_fail(|| zram::path(number).display().to_string())
        });
        task.map(Self)
    }

    /// Returns the reason why it ended early, once.
    pub fn problem(&self) -> Option<String> {
        let problem = self.0.problem()?;
        Some(format!(
            "idle pages can no longer be written to the disk below zram: {problem}; they stay in DRAM"
        ))
    }
}

fn demote(number: u32, over: &AtomicBool) -> io::Result<()> {
    let is_over = || over.load(Ordering::Relaxed);
    while !is_over() {
        zram::mark_idle(number)?;
        let until = Instant::now() + IDLE_AFTER;
        while !is_over() && Instant::now() < until {
            thread::park_timeout(until.saturating_duration_since(Instant::now()));
        }
        for pages in [zram::Pages::Incompressible, zram::Pages::Idle] {
            while !is_over() && zram::write_back(number, pages, STEP)? {}
        }
    }
    Ok(())
}
