//! Policies that spare the flash: which announcements are written at all, and which rows of a full
//! shadow block stay in shadow.
//!
//! A policy has no clock and does no I/O. It cannot make an answer wrong: the router keeps what the
//! golden copy says in exactly one valid row, whatever a policy decides. To add one: copy
//! [`coalesce`], and name it in [`REGISTRY`].

pub mod coalesce;
pub mod damping;
pub mod lazy;
mod make;
mod registry;
mod sum;
pub mod thesis;
pub mod unchanged;

pub use make::{Entry, Made, Make, Spec};
pub use registry::REGISTRY;
pub use sum::Sum;

use terrace_base::Nanos;

use crate::route::{Port, Route};
use crate::update::Change;

/// An announcement, with what the table and the flash have of its prefix.
#[derive(Clone, Copy, Debug)]
pub struct Announced {
    /// The announced route.
    pub route: Route,
    /// The port in the table; `None` if the prefix is not in it.
    pub before: Option<Port>,
    /// The port in an invalid row of a flash block that still holds the prefix; only for policies
    /// that [revive](UpdatePolicy::revives) rows.
    pub invalid: Option<Port>,
}

/// What happens to an announcement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Admission {
    /// It is written to a shadow block.
    #[default]
    Write,
    /// Nothing is written, as the table says the same already.
    Skip,
    /// The invalid row of a flash block becomes valid again.
    Revive,
}

/// A route in a row of a shadow block.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The route.
    pub route: Route,
    /// Number of the update that wrote it; later ones have larger numbers.
    pub order: u64,
}

/// Decides what is written to flash, and when.
pub trait UpdatePolicy: Send {
    /// Observes a change of a prefix that was in the table with port `before`, or not in the table.
    fn observe(&mut self, _at: Nanos, _change: Change, _before: Option<Port>) {}

    /// Decides about an announcement. [`Admission::Skip`] is allowed only if `before` is its port,
    /// and [`Admission::Revive`] only if `invalid` is.
    fn admit(&self, _announced: Announced) -> Admission {
        Admission::Write
    }

    /// Marks rows of a full shadow block that should stay in shadow; those marked by other policies
    /// are.
    fn keep(&mut self, _now: Nanos, _rows: &[Held], _stays: &mut [bool]) {}

    /// Whether it wants to know of invalid rows that still hold an announced prefix.
    fn revives(&self) -> bool {
        false
    }
}
