//! Machine of a simulation of pages, and how programs run on it.

use std::fmt;
use std::sync::Arc;

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_policy::control;
use terrace_policy::eviction;
use terrace_policy::migration;
use terrace_policy::prefetch::{self, Neighbours, Window};
use terrace_policy::replacement;

use super::cost::FaultCost;
use super::placement::Placement;
use super::survey::Foresight;
use super::tier::{Middle, Tier};
use super::writes::{Unwritten, Writing};
use crate::named::{Named, named};

named! {
    /// Whether a fetched page keeps its copy in the slower tier (Awad 2016, 5.1.1).
    pub enum Inclusion {
        /// The tier keeps the copy: a page that stays clean needs no write when it is evicted.
        #[default]
        Inclusive = "inclusive",
        /// The tier drops the copy: every eviction writes.
        Exclusive = "exclusive",
    }
}

named! {
    /// What the kernel's readahead reads around a page.
    pub enum Around {
        /// Addresses, in a window that follows the use of what was read: Linux since 4.14, where no
        /// swap area rotates.
        #[default]
        Addresses = "readahead",
        /// Places of the swap area, in such a window: Linux since 3.14, where one rotates.
        Slots = "readahead:slots",
        /// The aligned block of places of the swap area, used or not: Linux before 3.14.
        Block = "readahead:fixed",
    }
}

/// Prefetching policy.
#[derive(Clone, Debug, Default)]
pub enum Prefetch {
    /// No prefetching.
    #[default]
    Off,
    /// The kernel's readahead: each fault reads pages around its own, in their order, and the
    /// program waits for its own page only (Fedorov 2016, 5.4.2).
    Readahead {
        /// What is around a page.
        around: Around,
        /// Pages that are read at most, as a power of two: `vm.page-cluster`.
        cluster: u32,
    },
    /// A predictor in the engine, as live.
    Predictor(prefetch::Spec),
}

impl Prefetch {
    /// Returns `vm.page-cluster` of readahead.
    pub fn cluster(&self) -> Option<u32> {
        match self {
            Self::Readahead { cluster, .. } => Some(*cluster),
            Self::Off | Self::Predictor(_) => None,
        }
    }

    /// Returns the most pages that readahead reads at once.
    pub fn most_read(&self) -> Option<u64> {
        match self {
            Self::Readahead { around, cluster } => Some(match around {
                Around::Addresses => Window::most(Neighbours::Addresses, *cluster),
                Around::Slots | Around::Block => Window::most(Neighbours::Slots, *cluster),
            }),
            Self::Off | Self::Predictor(_) => None,
        }
    }

    /// Returns whether it needs to know the future.
    pub fn knows_future(&self) -> bool {
        matches!(self, Self::Predictor(spec) if spec.entry().knows_future())
    }
}

impl fmt::Display for Prefetch {
    /// Writes the policy as on the command line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Readahead { around, .. } => f.write_str(around.name()),
            Self::Predictor(spec) => spec.fmt(f),
        }
    }
}

named! {
    /// Whether a fault waits for the prefetches that it causes.
    pub enum Work {
        /// The fault does not wait.
        #[default]
        Asynchronous = "asynchronous",
        /// The fault waits (Awad 2016, figure 12).
        Synchronous = "synchronous",
        /// The fault does not wait, and causes none, nor the work of handing it to the predictor,
        /// while one is on its way (Awad 2016, 5.3).
        Single = "single",
    }
}

named! {
    /// When a page that is fetched ahead enters the page table (Oskin & Loh 2015, V.C).
    pub enum Mapped {
        /// At its first touch, which is a minor fault, as on Linux.
        #[default]
        AtUse = "use",
        /// As it arrives, so that its first touch costs nothing; a touch before that is a fault,
        /// which waits for it. With [`Work::Synchronous`] the fault or touch that causes pages to
        /// be fetched waits for them and maps them, with one shoot-down for all; otherwise a
        /// processor of the fetches does, or hardware, and delays no thread.
        AtArrival = "arrival",
    }
}

