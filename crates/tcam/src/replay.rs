//! Replays updates of a table, and tells what they did to the chip.

use std::net::IpAddr;

use terrace_base::{Error, Nanos, Result};

use crate::count::Counts;
use crate::flushes::Spacing;
use crate::functional::Functional;
use crate::length::Length;
use crate::lifetime::{Lifetime, Load};
use crate::policy::Sum;
use crate::route::Route;
use crate::router::{Queue, Router};
use crate::sample::Sample;
use crate::settings::Settings;
use crate::times;
use crate::update::Update;

/// What is replayed, beside table and updates.
#[derive(Debug)]
pub struct Replay {
    /// The chip.
    pub settings: Settings,
    /// What is written.
    pub policy: Sum,
    /// Times of updates that have none.
    pub times: times::Model,
    /// The span of those times.
    pub span: Nanos,
    /// Part of the updates after which a lookup is compared with the golden copy, 0 to 1.
    pub checked: f64,
    /// Writes of a block that flash endures.
    pub endurance: f64,
}

/// What happened to a prefix length.
#[derive(Clone, Copy, Debug)]
pub struct OfLength {
    /// The length.
    pub length: Length,
    /// Routes in flash when the table was loaded, and the blocks that they took.
    pub loaded: (u64, u64),
    /// Valid rows of flash at the end, and the blocks that they are in.
    pub left: (u64, u64),
    /// What was done.
    pub counts: Counts,
    /// The fewest flash writes of any policy.
    pub bound: u64,
}

/// What was found.
#[derive(Debug)]
pub struct Outcome {
    /// Routes of the loaded table.
    pub loaded: u64,
    /// Routes at the end.
    pub left: u64,
    /// Time of the updates: the span of a model, or until the last one.
    pub elapsed: Nanos,
    /// Whether a model made the times.
    pub times_made: bool,
    /// Lengths that had a route or an update.
    pub lengths: Vec<OfLength>,
    /// All of them together.
    pub counts: Counts,
    /// The fewest flash writes of any policy.
    pub bound: u64,
    /// How flushes followed one another.
    pub spacing: Spacing,
    /// The most shadow blocks that were in use at one time beside the first of each length.
    pub buffers: u32,
    /// Prefix lengths that an address of the table's families can have, from /1 on: each has a
    /// shadow block.
    pub shadow_lengths: u32,
    /// Updates that waited.
    pub queue: Queue,
    /// Erases and programmings of the most worn block, and of a block in the mean.
    pub worn: (f64, f64),
    /// Blocks that levelling moved.
    pub moved_blocks: u64,
    /// Lifetimes.
    pub lifetime: Lifetime,
    /// Lookups that were compared with the golden copy, all of them the same.
    pub checked: u64,
}

impl Replay {
    /// Loads the table and carries out the updates; `progress` is told how many were, now and then.
    ///
    /// # Errors
    /// Returns a usage error if a setting is wrong or the table does not fit, and a failure if the
    /// flash has no row for a route or an answer is wrong.
    pub fn run(
        self,
        table: &[Route],
        updates: &[Update],
        mut progress: impl FnMut(u64),
    ) -> Result<Outcome> {
        let seed = self.settings.seed;
        let (times_made, times) = times::timed(updates, self.times, self.span, seed);
        let elapsed = match times_made {
            true => self.span,
            false => times.last().copied().unwrap_or_default(),
        };
        let chip = Functional::with_capacity(table.len());
        let mut router = Router::load(chip, self.settings, self.policy, table.iter().copied())?;
        let loaded = router.golden().len() as u64;
        let occupied: Vec<(u64, u64)> = Length::all()
            .map(|length| router.occupied(length))
            .collect();
        let mut sample = Sample::new(self.checked, seed);
        let mut checked = 0;
        for (index, (update, at)) in (0..).zip(updates.iter().zip(times)) {
            if index % 65_536 == 0 {
                progress(index);
            }
            router.update(at, update.change)?;
            if let Some(address) = sample.draw(update.change.prefix()) {
                right(&router, address)?;
                checked += 1;
            }
        }
        router.finish()?;
        let lengths = of_lengths(&router, &occupied);
        Ok(Outcome::of(
            &router,
            loaded,
            elapsed,
            times_made,
            lengths,
            checked,
            self.endurance,
        ))
    }
}

/// Returns the lengths that had a route or an update.
fn of_lengths(router: &Router<Functional>, loaded: &[(u64, u64)]) -> Vec<OfLength> {
    let all = Length::all().zip(loaded).map(|(length, loaded)| OfLength {
        length,
        loaded: *loaded,
        left: router.occupied(length),
        counts: router.counts(length),
        bound: router.bound().of(length),
    });
    all.filter(|of| of.loaded.0 > 0 || of.counts != Counts::default())
        .collect()
}

impl Outcome {
    fn of(
        router: &Router<Functional>,
        loaded: u64,
        elapsed: Nanos,
        times_made: bool,
        lengths: Vec<OfLength>,
        checked: u64,
        endurance: f64,
    ) -> Self {
        let counts: Counts = lengths.iter().map(|of| of.counts).sum();
        let worn = router.worn();
        let settings = router.settings();
        let load = Load {
            free_blocks: f64::from(settings.blocks) - loaded as f64 / f64::from(settings.rows),
            entries: counts.flushed,
            most: lengths
                .iter()
                .map(|of| of.counts.flushed)
                .max()
                .unwrap_or(0),
            elapsed,
        };
        let mut families: Vec<_> = lengths.iter().map(|of| of.length.family).collect();
        families.dedup();
        Self {
            loaded,
            left: router.golden().len() as u64,
            elapsed,
            times_made,
            counts,
            bound: router.bound().entries(),
            spacing: Spacing::of(router.flushed()),
            buffers: router.buffers_peak(),
            shadow_lengths: families.iter().map(|family| u32::from(family.bits())).sum(),
            queue: router.queue(),
            worn: (worn.most(), worn.mean()),
            moved_blocks: router.moved_blocks(),
            lifetime: Lifetime::of(load, &worn, endurance),
            checked,
            lengths,
        }
    }

    /// Returns the part of the announcements that were not written to flash.
    pub fn filtered(&self) -> f64 {
        let announced = self.counts.announcements.max(1) as f64;
        1.0 - self.counts.flushed as f64 / announced
    }
}

fn right(router: &Router<Functional>, address: IpAddr) -> Result<()> {
    let (answer, golden) = (router.lookup(address), router.golden().lookup(address));
    match answer == golden {
        true => Ok(()),
        false => Err(Error::failure(format!(
            "the TCAM answers {answer:?} for {address}, and the table says {golden:?}"
        ))),
    }
}
