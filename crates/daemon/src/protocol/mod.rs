//! What `terraced` and those who ask it say to each other on its socket.
//!
//! A connection carries requests and answers in turn, each one JSON document on a line. A document
//! has the version of the protocol. Fields may be added under a version, and readers pass over
//! those that they do not know; none changes its meaning.
//!
//! ```text
//! → {"version":2,"request":"status"}
//! ← {"version":2,"status":{…}}
//! → {"version":2,"request":"events","after":17,"wait":30}
//! ← {"version":2,"events":{"events":[…],"next":19,"lost":0}}
//! → {"version":2,"request":"heat","target":"postgres"}
//! ← {"version":2,"heat":{"groups":[…],"busy":0}}
//! → {"version":2,"request":"reload"}
//! ← {"version":2,"error":"/etc/terrace/a.toml, line 3: …"}
//! ```
//!
//! Who can connect may read: the file of the socket is root's and that of the group `terrace`. Only
//! root may change something.

mod client;
mod event;
mod heat;
mod server;
mod status;

use serde::{Deserialize, Serialize};

pub use client::Client;
pub use event::{Event, Events, Kind};
pub use heat::{GroupHeat, Heat, Row};
pub use server::{Backend, Server};
pub use status::{Budget, Counts, Instance, Reloaded, State, Status, Target, Tier};

/// Version of the protocol. The second has counts of faults and kills, and the heat of memory.
pub const VERSION: u32 = 2;

/// The socket.
pub const SOCKET: &str = "/run/terrace/control";

/// The group whose members may read.
pub const GROUP: &str = "terrace";

/// The longest request, in bytes.
const LONGEST_REQUEST: usize = 4096;

/// The longest answer that a client reads, in bytes.
const LONGEST_ANSWER: usize = 64 << 20;

/// A request, with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// [`VERSION`] of who asks.
    pub version: u32,
    /// What is asked.
    #[serde(flatten)]
    pub request: Request,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
pub enum Request {
    /// How all targets fare.
    Status,
    /// What has happened behind the event with this number. If nothing has, the answer comes with
    /// the next event, or after so many seconds; 30 are the most.
    Events {
        /// Number of the last event that is known; 0 at first.
        #[serde(default)]
        after: u64,
        /// Seconds.
        #[serde(default)]
        wait: u32,
    },
    /// What is known of the memory of a target, by address.
    Heat {
        /// Its name.
        target: String,
    },
    /// The configuration is read again. For root alone.
    Reload,
}

/// An answer, with its version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// [`VERSION`] of who answers.
    pub version: u32,
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// How all targets fare.
    Status(Box<Status>),
    /// What has happened.
    Events(Events),
    /// What is known of the memory of a target.
    Heat(Heat),
    /// The configuration was read, and holds.
    Reloaded(Reloaded),
    /// Why there is no other answer, and what to do.
    Error(String),
}

/// Reads a request.
fn parse(line: &[u8]) -> Result<Request, String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let versioned: Versioned = serde_json::from_slice(line).map_err(
        |_| "this is no request; send one as {\"version\":2,\"request\":\"status\"} on a line",
    )?;
    if versioned.version != VERSION {
        return Err(format!(
            "this terraced speaks version {VERSION} of the protocol, and was asked in version {}; \
             use the terrace that came with it",
            versioned.version
        ));
    }
    let asked: Asked = serde_json::from_slice(line).map_err(|_| {
        "there is no such request; ask for `status`, `events`, `heat` or `reload`".to_owned()
    })?;
    Ok(asked.request)
}

/// Writes an answer as a line.
fn line(answer: Answer) -> Vec<u8> {
    let answered = Answered {
        version: VERSION,
        answer,
    };
    let mut line = serde_json::to_vec(&answered).expect("an answer is JSON");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests;
