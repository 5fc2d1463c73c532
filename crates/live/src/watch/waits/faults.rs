//! Faults, put together of the events of their beginnings and ends.

use std::time::Duration;

use rustc_hash::FxHashMap;
use terrace_policy::{Page, Space, Thread};

/// Time of a minor fault from which on it is one that waited.
const LONG: Duration = Duration::from_micros(20);
/// Threads whose faults have begun and not ended, at most: those that were killed meanwhile are
/// among them.
const MOST_BEGUN: usize = 1 << 16;

/// What happens to a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    Begin,
    Major,
    Minor,
}

/// A fault that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Whose it is.
    pub space: Space,
    /// When it began, by [`crate::system::clock::now`].
    pub began: Duration,
    /// Time that it took.
    pub took: Duration,
    /// Whether it was major.
    pub is_major: bool,
}

impl Fault {
    /// Whether the program waited for something.
    pub fn has_waited(&self) -> bool {
        self.is_major || self.took >= LONG
    }
}

/// Faults with known events.
#[derive(Default)]
pub(super) struct Faults {
    /// Events that are not matched yet.
    events: Vec<(Duration, Event, terrace_policy::Fault)>,
    /// Faults that have begun.
    begun: FxHashMap<Thread, (Duration, Page)>,
}

impl Faults {
    /// Adds an event, in any order.
    pub fn add(&mut self, time: Duration, event: Event, fault: terrace_policy::Fault) {
        self.events.push((time, event, fault));
    }

    /// Takes the events before `until` in their order, and reports the faults that they tell.
    pub fn match_until(&mut self, until: Duration, mut report: impl FnMut(Fault)) {
        self.events.sort_by_key(|(time, event, ..)| (*time, *event));
        let early = self.events.partition_point(|(time, ..)| *time < until);
        for (time, event, fault) in self.events.drain(..early) {
            let (thread, page) = (fault.thread, fault.at.page);
            if event == Event::Begin {
                if self.begun.len() >= MOST_BEGUN {
                    self.begun.clear();
                }
                self.begun.insert(thread, (time, page));
                continue;
            }
            // An end without its beginning: the fault had begun before all this, or the kernel
            // touched the page for another process.
            let Some((began, of)) = self.begun.remove(&thread) else {
                continue;
            };
            if of == page {
                report(Fault {
                    space: fault.at.space,
                    began,
                    took: time.saturating_sub(began),
                    is_major: event == Event::Major,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use terrace_base::bytes::PAGE_BYTES;

    use super::*;

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn a_beginning_and_an_end_are_a_fault() {
        let mut faults = Faults::default();
        let mut told = Vec::new();
        let (one, two) = (Thread(1), Thread(2));
        let add = |faults: &mut Faults, time, event, thread, page: Page| {
            let fault = terrace_policy::Fault::new(thread, Space(9), page.0 * PAGE_BYTES);
            faults.add(time, event, fault);
        };
        let all = |fault: Fault| (fault.began, fault.took, fault.is_major, fault.has_waited());
        // In the order of the rings, not of time.
        add(&mut faults, US * 170, Event::Major, one, Page(5));
        add(&mut faults, US * 100, Event::Begin, one, Page(5));
        add(&mut faults, US * 101, Event::Begin, two, Page(5));
        add(&mut faults, US * 104, Event::Minor, two, Page(5));
        add(&mut faults, US * 110, Event::Begin, two, Page(6));
        add(&mut faults, US * 150, Event::Minor, two, Page(6));
        // The next fault of a thread, whose end is not in its ring yet.
        add(&mut faults, US * 180, Event::Begin, one, Page(7));
        faults.match_until(US * 175, |fault| told.push(all(fault)));
        assert_eq!(
            told,
            [
                (US * 101, US * 3, false, false),
                (US * 110, US * 40, false, true),
                (US * 100, US * 70, true, true)
            ]
        );
        told.clear();
        add(&mut faults, US * 190, Event::Major, one, Page(7));
        add(&mut faults, US * 195, Event::Major, one, Page(7));
        add(&mut faults, US * 196, Event::Begin, two, Page(8));
        add(&mut faults, US * 199, Event::Major, two, Page(9));
        faults.match_until(Duration::MAX, |fault| told.push(all(fault)));
        assert_eq!(
            told,
            [(US * 180, US * 10, true, true)],
            "no end without its own beginning"
        );
    }
}
