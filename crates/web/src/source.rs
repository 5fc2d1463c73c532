//! Asks the daemon, and keeps what it said.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use terrace_base::{Context, Error, Result, lock};
use terrace_daemon::protocol::{Client, Event, Events, Heat, Status};
use tokio::sync::watch;

use crate::history::History;

/// Time between two questions.
const EVERY: Duration = Duration::from_secs(1);
/// Events that are kept.
const EVENTS: usize = 200;

/// What is known of the daemon.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Known {
    /// How the targets fare; as it was last, if the daemon does not answer.
    pub status: Option<Status>,
    /// Why the daemon does not answer, if it does not.
    pub trouble: Option<String>,
    /// The last events, the oldest first.
    pub events: Vec<Event>,
    /// Older events, which were read and are no longer kept.
    pub older: u64,
    /// Events that the daemon no longer had when it was asked for them.
    pub lost: u64,
}

impl Known {
    /// Adds what has happened.
    fn add(&mut self, events: Events) {
        self.lost += events.lost;
        self.events.extend(events.events);
        let more = self.events.len().saturating_sub(EVENTS);
        self.events.drain(..more);
        self.older += more as u64;
    }
}

/// The source of all that is served.
#[derive(Clone)]
pub struct Source {
    socket: PathBuf,
    /// The connection for questions about heat: one at a time.
    hot: Arc<Mutex<Option<Client>>>,
    known: watch::Receiver<Arc<Known>>,
    history: Arc<Mutex<History>>,
}

impl Source {
    /// Begins to ask the daemon at a socket, again and again, also where it does not answer yet.
    ///
    /// # Errors
    /// A failure if there can be no thread.
    pub fn open(socket: &Path) -> Result<Self> {
        let (tell, known) = watch::channel(Arc::new(Known::default()));
        let history = Arc::<Mutex<History>>::default();
        let asking = Asking {
            socket: socket.to_owned(),
            client: None,
            known: Known::default(),
            next: 0,
            started: 0,
            history: Arc::clone(&history),
        };
        thread::Builder::new()
            .name("terraced-ask".into())
            .spawn(move || asking.work(&tell))
            .or_fail(|| "cannot start a thread that asks terraced".into())?;
        Ok(Self {
            socket: socket.to_owned(),
            hot: Arc::default(),
            known,
            history,
        })
    }

    /// Returns what is known now.
    pub fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.borrow())
    }

    /// Returns what tells of each change.
    pub fn changes(&self) -> watch::Receiver<Arc<Known>> {
        self.known.clone()
    }

    /// Asks what is known of the memory of a target, by address. It waits for the daemon.
    ///
    /// # Errors
    /// A failure if there is no such target, or the daemon does not say; or if somebody else asks
    /// just now.
    pub fn heat(&self, target: &str) -> Result<Heat> {
        let Ok(mut hot) = self.hot.try_lock() else {
            return Err(Error::failure("another question is asked; ask again"));
        };
        let client = match &mut *hot {
            Some(client) => client,
            none => none.insert(Client::connect(&self.socket)?),
        };
        let heat = client.heat(target);
        if heat.is_err() {
            *hot = None;
        }
        heat
    }

    /// Returns the last hour.
    pub fn history(&self) -> History {
        lock(&self.history).clone()
    }
}

/// The thread that asks.
struct Asking {
    socket: PathBuf,
    client: Option<Client>,
    known: Known,
    /// Number of the last event, of the daemon that was started then.
    next: u64,
    started: u64,
    history: Arc<Mutex<History>>,
}

impl Asking {
    /// Works until nobody listens.
    fn work(mut self, tell: &watch::Sender<Arc<Known>>) {
        loop {
            self.known.trouble = self.ask().err().map(|error| error.to_string());
            if self.known.trouble.is_some() {
                self.client = None;
            }
            if tell.send(Arc::new(self.known.clone())).is_err() {
                return;
            }
            thread::sleep(EVERY);
        }
    }

    fn ask(&mut self) -> Result<()> {
        let client = match &mut self.client {
            Some(client) => client,
            none => none.insert(Client::connect(&self.socket)?),
        };
        let status = client.status()?;
        if status.started_ms != self.started {
            // Another daemon numbers its events anew.
            (self.started, self.next) = (status.started_ms, 0);
        }
        let events = client.events(self.next, 0)?;
        self.next = events.next;
        lock(&self.history).add(&status);
        self.known.status = Some(status);
        self.known.add(events);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use terrace_daemon::protocol::Kind;

    use super::*;

    fn event(number: u64) -> Event {
        Event {
            number,
            time_ms: 0,
            target: None,
            kind: Kind::Daemon,
            bytes: 0,
            text: String::new(),
        }
    }

    proptest! {
        #[test]
        fn each_event_is_shown_or_counted(answers in prop::collection::vec((0..500u64, 0..3u64), 0..8)) {
            let (mut known, mut all, mut number) = (Known::default(), Vec::new(), 0);
            for (count, lost) in &answers {
                number += lost;
                let events: Vec<Event> = (number + 1..=number + count).map(event).collect();
                number += count;
                all.extend(events.clone());
                known.add(Events { events, next: number, lost: *lost });
            }
            let shown = all.len().min(EVENTS);
            prop_assert_eq!(&known.events[..], &all[all.len() - shown..]);
            prop_assert_eq!(known.events.len() as u64 + known.older + known.lost, number);
        }
    }
}
