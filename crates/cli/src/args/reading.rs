//! Options that say how traces are read.

use std::marker::PhantomData;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use terrace_sim::Simulation;
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
struct Places {
    /// The traces' format, where nothing else tells
    #[arg(long, value_name = "FORMAT", value_parser = format::READ, hide_short_help = true)]
    format: Option<Format>,

    #[command(flatten)]
    table: Table,
}

/// What addresses are, where they can be names of objects.
#[derive(Args, Clone)]
struct Objects {
    /// Take addresses for the names of objects
    ///
    /// Of keys of a cache, say. An object is a unit: one page, whatever its size; where requests
    /// for files are simulated it has as many pages as its size needs. Without --keys, addresses
    /// are places in memory, and objects of formats that have them have pages by their sizes.
    #[arg(long, hide_short_help = true)]
    keys: bool,
}

/// How traces are read by a simulation, where that does not show in them.
pub struct Reading<S> {
    places: Places,
    /// Pages of an object, if addresses are names of objects.
    objects: Option<Extent>,
    simulation: PhantomData<S>,
}

impl<S> Reading<S> {
    /// Returns how traces are read.
    pub fn how(&self) -> Read {
        Read {
            format: self.places.format,
            layout: self.places.table.columns.clone(),
            objects: self.objects,
            ..Read::default()
        }
    }
}

impl<S: Simulation> Args for Reading<S> {
    fn augment_args(command: Command) -> Command {
        let command = Places::augment_args(command);
        match S::OBJECTS {
            Some(_) => Objects::augment_args(command),
            None => command,
        }
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Simulation> FromArgMatches for Reading<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let objects = match S::OBJECTS {
            Some(extent) if Objects::from_arg_matches(matches)?.keys => Some(extent),
            _ => None,
        };
        Ok(Self {
            places: Places::from_arg_matches(matches)?,
            objects,
            simulation: PhantomData,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
