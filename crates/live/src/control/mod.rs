//! Services that run, as control policies (`terrace_policy::control`) see and move them.
//!
//! A [`Service`] is looked at ([`Service::look`]), and carries out what a policy answers
//! ([`Service::carry_out`]). Nothing of the service is changed: it keeps its groups and its limits,
//! and what it touches comes back by itself. So a driver that is killed leaves nothing behind.
//! [`size`] drives one service and keeps its curve.

mod chunk;
mod curve;
mod frames;
mod heat;
mod hold;
mod machine;
mod memory;
mod pages;
mod pressure;
mod pulse;
mod service;
mod set;
pub mod size;
mod stalls;
mod writes;

#[cfg(test)]
mod tests;

pub use curve::{Curve, Level, Look, Spread};
pub use heat::{Heat, Part};
pub use machine::Machine;
pub use pages::Passed;
pub use service::{About, Carried, Service};
pub use stalls::StallSource;
pub use writes::WriteSource;
