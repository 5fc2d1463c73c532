//! What a fleet needs of the machine: services that are looked at and moved.

use std::path::Path;

use terrace_base::error::Kind;
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

/// A service that was opened, or none, or why there is none.
pub type Opened = Result<Option<Box<dyn Service>>, String>;

/// Opens services.
pub trait Machine: Send {
    /// Opens the service that a control group is; `None` if it has no process.
    ///
    /// # Errors
    /// A sentence, if it cannot be controlled.
    fn open(&mut self, group: &Path) -> Opened;
}

/// This machine.
pub struct Live;

impl Machine for Live {
    fn open(&mut self, group: &Path) -> Opened {
        let target = Target::Cgroup(group.to_owned());
        match control::Service::open(&target) {
            Ok(service) => Ok(Some(Box::new(service))),
            // The group has no process, or is gone.
            Err(e) if e.kind == Kind::Usage => Ok(None),
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
        if carried.full && carried.left.0 == 0 {
            return Err("the tier is full; make it larger, or take targets out".into());
        }
        Ok(match step {
            Step::Reclaim(_) => carried.left.0,
            Step::GiveBack(_) => carried.came.0,
            Step::Hold => 0,
        })
    }
}
