//! Reads the events of faults from the kernel's rings, and puts them together.

use std::time::Duration;

use terrace_base::Result;

use super::faults::{Event, Fault, Faults};
use crate::system::clock;
use crate::watch::faults::{FaultStream, Loss, Whose};

/// Events are put together when they are as old as this: by then each is in its ring.
const AGE: Duration = Duration::from_millis(1);

/// The events of the faults of programs.
pub(super) struct Reader {
    /// Of beginnings, and of the ends of major and minor faults.
    streams: [FaultStream; 3],
    faults: Faults,
    /// Events before this time are known to be all there.
    until: Duration,
}

impl Reader {
    /// Has the kernel begin with the events.
    ///
    /// # Errors
    /// A failure if it has none, or the privilege is missing.
    pub fn open(of: &Whose) -> Result<Self> {
        Ok(Self {
            streams: FaultStream::open_all(of)?,
            faults: Faults::default(),
            until: Duration::ZERO,
        })
    }

    /// Takes what is in the rings, if it `ends` after it has switched the events off. Returns the
    /// number of events.
    pub fn gather(&mut self, ends: bool) -> usize {
        self.until = match ends {
            true => Duration::MAX,
            false => clock::now().saturating_sub(AGE),
        };
        let events = [Event::Begin, Event::Major, Event::Minor];
        let mut count = 0;
        for (stream, event) in self.streams.iter_mut().zip(events) {
            let mut deliver = |time, fault| {
                count += 1;
                self.faults.add(time, event, fault);
            };
            match ends {
                true => stream.end(&mut deliver),
                false => drop(stream.drain(&mut deliver)),
            }
        }
        count
    }

    /// Returns when events found a ring full, as far as that was last told.
    pub fn losses(&self) -> impl Iterator<Item = &Loss> {
        self.streams.iter().flat_map(FaultStream::losses)
    }

    /// Reports the faults that have ended, by the events that were taken.
    pub fn report(&mut self, report: impl FnMut(Fault)) {
        self.faults.match_until(self.until, report);
    }
}
