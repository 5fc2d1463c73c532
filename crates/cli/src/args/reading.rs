//! Options that say how traces are read.

use clap::Args;
use terrace_trace::objects::Extent;
use terrace_trace::{Format, Reading as Read};

use super::format;

/// How traces are read, where that does not show in them.
#[derive(Args, Clone)]
pub struct Reading {
    /// The traces' format, where nothing else tells
    #[arg(long, value_name = "FORMAT", value_parser = format::READ, hide_short_help = true)]
    format: Option<Format>,

    /// Take addresses for the names of objects
    ///
    /// Of keys of a cache, say. An object is a unit: one page, whatever its size; where requests
    /// for files are simulated it has as many pages as its size needs. Without --keys, addresses
    /// are places in memory, and objects of formats that have them have pages by their sizes.
    #[arg(long, hide_short_help = true)]
    keys: bool,
}

impl Reading {
    /// Returns how traces are read by a command for which an object is a unit.
    pub fn units(&self) -> Read {
        self.with(Extent::Unit)
    }

    /// Returns how traces are read by a command that serves objects of any size.
    pub fn objects(&self) -> Read {
        self.with(Extent::Sized)
    }

    fn with(&self, extent: Extent) -> Read {
        Read {
            format: self.format,
            objects: self.keys.then_some(extent),
        }
    }
}
