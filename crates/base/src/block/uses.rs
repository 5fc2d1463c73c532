//! The present use of a block device, as the kernel reports it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::swaps;
use crate::mountinfo;

/// A block device by the kernel's numbers.
pub struct Node {
    /// `8:1`, as in `mountinfo`.
    number: String,
    directory: PathBuf,
}

impl Node {
    /// Returns the device of the special file at `path`.
    pub fn of(path: &Path) -> io::Result<Self> {
        let device = fs::metadata(path)?.rdev();
        let number = format!("{}:{}", libc::major(device), libc::minor(device));
        Ok(Self {
            directory: Path::new("/sys/dev/block").join(&number),
            number,
        })
    }

    /// Returns the names of its partitions.
    pub fn partitions(&self) -> Vec<String> {
        let is_partition = |name: &String| self.directory.join(name).join("partition").is_file();
        names(&self.directory)
            .into_iter()
            .filter(is_partition)
            .collect()
    }

    /// Whether the kernel refuses writes, although it can be opened for writing.
    pub fn is_read_only(&self) -> bool {
        let read_only = fs::read_to_string(self.directory.join("ro"));
        read_only.is_ok_and(|text| text.trim() == "1")
    }

    /// Returns the present use of the device or of one of its partitions; `None` if it is free.
    pub fn use_of(&self) -> Option<String> {
        let own = self.own_use().map(|found| format!("is {found}"));
        own.or_else(|| {
            self.partitions().into_iter().find_map(|name| {
                let found = self.partition(&name)?.own_use()?;
                Some(format!("has a partition {name} that is {found}"))
            })
        })
    }

    fn partition(&self, name: &str) -> Option<Self> {
        let directory = self.directory.join(name);
        let number = fs::read_to_string(directory.join("dev")).ok()?;
        Some(Self {
            number: number.trim().to_owned(),
            directory,
        })
    }

    fn own_use(&self) -> Option<String> {
        if self.is_swapped_to() {
            return Some("swapped to already".to_owned());
        }
        let mounts = mountinfo::all().unwrap_or_default();
        if let Some(mount) = mounts.iter().find(|mount| mount.device == self.number) {
            return Some(format!("mounted on {}", mount.at.display()));
        }
        let holders = names(&self.directory.join("holders"));
        (!holders.is_empty()).then(|| format!("held by {}", holders.join(", ")))
    }

    fn is_swapped_to(&self) -> bool {
        let areas = swaps::active().into_iter();
        areas
            .filter_map(|area| Self::of(&area.path).ok())
            .any(|node| node.number == self.number)
    }
}

/// Returns the names in a directory; empty if it does not exist.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a device with a partition in the layout of `/sys/dev/block`.
    fn disk() -> (tempfile::TempDir, Node) {
        let sys = tempfile::tempdir().unwrap();
        let partition = sys.path().join("sdz1");
        for directory in ["holders", "queue", "sdz1/holders"] {
            fs::create_dir_all(sys.path().join(directory)).unwrap();
        }
        fs::write(partition.join("partition"), "1\n").unwrap();
        fs::write(partition.join("dev"), "4095:2\n").unwrap();
        let node = Node {
            number: "4095:1".into(),
            directory: sys.path().into(),
        };
        (sys, node)
    }

    #[test]
    fn partitions_are_named_and_stand_against_it_only_in_use() {
        let (sys, node) = disk();
        assert_eq!(node.partitions(), ["sdz1"]);
        assert_eq!(node.use_of(), None);
        fs::write(sys.path().join("sdz1/holders/dm-0"), "").unwrap();
        let found = node.use_of().unwrap();
        assert_eq!(found, "has a partition sdz1 that is held by dm-0");
    }

    #[test]
    fn a_read_only_device_is_known() {
        let (sys, node) = disk();
        fs::write(sys.path().join("ro"), "0\n").unwrap();
        assert!(!node.is_read_only());
        fs::write(sys.path().join("ro"), "1\n").unwrap();
        assert!(node.is_read_only());
    }

    #[test]
    fn holders_are_named() {
        let (sys, node) = disk();
        fs::write(sys.path().join("holders/md0"), "").unwrap();
        fs::write(sys.path().join("holders/dm-1"), "").unwrap();
        assert_eq!(node.use_of().unwrap(), "is held by dm-1, md0");
    }

    #[test]
    #[ignore = "needs sources on a block device; run by make test-root"]
    fn the_disk_of_this_file_is_in_use() {
        let here = fs::metadata(env!("CARGO_MANIFEST_DIR")).unwrap().dev();
        let number = format!("{}:{}", libc::major(here), libc::minor(here));
        let directory = Path::new("/sys/dev/block").join(&number);
        let found = Node { number, directory }.use_of().unwrap();
        assert!(found.starts_with("is mounted on /"), "{found}");
    }
}
