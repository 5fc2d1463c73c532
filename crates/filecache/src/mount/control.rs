//! What people ask of a mount while it is there, by extended attributes of its files: no socket is
//! needed, and the kernel follows paths and checks permissions.
//!
//! A [`Command`] is set as `user.terrace.control` of the root, and what holds is read there as
//! [`Held`]. A file is warmed and forgotten by reading its attributes `user.terrace.warm.` (with a
//! byte's number behind it) and `user.terrace.forget`, whose values say what came of it. All of
//! them are for the user who has mounted, and for root.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::XattrFlags;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;
use terrace_policy::admission::rules::Rules;

use crate::warm::Warmed;

/// The attribute of the root that takes commands as JSON, and says what holds.
pub(super) const CONTROL: &str = "user.terrace.control";

/// The attribute of a file that warms it, from the byte on whose number follows.
pub(super) const WARM: &str = "user.terrace.warm.";

/// The attribute of a file that has its pages forgotten.
pub(super) const FORGET: &str = "user.terrace.forget";

/// Bytes of a file that one reading of the attribute warms.
pub const WINDOW: u64 = 16 << 20;

/// A command for a mount. Paths are those below its root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Pin a file, or all in a directory.
    Pin(String),
    /// Take a pin back.
    Unpin(String),
    /// Exclude what a pattern matches.
    Exclude(String),
    /// Take an exclusion back.
    Include(String),
    /// Exclude files that are larger, or none for their size.
    Largest(Option<u64>),
    /// Change the bytes of the flash level.
    Size(u64),
    /// Forget all pages.
    Flush,
}

/// What holds in a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Held {
    /// The rules, which the flash level keeps.
    #[schemars(schema_with = "rules")]
    pub rules: Rules,
    /// Bytes of files that were pinned when they were looked for last.
    pub pinned_bytes: u64,
    /// Whether pinned files are being looked for.
    pub is_looking: bool,
    /// Pages on flash that are pinned.
    pub pinned_pages: u64,
    /// Pages that can be pinned.
    pub most_pinned: u64,
    /// Pages on flash, with those of files that are gone or have changed.
    pub flash_pages: u64,
    /// Pages that the flash has room for.
    #[schemars(extend("unit" = "pages"))]
    pub flash_room: u64,
}

/// Sends a command to the mount with this root.
///
/// # Errors
/// Returns the error of the system: no permission for other users than that of the mount,
/// unsupported without a flash level that can do so, no data for a rule that is not there, invalid
/// input for no pattern and for a size that is too small, and too big for more rules than there is
/// room for.
pub fn send(root: &Path, command: &Command) -> io::Result<()> {
    let text = serde_json::to_vec(command)?;
    Ok(rustix::fs::setxattr(
        root,
        CONTROL,
        &text,
        XattrFlags::empty(),
    )?)
}

/// Returns the JSON Schema of [`Rules`], which know nothing of schemas.
fn rules(_: &mut SchemaGenerator) -> Schema {
    let texts =
        |help| json!({ "type": "array", "items": { "type": "string" }, "description": help });
    json_schema!({
        "type": "object",
        "description": "The rules. Paths are relative to the root.",
        "properties": {
            "pinned": texts("Files that are pinned, and directories whose files all are."),
            "excluded": texts("Patterns whose files are excluded."),
            "largest": {
                "type": ["integer", "null"],
                "unit": "bytes",
                "description": "Size of the largest file that is not excluded.",
            },
        },
        "required": ["pinned", "excluded", "largest"],
    })
}

/// Returns what holds in the mount with this root.
///
/// # Errors
/// As [`send`].
pub fn held(root: &Path) -> io::Result<Held> {
    read(&File::open(root)?, CONTROL)
}

/// Warms [`WINDOW`] bytes of an open file of a mount from `offset` on, and returns what came of it.
///
/// # Errors
/// As [`send`], and the error of the source.
pub fn warm(file: &File, offset: u64) -> io::Result<Warmed> {
    read(file, &format!("{WARM}{offset}"))
}

/// Has the pages of an open file of a mount forgotten, and returns whether it had any.
///
/// # Errors
/// As [`send`].
pub fn forget(file: &File) -> io::Result<bool> {
    read(file, FORGET)
}

fn read<T: DeserializeOwned>(file: &File, name: &str) -> io::Result<T> {
    let mut value = vec![0; 1 << 16];
    let bytes = rustix::fs::fgetxattr(file, name, &mut value)?;
    Ok(serde_json::from_slice(&value[..bytes])?)
}
