//! A block device that is claimed: checks, header and cleaning.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::io::FdFlags;
use uuid::Uuid;

use crate::bytes::Bytes;
use crate::error::{Context, Error, Result};

use super::content;
use super::header::{self, Header};
use super::uses::Node;

/// `BLKRRPART` (include/uapi/linux/fs.h).
const REREAD_PARTITIONS: libc::Ioctl = 0x125f;
/// `BLKDISCARD` (include/uapi/linux/fs.h).
const DISCARD: libc::Ioctl = 0x1277;

/// A device that no other program can use until this is dropped. One descriptor serves all checks
/// and writes, so that its use cannot change in between.
#[derive(Debug)]
pub struct Claim {
    file: File,
    size: Bytes,
    /// Path of the device itself and not of a link to it, as in `/proc/swaps`.
    pub path: PathBuf,
    /// Data on it, for people; `None` if it is blank, or holds what a killed run has left.
    pub data: Option<String>,
}

/// Claims a device that is free and has room for `needed` bytes. Changes nothing on it.
///
/// # Errors
/// A usage error if it cannot be taken.
pub fn claim(path: &Path, needed: Bytes) -> Result<Claim> {
    let name = path.display();
    let path = path.canonicalize();
    let path = path.or_fail(|| format!("cannot use the device {name}"))?;
    let cannot_read = || format!("cannot read the device {name}");
    let node = Node::of(&path).or_fail(cannot_read)?;
    if let Some(found) = node.use_of() {
        let problem = format!("the device {name} {found}; name one that is free");
        return Err(Error::usage(problem));
    }
    if node.is_read_only() {
        return Err(Error::usage(format!(
            "the device {name} is read-only; name one that can be written to"
        )));
    }
    let mut file = open(&path)?;
    let size = Bytes(file.seek(SeekFrom::End(0)).or_fail(cannot_read)?);
    if size < needed {
        return Err(Error::usage(format!(
            "the device {name} has {size}, and {needed} are needed; name a larger one"
        )));
    }
    let header = Header::read(&file).or_fail(cannot_read)?;
    let was_ours = header.is_some_and(|header| header.is_ours());
    let data = data(&file, &path, size, &node, was_ours).or_fail(cannot_read)?;
    Ok(Claim {
        file,
        size,
        path,
        data,
    })
}

fn open(path: &Path) -> Result<File> {
    let name = path.display();
    open_alone(path).map_err(|e| {
        Error::usage(match e.raw_os_error() {
            Some(libc::EBUSY) => format!("the device {name} is in use; name one that is free"),
            _ => format!("cannot open the device {name}: {e}; name another"),
        })
    })
}

/// Opens a device that nothing else uses.
fn open_alone(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).custom_flags(libc::O_EXCL);
    options.open(path)
}

/// Returns the data on a device, for people. On a device that a killed run had prepared, only data
/// that was made since counts.
fn data(
    file: &File,
    path: &Path,
    size: Bytes,
    node: &Node,
    was_ours: bool,
) -> io::Result<Option<String>> {
    let partitions = node.partitions();
    if !partitions.is_empty() {
        return Ok(Some(format!("partitions {}", partitions.join(", "))));
    }
    let signatures = content::signatures(path)?;
    let is_known = signatures.is_some();
    let mut signatures = signatures.unwrap_or_default();
    if was_ours {
        signatures.retain(|one| one != "swap `terrace`");
    }
    if !signatures.is_empty() {
        return Ok(Some(signatures.join(", ")));
    }
    // Without `wipefs` data behind a header of ours cannot be found.
    if was_ours && is_known {
        return Ok(None);
    }
    let first = content::first_data(file, size)?;
    Ok(first.map(|at| format!("from byte {at} on")))
}

impl Claim {
    /// Writes a header of ours, by which the device is known if it is not given back; as an area it
    /// has at most `most` bytes, or all of the device. Data on it is destroyed.
    ///
    /// # Errors
    /// A failure if it cannot be written to.
    pub fn prepare(&self, uuid: Uuid, most: Option<Bytes>) -> Result<()> {
        let what = || format!("cannot prepare the device {}", self.path.display());
        if self.data.is_some() {
            content::blank(&self.file, self.size).or_fail(what)?;
            // SAFETY: the request takes no argument. Partitions that the kernel keeps are useless
            // to others while the device is ours.
            unsafe { libc::ioctl(self.file.as_raw_fd(), REREAD_PARTITIONS) };
        }
        let size = most.map_or(self.size, |most| most.min(self.size));
        header::write(&self.file, size, uuid).or_fail(what)
    }

    /// Returns the size of the device.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// Lets programs that this process starts from now on share the claim: the device stays claimed
    /// until they have ended, even if this process is killed.
    ///
    /// # Errors
    /// A failure if the system refuses.
    pub fn share(&self) -> Result<()> {
        let shared = rustix::io::fcntl_setfd(&self.file, FdFlags::empty());
        shared
            .map_err(io::Error::from)
            .or_fail(|| format!("cannot share the device {}", self.path.display()))
    }

    /// Discards all that the device holds, and makes it blank if it does not read as zeros then:
    /// what [`claim`] looks at is zeros afterwards, and the rest is left on a device that cannot
    /// discard.
    ///
    /// # Errors
    /// A failure if it cannot be read or written to.
    pub fn clear(&self) -> Result<()> {
        let what = || format!("cannot make the device {} blank", self.path.display());
        let all = [0, self.size.0];
        // SAFETY: the kernel reads the two numbers, an offset and a length. The device is claimed.
        unsafe { libc::ioctl(self.file.as_raw_fd(), DISCARD, all.as_ptr()) };
        match content::first_data(&self.file, self.size).or_fail(what)? {
            Some(_) => content::blank(&self.file, self.size).or_fail(what),
            None => Ok(()),
        }
    }
}

/// Writes the header of an area of ours to a blank device.
///
/// # Errors
/// The error of the system.
pub fn format(path: &Path, uuid: Uuid) -> io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let size = file.seek(SeekFrom::End(0))?;
    header::write(&file, Bytes(size), uuid)
}

/// Makes a device blank again if its header has this `uuid`. Otherwise the device has another use
/// by now, or its name belongs to another device.
///
/// # Errors
/// The error of the system, `EBUSY` if the device is in use.
pub fn give_back(path: &Path, uuid: Uuid) -> io::Result<()> {
    let mut file = open_alone(path)?;
    match Header::read(&file)? {
        Some(header) if header.is_ours() && header.uuid == uuid => {
            let size = file.seek(SeekFrom::End(0))?;
            content::blank(&file, Bytes(size))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn only_what_bears_our_header_is_made_blank() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let (file, size) = (named.as_file(), Bytes(1 << 20));
        file.set_len(size.0).unwrap();
        let (ours, other) = (Uuid::new_v4(), Uuid::new_v4());
        header::write(file, size, other).unwrap();
        file.write_all_at(b"swapped", 8192).unwrap();
        give_back(named.path(), ours).unwrap();
        assert_eq!(Header::read(file).unwrap().unwrap().uuid, other);
        give_back(named.path(), other).unwrap();
        assert_eq!(content::first_data(file, size).unwrap(), None);
    }
}
