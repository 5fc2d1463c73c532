//! Memory targets for services that run, kept by a daemon, `terraced`.
//!
//! - [`configuration`]: what `/etc/terrace/*.toml` asks for.
//! - [`fleet`]: a controller a target, and the budget that all share.
//! - [`protocol`]: what the daemon and those who ask it say to each other.
//! - [`targets`]: finding targets among the control groups, again after restarts.

pub mod configuration;
pub mod fleet;
pub mod protocol;
pub mod targets;
