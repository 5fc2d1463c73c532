//! Control: how much DRAM a service keeps, step by step.
//!
//! A service that runs for weeks has memory that it hardly uses. A [`Control`] policy looks at it
//! at even times, and answers each look with one [`Step`]: some of its DRAM is reclaimed, or given
//! back, or nothing happens. A driver keeps no limit: what a service touches comes back by itself,
//! so a policy that ends, or is wrong, costs faults and never memory.
//!
//! A [`Controller`] is a policy with the rules that hold for all of them: nothing is taken from a
//! service while the machine is short of memory, and no more than a [`budget`] of writes pays for;
//! and where steps find nothing to reclaim, there are none for a while.
//! A driver reports each look to it, carries out its answer, and tells what that came to.
//!
//! To add a policy: copy [`senpai`], name it in [`REGISTRY`], and give it a slow twin in
//! `tests/control/slow.rs`.

pub mod budget;
mod controller;
pub mod fixed;
mod make;
mod reason;
mod registry;
mod search;
pub mod senpai;
pub mod slowdown;

use std::time::Duration;

pub use controller::{Controller, Decision, Decisions};
pub use make::{Entry, Made, Make, Spec};
pub use reason::Reason;
pub use registry::REGISTRY;

/// What a driver sees of a service at a look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Time since the driver began. A time before an earlier one counts as that one.
    pub time: Duration,
    /// Bytes of the service in DRAM.
    pub resident: u64,
    /// Bytes of the service in the tier.
    pub swapped: u64,
    /// Time since the look before in which the service stood still for memory: the kernel's
    /// pressure stall information («some» of its group), or the waits at faults divided by the
    /// threads that ran. More than the time that passed counts as that time.
    pub stalled: Duration,
    /// Bytes written to the tier for the service since the look before.
    pub written: u64,
    /// Whether the machine is short of memory by itself.
    pub short: bool,
}

/// What a driver does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// So many bytes leave DRAM, the coldest first.
    Reclaim(u64),
    /// So many bytes are fetched back from the tier, those that left last first.
    GiveBack(u64),
    /// Nothing.
    Hold,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes that left DRAM, or came back.
    pub bytes: u64,
    /// Bytes of which it will be known later whether they can leave.
    pub tried: u64,
}

/// Decides how much DRAM a service keeps.
pub trait Control: Send {
    /// Time between two looks.
    fn every(&self) -> Duration;

    /// Handles a look, and returns what happens next.
    fn look(&mut self, seen: &Seen) -> (Step, Reason);

    /// Notes how many bytes left DRAM by the step of the last look.
    fn reclaimed(&mut self, _bytes: u64) {}
}
