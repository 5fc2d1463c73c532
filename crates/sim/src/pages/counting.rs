//! A machine without a clock: it counts misses and write-backs and nothing else.
//!
//! Touches are made in the order of the trace. A page that leaves DRAM is written at once, as if a
//! fault waited for it, so the counts are those of a [`super::Simulation`] without an eviction
//! buffer, of a trace with one thread.

use terrace_base::{Error, Result};
use terrace_policy::replacement::paging::{First, Paging};
use terrace_policy::replacement::{Replacement, Touch};
use terrace_policy::{eviction, migration};

use super::count::Counts;
use super::outcome::{Outcome, Reading};
use super::settings::{Inclusion, Initial, PageMachine, Prefetch, ZeroPages};
use super::tier::Tier;
use crate::intern::PageTable;
use crate::workload::{Batch, Reference};

/// Touches that are made together: few enough to stay in the processor's cache.
const GROUP: usize = 1024;

/// A machine that counts.
pub(super) struct Counting {
    settings: PageMachine,
    policy: Box<dyn Replacement>,
    paging: Paging,
    /// The touches that are made together.
    touches: Vec<Touch>,
    line_writebacks: u64,
    threads: u32,
    /// The counters at the end of the warm-up.
    warm: Option<Reading>,
}

impl Counting {
    /// Makes a machine of these settings with an empty DRAM; `policy` is made for its size.
    pub(super) fn new(settings: PageMachine, policy: Box<dyn Replacement>) -> Self {
        let first = match settings.initial {
            Initial::Filled => First::Filled,
            Initial::Zero => First::Zeros,
            Initial::File => First::File,
            Initial::Tier => First::Tier,
        };
        Self {
            paging: Paging::new(first, settings.inclusion == Inclusion::Inclusive),
            settings,
            policy,
            touches: Vec::new(),
            line_writebacks: 0,
            threads: 0,
            warm: None,
        }
    }

    /// Makes the touches of a batch.
    pub(super) fn feed(&mut self, batch: &Batch) {
        let has_lines = batch.write_backs > 0;
        // Runs of several threads are made together up to the next page that is given back.
        let (mut made, mut end, mut discards) = (0, 0, 0);
        for run in &batch.runs {
            self.threads = self.threads.max(run.thread + 1);
            if run.discards > discards {
                self.take(&batch.references[made..end], has_lines);
                made = end;
                for &page in &batch.discards[discards..run.discards] {
                    self.paging.discard(page, &mut *self.policy);
                }
                discards = run.discards;
            }
            end = run.end;
        }
        self.take(&batch.references[made..end], has_lines);
    }

    /// Makes touches, among which there may be lines that caches write back.
    fn take(&mut self, references: &[Reference], has_lines: bool) {
        if !has_lines {
            self.touch_all(references);
            return;
        }
        for part in references.split_inclusive(|reference| reference.is_write_back()) {
            match part.split_last() {
                Some((line, touches)) if line.is_write_back() => {
                    self.touch_all(touches);
                    self.warm();
                    self.line_writebacks += 1;
                    self.paging.write_line(line.page(), &*self.policy);
                }
                _ => self.touch_all(part),
            }
        }
    }

    /// Makes touches; one of them may end the warm-up.
    fn touch_all(&mut self, references: &[Reference]) {
        let left = self.settings.warmup.checked_sub(self.made());
        let left = left.and_then(|left| usize::try_from(left).ok());
        let (before, behind) = match left {
            Some(left) if left < references.len() => references.split_at(left),
            _ => (references, &references[references.len()..]),
        };
        self.touch_some(before);
        if !behind.is_empty() {
            self.warm();
            self.touch_some(behind);
        }
    }

    fn touch_some(&mut self, references: &[Reference]) {
        for group in references.chunks(GROUP) {
            self.touches.clear();
            self.touches.extend(group.iter().map(|reference| Touch {
                page: reference.page(),
                write: reference.write(),
            }));
            self.policy.page(&self.touches, &mut self.paging);
        }
    }

    /// Returns the touches and lines so far.
    fn made(&self) -> u64 {
        self.paging.counts().touches + self.line_writebacks
    }

    /// Ends the warm-up, if what comes next is the first after it.
    fn warm(&mut self) {
        if self.made() == self.settings.warmup {
            self.warm = Some(self.reading());
        }
    }

    /// Returns the values of all counters.
    fn reading(&self) -> Reading {
        let counts = self.paging.counts();
        let misses = counts.first_touches + counts.full_misses;
        let maps = match self.settings.fault.shootdown_on_map {
            true => misses,
            false => 0,
        };
        Reading {
            counts: Counts {
                accesses: counts.touches,
                writes: counts.writes,
                line_writebacks: self.line_writebacks,
                first_touches: counts.first_touches,
                full_misses: counts.full_misses,
                evictions: counts.evictions,
                discards: counts.discards,
                writebacks: counts.writebacks,
                reads: counts.full_misses,
                shootdowns: counts.evictions + maps,
                ..Counts::default()
            },
            places: self.paging.most_places(),
            ..Reading::default()
        }
    }

    /// Returns the results, after the trace has ended.
    pub(super) fn outcome(&self, pages: &PageTable) -> Outcome {
        Outcome::new(
            &self.settings,
            pages.footprint() as u64,
            &[self.threads],
            self.warm.as_ref(),
            self.paging.full_at(),
            0,
            self.reading(),
        )
    }
}

/// Checks that a machine without a clock is asked for nothing that a clock decides.
///
/// # Errors
/// A usage error that names the option.
pub(super) fn require_counts(settings: &PageMachine) -> Result<()> {
    let plain = Tier::untimed();
    let tier = &settings.tier;
    let asked = [
        ("‘prefetch’", !matches!(settings.prefetch, Prefetch::Off)),
        ("‘eviction’", settings.eviction != eviction::Spec::default()),
        ("‘control’", settings.control.is_some()),
        ("‘staging’", settings.staging > 0),
        ("‘middle’", settings.middle.is_some()),
        (
            "‘migration’",
            settings.migration != migration::Spec::default(),
        ),
        ("‘place’", settings.place.is_some()),
        ("‘write’", settings.writing.is_asked()),
        ("‘zero-pages’", settings.zero_pages != ZeroPages::default()),
        ("‘endurance’", tier.rated.is_some()),
        ("‘read-latency’", tier.timing.read != plain.timing.read),
        ("‘write-latency’", tier.timing.write != plain.timing.write),
        ("‘channels’", tier.timing.channels != plain.timing.channels),
        ("‘bandwidth’", tier.timing.bandwidth.is_some()),
        ("‘devices’", tier.devices != plain.devices),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((option, _)) => Err(Error::usage(format!(
            "‘memory’ none counts misses and what is written, without a clock; {option} needs one: \
             leave it out, or name a memory"
        ))),
    }
}