named! {
    /// What moves when a page of slow memory that serves lines moves to DRAM.
    pub enum Fill {
        /// The whole page.
        #[default]
        Page = "page",
        /// Each line at its first use, from slow memory (sectors: Jevdjic et al. 2013, as cited by
        /// Oskin & Loh 2015, IV). It takes hardware that knows which lines a page has.
        Sectors = "sectors",
    }
}

named! {
    /// What decides when a thread goes on, beside the machine.
    pub enum ThreadOrder {
        /// A thread begins when it was created, and waits for the threads that woke it when it was
        /// recorded ([`terrace_trace::order`]). Where a trace does not say, the place of its
        /// accesses in the trace decides.
        #[default]
        Recorded = "recorded",
        /// Nothing: all threads begin at once, and none waits for another.
        Together = "together",
    }
}

named! {
    /// What pages hold before they are touched first.
    pub enum Initial {
        /// Nothing; the first touch of a page counts as a write. So it is with memory that the
        /// kernel fills for a program, as by read(2), which a recording does not show.
        #[default]
        Filled = "filled",
        /// Zeros: a page that was never written leaves DRAM without a write, and its next touch is
        /// a first one again.
        Zero = "zero",
        /// What is in files on the device of the tier: first touches read, and a page that was
        /// never written is read again.
        File = "file",
        /// What is in the tier, where each page has its place.
        Tier = "tier",
    }
}

named! {
    /// What becomes of pages of zeros that leave DRAM, where a trace tells which these are.
    pub enum ZeroPages {
        /// They are written to the tier and read from it as others are.
        #[default]
        Written = "written",
        /// The tier notes that they are zeros: they leave at once, and come back by a fault that
        /// reads nothing (Linux since 6.12, `swap_writeout` and `swap_read_folio` of
        /// `mm/page_io.c`).
        Dropped = "dropped",
    }
}

/// By how many picoseconds lines of the tier take longer than those of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slower {
    /// A line that is read.
    pub read_ps: u64,
    /// A line that is written.
    pub write_ps: u64,
}

impl PageMachine {
    /// Returns the pages of DRAM outside the prefetch cache and the staging part.
    ///
    /// # Errors
    /// A usage error if there are none.
    pub fn main_pages(&self) -> Result<usize> {
        let others = self.prefetch_cache + self.staging;
        let main = self.dram_pages.checked_sub(others);
        main.filter(|pages| *pages > 0).ok_or_else(|| {
            Error::usage(format!(
                "a prefetch cache of {} pages and staging of {} leave nothing of a DRAM of {}; make them smaller",
                self.prefetch_cache, self.staging, self.dram_pages
            ))
        })
    }

    /// Checks that the machine can have a memory between DRAM and the tier, if it is to have one.
    ///
    /// # Errors
    /// A usage error if something else does not go with it.
    pub fn check_middle(&self) -> Result<()> {
        if self.middle.is_none() {
            return Ok(());
        }
        if self.migration.bypasses() {
            return Err(Error::usage(format!(
                "‘middle’ is for pages that come in by faults, and ‘migration’ {} has none; leave it out",
                self.migration
            )));
        }
        if self.writing.is_asked() {
            return Err(Error::usage(
                "‘write’ asks about pages that leave DRAM for the tier, and with ‘middle’ they go elsewhere first; \
                 leave one of the two out",
            ));
        }
        Ok(())
    }

    /// Checks that a control policy can act on the machine, if it is to have one.
    ///
    /// # Errors
    /// A usage error if something else does not go with it.
    pub fn check_control(&self) -> Result<()> {
        let Some(control) = &self.control else {
            return Ok(());
        };
        let asked = [
            ("‘migration’", self.migration.bypasses()),
            ("‘middle’", self.middle.is_some()),
            ("‘staging’", self.staging > 0),
        ];
        match asked.iter().find(|(_, asked)| *asked) {
            None => Ok(()),
            Some((option, _)) => Err(Error::usage(format!(
                "‘control’ {control} is for pages that go from DRAM to the tier at once and come back by faults, \
                 and with {option} they do not; leave one of the two out"
            ))),
        }
    }

