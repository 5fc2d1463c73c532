//! Services that run, as control policies (`terrace_policy::control`) see and move them.
//!
//! A [`Service`] is looked at ([`Service::look`]), and carries out what a policy answers
//! ([`Service::carry_out`]). Nothing of the service is changed: it keeps its groups and its limits,
//! and what it touches comes back by itself. So a driver that is killed leaves nothing behind.

mod service;

pub use service::{Carried, Service};
