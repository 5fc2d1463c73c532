//! A service that runs: what is seen of it, and what takes its DRAM and gives it back.

use std::time::Duration;

use terrace_base::{Bytes, Error, Result};
use terrace_policy::control::{Seen, Step};

use crate::group::target::Target;

/// What a step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Memory that left DRAM.
    pub left: Bytes,
    /// Memory that came back.
    pub came: Bytes,
    /// Time that the step took.
    pub took: Duration,
}

/// A service that runs: what is seen of it, and what takes its DRAM and gives it back. It goes on
/// as it was found when this is dropped.
pub struct Service {}

impl Service {
    /// Opens a service.
    ///
    /// # Errors
    /// A usage error if there is no such service, or several; a failure if the machine has no swap
    /// area, or another process controls the service.
    pub fn open(_target: &Target) -> Result<Self> {
        Err(Error::failure("services are not controlled yet"))
    }

    /// Returns what is seen of it since the look before; `None` when all its processes have ended.
    ///
    /// # Errors
    /// A failure if the kernel's files cannot be read.
    pub fn look(&mut self) -> Result<Option<Seen>> {
        Ok(None)
    }

    /// Carries out a step.
    ///
    /// # Errors
    /// A failure if a privilege is missing.
    pub fn carry_out(&mut self, _step: Step) -> Result<Carried> {
        Ok(Carried::default())
    }
}
