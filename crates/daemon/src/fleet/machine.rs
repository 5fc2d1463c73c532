//! What a fleet needs of the machine: services that are looked at and moved.

use std::path::Path;

use terrace_live::control;
use terrace_live::group::target::Target;
use terrace_policy::control::{Seen, Step};

/// A service that runs.
pub trait Service: Send {
    /// Returns what is seen of it since the look before; `None` if it has no process.
    ///
    /// # Errors
    /// A sentence, if it cannot be looked at.
    fn look(&mut self) -> Result<Option<Seen>, String>;

    /// Carries out a step, and returns the bytes that moved.
    ///
    /// # Errors
    /// A sentence, if it cannot be done.
    fn carry_out(&mut self, step: Step) -> Result<u64, String>;
}

/// Opens services.
pub trait Machine: Send {
    /// Opens the service that a control group is.
    ///
    /// # Errors
    /// A sentence, if it cannot be controlled.
    fn open(&mut self, group: &Path) -> Result<Box<dyn Service>, String>;
}

/// This machine.
pub struct Live;

impl Machine for Live {
    fn open(&mut self, group: &Path) -> Result<Box<dyn Service>, String> {
        let target = Target::Cgroup(group.to_owned());
        match control::Service::open(&target) {
            Ok(service) => Ok(Box::new(service)),
            Err(e) => Err(e.to_string()),
        }
    }
}

impl Service for control::Service {
    fn look(&mut self) -> Result<Option<Seen>, String> {
        Self::look(self).map_err(|e| e.to_string())
    }

    fn carry_out(&mut self, step: Step) -> Result<u64, String> {
        let carried = Self::carry_out(self, step).map_err(|e| e.to_string())?;
        Ok(match step {
            Step::Reclaim(_) => carried.left.0,
            Step::GiveBack(_) => carried.came.0,
            Step::Hold => 0,
        })
    }
}
