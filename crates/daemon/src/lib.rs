//! Memory targets for services that run, kept by a daemon, `terraced`.
//!
//! - [`configuration`]: what `/etc/terrace/*.toml` asks for.
//! - [`protocol`]: what the daemon and those who ask it say to each other.
//! - [`targets`]: finding targets among the control groups, again after restarts.

pub mod configuration;
pub mod protocol;
pub mod targets;
