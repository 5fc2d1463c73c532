//! Options that say how traces are read.

use clap::Args;
use terrace_trace::objects::Extent;
use terrace_trace::{Format, Layout, Reading as Read};

use super::format;

/// What the columns of tables hold, where their first line does not say.
#[derive(Args, Clone)]
pub struct Table {
    /// What the columns of CSV hold: time=1,object=2,size=3,op=4, or a known layout: msr
    ///
    /// A column has a number, or a name of the first line. `terrace explain csv` lists what columns
    /// may hold, and the known layouts: libcachesim, msr, twitter, meta.
    #[arg(long, value_name = "NAME|ROLE=COLUMN,...", value_parser = Layout::parse,
          hide_short_help = true)]
    pub columns: Option<Layout>,
}

/// How traces are read by a command that takes addresses for places in any case.
#[derive(Args, Clone)]
pub struct Places {
    /// The traces' format, where nothing else tells
    #[arg(long, value_name = "FORMAT", value_parser = format::READ, hide_short_help = true)]
    format: Option<Format>,

    #[command(flatten)]
    table: Table,
}

impl Places {
    /// Returns how traces are read.
    pub fn reading(&self) -> Read {
        Read {
            format: self.format,
            layout: self.table.columns.clone(),
            ..Read::default()
        }
    }
}

/// How traces are read, where that does not show in them.
#[derive(Args, Clone)]
pub struct Reading {
    #[command(flatten)]
    places: Places,

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
            objects: self.keys.then_some(extent),
            ..self.places.reading()
        }
    }
}
