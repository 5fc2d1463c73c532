//! Memory targets for services that run, kept by a daemon, `terraced`.
//!
//! - [`configuration`]: what `/etc/terrace/*.toml` asks for.
//! - [`targets`]: finding targets among the control groups, again after restarts.
//! - [`fleet`]: a controller a target, and the budget that all share.
//! - [`protocol`]: what the daemon and those who ask it say to each other.
//! - [`service`]: the daemon while it runs.
//! - [`tier`]: a tier for a machine without swap, held by a process of its own.

mod board;
pub mod configuration;
pub mod fleet;
mod hands;
mod log;
pub mod protocol;
pub mod service;
mod state;
pub mod targets;
pub mod tier;
