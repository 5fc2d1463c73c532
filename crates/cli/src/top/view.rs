//! What `terrace top` shows: the last answer of the daemon, and what it said before.

use std::collections::{BTreeMap, VecDeque};

use terrace_base::Result;
use terrace_daemon::protocol::{Client, Event, Events, Status};

/// Answers that are kept for the line of each target: four minutes.
const POINTS: usize = 240;
/// Events that are kept.
const EVENTS: usize = 1000;

/// The state of the screen.
#[derive(Default)]
pub struct View {
    /// How the targets fare.
    pub status: Status,
    /// DRAM of each target at the last answers, the oldest first.
    pub drams: BTreeMap<String, VecDeque<u64>>,
    /// What has happened, the newest first.
    pub events: VecDeque<Event>,
    /// Newest events that are scrolled away.
    pub skipped: usize,
    /// Number of the last event, of the daemon that was started then.
    next: u64,
}

impl View {
    /// Asks the daemon.
    ///
    /// # Errors
    /// A failure if it does not answer.
    pub fn ask(&mut self, client: &mut Client) -> Result<()> {
        let (status, events) = (client.status()?, client.events(self.next, 0)?);
        self.add(status, events);
        Ok(())
    }

    /// Adds an answer.
    pub fn add(&mut self, status: Status, events: Events) {
        self.next = events.next;
        let before = self.events.len();
        for event in events.events {
            self.events.push_front(event);
        }
        // Who reads older ones goes on reading them.
        if self.skipped > 0 {
            self.skipped += self.events.len() - before;
        }
        self.events.truncate(EVENTS);
        self.older(0);
        self.drams
            .retain(|name, _| status.targets.iter().any(|it| it.name == *name));
        for target in &status.targets {
            let points = self.drams.entry(target.name.clone()).or_default();
            if points.len() == POINTS {
                points.pop_front();
            }
            points.push_back(target.instances.iter().map(|it| it.resident).sum());
        }
        self.status = status;
    }

    /// Goes to events that are so many older.
    pub fn older(&mut self, lines: usize) {
        let most = self.events.len().saturating_sub(1);
        self.skipped = self.skipped.saturating_add(lines).min(most);
    }

    /// Goes back to newer ones.
    pub fn newer(&mut self, lines: usize) {
        self.skipped = self.skipped.saturating_sub(lines);
    }
}
