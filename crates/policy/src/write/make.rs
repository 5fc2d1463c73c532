//! Constructors of write schemes, and their entries and specifications in the registry.

use super::Coder;
use crate::params::{ON_OFF, Params};
use crate::registry;

/// What lays pages down, or a message about one of its settings.
pub type MadeCoder = Result<Box<dyn Coder>, String>;

/// Constructor of a scheme.
#[derive(Clone, Copy)]
pub struct Make {
    /// Whether clean pages are not written.
    pub inclusive: bool,
    /// Nanoseconds that a page takes with default settings, for [`super::best`]: those of the
    /// slowest of the kinds of pages of `benches/write.rs`, whose medians on an otherwise idle AMD
    /// EPYC these are.
    pub nanos: u32,
    /// Makes what lays pages down, by its own settings.
    pub coder: &'static (dyn Fn(&mut Params) -> MadeCoder + Send + Sync),
}

/// A scheme in the registry.
pub type Entry = registry::Entry<Make>;

/// A scheme with its settings: `mfwr:words=2,pin=off`.
pub type Spec = registry::Spec<Make>;

/// What is written of pages that leave DRAM, and where to.
pub struct Scheme {
    /// Whether clean pages are not written, because the slow memory still holds them.
    pub inclusive: bool,
    /// Whether pages go back to the place that they had. Otherwise wear levelling chooses one.
    pub pinned: bool,
    /// Lays pages down.
    pub coder: Box<dyn Coder>,
}

impl Make {
    /// Makes a scheme.
    pub(super) fn scheme(&self, params: &mut Params) -> Result<Scheme, String> {
        let coder = (self.coder)(params)?;
        let pinned = params.take(
            "pin",
            "whether a page goes back to the place that it had, or to one that wear levelling chooses",
            true,
            ON_OFF,
        )?;
        Ok(Scheme {
            inclusive: self.inclusive,
            pinned,
            coder,
        })
    }
}

impl Spec {
    /// Makes the scheme.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn scheme(&self) -> Result<Scheme, String> {
        self.make(Make::scheme)
    }
}
