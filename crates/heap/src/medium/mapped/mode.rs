//! How a file is to be treated.

/// How a file is to be treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// As detected: persistent memory if the file system maps it with `MAP_SYNC`; taken for
    /// persistent memory if it lies in memory (tmpfs); otherwise a plain file.
    #[default]
    Detected,
    /// As persistent memory: lines are flushed, even where that does not make them durable.
    Lines,
    /// As a plain file: fences sync it.
    Synced,
    /// As a private copy for inspection: changes are visible to this process alone and are gone
    /// when the file is closed. The file need not be writable, and several processes may inspect it
    /// at the same time.
    Private,
}
