//! The identity of a swap area, which tells it from anything else that has its name later.
//!
//! It is recorded before the area is switched on, and compared before anything is switched off or
//! removed: the UUID in the swap header, and for a file its device and inode, for a device its
//! number. The UUID is random for each area but for its first bytes, which are the number of the
//! process that made it: so an area tells of its run where no journal does.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use terrace_base::block::Header;
use terrace_base::{Context, Error, Result};
use uuid::{Builder, Uuid, Version};

/// Identity of an area.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// UUID in its header.
    pub uuid: Uuid,
    /// Place; `None` until the area is made.
    pub node: Option<Node>,
}

/// Place of an area by numbers: of a file, or of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Number of the device, or of the device of a file. Valid for one boot.
    pub device: u64,
    /// Inode of a file, 0 for a device.
    pub inode: u64,
}

impl Identity {
    /// Makes the identity of an area that is about to be made.
    pub fn fresh() -> Self {
        let mut bytes = Uuid::new_v4().into_bytes();
        bytes[..4].copy_from_slice(&std::process::id().to_le_bytes());
        Self {
            uuid: Builder::from_custom_bytes(bytes).into_uuid(),
            node: None,
        }
    }

    /// Returns the process that made an area with this UUID; `None` if it does not tell.
    pub fn maker(uuid: Uuid) -> Option<u32> {
        let [a, b, c, d, ..] = *uuid.as_bytes();
        let is_ours = uuid.get_version() == Some(Version::Custom);
        is_ours.then(|| u32::from_le_bytes([a, b, c, d]))
    }

    /// Returns the same identity with the place of the area, which exists now.
    ///
    /// # Errors
    /// A failure if the area cannot be inspected.
    pub fn located(mut self, path: &Path) -> Result<Self> {
        let found = fs::symlink_metadata(path);
        let found = found.or_fail(|| format!("cannot look at {}", path.display()))?;
        self.node = Node::of(&found);
        Ok(self)
    }

    /// Opens `path` if it is the recorded area; `None` if nothing is there, or a blank device.
    /// `rebooted` says that the numbers of devices may have changed.
    ///
    /// # Errors
    /// A failure that names what lies there instead.
    pub fn open(&self, path: &Path, rebooted: bool) -> Result<Option<File>> {
        let differs = |why: &str| Err(Error::failure(format!("{} {why}", path.display())));
        if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
            return differs("is no path that a run writes down");
        }
        let mut options = OpenOptions::new();
        options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = match options.read(true).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) if e.raw_os_error() == Some(libc::ELOOP) => {
                return differs("is a symbolic link, no swap area");
            }
            Err(e) => return differs(&format!("cannot be opened ({e})")),
        };
        let found = file.metadata();
        let found = found.or_fail(|| format!("cannot look at {}", path.display()))?;
        let Some(node) = Node::of(&found) else {
            return differs("is neither a regular file of one name nor a block device");
        };
        if let Some(recorded) = self.node {
            let same_device = rebooted || node.device == recorded.device;
            if node.inode != recorded.inode || !same_device {
                return differs("is another file than the run made (device and inode)");
            }
        }
        if found.is_file() && found.len() == 0 {
            // The run was killed before it wrote the header, its first step.
            return Ok(Some(file));
        }
        match Header::read(&file) {
            Ok(Some(header)) if !header.is_ours() => {
                differs("has a swap header, but not one of terrace")
            }
            Ok(Some(header)) if header.uuid != self.uuid => {
                differs("has the swap header of another area (its UUID)")
            }
            Ok(Some(_)) => Ok(Some(file)),
            Ok(None) if node.inode == 0 && Header::is_blank(&file) => Ok(None),
            Ok(None) => differs("has no swap header"),
            Err(e) => differs(&format!("cannot be read ({e})")),
        }
    }
}

impl Node {
    /// Returns the place of a regular file with one name, or of a block device.
    fn of(found: &Metadata) -> Option<Self> {
        if found.file_type().is_block_device() {
            return Some(Self {
                device: found.rdev(),
                inode: 0,
            });
        }
        (found.is_file() && found.nlink() == 1).then(|| Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use terrace_base::Bytes;
    use terrace_base::block::header;

    use super::*;

    /// Makes a file with the header of an area; returns it with its identity.
    fn area(directory: &Path) -> (std::path::PathBuf, Identity) {
        let path = directory.join("terrace-1.swap");
        let identity = Identity::fresh();
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        header::write(&file, Bytes(1 << 20), identity.uuid).unwrap();
        let identity = identity.located(&path).unwrap();
        (path, identity)
    }

    #[test]
    fn an_area_is_known_by_its_header_and_place() {
        let here = tempfile::tempdir().unwrap();
        let (path, identity) = area(here.path());
        assert!(identity.open(&path, false).unwrap().is_some());
        let gone = here.path().join("gone");
        assert!(identity.open(&gone, false).unwrap().is_none());

        let other = Identity {
            uuid: Uuid::new_v4(),
            ..identity.clone()
        };
        let refused =
            |identity: &Identity, path: &Path| identity.open(path, false).unwrap_err().to_string();
        assert!(refused(&other, &path).contains("its UUID"));
        let copy = here.path().join("copy");
        fs::copy(&path, &copy).unwrap();
        assert!(refused(&identity, &copy).contains("device and inode"));
        let link = here.path().join("link");
        symlink(&path, &link).unwrap();
        assert!(refused(&identity, &link).contains("symbolic link"));
        let second = here.path().join("second");
        fs::hard_link(&path, &second).unwrap();
        assert!(refused(&identity, &path).contains("of one name"));
        let climbing = here.path().join("../x");
        assert!(refused(&identity, &climbing).contains("no path"));
    }

    #[test]
    fn an_area_tells_who_has_made_it() {
        let (one, other) = (Identity::fresh().uuid, Identity::fresh().uuid);
        assert_ne!(one, other);
        for uuid in [one, other] {
            assert_eq!(Identity::maker(uuid), Some(std::process::id()));
        }
        assert_eq!(Identity::maker(Uuid::new_v4()), None, "of an older version");
    }

    #[test]
    fn a_file_with_anything_else_in_it_is_left() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join("terrace-1.swap");
        let identity = Identity::fresh();
        fs::write(&path, "").unwrap();
        assert!(identity.open(&path, false).unwrap().is_some(), "just begun");
        for text in [vec![b'x'; 9], vec![b'x'; 1 << 14]] {
            fs::write(&path, text).unwrap();
            let error = identity.open(&path, false).unwrap_err().to_string();
            assert!(error.contains("no swap header"), "{error}");
        }
    }
}
