//! How long a program waits at its faults: median, 99th percentile and worst, over the run and over
//! time.
//!
//! The kernel has an event for the beginning of each fault and one for its end, both with the
//! thread and the time; the difference is the wait. It tells only at the end whether a fault was
//! major, so the beginnings of all faults are sampled, and the ends of all, because a minor fault
//! waits as well: for a page that is on its way already, or until another page has left. A minor
//! fault counts as a wait if it took 20 us or longer; one that finds its page takes less than 5.
//!
//! Each event takes 0.6 us of the program's time, so each fault takes 1.2 us more, in every way of
//! running it alike. Nothing is measured unless that is asked for.

mod faults;
mod reader;
mod record;
mod shared;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use terrace_base::{Result, lock};

use crate::system::clock;
use crate::system::worker::Worker;
use crate::watch::faults::Whose;
use reader::Reader;
use record::Record;
pub(crate) use shared::{Share, SharedWaits};

/// Pause between two looks at the rings.
const PAUSE: Duration = Duration::from_millis(5);

/// What is known of some waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Faults that waited.
    pub count: u64,
    /// Major faults among them.
    pub major: u64,
    /// All waits together; of several threads they add up.
    pub total: Duration,
    /// Half of them took no longer.
    pub median: Duration,
    /// 99 of 100 took no longer.
    pub p99: Duration,
    /// The longest.
    pub worst: Duration,
}

/// The waits whose faults began between two times, since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// From this time on.
    pub from: Duration,
    /// Up to this time.
    pub to: Duration,
    /// What is known of them.
    pub waits: Figures,
    /// Whether no event was lost meanwhile, so that they are all of them.
    pub is_whole: bool,
}

/// The waits that became known since they were last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recent {
    /// What is known of them.
    pub waits: Figures,
    /// Events that found a ring full; see [`Measured::lost`].
    pub lost: u64,
}

/// All that was measured, of faults that began in the phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The waits.
    pub all: Figures,
    /// Faults whose beginning and end are known, those that did not wait included.
    pub faults: u64,
    /// Faults by the kernel's count.
    pub of: u64,
    /// Events that found a ring full, because they came faster than they were read. A ring is of
    /// all programs on its CPU, so some may be of others.
    pub lost: u64,
    /// The waits over time.
    pub timeline: Vec<Moment>,
}

impl Measured {
    /// Returns the number of faults whose waits are not known because events were lost.
    ///
    /// Without losses it is 0, although the kernel counts a few faults without an event: those of
    /// its own, on behalf of the program.
    pub fn missing(&self) -> u64 {
        match self.lost {
            0 => 0,
            _ => self.of.saturating_sub(self.faults),
        }
    }
}

/// Measures the waits of a program; stops when dropped.
pub(crate) struct Waits {
    record: Arc<Mutex<Record>>,
    _thread: Worker,
}

impl Waits {
    /// Starts to measure.
    ///
    /// # Errors
    /// A failure if the kernel has no such events, the privilege is missing, or no thread can be
    /// started.
    pub fn measure(of: &Whose) -> Result<Self> {
        let reader = Reader::open(of)?;
        let record = Arc::new(Mutex::new(Record::new(clock::now())?));
        let kept = Arc::clone(&record);
        let thread = Worker::start("terrace-waits", move |stop| watch(reader, &kept, stop))?;
        Ok(Self {
            record,
            _thread: thread,
        })
    }

    /// Leaves out the faults that began before now.
    pub fn begin_phase(&self) {
        // Of what began later nothing is known yet: events are put together only when they are
        // older than this lock.
        let mut record = lock(&self.record);
        record.begin_phase(clock::now());
    }

    /// Returns what has become known of the waits since this was last called.
    pub fn take_recent(&self) -> Recent {
        lock(&self.record).take_recent()
    }

    /// Stops, and returns what was measured. `of` is the number of the program's faults in the
    /// phase, by the kernel's count.
    pub fn finish(self, of: u64) -> Measured {
        drop(self._thread);
        lock(&self.record).measured(of)
    }
}

/// Reads the rings until `stop` is set, and all that is in them by then.
fn watch(mut reader: Reader, record: &Mutex<Record>, stop: &AtomicBool) {
    loop {
        let ends = stop.load(Ordering::Relaxed);
        reader.gather(ends);
        let mut record = lock(record);
        reader.losses().for_each(|loss| record.lose(*loss));
        reader.report(|fault| record.add(fault));
        drop(record);
        if ends {
            return;
        }
        std::thread::park_timeout(PAUSE);
    }
}
