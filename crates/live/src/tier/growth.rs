//! A tier that grows with its use, for programs of unknown footprint.
//!
//! Each area is as large as all before it together, and is made when 3/8 of those are used: when half
//! of the swap is used the kernel drops copies that it could keep. Making an area and switching it on
//! took 7 ms for 1 GiB and 60 ms for 16 GiB (ext4, idle and beside 3 GB/s of writes), and a program
//! that swaps 2 GB/s takes 0.3 s to fill the rest of the first.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use terrace_base::{Bytes, Result};

use super::area::{Area, SMALLEST};
use super::identity::Identity;
use super::{file, swaps};
use crate::worker::Task;

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

/// The thread that makes areas; ends when dropped.
#[derive(Debug)]
pub(super) struct Growth(Task);

impl Growth {
    /// Watches the first of `areas`, which is on, and makes the others as needed.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(areas: &[(Area, Identity)]) -> Result<Self> {
        let areas = areas.to_owned();
        Task::start("terrace-growth", move |over| grow(&areas, over)).map(Self)
    }

    /// Returns the reason why it grows no more, once.
    pub fn problem(&self) -> Option<String> {
        let problem = self.0.problem()?;
        Some(format!(
            "the tier cannot grow: {problem}; the run goes on with it"
        ))
    }
}

fn grow(areas: &[(Area, Identity)], over: &AtomicBool) -> Result<()> {
    let mut made = 1;
    while let Some((next, identity)) = areas.get(made) {
        thread::park_timeout(LOOK_EVERY);
        if over.load(Ordering::Relaxed) {
            return Ok(());
        }
        if is_short(&areas[..made]) {
            let area = fitting(next)?;
            area.make(identity.uuid)?;
            area.switch_on()?;
            made += 1;
        }
    }
    Ok(())
}

/// Whether 3/8 of these areas are used.
fn is_short(areas: &[(Area, Identity)]) -> bool {
    let swaps = areas
        .iter()
        .filter_map(|(area, _)| swaps::find(&area.path()));
    let (used, size) = swaps.fold((0, 0), |(used, size), swap| {
        (used + swap.used.0, size + swap.size.0)
    });
    size > 0 && used / 3 >= size / 8
}

/// Returns the area at a size that leaves a quarter of the free disk to others.
fn fitting(area: &Area) -> Result<Area> {
    let Area::File(path, size) = area else {
        return Ok(area.clone());
    };
    let free = file::room(path.parent().unwrap_or(path))?;
    let size = Bytes((free.0 / 4 * 3).min(size.0).max(SMALLEST.0));
    Ok(Area::File(path.clone(), size))
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
    fn an_area_that_is_not_on_is_not_short() {
        let area = Area::File("/no/such.swap".into(), FIRST);
        assert!(!is_short(&[(area, Identity::fresh())]));
    }
}
