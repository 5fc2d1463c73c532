//! What has happened, in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Number, from 1 on, since the daemon was started.
    pub number: u64,
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// The target; `null` if it is about the daemon.
    pub target: Option<String>,
    /// What it is about.
    pub kind: Kind,
    /// Bytes that left DRAM or came back; 0 where none did.
    #[schemars(extend("unit" = "bytes"))]
    pub bytes: u64,
    /// The event as a part of a sentence, without control characters.
    pub text: String,
}

/// What an event is about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The daemon began or ended, or its configuration was read again.
    Daemon,
    /// A target was found.
    Found,
    /// A target is gone.
    Gone,
    /// Memory was reclaimed.
    Reclaimed,
    /// Memory was given back.
    GaveBack,
    /// The budget of writes is spent.
    Writes,
    /// The machine is short of memory by itself.
    Short,
    /// Something failed.
    Trouble,
}

/// Some events.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Events {
    /// The events, the oldest first.
    pub events: Vec<Event>,
    /// Number of the last one, to ask for those behind it.
    pub next: u64,
    /// Events behind the one that was named which are no longer kept.
    pub lost: u64,
}
