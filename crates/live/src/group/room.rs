//! Room in a DRAM budget: memory of the group that is not in use.

use std::fs::File;
use std::os::unix::fs::FileExt;

use terrace_base::Bytes;

use crate::group::budget::Budget;

/// A group's memory and its limit.
#[derive(Debug)]
pub struct Room {
    used: File,
    limit: Bytes,
}

impl Room {
    /// Opens the counter of a group with a limit; `None` if it cannot be read.
    pub fn of(budget: &Budget, limit: Bytes) -> Option<Self> {
        let used = File::open(budget.counter()).ok()?;
        Some(Self { used, limit })
    }

    /// Makes the room of a group whose memory in use is in a file.
    #[cfg(test)]
    pub fn in_file(used: File, limit: Bytes) -> Self {
        Self { used, limit }
    }

    /// Returns the pages that fit into the budget beside what is in it; 0 if that cannot be read.
    pub fn free(&self) -> u64 {
        let mut text = [0; 32];
        let length = self.used.read_at(&mut text, 0).unwrap_or(0);
        let used = std::str::from_utf8(&text[..length]).unwrap_or_default();
        let used = used.trim().parse().unwrap_or(u64::MAX);
        Bytes(self.limit.0.saturating_sub(used)).pages()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_not_in_use_is_free() {
        let mut used = tempfile::tempfile().unwrap();
        for (text, free) in [("40960\n", 2), ("49152\n", 0), ("999999\n", 0), ("x", 0)] {
            used.set_len(0).unwrap();
            used.write_all_at(text.as_bytes(), 0).unwrap();
            used.flush().unwrap();
            let room = Room {
                used: used.try_clone().unwrap(),
                limit: Bytes(49152),
            };
            assert_eq!(room.free(), free, "{text:?}");
        }
    }
}
