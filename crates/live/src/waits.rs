//! How long a program waits at its faults: median, 99th percentile and worst, over the run and over time.
//!
//! The kernel has an event for the beginning of each fault and one for its end, both with the thread and the time; the
//! difference is the wait. It tells only at the end whether a fault was major, so the beginnings of all faults are
//! sampled, and the ends of all, because a minor fault waits as well: for a page that is on its way already, or until
//! another page has left. A minor fault counts as a wait if it took 20 us or longer; one that finds its page takes less
//! than 5.
//!
//! Each event takes 0.6 us of the program's time, so each fault takes 1.2 us more, in every way of running it alike.
//! Nothing is measured unless that is asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hdrhistogram::Histogram;
use rustc_hash::FxHashMap;
use terrace_base::{Error, Result, lock};
use terrace_policy::{Page, Thread};

use crate::clock;
use crate::faults::{FaultStream, Whose};
use crate::worker::Worker;

/// Time of a minor fault from which on it is one that waited.
const LONG: Duration = Duration::from_micros(20);
/// Pause between two looks at the rings.
const PAUSE: Duration = Duration::from_millis(5);
/// Events are put together when they are as old as this: by then each is in its ring.
const AGE: Duration = Duration::from_millis(1);
/// Threads whose faults have begun and not ended, at most: those that were killed meanwhile are among them.
const MOST_BEGUN: usize = 1 << 16;
/// Moments of a timeline at most, and the length of the first.
const MOMENTS: usize = 64;
const MOMENT: Duration = Duration::from_millis(100);
/// The least and the longest wait that are told apart, in nanoseconds, and the digits of a quantile.
const BOUNDS: (u64, u64) = (128, 3_600_000_000_000);
const DIGITS: u8 = 2;

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

/// The waits from one time to another, since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// From this time on.
    pub from: Duration,
    /// Up to this time.
    pub to: Duration,
    /// What is known of them.
    pub waits: Figures,
}

/// All that was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The waits since the phase began.
    pub all: Figures,
    /// The waits over time, since the start.
    pub timeline: Vec<Moment>,
    /// Faults, begun or ended, that found a ring full: their waits are not known.
    pub lost: u64,
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
    /// A failure if the kernel has no such events, the privilege is missing, or no thread can be started.
    pub fn measure(of: &Whose) -> Result<Self> {
        let streams = FaultStream::open_all(of)?;
        let record = Arc::new(Mutex::new(Record::new(clock::now())?));
        let kept = Arc::clone(&record);
        let thread = Worker::start("terrace-waits", move |stop| watch(streams, &kept, stop))?;
        Ok(Self {
            record,
            _thread: thread,
        })
    }

    /// Forgets the waits before now, but for those of the timeline.
    pub fn begin_phase(&self) {
        let mut record = lock(&self.record);
        record.all.clear();
        record.lost_before = record.lost;
    }

    /// Returns what is known of the waits since this was last called.
    pub fn take_recent(&self) -> Figures {
        let recent = &mut lock(&self.record).recent;
        let figures = recent.figures();
        recent.clear();
        figures
    }

    /// Stops, and returns what was measured.
    pub fn finish(self) -> Measured {
        drop(self._thread);
        let record = lock(&self.record);
        Measured {
            all: record.all.figures(),
            timeline: record.moments(),
            lost: record.lost - record.lost_before,
        }
    }
}

/// Reads the rings until `stop` is set, and all that is in them by then.
fn watch(mut streams: [FaultStream; 3], record: &Mutex<Record>, stop: &AtomicBool) {
    let mut faults = Faults::default();
    loop {
        let ends = stop.load(Ordering::Relaxed);
        let until = match ends {
            true => Duration::MAX,
            false => clock::now().saturating_sub(AGE),
        };
        for (stream, event) in streams
            .iter_mut()
            .zip([Event::Begin, Event::Major, Event::Minor])
        {
            stream.drain(|time, fault| faults.add(time, event, fault.thread, fault.at.page));
        }
        let mut record = lock(record);
        record.lost = streams.iter().map(FaultStream::lost).sum();
        faults.match_until(until, |wait| record.add(wait));
        drop(record);
        if ends {
            return;
        }
        std::thread::park_timeout(PAUSE);
    }
}