    /// Returns by how much lines of the tier take longer than those of DRAM; `None` if the tier
    /// serves no lines.
    ///
    /// # Errors
    /// A usage error if it should serve lines and cannot, or with policies that act on faults.
    pub fn bypass(&self) -> Result<Option<Slower>> {
        if self.fast_channels > 1 && self.fast_bandwidth.is_none() {
            return Err(Error::usage(
                "‘fast-channels’ share the bandwidth of DRAM; give ‘fast-bandwidth’ as well, and no none beside it",
            ));
        }
        if !self.migration.bypasses() {
            if self.fast_bandwidth.is_some() {
                return Err(Error::usage(
                    "‘fast-bandwidth’ is for slow memory that serves lines by itself, which it does not under ‘migration’ fault; \
                     give never, or another policy, and no fault beside it",
                ));
            }
            return match &self.place {
                None => Ok(None),
                Some(_) => Err(Error::usage(
                    "‘place’ is for slow memory that serves lines by itself; give ‘migration’ never, or another policy",
                )),
            };
        }
        let line = self.tier.line_ps.ok_or_else(|| {
            Error::usage(format!(
                "{} serves no lines; give ‘slow-line’, a memory that does, or ‘migration’ fault",
                self.tier.name
            ))
        })?;
        if !matches!(self.prefetch, Prefetch::Off) || self.eviction != eviction::Spec::default() {
            return Err(Error::usage(format!(
                "‘prefetch’ and ‘eviction’ act on faults, and ‘migration’ {} has none; leave them out",
                self.migration
            )));
        }
        if self.initial != Initial::default() {
            return Err(Error::usage(format!(
                "‘initial’ is for pages that come in by faults, and ‘migration’ {} has none; leave it out",
                self.migration
            )));
        }
        if self.staging + self.prefetch_cache > 0 {
            return Err(Error::usage(format!(
                "‘staging’ and ‘prefetch-cache’ are parts of DRAM for pages that come in by faults, and \
                 ‘migration’ {} has none; leave them out",
                self.migration
            )));
        }
        if self.zero_pages != ZeroPages::default() {
            return Err(Error::usage(format!(
                "‘zero-pages’ is for pages that come in by faults, and ‘migration’ {} has none; leave it out",
                self.migration
            )));
        }
        let others = self.writing.schemes.iter().map(ToString::to_string);
        if let Some(scheme) = others.into_iter().find(|scheme| scheme != LINES) {
            return Err(Error::usage(format!(
                "‘write’ {scheme} is for pages that leave DRAM, and under ‘migration’ {} slow memory is written line by \
                 line; give ‘write’ {LINES}, or leave it out",
                self.migration
            )));
        }
        if self.writing.unwritten != Unwritten::default() {
            return Err(Error::usage(format!(
                "‘unwritten’ is for schemes that compare what is written, and under ‘migration’ {} none does; leave it out",
                self.migration
            )));
        }
        let slower = |line: u64| line.saturating_sub(self.fast_line_ps);
        Ok(Some(Slower {
            read_ps: slower(line),
            write_ps: slower(self.tier.line_write_ps.unwrap_or(line)),
        }))
    }

    /// Returns the time of copying a page to the tier where that serves lines: that of the
    /// processor's copy, or of the memory's writes where these are slower.
    pub fn copy_out(&self) -> Nanos {
        self.fault.copy.max(self.tier.timing.write)
    }

    /// Returns whether a trace has to tell what pages hold.
    pub fn compares_contents(&self) -> bool {
        self.writing.is_asked() && !self.migration.bypasses()
    }

    /// Returns the most memory that the contents of pages and the wear of lines take.
    ///
    /// # Errors
    /// A usage error if a setting has a wrong value.
    pub(super) fn memory_of_writes(&self) -> Result<Bytes> {
        match self.writing.is_asked() {
            true if self.compares_contents() => self.writing.memory_of_contents(self.dram_pages),
            true => self.writing.memory_of_wear(),
            false => Ok(Bytes(0)),
        }
    }

    /// Returns whether the writes of each line are counted: its tier serves lines, and lifetimes
    /// are reckoned from them.
    pub fn tells_wear(&self) -> bool {
        let wears = self.tier.endurance.is_some() && self.tier.rated.is_none();
        self.migration.bypasses() && (wears || self.writing.is_asked())
    }

