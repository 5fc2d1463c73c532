//! The slower tier: one or several swap areas to which the kernel moves pages.

pub mod balance;

pub(crate) mod area;
mod bound;
mod demotion;
mod device;
mod file;
mod free_zram;
mod growth;
pub(crate) mod holders;
pub(crate) mod identity;
mod loop_device;
mod lower;
pub(crate) mod neighbours;
mod presence;
mod room;
mod share;
mod spec;
pub(crate) mod swapoff;
pub(crate) mod swaps;
pub(crate) mod zram;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use terrace_base::block::Header;
use terrace_base::block::swaps::{Swap, active};
use terrace_base::memory::meminfo;
use terrace_base::{Bytes, Error, Result, lock};
use terrace_policy::prefetch::Costs;
use uuid::Uuid;

use crate::group::swapped::SwapCounter;
use crate::journal::Journal;
use crate::machine::pool::Pool;
use crate::system::lock::Say;
use crate::watch::written;

use area::Made;
pub use area::{Area, SMALLEST};
pub use bound::{Bound, Demand};
use demotion::Demotion;
pub use file::free_space;
use growth::Growth;
pub use identity::{Identity, Node};
use lower::Lower;
use presence::Presence;
pub use share::Shares;
pub use spec::{Choice, Spec};
use swapoff::missing;
pub(crate) use swaps::NEGLIGIBLE;
pub use zram::Moved;

/// Prefixes of block devices that are memory: compressed, persistent, or RAM disks.
const MEMORY_DEVICES: [&str; 3] = ["/dev/zram", "/dev/pmem", "/dev/ram"];

/// Costs of fetches on compressed memory, measured on Linux 6.18: a fault decompresses the page
/// itself, as does a fetch, on another processor.
pub(crate) const MEMORY_COSTS: Costs = Costs {
    demand: Duration::from_micros(10),
    first_use: Duration::from_nanos(2_600),
    fetch: Duration::from_micros(8),
    redundant: Duration::from_micros(8),
};

/// Swap areas in use; removed when dropped.
#[derive(Debug, Default)]
pub struct Tier {
    // Dropped before the areas are removed, so that nothing grows then.
    growth: Option<Growth>,
    demotion: Option<Demotion>,
    /// Areas of the run, including those still to be made; empty for the machine's own swap.
    areas: Vec<(Area, Identity)>,
    /// Swap type of the first area, if there is one.
    kind: Option<u64>,
    /// The disk below the first area. Removed after the areas.
    lower: Option<Lower>,
    /// The size that all of it may have; `None` for the machine's own swap.
    bound: Option<Bound>,
    /// Whether a notice has said that others have filled it up.
    told_of_others: AtomicBool,
    /// Which of the run's own areas have been on.
    presence: Mutex<Presence>,
}

/// What a tier of compressed memory did during a run, for the whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compressed {
    /// Its pool when that took most DRAM (sampled), all of it beyond the program's budget: the
    /// kernel charges it to nobody.
    pub peak: Pool,
    /// Pages to the disk below it and back; `None` if there is none.
    pub moved: Option<Moved>,
}

