//! The slower tier: a swap area that the kernel moves pages to.

mod area;

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_policy::prefetch::Costs;

use crate::journal::{Change, Journal};
use terrace_base::Bytes;
use terrace_base::{Context, Error, Result};

pub use area::{Area, active_areas};
use area::{SMALLEST, c_path};

/// What `--tier` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A swap file is made in this directory.
    Directory(PathBuf),
    /// A whole block device, blank or prepared for swap.
    Device(PathBuf),
    /// Compressed memory.
    Zram,
    /// What the machine swaps to already.
    Existing,
}

/// File systems that live in memory: a swap file there would be no second tier.
const IN_MEMORY: [libc::c_long; 2] = [0x0102_1994, 0x8584_58f6u32 as libc::c_long];

impl Spec {
    /// Reads `zram`, `existing`, or the path of a directory or block device.
    ///
    /// # Errors
    /// A usage error where the path is missing or is something else.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "zram" => return Ok(Self::Zram),
            "existing" => return Ok(Self::Existing),
            _ => {}
        }
        let path = PathBuf::from(text);
        let kind = fs::metadata(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::usage(format!(
                "the tier {text} does not exist; name a directory, a block device, \
                 `zram` or `existing`"
            )),
            _ => Error::usage(format!("cannot use the tier {text}: {e}")),
        })?;
        if kind.is_dir() {
            Ok(Self::Directory(path))
        } else if kind.file_type().is_block_device() {
            Ok(Self::Device(path))
        } else {
            Err(Error::usage(format!(
                "the tier {text} is neither a directory nor a block device; \
                 name the directory in which the swap file shall be made"
            )))
        }
    }
}

/// Block devices that are memory themselves: compressed, persistent, or set aside.
const MEMORY_DEVICES: [&str; 3] = ["/dev/zram", "/dev/pmem", "/dev/ram"];

/// What fetches cost on compressed memory, measured on Linux 6.18: a fault decompresses the page
/// on the spot, and so does a fetch, on another processor.
const MEMORY_COSTS: Costs = Costs {
    demand: Duration::from_micros(10),
    first_use: Duration::from_nanos(2_600),
    fetch: Duration::from_micros(8),
};

/// A swap area in use; taken back when dropped.
#[derive(Debug)]
pub struct Tier {
    area: Option<Area>,
    /// What it is, for people.
    pub description: String,
}

impl Tier {
    /// Puts the tier in place. `wanted` is the size of a swap file or zram device; `needed`,
    /// where it is known, is the least that will do.
    ///
    /// # Errors
    /// A usage error where the tier cannot be what was asked for, else a failure.
    pub fn prepare(
        spec: &Spec,
        wanted: Bytes,
        needed: Option<Bytes>,
        journal: &mut Journal,
    ) -> Result<Self> {
        if !Path::new("/proc/swaps").exists() {
            return Err(Error::failure(
                "this kernel has no swap (CONFIG_SWAP is off); boot one that has",
            ));
        }
        let area = match spec {
            Spec::Existing => return existing(),
            Spec::Directory(directory) => {
                let size = size_that_fits(directory, wanted, needed)?;
                Area::File(journal.path_for(directory, "swap"), size)
            }
            Spec::Device(path) => Area::device(path, needed.unwrap_or(SMALLEST))?,
            Spec::Zram => Area::zram(wanted)?,
        };
        journal.note(Change::Tier(area.clone()))?;
        if let Err(error) = area.make() {
            // A file that could not be made is not ours to remove.
            if !matches!(area, Area::File(..)) {
                let _ = area.remove();
            }
            return Err(error);
        }
        let tier = Self {
            description: area.to_string(),
            area: Some(area.clone()),
        };
        area.switch_on()?;
        Ok(tier)
    }

    /// How much it holds; none where it is the machine's own swap, which others use too.
    pub fn size(&self) -> Option<Bytes> {
        self.area.as_ref()?.active_size()
    }