    /// Returns whether a trace has to tell lines within pages.
    pub fn tells_lines(&self) -> bool {
        self.fill == Fill::Sectors || self.tells_wear()
    }

    /// Returns whether a trace has to tell which pages hold zeros.
    pub fn drops_zeros(&self) -> bool {
        self.zero_pages == ZeroPages::Dropped
    }

    /// Returns the knowledge of the future that the policies need.
    pub fn foresight(&self) -> Foresight {
        if self.replacement.entry().knows_future() {
            Foresight::Order
        } else if self.prefetch.knows_future() {
            Foresight::Threads
        } else {
            Foresight::Nothing
        }
    }
}

/// The write scheme of slow memory that serves lines.
const LINES: &str = "lines";

/// A machine, and how programs run on it. The default has no DRAM and no costs; [`super::options`]
/// declares the defaults of the command line.
#[derive(Clone, Debug, Default)]
pub struct PageMachine {
    /// Pages of DRAM for programs, at least one.
    pub dram_pages: usize,
    /// Pages of DRAM for pages fetched ahead, first in, first out, until they are touched; then
    /// they move to the rest of DRAM (Oskin & Loh 2015, V.D). If 0, fetched pages go to the rest at
    /// once.
    pub prefetch_cache: usize,
    /// The memory between DRAM and the tier, if there is one.
    pub middle: Option<Middle>,
    /// The slower tier.
    pub tier: Tier,
    /// Replacement policy.
    pub replacement: replacement::Spec,
    /// Eviction policy: what leaves DRAM before the replacement policy would choose others.
    pub eviction: eviction::Spec,
    /// What decides how much DRAM is held; `None` if as much as there is.
    pub control: Option<control::Spec>,
    /// Bytes a day that may be written to the tier before `control` stops to reclaim; `None` for
    /// any number.
    pub control_writes: Option<u64>,
    /// Prefetching policy.
    pub prefetch: Prefetch,
    /// Whether faults wait for prefetches.
    pub work: Work,
    /// When prefetched pages enter the page table.
    pub mapped: Mapped,
    /// Whether fetched pages keep their copy in the tier.
    pub inclusion: Inclusion,
    /// Evicted pages that wait in DRAM, beside `dram_pages`, to be written in the background
    /// (Awad 2016, section 2). If 0, a fault waits until the evicted page is written.
    pub eviction_buffer: usize,
    /// Pages of DRAM for evicted pages, clean ones too, in place of the eviction buffer: one that
    /// is touched there returns without the device, and one that is dirty is written once half of
    /// them are younger. If 0, there are none.
    pub staging: usize,
    /// Costs of a fault beyond the device.
    pub fault: FaultCost,
    /// Threads that a shoot-down reaches; `None` for the threads of the program.
    pub threads: Option<u32>,
    /// Time of an instruction in picoseconds, page faults aside.
    pub instruction_ps: u64,
    /// Time between two accesses of a trace that does not count instructions.
    pub access: Nanos,
    /// Touches of the warm-up, which results leave out.
    pub warmup: u64,
    /// What decides when threads go on.
    pub thread_order: ThreadOrder,
    /// What pages hold before they are touched first.
    pub initial: Initial,
    /// What becomes of pages of zeros.
    pub zero_pages: ZeroPages,
    /// Seed of the random numbers of policies, and of wear levelling.
    pub seed: u64,
    /// The write schemes that are asked what they would write.
    pub writing: Writing,
    /// Which pages are in DRAM where the tier serves lines by itself.
    pub migration: migration::Spec,
    /// Objects that are in DRAM in any case, where the tier serves lines; the policy decides over
    /// the others.
    pub place: Option<Arc<Placement>>,
    /// Time of an access to a line of DRAM beside the instructions, in picoseconds.
    pub fast_line_ps: u64,
    /// Bytes a second over all channels of DRAM, where the tier serves lines; `None` if none makes
    /// an access wait.
    pub fast_bandwidth: Option<u64>,
    /// Channels of DRAM, between which pages are interleaved; 0 counts as 1.
    pub fast_channels: u32,
    /// What moves to DRAM at once, where the tier serves lines.
    pub fill: Fill,
    /// Time of an access that the migration policy samples.
    pub sample: Nanos,
}
