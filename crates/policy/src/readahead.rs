//! When the kernel's own readahead serves better than single-page faults.
//!
//! Linux reads swap in aligned blocks (`vm.page-cluster`): a gain where neighbours in the swap
//! area are wanted together, a loss elsewhere (Fedorov 2016, 5.4.1: turning it off won up to
//! 6 %). Which holds is a matter of the program and the moment, so it is measured: the two are
//! tried in turn, and the one under which the program gets more pages from the tier a second
//! is kept. The other is tried again now and then, more seldom each time it loses.

/// The two ways the kernel can answer a fault from swap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readahead {
    /// As the machine is set.
    Kernel,
    /// Only the page that faulted: critical page first.
    Off,
}

/// Chooses between the two by the pages served a second.
#[derive(Clone, Debug)]
pub struct Chooser {
    rates: [Option<f64>; 2],
    current: Readahead,
    best: Readahead,
    /// Epochs until the other is tried, and how many that was set to last.
    patience: (u32, u32),
}

/// Epochs that serve fewer pages than this tell nothing.
const MIN_SERVED: u64 = 48;
/// Weight of the newest epoch in a rate.
const NEWEST: f64 = 0.5;
/// The other way must be better by this factor to be preferred.
const MARGIN: f64 = 1.03;
/// Epochs between two trials: at first, and at most.
const PATIENCE: (u32, u32) = (8, 256);

impl Default for Chooser {
    fn default() -> Self {
        Self {
            rates: [None, None],
            current: Readahead::Kernel,
            best: Readahead::Kernel,
            patience: (1, PATIENCE.0),
        }
    }
}

impl Chooser {
    /// What is in force now.
    pub fn current(&self) -> Readahead {
        self.current
    }

    /// Ends an epoch that took `nanos` and in which `served` pages of the tier were used for
    /// the first time; answers what shall be in force in the next.
    pub fn epoch(&mut self, served: u64, nanos: u64) -> Readahead {
        if served < MIN_SERVED || nanos == 0 {
            return self.current;
        }
        self.learn(served as f64 / nanos as f64);
        if self.current != self.best {
            self.judge_trial();
        } else {
            self.patience.0 -= 1;
            if self.patience.0 == 0 {
                self.current = other(self.best);
            }
        }
        self.current
    }

    fn learn(&mut self, rate: f64) {
        let known = &mut self.rates[self.current as usize];
        *known = Some(known.map_or(rate, |old| old + (rate - old) * NEWEST));
    }

    /// One epoch of the other way has been measured.
    fn judge_trial(&mut self) {
        let [kernel, off] = self.rates;
        let (best, trial) = match self.best {
            Readahead::Kernel => (kernel, off),
            Readahead::Off => (off, kernel),
        };
        let better = trial.zip(best).is_some_and(|(t, b)| t > b * MARGIN);
        let last = if better {
            self.best = self.current;
            PATIENCE.0
        } else {
            (self.patience.1 * 2).min(PATIENCE.1)
        };
        self.patience = (last, last);
        self.current = self.best;
    }
}

fn other(way: Readahead) -> Readahead {
    match way {
        Readahead::Kernel => Readahead::Off,
        Readahead::Off => Readahead::Kernel,
    }
}
