//! A service that runs: what is seen of it, and what takes its DRAM and gives it back.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use terrace_base::block::swaps::active;
use terrace_base::{Bytes, Error, Result};
use terrace_policy::control::{Moved, Seen, Step};

use super::heat::Heat;
use super::hold::Hold;
use super::machine::Machine;
use super::memory::{Held, Memory};
use super::pages::{Pages, Passed, locked};
use super::pulse::Pulse;
use super::stalls::{Measuring, StallSource, Stalls};
use super::writes::{WriteSource, Writes};
use crate::group::counters::SwapCounters;
use crate::group::faults::FaultCounts;
use crate::group::hierarchy::{Mounts, Version};
use crate::group::members::{Member, Members, Scope};
use crate::group::target::Target;
use crate::system::privilege;
use crate::watch::waits::Measured;

/// Memory that is fetched back at once at the end.
const RESTORE: Bytes = Bytes(64 << 20);

/// What a step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Memory that left DRAM.
    pub left: Bytes,
    /// Memory that a trial began for: if nothing touches it, it leaves with a later step.
    pub tried: Bytes,
    /// Memory that is on trial after it.
    pub on_trial: Bytes,
    /// Memory that came back, or is on its way: its reads have begun.
    pub came: Bytes,
    /// Whether the tier had no room for it.
    pub full: bool,
    /// Time that the step took.
    pub took: Duration,
}

impl Carried {
    /// Returns what a controller is told of it. While trials are under way there may be something.
    pub fn moved(&self) -> Moved {
        Moved {
            bytes: self.left.0 + self.came.0,
            tried: self.tried.max(self.on_trial).0,
        }
    }
}

/// What a service is seen and moved by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// The service, for people.
    pub name: String,
    /// What its stalls are known from.
    pub stalls: StallSource,
    /// What the bytes written for it are known from.
    pub written: WriteSource,
    /// What counts its memory: the directory of its group; `None` if that is done by process.
    pub group: Option<String>,
    /// Whether the kernel's list of pages is asked once trials find nothing (`memory.reclaim`).
    pub kernel_list: bool,
}

/// A service that runs: what is seen of it, and what takes its DRAM and gives it back. It goes on
/// as it was found when this is dropped.
pub struct Service {
    name: String,
    members: Members,
    memory: Memory,
    pulse: Pulse,
    pages: Pages,
    stalls: Stalls,
    writes: Writes,
    machine: Machine,
    /// Has the kernel reclaim by its list.
    reclaim: Option<File>,
    began: Instant,
    last: Duration,
    listed: Vec<Member>,
    faults: FaultCounts,
    _hold: Hold,
}

impl Service {
    /// Opens a service of a machine.
    ///
    /// # Errors
    /// A usage error if there is no such service, or several; a failure if the machine has no swap
    /// area, another process controls the service, or a privilege is missing.
    pub fn open(target: &Target, machine: &Machine) -> Result<Self> {
        let mounts = Mounts::find()?;
        let found = target.find(&mounts)?;
        Self::of(found.name, found.scope, &mounts, machine, Measuring::Shared)
    }

    /// Opens the service of a scope.
    pub(crate) fn of(
        name: String,
        scope: Scope,
        mounts: &Mounts,
        machine: &Machine,
        measuring: Measuring,
    ) -> Result<Self> {
        privilege::require()?;
        if active().is_empty() {
            return Err(Error::failure(
                "this machine has no swap area, so no memory can leave DRAM; switch one on \
                 (mkswap and swapon), have terraced-tier make one, or start the program by \
                 terrace size, which makes one",
            ));
        }
        let hold = Hold::take(&name, &scope, mounts)?;
        let memory = match (&scope, mounts.memory()) {
            (Scope::Group { group, .. }, Some((mount, version)))
                if group.starts_with(mount.top()) =>
            {
                Memory::of_group(group.clone(), version)
            }
            _ => Memory::Processes,
        };
        let members = Members::of(scope);
        let listed = members.list();
        if listed.is_empty() {
            return Err(Error::usage(format!("{name} has no processes")));
        }
        let mut faults = FaultCounts::default();
        faults.begin(&listed);
        let mut stalls = Stalls::of(memory.group(), &members, machine, measuring)?;
        stalls.since(&listed, 0)?;
        let held = memory.held(&listed, Bytes::default);
        Ok(Self {
            pulse: Pulse::of(memory.group()),
            reclaim: memory.group().and_then(reclaimer),
            writes: Writes::of(memory.group(), &held),
            name,
            members,
            memory,
            pages: Pages::new(),
            stalls,
            machine: machine.clone(),
            began: Instant::now(),
            last: Duration::ZERO,
            listed,
            faults,
            _hold: hold,
        })
    }

    /// Returns what it is seen and moved by.
    pub fn about(&self) -> About {
        let group = self.memory.group();
        About {
            name: self.name.clone(),
            stalls: self.stalls.source(),
            written: self.writes.source(),
            group: group.map(|(group, _)| group.display().to_string()),
            kernel_list: self.reclaim.is_some(),
        }
    }

    /// Whether nothing has happened to it since this was asked last, as far as a glance tells: it
    /// takes some microseconds, and does not see changes of less than 256 KiB a CPU. False for a
    /// service without a group that counts its memory.
    pub fn is_as_before(&mut self) -> bool {
        self.pulse.is_same()
    }

