//! The budget of writes of a tier, shared among the services that use it.
//!
//! A memory that wears out and should live for years may be written so many bytes a day. What comes
//! in is divided evenly among the services. Each holds what comes in for it within a burst; what a
//! service with a full share does not need goes to a common part, on which everyone can draw. So no
//! service can spend what another will need, and what nobody uses is not lost before a burst is
//! full.

use std::time::Duration;

/// Nanoseconds of a day: amounts are bytes by this, so that all sums are exact.
const DAY: i128 = 86_400_000_000_000;

/// What a budget holds, to be kept while its driver does not run: in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Of each service, in the order of the budget; negative if it owes.
    pub shares: Vec<i64>,
    /// The common part.
    pub common: i64,
}

/// The budget.
#[derive(Clone, Debug)]
pub struct Budget {
    a_day: i128,
    burst: i128,
    shares: Vec<i128>,
    common: i128,
    at: i128,
}

impl Budget {
    /// Makes a full budget for so many services, which holds what comes in within `burst`.
    pub fn new(bytes_a_day: u64, burst: Duration, services: usize) -> Self {
        let mut budget = Self {
            a_day: i128::from(bytes_a_day),
            burst: nanos(burst),
            shares: vec![0; services],
            common: 0,
            at: 0,
        };
        let full = budget.full_share();
        budget.shares.fill(full);
        budget
    }

    /// What a share holds when it is full, and the common part as well.
    fn full_share(&self) -> i128 {
        self.a_day * self.burst / (self.shares.len() as i128).max(1)
    }

    /// Lets come in what comes in until `time`.
    pub fn pass(&mut self, time: Duration) {
        let now = nanos(time).max(self.at);
        let income = (now - self.at) * self.a_day;
        self.at = now;
        let services = self.shares.len() as i128;
        if services == 0 {
            return;
        }
        let (each, full) = (income / services, self.full_share());
        let mut over = income - each * services;
        for share in &mut self.shares {
            let room = full - *share;
            *share += each.min(room);
            over += (each - room).max(0);
        }
        self.common = (self.common + over).min(full);
    }

    /// Returns the bytes that a service may write now.
    pub fn allowance(&self, service: usize) -> u64 {
        let held = self.shares[service] + self.common;
        (held.max(0) / DAY) as u64
    }

    /// Takes bytes that were written for a service, from its share, and beyond that from the common
    /// part. What neither holds, the service owes.
    pub fn wrote(&mut self, service: usize, bytes: u64) {
        let bytes = i128::from(bytes) * DAY;
        let own = bytes.min(self.shares[service].max(0));
        let common = (bytes - own).min(self.common.max(0));
        self.common -= common;
        self.shares[service] -= bytes - common;
    }

    /// Returns what it holds.
    pub fn levels(&self) -> Levels {
        let bytes = |held: &i128| (*held).div_euclid(DAY) as i64;
        Levels {
            shares: self.shares.iter().map(bytes).collect(),
            common: bytes(&self.common),
        }
    }

    /// Holds what was kept, as far as it fits. Services beyond those that were kept stay full.
    pub fn restore(&mut self, levels: &Levels) {
        let full = self.full_share();
        let held = |bytes: i64| (i128::from(bytes) * DAY).min(full);
        for (share, bytes) in self.shares.iter_mut().zip(&levels.shares) {
            *share = held(*bytes);
        }
        self.common = held(levels.common).max(0);
    }
}

fn nanos(time: Duration) -> i128 {
    time.as_nanos().min(u128::from(u64::MAX)) as i128
}
