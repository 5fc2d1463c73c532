//! A tier that grows with what the run's own program has in swap, for programs of unknown
//! footprint.
//!
//! Each area is as large as all before it together, and is made when the program has 3/8 of those
//! in swap: when half of the swap is used the kernel drops copies that it could keep. What others
//! put into the areas is no reason to grow. Making an area and switching it on took 7 ms for 1 GiB
//! and 60 ms for 16 GiB (ext4, idle and beside 3 GB/s of writes), and a program that swaps 2 GB/s
//! takes 0.3 s to fill the rest of the first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use terrace_base::{Bytes, Error, Result, lock};

use super::area::{Area, SMALLEST};
use super::identity::Identity;
use super::{file, swaps};
use crate::group::swapped::SwapCounter;
use crate::system::worker::Task;

/// Size of the first area.
const FIRST: Bytes = Bytes(1 << 30);
/// Interval at which the use is polled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Returns the sizes of the areas that hold `most` together, in the order in which they are made.
pub(super) fn plan(most: Bytes) -> Vec<Bytes> {
    let mut sizes = vec![most.min(FIRST)];
    let mut all = sizes[0];
    while most.0 - all.0 >= SMALLEST.0 {
        let next = Bytes(all.0.min(most.0 - all.0));
        all.0 += next.0;
        sizes.push(next);
    }
    sizes
}

/// The program whose use counts; none between two runs.
type Followed = Arc<Mutex<Option<SwapCounter>>>;

/// The thread that makes areas; ends when dropped.
#[derive(Debug)]
pub(super) struct Growth {
    task: Task,
    followed: Followed,
}

impl Growth {
    /// Takes the first of `areas`, which is on, and makes the others as needed.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(areas: &[(Area, Identity)]) -> Result<Self> {
        let areas = areas.to_owned();
        let followed = Followed::default();
        let theirs = Arc::clone(&followed);
        let task = Task::start("terrace-growth", move |over| grow(&areas, &theirs, over))?;
        Ok(Self { task, followed })
    }

    /// Grows with what this program has in swap from now on; with nobody's for `None`.
    pub fn follow(&self, program: Option<SwapCounter>) {
        *lock(&self.followed) = program;
    }

    /// Returns the reason why it grows no more, once.
    pub fn problem(&self) -> Option<String> {
        let problem = self.task.problem()?;
        Some(format!(
            "the tier cannot grow: {problem}; the run goes on with it"
        ))
    }
}

fn grow(areas: &[(Area, Identity)], followed: &Followed, over: &AtomicBool) -> Result<()> {
    let mut made = 1;
    while let Some((next, identity)) = areas.get(made) {
        thread::park_timeout(LOOK_EVERY);
        if over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let program = lock(followed).clone();
        let own = program.map_or(Bytes(0), |program| program.bytes());
        let size = size(&areas[..made]);
        if is_short(own, size) {
            let area = fitting(next, size)?;
            area.make(identity.uuid)?;
            area.switch_on()?;
            made += 1;
        }
    }
    Ok(())
}

/// Returns the size of those of the areas that are on.
fn size(areas: &[(Area, Identity)]) -> Bytes {
    let swaps = areas
        .iter()
        .filter_map(|(area, _)| swaps::find(&area.path()));
    Bytes(swaps.map(|swap| swap.size.0).sum())
}

/// Whether a program with `own` in swap needs more than areas of this size.
pub(super) fn is_short(own: Bytes, size: Bytes) -> bool {
    size > Bytes(0) && own.0 / 3 >= size.0 / 8
}

/// Returns the area at a size with which the tier, that has `made` so far, leaves half of the disk
/// to others.
///
/// # Errors
/// A failure if no area is left room for.
fn fitting(area: &Area, made: Bytes) -> Result<Area> {
    let Area::File(path, size) = area else {
        return Ok(area.clone());
    };
    let free = file::room(path.parent().unwrap_or(path))?;
    let size = left(made, free).min(*size);
    if size < SMALLEST {
        return Err(Error::failure(format!(
            "its disk has {free} free now, and half of the disk is left to others"
        )));
    }
    Ok(Area::File(path.clone(), size))
}

/// Returns by how much a tier that has `made` may grow on a disk with this much `free`: to half of
/// both.
fn left(made: Bytes, free: Bytes) -> Bytes {
    let half = made.0.saturating_add(free.0) / 2;
    Bytes(half.saturating_sub(made.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gib(sizes: &[Bytes]) -> Vec<f64> {
        let gib = |size: &Bytes| size.0 as f64 / f64::from(1 << 30);
        sizes.iter().map(gib).collect()
    }

    #[test]
    fn each_area_doubles_the_tier_up_to_the_most() {
        assert_eq!(
            gib(&plan(Bytes(48 << 30))),
            [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 16.0]
        );
        assert_eq!(gib(&plan(Bytes(1 << 30))), [1.0]);
        assert_eq!(gib(&plan(Bytes(3 << 29))), [1.0, 0.5]);
        assert_eq!(gib(&plan(SMALLEST)), [0.0625]);
        let enough = plan(Bytes((2 << 30) + SMALLEST.0 - 1));
        assert_eq!(gib(&enough), [1.0, 1.0], "the rest is not worth a file");
    }

    #[test]
    fn all_of_a_plan_is_what_was_asked_for() {
        for most in [1 << 30, 5 << 30, 77 << 30, 4 << 40] {
            let all: u64 = plan(Bytes(most)).iter().map(|size| size.0).sum();
            assert!(most - all < SMALLEST.0, "{all} of {most}");
        }
    }

    #[test]
    fn a_tier_grows_by_what_the_program_has_in_swap() {
        let mib = |mib: u64| Bytes(mib << 20);
        assert!(!is_short(mib(383), mib(1024)));
        assert!(is_short(mib(384), mib(1024)));
        assert!(!is_short(mib(384), mib(2048)));
        assert!(!is_short(mib(384), Bytes(0)), "no area is on");
    }

    #[test]
    fn half_of_the_disk_is_left_to_others_as_it_grows() {
        let gib = |gib: u64| Bytes(gib << 30);
        assert_eq!(left(gib(1), gib(9)), gib(4));
        assert_eq!(left(gib(4), gib(4)), Bytes(0));
        assert_eq!(left(gib(4), gib(1)), Bytes(0), "others have filled it");
    }
}
