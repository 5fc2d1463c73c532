//! Decides whether the kernel's own readahead pays.
//!
//! Linux reads swap in blocks (`vm.page-cluster`), which pays if neighbours in the swap area are
//! needed together, and costs otherwise (Fedorov 2016, 5.4.1: turning it off gained up to 6 %). The
//! kernel counts the pages that it reads ahead, and how many of these are used, so the effect can
//! be measured, in the same costs as the worth of fetches. While readahead pays, the faults that it
//! predicts are left to it.

use crate::prefetch::Costs;

/// Ways of the kernel to serve a fault from swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readahead {
    /// The machine's own setting.
    Kernel,
    /// Only the faulted page is read.
    Off,
}

/// Chooses between the two ways, epoch by epoch.
#[derive(Clone, Debug)]
pub struct Chooser {
    current: Readahead,
    /// Epochs until readahead is tried again.
    left: u32,
    /// Epochs without readahead the next time that it is turned off.
    pause: u32,
}

/// Pages read ahead in an epoch that are enough to judge by.
const ENOUGH: u64 = 64;
/// Epochs without readahead before it is tried again: initially, and at most.
const PAUSE: (u32, u32) = (8, 256);

impl Default for Chooser {
    fn default() -> Self {
        Self {
            current: Readahead::Kernel,
            left: 0,
            pause: PAUSE.0,
        }
    }
}

impl Chooser {
    /// Returns the way in force.
    pub fn current(&self) -> Readahead {
        self.current
    }

    /// Tries the machine's setting again at once, because pages are no longer fetched ahead.
    pub fn retry(&mut self) {
        self.current = Readahead::Kernel;
    }

    /// Ends an epoch in which the kernel read `read` pages ahead and `hits` pages read ahead were
    /// used, at these costs; returns the way for the next epoch.
    pub fn epoch(&mut self, read: u64, hits: u64, costs: &Costs) -> Readahead {
        match self.current {
            Readahead::Kernel if read >= ENOUGH => {
                if !costs.readahead_pays(read, hits) {
                    self.current = Readahead::Off;
                    self.left = self.pause;
                    self.pause = (self.pause * 2).min(PAUSE.1);
                } else {
                    self.pause = PAUSE.0;
                }
            }
            Readahead::Kernel => {}
            Readahead::Off => {
                self.left -= 1;
                if self.left == 0 {
                    self.current = Readahead::Kernel;
                }
            }
        }
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `epochs` epochs with `read` pages read ahead and `hits` hits in each that has
    /// readahead; returns the number of epochs without.
    fn run(chooser: &mut Chooser, epochs: usize, read: u64, hits: u64) -> usize {
        (0..epochs)
            .filter(|_| {
                let off = chooser.current() == Readahead::Off;
                chooser.epoch(
                    if off { 0 } else { read },
                    if off { 0 } else { hits },
                    &Costs::DISK,
                );
                off
            })
            .count()
    }

    #[test]
    fn readahead_that_is_used_is_left_alone() {
        assert_eq!(run(&mut Chooser::default(), 1000, 1000, 300), 0);
    }

    #[test]
    fn too_little_of_it_tells_nothing() {
        assert_eq!(run(&mut Chooser::default(), 1000, 60, 0), 0);
    }

    #[test]
    fn useless_readahead_is_turned_off_and_seldom_tried_again() {
        let off = run(&mut Chooser::default(), 1000, 1000, 20);
        assert!(off > 985, "{off} of 1000 epochs without readahead");
    }

    #[test]
    fn what_is_tried_again_is_judged_again() {
        let mut chooser = Chooser::default();
        run(&mut chooser, 10, 1000, 20);
        assert_eq!(chooser.current(), Readahead::Off);
        chooser.retry();
        assert_eq!(chooser.current(), Readahead::Kernel);
        assert_eq!(run(&mut chooser, 10, 1000, 300), 0);
    }

    #[test]
    fn a_phase_that_turns_is_noticed_within_the_longest_pause() {
        let mut chooser = Chooser::default();
        run(&mut chooser, 1000, 1000, 20);
        let off = run(&mut chooser, 600, 1000, 900);
        assert!(off <= PAUSE.1 as usize, "{off} epochs without readahead");
        assert_eq!(chooser.current(), Readahead::Kernel);
    }
}
