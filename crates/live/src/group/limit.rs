//! The DRAM limit that holds for a group: the smallest of its own and those of the groups above it.

use std::fs;
use std::path::{Path, PathBuf};

use terrace_base::Bytes;

use crate::group::hierarchy::Version;

/// A limit, and the group that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Bytes of DRAM.
    pub bytes: Bytes,
    /// Directory of the group.
    pub group: PathBuf,
}

/// Returns the limit of the group at `directory` in the hierarchy with this top; `None` if neither
/// it nor one above it has one below the `machine`'s memory. Of several groups with the same limit,
/// it is that of the nearest.
pub(crate) fn limit(
    version: Version,
    directory: &Path,
    top: &Path,
    machine: Bytes,
) -> Option<Limit> {
    let files: &[&str] = match version {
        Version::V1 => &["memory.limit_in_bytes"],
        // Version 2 throttles above the first, and kills above the second.
        Version::V2 => &["memory.high", "memory.max"],
    };
    let groups = directory
        .ancestors()
        .take_while(|group| group.starts_with(top));
    let limits = groups.flat_map(|group| files.iter().map(move |file| (group, group.join(file))));
    let limits = limits.filter_map(|(group, file)| {
        let text = fs::read_to_string(file).ok()?;
        // Without a limit it is `max`, or more than any machine has.
        let bytes = Bytes(text.trim().parse().ok()?);
        let group = group.to_owned();
        (bytes < machine).then_some(Limit { bytes, group })
    });
    limits.min_by_key(|limit| limit.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Bytes = Bytes(1 << 30);

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("hierarchy/a/b")).unwrap();
        for (file, text) in files {
            fs::write(top.path().join(file), text).unwrap();
        }
        top
    }

    fn found(version: Version, top: &tempfile::TempDir) -> Option<(u64, PathBuf)> {
        let hierarchy = top.path().join("hierarchy");
        let limit = limit(version, &hierarchy.join("a/b"), &hierarchy, MACHINE)?;
        let group = limit.group.strip_prefix(top.path()).unwrap().to_owned();
        Some((limit.bytes.0, group))
    }

    #[test]
    fn the_smallest_from_the_group_to_the_top() {
        let top = tree(&[
            ("hierarchy/memory.limit_in_bytes", "9223372036854771712\n"),
            ("hierarchy/a/memory.limit_in_bytes", "4096\n"),
            ("hierarchy/a/b/memory.limit_in_bytes", "8192\n"),
            // Not of this hierarchy.
            ("memory.limit_in_bytes", "1\n"),
            ("hierarchy/a/b/memory.max", "7\n"),
        ]);
        assert_eq!(found(Version::V1, &top), Some((4096, "hierarchy/a".into())));
        fs::write(
            top.path().join("hierarchy/a/b/memory.limit_in_bytes"),
            "4096\n",
        )
        .unwrap();
        assert_eq!(
            found(Version::V1, &top),
            Some((4096, "hierarchy/a/b".into()))
        );
    }

    #[test]
    fn version_two_has_two_limits_and_max_for_none() {
        let top = tree(&[
            ("hierarchy/a/memory.high", "max\n"),
            ("hierarchy/a/memory.max", "16384\n"),
            ("hierarchy/a/b/memory.max", "max\n"),
        ]);
        assert_eq!(
            found(Version::V2, &top),
            Some((16384, "hierarchy/a".into()))
        );
        fs::write(top.path().join("hierarchy/a/memory.high"), "12288\n").unwrap();
        assert_eq!(
            found(Version::V2, &top),
            Some((12288, "hierarchy/a".into()))
        );
    }

    #[test]
    fn as_much_as_the_machine_has_is_no_limit() {
        let top = tree(&[("hierarchy/a/memory.limit_in_bytes", "1073741824")]);
        assert_eq!(found(Version::V1, &top), None);
        assert_eq!(found(Version::V2, &top), None);
    }
}
