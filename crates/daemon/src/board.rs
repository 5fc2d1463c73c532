//! The last events, on which others wait.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use terrace_base::lock;

use crate::protocol::{Event, Events};

/// Events that are kept.
const KEPT: usize = 2000;

/// Events in one answer.
const ANSWERED: usize = 500;

/// The last events.
#[derive(Default)]
pub struct Board {
    events: Mutex<(u64, VecDeque<Event>)>,
    new: Condvar,
}

impl Board {
    /// Puts an event up, which gets the next number.
    pub fn put(&self, mut event: Event) {
        let mut events = lock(&self.events);
        events.0 += 1;
        event.number = events.0;
        if events.1.len() == KEPT {
            events.1.pop_front();
        }
        events.1.push_back(event);
        self.new.notify_all();
    }

    /// Returns the events behind a number; waits so long for the first. A number of the future is
    /// one of a daemon before this: then all are returned.
    pub fn after(&self, after: u64, wait: Duration) -> Events {
        let events = lock(&self.events);
        let after = if after > events.0 { 0 } else { after };
        let is_old = |events: &mut (u64, VecDeque<Event>)| events.0 <= after;
        let waited = self.new.wait_timeout_while(events, wait, is_old);
        let (events, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        let first = events.1.front().map_or(events.0 + 1, |event| event.number);
        let found = events.1.iter().filter(|event| event.number > after);
        let found: Vec<Event> = found.take(ANSWERED).cloned().collect();
        Events {
            next: found.last().map_or(after, |event| event.number),
            events: found,
            lost: first.saturating_sub(after + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Instant;

    use super::*;
    use crate::protocol::Kind;

    fn event() -> Event {
        Event {
            number: 0,
            time_ms: 0,
            target: None,
            kind: Kind::Daemon,
            bytes: 0,
            text: String::new(),
        }
    }

    #[test]
    fn each_event_is_read_once_and_what_is_lost_is_counted() {
        let board = Board::default();
        let none = board.after(0, Duration::ZERO);
        assert_eq!((none.events.len(), none.next, none.lost), (0, 0, 0));
        for _ in 0..KEPT + 10 {
            board.put(event());
        }
        let (mut next, mut read, mut lost) = (0, Vec::new(), 0);
        loop {
            let events = board.after(next, Duration::ZERO);
            if events.events.is_empty() {
                break;
            }
            lost += events.lost;
            next = events.next;
            read.extend(events.events.iter().map(|event| event.number));
        }
        assert_eq!(read, (11..=KEPT as u64 + 10).collect::<Vec<_>>());
        assert_eq!(lost, 10);
        let again = board.after(1_000_000, Duration::ZERO);
        assert_eq!(again.events[0].number, 11, "of a daemon before this");
    }

    #[test]
    fn who_waits_is_woken() {
        let board = Arc::new(Board::default());
        let other = Arc::clone(&board);
        let put = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            other.put(event());
        });
        let begin = Instant::now();
        let events = board.after(0, Duration::from_secs(30));
        assert_eq!(events.next, 1);
        assert!(begin.elapsed() < Duration::from_secs(20));
        put.join().unwrap();
    }
}
