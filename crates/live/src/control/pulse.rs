//! A glance at a service: whether anything has happened to it.
//!
//! It takes some microseconds, where a look takes some hundred. The kernel charges memory to a
//! group in batches, so that changes of less than 256 KiB a CPU can stay hidden until a look.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::group::hierarchy::Version;

/// Bytes that are read of a file: its figures are shorter.
const LENGTH: usize = 256;

/// The counts of a group that change with whatever happens to its memory.
#[derive(Default)]
pub(super) struct Pulse(Vec<(File, Vec<u8>)>);

impl Pulse {
    /// Opens the counts of a service with a group; without one, or if a count is missing, nothing
    /// is known at a glance.
    pub fn of(group: Option<(&Path, Version)>) -> Self {
        let Some((group, version)) = group else {
            return Self::default();
        };
        let names: &[&str] = match version {
            Version::V1 => &["memory.usage_in_bytes", "memory.memsw.usage_in_bytes"],
            Version::V2 => &["memory.current", "memory.swap.current", "memory.pressure"],
        };
        let open = |name: &&str| File::open(group.join(name)).map(|file| (file, Vec::new()));
        let files: std::io::Result<_> = names.iter().map(open).collect();
        files.map_or_else(|_| Self::default(), Self)
    }

    /// Whether all counts are as they were when this was asked last.
    pub fn is_same(&mut self) -> bool {
        let mut is_same = !self.0.is_empty();
        for (file, before) in &mut self.0 {
            let mut bytes = vec![0; LENGTH];
            // What cannot be read has changed.
            let read = file.read_at(&mut bytes, 0).unwrap_or(0);
            bytes.truncate(read);
            is_same &= read > 0 && bytes == *before;
            *before = bytes;
        }
        is_same
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_change_of_a_count_shows_once() {
        for (version, names) in [
            (
                Version::V1,
                ["memory.usage_in_bytes", "memory.memsw.usage_in_bytes"].as_slice(),
            ),
            (
                Version::V2,
                &["memory.current", "memory.swap.current", "memory.pressure"],
            ),
        ] {
            let group = tempfile::tempdir().unwrap();
            let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
            assert!(
                !Pulse::of(Some((group.path(), version))).is_same(),
                "no counts"
            );
            names.iter().for_each(|name| write(name, "4096\n"));
            let mut pulse = Pulse::of(Some((group.path(), version)));
            assert!(!pulse.is_same(), "nothing is known before");
            assert!(pulse.is_same());
            for name in names {
                write(name, "8192\n");
                assert!(!pulse.is_same(), "{name}");
                assert!(pulse.is_same(), "{name}");
            }
        }
        assert!(!Pulse::of(None).is_same());
    }
}
