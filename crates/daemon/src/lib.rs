//! Memory targets for services that run, kept by a daemon, `terraced`.
//!
//! - [`configuration`]: what `/etc/terrace/*.toml` asks for.

pub mod configuration;
