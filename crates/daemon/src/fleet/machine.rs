//! What a fleet needs of the machine: services that are looked at and moved.

use std::path::Path;
use std::thread;

use terrace_base::error::Kind;
use terrace_live::control::{self, Heat};
use terrace_live::group::kills::Kills;
use terrace_live::group::target::Target;
use terrace_policy::control::{Moved, Seen, Step};

/// A service that runs.
pub trait Service: Send {
    /// Returns what is seen of it since the look before; `None` if it has no process.
    ///
    /// # Errors
    /// A sentence, if it cannot be looked at.
    fn look(&mut self) -> Result<Option<Seen>, String>;

    /// Whether nothing has happened to it since this was asked last, as far as a glance tells.
    fn is_as_before(&mut self) -> bool;

    /// Carries out a step, and returns what it came to.
    ///
    /// # Errors
    /// A sentence, if it cannot be done.
    fn carry_out(&mut self, step: Step) -> Result<Moved, String>;

    /// Returns what was counted of it since this was asked last.
    fn counted(&mut self) -> Counted;

    /// Returns what is known of its pages in at most so many parts.
    fn heat(&mut self, most: usize) -> Heat;
}

/// What is counted of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Major faults of its processes.
    pub major_faults: u64,
    /// Processes of its group that the kernel has killed for want of memory.
    pub oom_kills: u64,
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
#[derive(Default)]
pub struct Live(control::Machine);

impl Machine for Live {
    fn open(&mut self, group: &Path) -> Opened {
        let target = Target::Cgroup(group.to_owned());
        match control::Service::open(&target, &self.0) {
            Ok(service) => Ok(Some(Box::new(Kept {
                service: Some(service),
                // One that has ended meanwhile is noticed at the next look.
                kills: Kills::of(&target).unwrap_or(None),
                major_faults: 0,
            }))),
            // The group has no process, or is gone.
            Err(e) if e.kind == Kind::Usage => Ok(None),
            Err(e) => Err(e.to_string()),
        }
    }
}

/// A service of this machine. To let one go can take long, as threads of it have to end: nobody
/// waits for that.
struct Kept {
    service: Option<control::Service>,
    kills: Option<Kills>,
    /// The sum when it was asked for last.
    major_faults: u64,
}

impl Kept {
    fn service(&mut self) -> &mut control::Service {
        let service = self.service.as_mut();
        service.expect("it is there until it is dropped")
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let service = self.service.take();
        let thread = thread::Builder::new().name("terraced-leave".into());
        // Without a thread it is let go here.
        let _ = thread.stack_size(128 << 10).spawn(move || drop(service));
    }
}

impl Service for Kept {
    fn look(&mut self) -> Result<Option<Seen>, String> {
        self.service().look().map_err(|e| e.to_string())
    }

    fn is_as_before(&mut self) -> bool {
        self.service().is_as_before()
    }

    fn carry_out(&mut self, step: Step) -> Result<Moved, String> {
        let carried = self.service().carry_out(step);
        let carried = carried.map_err(|e| e.to_string())?;
        if carried.full && carried.left.0 == 0 {
            return Err("the tier is full; make it larger, or take targets out".into());
        }
        Ok(carried.moved())
    }

    fn counted(&mut self) -> Counted {
        let sum = self.service().major_faults().max(self.major_faults);
        let before = std::mem::replace(&mut self.major_faults, sum);
        Counted {
            major_faults: sum - before,
            oom_kills: self.kills.as_mut().map_or(0, Kills::since),
        }
    }

    fn heat(&mut self, most: usize) -> Heat {
        self.service().heat(most)
    }
}