/// What is said of a tier that is prepared.
#[derive(Clone, Copy, Debug)]
pub enum Remark<'a> {
    /// A sentence about it.
    Notice(&'a str),
    /// What is destroyed; shown even if quiet output was asked for.
    Warning(&'a str),
}

impl Tier {
    /// Prepares a tier of the size that `demand` asks for; if that is unknown, the tier grows with
    /// the use of the program, up to a bound. `observer` hears what is destroyed, and
    /// that a bound is tight.
    ///
    /// # Errors
    /// A usage error if the tier cannot be what was asked for; otherwise a failure.
    pub fn prepare(
        spec: &Spec,
        demand: &Demand,
        journal: &mut Journal,
        observer: &mut dyn FnMut(Remark),
    ) -> Result<Self> {
        let say = &mut |text: &str| observer(Remark::Warning(text));
        if !Path::new("/proc/swaps").exists() {
            return Err(Error::failure(
                "this kernel has no swap (CONFIG_SWAP is off); boot one that has",
            ));
        }
        let tier = match spec {
            Spec::Existing if demand.allowed.is_some() => Err(Error::usage(
                "‘tier’ existing is the machine's own swap, whose size is the administrator's; leave ‘tier-size’ out",
            )),
            Spec::Existing => existing(),
            Spec::Node(_) => spec.require_swap().map(|()| Self::default()),
            Spec::Directory(directory) => {
                let (areas, bound) = files(directory, demand, journal)?;
                Ok(Self::begin(areas, journal, Area::make)?.bounded(bound))
            }
            Spec::Device { path, force } => {
                let claim = device::claim(path, demand.least(), *force)?;
                let bound = demand.on_device(claim.size())?;
                device::warn(&claim, say);
                let area = Area::Device(claim.path.clone());
                let make = move |_: &Area, uuid| claim.prepare(uuid, Some(bound.size()));
                Ok(Self::begin(vec![area], journal, make)?.bounded(bound))
            }
            Spec::Zram => {
                let bound = demand.in_memory()?;
                let (number, added) = free_zram::take(bound.size(), journal)?;
                let area = Area::Zram(number, bound.size(), added);
                let tier = Self::begin(vec![area], journal, Area::make).inspect_err(|_| {
                    let _ = zram::remove(number, added);
                });
                Ok(tier?.bounded(bound))
            }
            Spec::TwoLevels(disk) => Self::two_levels(disk, demand, journal, say),
        }?;
        if let Some(notice) = tier.bound.and_then(|bound| bound.notice(demand.wanted)) {
            observer(Remark::Notice(&notice));
        }
        Ok(tier)
    }

    fn bounded(mut self, bound: Bound) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Makes a zram device above a file or device. The device goes first if anything fails, because
    /// it uses what is below.
    fn two_levels(
        disk: &Spec,
        demand: &Demand,
        journal: &mut Journal,
        say: &mut dyn FnMut(&str),
    ) -> Result<Self> {
        let bound = demand.in_memory()?;
        let mut lower = Lower::plan(disk, demand, journal)?;
        // Before the device above it, which is undone first.
        lower.note(journal)?;
        let (number, added) = free_zram::take(bound.size(), journal)?;
        let give_back = |_: &Error| {
            let _ = zram::remove(number, added);
        };
        zram::require_writeback(number).inspect_err(give_back)?;
        let upper = Area::Zram(number, bound.size(), added);
        let make = |upper: &Area, uuid| {
            lower.make(say)?;
            lower.put_below(number)?;
            upper.make(uuid)
        };
        let mut tier = Self::begin(vec![upper], journal, make)
            .inspect_err(give_back)?
            .bounded(bound);
        lower.note(journal)?;
        tier.lower = Some(lower);
        tier.demotion = Some(Demotion::start(number)?);
        Ok(tier)
    }

    /// Makes the first of these areas and switches it on. The others follow when they are needed;
    /// all are recorded in the journal first.
    fn begin(
        areas: Vec<Area>,
        journal: &mut Journal,
        make: impl FnOnce(&Area, Uuid) -> Result<()>,
    ) -> Result<Self> {
        let with_identity = areas.into_iter().map(|area| (area, Identity::fresh()));
        let mut areas: Vec<_> = with_identity.collect();
        for (area, identity) in &areas {
            journal.note(Made(area.clone(), identity.clone()))?;
        }
        let (first, identity) = &mut areas[0];
        // An area that could not be made was removed again, or never was ours.
        make(first, identity.uuid)?;
        *identity = identity.clone().located(&first.path())?;
        journal.note(Made(first.clone(), identity.clone()))?;
        let mut tier = Self::default();
        tier.areas = areas;
        tier.areas[0].0.switch_on()?;
        tier.kind = swaps::kind_of_new(&tier.areas[0].0.path());
        tier.presence = Mutex::new(Presence::of(tier.areas[0].0.path()));
        if tier.areas.len() > 1 {
            tier.growth = Some(Growth::start(&tier.areas)?);
        }
        Ok(tier)
    }

    /// Returns its largest size; `None` for the machine's own swap, which others use too.
    pub fn size(&self) -> Option<Bytes> {
        match self.areas.as_slice() {
            [] => None,
            [(one, _)] => Some(swaps::find(&one.path())?.size),
            all => {
                let sizes = all.iter().filter_map(|(area, _)| area.size());
                Some(Bytes(sizes.map(|size| size.0).sum()))
            }
        }
    }

    /// Returns the costs of fetches.
    pub fn costs(&self) -> Costs {
        let areas = match self.areas.first() {
            Some((area, _)) => vec![area.path()],
            None => active_areas(),
        };
        // Whether fetches from the lower of two levels pay is found out as it is for a disk.
        match areas.iter().all(|area| is_memory(area)) && self.lower.is_none() {
            true => MEMORY_COSTS,
            false => Costs::DISK,
        }
    }

    /// Returns the size that all of it may have, and why; `None` for the machine's own swap.
    pub fn bound(&self) -> Option<Bound> {
        self.bound
    }

    /// Grows with what this program has in swap from now on, if it grows; with nobody's for `None`.
    pub(crate) fn follow(&self, program: Option<SwapCounter>) {
        if let Some(growth) = &self.growth {
            growth.follow(program);
        }
    }

    /// Counts who has what in it: in the run's own areas, or in all where the tier is the machine's
    /// own swap.
    pub(crate) fn shares(&self, program: &SwapCounter) -> Shares {
        let is_ours = |path: &Path| self.areas.iter().any(|(area, _)| area.path() == path);
        Shares::count(program, || {
            let mut areas = active();
            if !self.areas.is_empty() {
                self.look(&areas);
            }
            areas.retain(|swap| self.areas.is_empty() || is_ours(&swap.path));
            areas
        })
    }

    /// Looks whether another program switches areas of the run off while some are still on, among
    /// `all` of the machine.
    fn look(&self, all: &[Swap]) {
        let missing = missing(all, meminfo("SwapTotal:"));
        let is_ours = |swap: &&Swap| self.areas.iter().any(|(area, _)| area.path() == swap.path);
        let own: Vec<_> = all.iter().filter(is_ours).cloned().collect();
        lock(&self.presence).look(&own, missing);
    }

    /// Returns the areas of the run that another program has switched off.
    pub(crate) fn switched_off(&self) -> Vec<PathBuf> {
        if !self.areas.is_empty() {
            self.look(&active());
        }
        lock(&self.presence).off().to_vec()
    }

    /// Returns a notice about the tier, whose shares are these, that was not returned before, if
    /// any.
    pub(crate) fn notice(&self, shares: &Shares) -> Option<String> {
        let growth = self.growth.as_ref().and_then(Growth::problem);
        growth
            .or_else(|| self.demotion.as_ref()?.problem())
            .or_else(|| lock(&self.presence).notice())
            .or_else(|| self.notice_of_others(shares))
    }

    /// Returns a notice if others have filled it up, once: it does not grow for them.
    fn notice_of_others(&self, shares: &Shares) -> Option<String> {
        let rest = self.size()?.0.saturating_sub(shares.size.0);
        let grows = rest >= SMALLEST.0 && growth::is_short(shares.own, shares.size);
        if !shares.is_crowded() || grows || self.told_of_others.swap(true, Ordering::Relaxed) {
            return None;
        }
        let is_ours = |path: &Path| self.areas.iter().any(|(area, _)| area.path() == path);
        let mut elsewhere = active().into_iter().filter(|swap| !is_ours(&swap.path));
        let outcome = match elsewhere.any(|swap| swap.used.0 + NEGLIGIBLE.0 < swap.size.0) {
            true => "what this program swaps now goes to other swap areas of the machine",
            false => {
                "this program can swap no more, and is killed when it needs more than its DRAM; end the others, \
                 or switch on a swap area for them (swapon)"
            }
        };
        Some(format!(
            "other programs have {} in the tier, which is full with that ({}) and does not grow for them: {outcome}",
            shares.others, shares.size
        ))
    }

    /// Returns what is in zram, and what went to the disk below it so far; `None` for another tier.
    pub(crate) fn state(&self) -> Option<zram::State> {
        match self.areas.first()? {
            (Area::Zram(number, ..), _) => Some(zram::State::read(*number)),
            _ => None,
        }
    }

    /// Returns the area whose contents are what was written to it: zram, without a disk below,
    /// whose idle pages would not be idle any more when they are read.
    pub(crate) fn told(&self) -> Option<written::Area> {
        match (self.areas.first()?, &self.lower) {
            ((area @ Area::Zram(..), _), None) => Some(written::Area {
                path: area.path(),
                kind: self.kind?,
            }),
            _ => None,
        }
    }

    /// Returns what zram did since `earlier`, with its largest pool meanwhile; `None` for another
    /// tier.
    pub(crate) fn compressed(&self, earlier: zram::State, peak: Pool) -> Option<Compressed> {
        let moved = self.state()?.since(earlier).moved;
        Some(Compressed {
            peak,
            moved: self.lower.as_ref().map(|_| moved),
        })
    }

    /// Describes its present state for people.
    pub fn description(&self) -> String {
        let Some((first, _)) = self.areas.first() else {
            let names = active_areas();
            let names: Vec<_> = names.iter().map(|a| a.display().to_string()).collect();
            return format!("existing swap ({})", names.join(", "));
        };
        if let Some(lower) = &self.lower {
            return format!("{first} in front of {lower}");
        }
        let reason = self.bound.and_then(|bound| bound.reason());
        let (Some(bound), true) = (self.bound, self.areas.len() > 1) else {
            return first.to_string() + &reason.map_or(String::new(), |why| format!(" ({why})"));
        };
        let on = self
            .areas
            .iter()
            .filter_map(|(area, _)| swaps::find(&area.path()));
        let now = Bytes(on.map(|swap| swap.size.0).sum());
        let place = first.path();
        let place = place.parent().unwrap_or(&place).display();
        format!("swap files of {now} in {place}, which may grow to {bound}")
    }

    /// Switches the areas off and removes them.
    ///
    /// # Errors
    /// A failure that names an area that stays on.
    pub(crate) fn remove(mut self, say: Say) -> Result<()> {
        self.take_back(say)
    }

    /// Removes the areas without pages of other programs, and leaves the others on.
    ///
    /// # Errors
    /// Same as for [`Self::remove`].
    pub(crate) fn remove_all_but_used(mut self, say: Say) -> Result<()> {
        self.growth = None;
        self.demotion = None;
        self.areas.retain(|(area, _)| area.used() <= NEGLIGIBLE);
        if self.areas.is_empty() {
            // What is in use is above it.
            self.lower.take().into_iter().for_each(Lower::leave);
        }
        self.take_back(say)
    }

    fn take_back(&mut self, say: Say) -> Result<()> {
        self.growth = None;
        self.demotion = None;
        let areas = std::mem::take(&mut self.areas);
        // Each is tried, even if another one failed.
        let removed = areas
            .iter()
            .rev()
            .map(|(area, identity)| area.remove(identity, false, say));
        let removed: Vec<_> = removed.collect();
        let removed: Result<()> = removed.into_iter().collect();
        match self.lower.take() {
            Some(lower) if removed.is_ok() => lower.remove(say),
            // What could not be switched off is above it.
            lower => {
                lower.into_iter().for_each(Lower::leave);
                removed
            }
        }
    }
}

impl Drop for Tier {
    fn drop(&mut self) {
        // An area that cannot be removed now stays in the journal for `terrace doctor --clean`.
        let _ = self.take_back(&mut |_| {});
    }
}

/// Whether a swap area is memory.
pub(crate) fn is_memory(area: &Path) -> bool {
    let name = area.to_string_lossy();
    MEMORY_DEVICES.iter().any(|device| name.starts_with(device))
}

/// Describes the swap areas in use.
pub fn active_areas() -> Vec<PathBuf> {
    active().into_iter().map(|swap| swap.path).collect()
}

/// Returns the machine's swap areas without those that other runs have made.
fn existing() -> Result<Tier> {
    let is_a_run_s = |path: &PathBuf| {
        let header = File::open(path).and_then(|file| Header::read(&file));
        header.is_ok_and(|header| header.is_some_and(|header| header.is_ours()))
    };
    let areas = active_areas();
    if areas.iter().any(|area| !is_a_run_s(area)) {
        return Ok(Tier::default());
    }
    let found = match areas.len() {
        0 => "the machine swaps to nothing",
        _ => "the machine swaps only to what other runs of terrace have made for themselves",
    };
    Err(Error::usage(format!(
        "{found}, so there is no existing tier; leave ‘tier’ out, or switch a swap area on (swapon)"
    )))
}

/// Returns the swap files of a run in `directory`, in the order in which they are made, and the
/// bound of their sizes.
fn files(directory: &Path, demand: &Demand, journal: &Journal) -> Result<(Vec<Area>, Bound)> {
    let (sizes, bound) = sizes(directory, demand)?;
    let file = |(size, number)| {
        let name = match number {
            1 => "swap".to_owned(),
            _ => format!("{number}.swap"),
        };
        Area::File(journal.path_for(directory, &name), size)
    };
    Ok((sizes.into_iter().zip(1..).map(file).collect(), bound))
}

/// Returns the sizes of the swap files in `directory`, in the order in which they are made, and
/// their bound: one of the size that is wanted, or those of a tier that grows.
fn sizes(directory: &Path, demand: &Demand) -> Result<(Vec<Bytes>, Bound)> {
    let bound = demand.on_disk(directory, file::room(directory)?)?;
    let sizes = match demand.wanted {
        Some(_) => vec![bound.size()],
        None => growth::plan(bound.size()),
    };
    Ok((sizes, bound))
}

#[cfg(test)]
mod tests;