    /// Returns what is seen of it since the look before; `None` when all its processes have ended.
    ///
    /// What cannot be read counts as zero.
    ///
    /// # Errors
    /// A failure if waits have to be measured from now on and cannot be.
    pub fn look(&mut self) -> Result<Option<Seen>> {
        self.listed = self.members.list();
        if self.listed.is_empty() {
            return Ok(None);
        }
        let before = self.faults.major_faults();
        self.faults.add(&self.listed);
        let major_faults = self.faults.major_faults() - before;
        self.pages
            .of(self.listed.iter().map(|it| (it.pid, it.figures.started)));
        let held = self.held();
        let time = self.began.elapsed();
        let passed = time.saturating_sub(std::mem::replace(&mut self.last, time));
        let stalled = self.stalls.since(&self.listed, major_faults)?;
        let stalled = stalled.min(passed);
        Ok(Some(Seen {
            time,
            resident: held.resident.0,
            swapped: held.swapped.0,
            stalled,
            written: self.writes.since(&held).0,
            short: self.machine.is_short(stalled),
        }))
    }

    /// Carries out a step.
    ///
    /// # Errors
    /// A failure if a privilege is missing.
    pub fn carry_out(&mut self, step: Step) -> Result<Carried> {
        let began = Instant::now();
        let carried = match step {
            Step::Hold => Carried::default(),
            Step::Reclaim(bytes) => self.reclaim(Bytes(bytes))?,
            Step::GiveBack(bytes) => {
                let came = self
                    .pages
                    .give_back(Bytes(bytes).pages(), self.began.elapsed())?;
                Carried {
                    came: Bytes::of_pages(came),
                    ..Carried::default()
                }
            }
        };
        Ok(Carried {
            took: began.elapsed(),
            ..carried
        })
    }

    fn reclaim(&mut self, bytes: Bytes) -> Result<Carried> {
        let areas = active();
        let free: u64 = areas
            .iter()
            .map(|it| it.size.0.saturating_sub(it.used.0))
            .sum();
        let room = Bytes(bytes.0.min(free));
        if room.pages() == 0 {
            return Ok(Carried {
                full: true,
                ..Carried::default()
            });
        }
        let (swap, held) = (SwapCounters::read(), self.held());
        let moved = self.pages.take(room.pages(), self.began.elapsed())?;
        let mut left = Bytes::of_pages(moved.pages);
        let mut named = moved.pages + moved.tried;
        if moved == Default::default()
            && let Some(file) = &self.reclaim
        {
            let begun = Instant::now();
            // It fails if it finds less than that.
            let _ = file.write_all_at(room.0.to_string().as_bytes(), 0);
            self.machine.reclaimed_for(begun.elapsed());
            left = Bytes(held.resident.0.saturating_sub(self.held().resident.0));
            named = left.pages();
        }
        let after = self.held();
        let swaps = [swap, SwapCounters::read()];
        self.writes.step(named, swaps, [&held, &after]);
        Ok(Carried {
            left,
            tried: Bytes::of_pages(moved.tried),
            on_trial: Bytes::of_pages(self.pages.tried()),
            full: room < bytes,
            ..Carried::default()
        })
    }

    fn held(&mut self) -> Held {
        let pages = &mut self.pages;
        self.memory.held(&self.listed, || pages.on_trial())
    }

    /// Returns what is known of its pages, by address, in at most so many parts.
    pub fn heat(&self, most: usize) -> Heat {
        self.pages.heat(most)
    }

    /// Returns what was passed over, as far as it was looked at.
    pub fn passed(&self) -> Passed {
        self.pages.passed()
    }

    /// Returns the memory that its processes have locked (mlock(2)).
    pub fn locked(&self) -> Bytes {
        Bytes(self.listed.iter().map(|it| locked(it.pid).0).sum())
    }

    /// Returns its major faults since it was opened, as far as they were counted before a process
    /// ended.
    pub fn major_faults(&self) -> u64 {
        self.faults.major_faults()
    }

    /// Returns the events of faults that were lost, if waits are measured.
    pub fn lost(&self) -> u64 {
        self.stalls.lost()
    }

    /// Fetches back what its steps have made leave and is still in the tier, while the machine has
    /// room; returns how much that was.
    ///
    /// # Errors
    /// Those of [`Service::carry_out`].
    pub fn restore(&mut self) -> Result<Bytes> {
        let mut came = Bytes(0);
        loop {
            let away = self.pages.away().min(RESTORE.pages());
            if away == 0 || Machine::has_little() {
                return Ok(came);
            }
            let step = Step::GiveBack(Bytes::of_pages(away).0);
            let carried = self.carry_out(step)?;
            came.0 += carried.came.0;
            // What is known as away was touched, or is of processes that have ended.
            if carried.came == Bytes(0) && self.pages.away() >= away {
                return Ok(came);
            }
        }
    }

    /// Lets the service go, and returns the waits at its faults if they were measured.
    pub fn finish(self) -> Option<Measured> {
        self.stalls.finish(self.faults.faults())
    }
}

/// Opens the file by which the kernel is asked to reclaim of a group.
fn reclaimer((group, version): (&Path, Version)) -> Option<File> {
    let file = group.join("memory.reclaim");
    (version == Version::V2 && fs::metadata(&file).is_ok()).then_some(())?;
    File::options().write(true).open(file).ok()
}
