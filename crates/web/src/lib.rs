//! Metrics and a page of `terraced`, served by a process without privileges.
//!
//! - [`source`]: asks the daemon, and keeps what it said of the last hour.
//! - [`history`], [`point`], [`curve`]: what that was, and how much each target stood still at
//!   which DRAM.
//! - [`metrics`]: the same for Prometheus.
//! - [`server`]: both over HTTP, where nothing can be changed.

pub mod curve;
pub mod history;
pub mod metrics;
pub mod point;
pub mod server;
pub mod source;