    /// What fetches cost on it.
    pub fn costs(&self) -> Costs {
        let areas = match &self.area {
            Some(area) => vec![area.path()],
            None => active_areas(),
        };
        let is_memory = |area: &PathBuf| {
            let name = area.to_string_lossy();
            MEMORY_DEVICES.iter().any(|device| name.starts_with(device))
        };
        match areas.iter().all(is_memory) {
            true => MEMORY_COSTS,
            false => Costs::DISK,
        }
    }

    /// Switches the area off and removes it.
    ///
    /// # Errors
    /// A failure where the kernel cannot take its pages back.
    pub fn remove(mut self) -> Result<()> {
        self.area.take().map_or(Ok(()), |area| area.remove())
    }
}

impl Drop for Tier {
    fn drop(&mut self) {
        if let Some(area) = self.area.take() {
            // What cannot be removed now stays in the journal for `terrace doctor --clean`.
            let _ = area.remove();
        }
    }
}

fn existing() -> Result<Tier> {
    let areas = active_areas();
    if areas.is_empty() {
        return Err(Error::usage(
            "the machine swaps to nothing, so there is no existing tier; \
             leave --tier out, or switch a swap area on (swapon)",
        ));
    }
    let names: Vec<_> = areas.iter().map(|a| a.display().to_string()).collect();
    Ok(Tier {
        area: None,
        description: format!("existing swap ({})", names.join(", ")),
    })
}

/// Free bytes for an unprivileged writer in the file system of `directory`.
///
/// # Errors
/// The kernel's.
pub fn free_space(directory: &Path) -> io::Result<Bytes> {
    Ok(file_system(directory)?.free)
}

struct FileSystem {
    kind: libc::c_long,
    free: Bytes,
}

fn file_system(directory: &Path) -> io::Result<FileSystem> {
    let path = c_path(directory)?;
    // SAFETY: an all-zero statfs is a valid value of it.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `path` ends in NUL, `stat` is ours to write.
    if unsafe { libc::statfs(path.as_ptr(), &raw mut stat) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(FileSystem {
        kind: stat.f_type,
        free: Bytes(stat.f_bavail * stat.f_bsize as u64),
    })
}

/// As much of `wanted` as leaves the disk some room; where `needed` does not fit, an error.
fn size_that_fits(directory: &Path, wanted: Bytes, needed: Option<Bytes>) -> Result<Bytes> {
    let name = directory.display();
    let found = file_system(directory).or_fail(|| format!("cannot look at the tier {name}"))?;
    if IN_MEMORY.contains(&found.kind) {
        return Err(Error::usage(format!(
            "the tier {name} is on tmpfs, which is DRAM itself; name a directory on a disk"
        )));
    }
    let least = needed.unwrap_or(SMALLEST);
    let size = Bytes(wanted.0.min(found.free.0 / 10 * 9));
    if size < least {
        return Err(Error::usage(format!(
            "the tier {name} has {} free and {least} are needed; \
             free some space or name another directory",
            found.free
        )));
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiers_as_people_name_them() {
        assert_eq!(Spec::parse("zram"), Ok(Spec::Zram));
        assert_eq!(Spec::parse("existing"), Ok(Spec::Existing));
        assert_eq!(Spec::parse("/"), Ok(Spec::Directory("/".into())));
        for (path, why) in [
            ("/no/such/place", "does not exist"),
            ("/dev/null", "neither a directory nor a block device"),
        ] {
            let error = Spec::parse(path).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn tmpfs_is_no_second_tier() {
        let shm = Path::new("/dev/shm");
        let error = size_that_fits(shm, SMALLEST, None).unwrap_err().to_string();
        assert!(error.contains("tmpfs"), "{error}");
    }

    #[test]
    fn a_full_disk_is_named_with_what_is_needed() {
        let here = tempfile::tempdir().unwrap();
        let needed = Bytes(1 << 60);
        let error = size_that_fits(here.path(), needed, Some(needed)).unwrap_err();
        assert!(error.to_string().contains("1.00 EiB are needed"), "{error}");
    }
}
