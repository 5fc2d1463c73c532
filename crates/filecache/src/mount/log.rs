//! The log of a mount: each read and write of a file, as the kernel asks for it.
//!
//! In victim mode the kernel's page cache stands above: what it has is not asked for, and what it
//! reads ahead is. In exact mode requests are those of programs.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::mpsc::SyncSender;
use std::time::Instant;

use terrace_base::lock;

use crate::file::Identity;

/// Bytes of a part of a file, which lies at addresses in a row. Parts have addresses in the order
/// in which they are met.
pub const PART: u64 = 1 << 30;

/// A read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Address of its first byte: every byte of every file has one of its own. A file that is made
    /// in the place of one that is gone (its inode) has that one's.
    pub address: u64,
    /// Number of bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub write: bool,
    /// Microseconds since the mount.
    pub micros: u64,
}

/// The log of a mount.
pub(super) struct Log {
    began: Instant,
    open: Mutex<Option<Open>>,
}

struct Open {
    to: SyncSender<Logged>,
    parts: HashMap<(Identity, u64), u64>,
}

impl Log {
    /// Makes a log that goes to `to`, in an order in which the requests may have been served.
    pub fn new(to: Option<SyncSender<Logged>>) -> Self {
        let open = to.map(|to| Open {
            to,
            parts: HashMap::new(),
        });
        Self {
            began: Instant::now(),
            open: Mutex::new(open),
        }
    }

    /// Logs a request, which waits until the receiver has room for it. Nothing more is logged once
    /// that has ended.
    pub fn note(&self, file: Identity, bytes: Range<u64>, write: bool) {
        let mut open = lock(&self.open);
        let Some(log) = open.as_mut() else { return };
        let micros = self.began.elapsed().as_micros() as u64;
        let mut at = bytes.start;
        while at < bytes.end {
            let end = bytes.end.min((at / PART + 1) * PART);
            let next = log.parts.len() as u64;
            let part = *log.parts.entry((file, at / PART)).or_insert(next);
            let logged = Logged {
                address: part * PART + at % PART,
                bytes: (end - at) as u32,
                write,
                micros,
            };
            if log.to.send(logged).is_err() {
                *open = None;
                return;
            }
            at = end;
        }
    }

    /// Whether requests are logged.
    pub fn is_open(&self) -> bool {
        lock(&self.open).is_some()
    }

    /// Ends the log.
    pub fn close(&self) {
        *lock(&self.open) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_an_address_of_its_own() {
        let (to, from) = std::sync::mpsc::sync_channel(100);
        let log = Log::new(Some(to));
        let file = |inode| Identity {
            file_system: 1,
            inode,
        };
        log.note(file(7), 4096..8192, false);
        log.note(file(8), 0..10, true);
        log.note(file(7), PART - 1..PART + 5, false);
        log.note(file(7), 4096..4096, false);
        log.close();
        log.note(file(9), 0..1, false);
        let logged = from.iter().map(|one| (one.address, one.bytes, one.write));
        assert_eq!(
            logged.collect::<Vec<_>>(),
            [
                (4096, 4096, false),
                (PART, 10, true),
                (PART - 1, 1, false),
                (2 * PART, 5, false),
            ]
        );
    }
}
