//! Measurements of a run, at its end.

use std::path::PathBuf;
use std::time::Duration;

use terrace_base::{Bytes, Exit};
use terrace_policy::prefetch::{Constituent, Lesson, LifeStory};

use crate::machine::zswap::Served;
use crate::nodes;
use crate::steer::steered::Faults;
use crate::tier::Compressed;
use crate::tier::balance::Balance;
use crate::watch::tally::ProcessFigures;
use crate::watch::waits;
use crate::watch::written::Written;

/// Measurements of one run. The default is a run in which nothing happened.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// End of the program.
    pub exit: Exit,
    /// Wall time from the start to the end of the last process of the group.
    pub wall: Duration,
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// Whether the CPU times are those of the whole group; otherwise they are of the program and of
    /// the children that it waited for, because the group has no `cpu.stat`.
    pub has_all_cpu: bool,
    /// Which part of the run the counts of faults, of the tier and of prefetches are of.
    pub phase: Phase,
    /// Waits at faults in that phase; `None` if nothing measured them.
    pub waits: Option<waits::Measured>,
    /// Major faults: those that waited for a read.
    pub major_faults: u64,
    /// Minor faults: those that did not.
    pub minor_faults: u64,
    /// Life story of the predictions; `None` without a predictor.
    pub prefetch: Option<LifeStory>,
    /// Life story of each constituent of a combination.
    pub constituents: Vec<Constituent>,
    /// What steering saw and did, by process.
    pub processes: Vec<ProcessFigures>,
    /// Fetched pages that were used, and that the kernel's readahead would have brought.
    pub redundant: u64,
    /// Time for which nothing was fetched, to try what fetches are worth or because they were worth
    /// nothing.
    pub rested: Duration,
    /// Major faults that steering did not see: it watches only while that pays, and loses those
    /// that find a ring full.
    pub unseen_faults: u64,
    /// Pages that came from the tier, and why; `None` without steering.
    pub balance: Option<Balance>,
    /// Pages that were let go early, by the eviction policy.
    pub let_go: u64,
    /// Misses for the next run to learn from; `None` if they were not recorded.
    pub lesson: Option<Lesson>,
    /// Sample of the major faults; `None` without steering, as nothing watches them then.
    pub faults: Option<Faults>,
    /// Bytes read from swap areas by the whole machine during the run.
    pub tier_read: Bytes,
    /// Pages of the whole machine that came back without a read: of zeros (Linux 6.12), or from
    /// zswap.
    pub tier_unread: u64,
    /// Bytes written to swap areas by the whole machine during the run.
    pub tier_written: Bytes,
    /// Pages of zeros of the whole machine that left memory and were not written; 0 before Linux
    /// 6.12.
    pub tier_zeros: u64,
    /// The most that others had in the tier's areas (sampled), beyond what the program has in swap.
    pub tier_others: Bytes,
    /// The areas of the tier that another program had switched off by the end.
    pub tier_switched_off: Vec<PathBuf>,
    /// Processes of the program that left its group, so that they have no budget, and no figure
    /// counts them.
    pub left_group: u64,
    /// The most of the program's memory that could not be swapped, as it was locked (sampled).
    pub locked: Bytes,
    /// Peak of the DRAM charged to the group, page cache included; `None` if the kernel keeps no
    /// peak.
    pub peak_resident: Option<Bytes>,
    /// Footprint: peak of the program's memory in DRAM and tier together, without files.
    pub footprint: Bytes,
    /// Whether the footprint comes from samples alone, because the kernel keeps no peak.
    pub footprint_sampled: bool,
    /// Peak of the kernel memory charged to the group (sampled under version 2).
    pub kernel: Bytes,
    /// Peak of the memory in huge pages (sampled).
    pub huge: Bytes,
    /// What zswap did for the whole machine; `None` if it is off.
    pub zswap: Option<Served>,
    /// What zram did for the whole machine; `None` for a tier without it.
    pub compressed: Option<Compressed>,
    /// What moved between two memory nodes; `None` where pages of the program do not move.
    pub nodes: Option<nodes::Figures>,
    /// What was seen of the program's writes; `None` if nothing looked.
    pub written: Option<Written>,
    /// Processes that the kernel killed because budget and tier were exceeded.
    pub oom_kills: u64,
}

impl Outcome {
    /// Whether the program failed: it ended with another code than 0 or by a signal, or the kernel
    /// killed a process of it. Its figures cannot be compared, as it did less than in a run that
    /// succeeds.
    pub fn has_failed(&self) -> bool {
        !self.exit.success() || self.oom_kills > 0
    }

    /// Returns what was written to the device of the tier: of two levels, the lower.
    pub fn device_written(&self) -> Bytes {
        let moved = self.compressed.and_then(|compressed| compressed.moved);
        moved.map_or(self.tier_written, |moved| Bytes::of_pages(moved.demoted))
    }
}

/// The part of a run that its counts are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phase {
    /// Time from the start of the program to that of the phase; `None` for the whole run.
    pub from: Option<Duration>,
    /// Length of the phase, to the end of the run.
    pub time: Duration,
}