/// What happens to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin,
    Major,
    Minor,
}

/// A wait, and when it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    ended: Duration,
    took: Duration,
    is_major: bool,
}

/// Faults of which events are known.
#[derive(Default)]
struct Faults {
    /// Events that are not matched yet.
    events: Vec<(Duration, Event, Thread, Page)>,
    /// Faults that have begun.
    begun: FxHashMap<Thread, (Duration, Page)>,
}

impl Faults {
    fn add(&mut self, time: Duration, event: Event, thread: Thread, page: Page) {
        self.events.push((time, event, thread, page));
    }

    /// Takes the events before `until` in their order, and reports the waits that they tell.
    fn match_until(&mut self, until: Duration, mut report: impl FnMut(Wait)) {
        self.events.sort_by_key(|(time, event, ..)| (*time, *event));
        let early = self.events.partition_point(|(time, ..)| *time < until);
        for (time, event, thread, page) in self.events.drain(..early) {
            if event == Event::Begin {
                if self.begun.len() >= MOST_BEGUN {
                    self.begun.clear();
                }
                self.begun.insert(thread, (time, page));
                continue;
            }
            // An end without its beginning: the fault had begun before all this, or the kernel touched the page for
            // another process.
            let Some((began, of)) = self.begun.remove(&thread) else {
                continue;
            };
            let took = time.saturating_sub(began);
            let is_major = event == Event::Major;
            if of == page && (is_major || took >= LONG) {
                report(Wait {
                    ended: time,
                    took,
                    is_major,
                });
            }
        }
    }
}

/// Some waits.
#[derive(Clone)]
struct Distribution {
    histogram: Histogram<u32>,
    major: u64,
    total: Duration,
    worst: Duration,
}

impl Distribution {
    fn new() -> Result<Self> {
        let histogram = Histogram::new_with_bounds(BOUNDS.0, BOUNDS.1, DIGITS)
            .map_err(|error| Error::failure(format!("cannot count waits: {error}")))?;
        Ok(Self {
            histogram,
            major: 0,
            total: Duration::ZERO,
            worst: Duration::ZERO,
        })
    }

    fn add(&mut self, wait: Wait) {
        let nanos = u64::try_from(wait.took.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanos.max(1));
        self.major += u64::from(wait.is_major);
        self.total += wait.took;
        self.worst = self.worst.max(wait.took);
    }

    fn join(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
        self.major += other.major;
        self.total += other.total;
        self.worst = self.worst.max(other.worst);
    }

    fn clear(&mut self) {
        self.histogram.reset();
        (self.major, self.total, self.worst) = (0, Duration::ZERO, Duration::ZERO);
    }

    fn figures(&self) -> Figures {
        let quantile = |share| {
            let nanos = self.histogram.value_at_quantile(share);
            Duration::from_nanos(nanos).min(self.worst)
        };
        Figures {
            count: self.histogram.len(),
            major: self.major,
            total: self.total,
            median: quantile(0.5),
            p99: quantile(0.99),
            worst: self.worst,
        }
    }
}

/// The waits so far.
struct Record {
    began: Duration,
    all: Distribution,
    recent: Distribution,
    /// One after the other, each of this length.
    timeline: Vec<Distribution>,
    length: Duration,
    empty: Distribution,
    lost: u64,
    /// Those before the phase began.
    lost_before: u64,
}

impl Record {
    fn new(began: Duration) -> Result<Self> {
        let empty = Distribution::new()?;
        Ok(Self {
            began,
            all: empty.clone(),
            recent: empty.clone(),
            timeline: Vec::new(),
            length: MOMENT,
            empty,
            lost: 0,
            lost_before: 0,
        })
    }

    fn add(&mut self, wait: Wait) {
        self.all.add(wait);
        self.recent.add(wait);
        let elapsed = wait.ended.saturating_sub(self.began);
        let moment = |length: Duration| (elapsed.as_nanos() / length.as_nanos()) as usize;
        while moment(self.length) >= MOMENTS {
            self.lengthen();
        }
        let moment = moment(self.length);
        if self.timeline.len() <= moment {
            self.timeline.resize(moment + 1, self.empty.clone());
        }
        self.timeline[moment].add(wait);
    }

    /// Makes one moment of every two.
    fn lengthen(&mut self) {
        self.length *= 2;
        let joined = self.timeline.chunks(2).map(|pair| {
            let mut first = pair[0].clone();
            pair[1..].iter().for_each(|second| first.join(second));
            first
        });
        self.timeline = joined.collect();
    }

    /// Returns the moments with waits.
    fn moments(&self) -> Vec<Moment> {
        let all = self.timeline.iter().zip(0..);
        let moments = all.map(|(waits, index)| Moment {
            from: self.length * index,
            to: self.length * (index + 1),
            waits: waits.figures(),
        });
        moments.filter(|moment| moment.waits.count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    fn wait(millis: u64, micros: u32, is_major: bool) -> Wait {
        Wait {
            ended: Duration::from_millis(millis),
            took: US * micros,
            is_major,
        }
    }

    #[test]
    fn a_beginning_and_an_end_are_a_wait() {
        let mut faults = Faults::default();
        let mut told = Vec::new();
        let (one, two) = (Thread(1), Thread(2));
        // In the order of the rings, not of time.
        faults.add(US * 170, Event::Major, one, Page(5));
        faults.add(US * 100, Event::Begin, one, Page(5));
        faults.add(US * 101, Event::Begin, two, Page(5));
        faults.add(US * 104, Event::Minor, two, Page(5));
        faults.add(US * 110, Event::Begin, two, Page(6));
        faults.add(US * 150, Event::Minor, two, Page(6));
        // The next fault of a thread, whose end is not in its ring yet.
        faults.add(US * 180, Event::Begin, one, Page(7));
        faults.match_until(US * 175, |wait| {
            told.push((wait.ended, wait.took, wait.is_major))
        });
        assert_eq!(
            told,
            [(US * 150, US * 40, false), (US * 170, US * 70, true)]
        );
        told.clear();
        faults.add(US * 190, Event::Major, one, Page(7));
        faults.add(US * 195, Event::Major, one, Page(7));
        faults.add(US * 196, Event::Begin, two, Page(8));
        faults.add(US * 199, Event::Major, two, Page(9));
        faults.match_until(Duration::MAX, |wait| {
            told.push((wait.ended, wait.took, wait.is_major))
        });
        assert_eq!(
            told,
            [(US * 190, US * 10, true)],
            "no end without its own beginning"
        );
    }

    #[test]
    fn quantiles_are_those_of_the_waits() {
        let mut record = Record::new(Duration::ZERO).unwrap();
        for micros in 1..=1000 {
            record.add(wait(1, micros, micros % 2 == 0));
        }
        let all = record.all.figures();
        assert_eq!((all.count, all.major, all.worst), (1000, 500, US * 1000));
        let near = |found: Duration, micros: f64| {
            (found.as_secs_f64() / (micros * 1e-6) - 1.0).abs() < 0.02
        };
        assert!(near(all.median, 500.0), "{:?}", all.median);
        assert!(near(all.p99, 990.0), "{:?}", all.p99);
        assert_eq!(all.total, US * 500_500);
        assert_eq!(Record::new(US).unwrap().all.figures(), Figures::default());
    }

    #[test]
    fn a_long_run_has_few_moments_and_loses_no_wait() {
        let mut record = Record::new(Duration::from_millis(500)).unwrap();
        for second in 1..=3600 {
            record.add(wait(500 + 1000 * second, 60, true));
        }
        let moments = record.moments();
        assert!(moments.len() <= MOMENTS, "{}", moments.len());
        assert_eq!(moments.iter().map(|it| it.waits.count).sum::<u64>(), 3600);
        assert!(moments.windows(2).all(|pair| pair[0].to <= pair[1].from));
        assert_eq!(record.recent.figures().count, 3600);
    }
}
