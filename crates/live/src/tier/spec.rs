//! A tier as `--tier` names it.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use terrace_base::{Bytes, Error, Result};

use super::area::SMALLEST;
use super::{active_areas, file};
use crate::journal::state_directory;

/// A tier as `--tier` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// A swap file in this directory.
    Directory(PathBuf),
    /// A whole block device.
    Device {
        /// Path of the device.
        path: PathBuf,
        /// Whether its data may be destroyed; never while it is in use.
        force: bool,
    },
    /// Compressed memory (zram).
    Zram,
    /// Compressed memory in front of a directory or device, to which idle pages go.
    TwoLevels(Box<Spec>),
    /// The machine's own swap.
    Existing,
    /// Memory of another node, which processors address by themselves.
    Node(u32),
}

/// A tier as the user chooses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The tier; `None` is a swap file in the state directory.
    pub spec: Option<Spec>,
    /// The largest size that it may have (`--tier-size`).
    pub allowed: Option<Bytes>,
}

impl Choice {
    /// Returns where its swap areas will be: directories, devices, or the areas that are on.
    pub fn places(&self) -> Vec<PathBuf> {
        match &self.spec {
            None => vec![state_directory()],
            Some(spec) => spec.places(),
        }
    }

    /// Parses the largest size of a tier.
    ///
    /// # Errors
    /// A usage error if it is none, or too small.
    pub fn parse_allowed(text: &str) -> Result<Bytes> {
        match Bytes::parse(text)? {
            size if size < SMALLEST => Err(Error::usage(format!(
                "a tier of {size} is too small; name at least {SMALLEST}"
            ))),
            size => Ok(size),
        }
    }
}

impl Spec {
    /// Returns the directories or devices of its swap areas; none for memory.
    fn places(&self) -> Vec<PathBuf> {
        match self {
            Self::Directory(path) | Self::Device { path, .. } => vec![path.clone()],
            Self::TwoLevels(below) => below.places(),
            Self::Existing => active_areas(),
            Self::Zram | Self::Node(_) => Vec::new(),
        }
    }

    /// Parses `zram`, `existing`, `node:` and a number, the path of a directory or a blank block
    /// device, or `zram+` and such a path.
    ///
    /// # Errors
    /// A usage error if the path is missing or is something else.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "zram" => return Ok(Self::Zram),
            "existing" => return Ok(Self::Existing),
            _ => {}
        }
        if let Some(node) = text.strip_prefix("node:") {
            let node = node.parse().map_err(|_| {
                Error::usage(format!("`{text}` names no memory node; write it as node:1"))
            });
            return Ok(Self::Node(node?));
        }
        match text.strip_prefix("zram+") {
            Some(disk) => Ok(Self::TwoLevels(Box::new(Self::parse_path(disk)?))),
            None => Self::parse_path(text),
        }
    }

    fn parse_path(text: &str) -> Result<Self> {
        let path = PathBuf::from(text);
        let kind = fs::metadata(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Error::usage(format!(
                "the tier {text} does not exist; name a directory, a block device, \
                 `zram`, `existing` or `node:1`, or a directory or block device after `zram+`"
            )),
            _ => Error::usage(format!("cannot use the tier {text}: {e}")),
        })?;
        if kind.is_dir() {
            Ok(Self::Directory(path))
        } else if kind.file_type().is_block_device() {
            Ok(Self::Device { path, force: false })
        } else {
            Err(Error::usage(format!(
                "the tier {text} is neither a directory nor a block device; \
                 name the directory in which the swap file shall be made"
            )))
        }
    }

    /// Checks that a directory can be a tier; other kinds are checked when they are used.
    ///
    /// # Errors
    /// A usage error if it cannot.
    pub fn check(&self) -> Result<()> {
        match self.disk() {
            Self::Directory(directory) => file::room(directory).map(drop),
            _ => Ok(()),
        }
    }

    /// Checks that pages are swapped to it.
    ///
    /// # Errors
    /// A usage error for a memory node.
    pub fn require_swap(&self) -> Result<()> {
        match self {
            Self::Node(_) => Err(Error::usage(
                "a memory node is no swap area; ‘tier’ node:N is for terrace run alone",
            )),
            _ => Ok(()),
        }
    }

    /// Returns the lower of two levels, or the tier itself.
    pub(crate) fn disk(&self) -> &Self {
        match self {
            Self::TwoLevels(disk) => disk,
            other => other,
        }
    }

    /// Returns the block device, if it is one or has one as its lower level.
    pub fn device(&self) -> Option<&Path> {
        match self.disk() {
            Self::Device { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns the same tier, whose data on a device may be destroyed if `force` is set.
    pub fn forced(self, force: bool) -> Self {
        match self {
            Self::Device { path, .. } => Self::Device { path, force },
            Self::TwoLevels(disk) => Self::TwoLevels(Box::new(disk.forced(force))),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_can_be_a_tier_s() {
        assert_eq!(Choice::parse_allowed("16G"), Ok(Bytes(16 << 30)));
        assert_eq!(Choice::parse_allowed("64M"), Ok(SMALLEST));
        for (text, why) in [
            ("63M", "at least 64.0 MiB"),
            ("x", "is not a size"),
            ("-1G", "negative"),
        ] {
            let error = Choice::parse_allowed(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn tiers_as_people_name_them() {
        assert_eq!(Spec::parse("zram"), Ok(Spec::Zram));
        assert_eq!(Spec::parse("existing"), Ok(Spec::Existing));
        assert_eq!(Spec::parse("node:1"), Ok(Spec::Node(1)));
        assert_eq!(Spec::parse("/"), Ok(Spec::Directory("/".into())));
        let levels = Spec::parse("zram+/").unwrap();
        assert_eq!(
            levels,
            Spec::TwoLevels(Box::new(Spec::Directory("/".into())))
        );
        assert_eq!(levels.device(), None);
        for (path, why) in [
            ("/no/such/place", "does not exist"),
            ("/dev/null", "neither a directory nor a block device"),
            ("zram+", "does not exist"),
            ("node:", "write it as node:1"),
            ("node:-1", "write it as node:1"),
            ("zram+zram", "the tier zram does not exist"),
            ("zram+existing", "after `zram+`"),
            ("zram+/dev/null", "neither a directory nor a block device"),
        ] {
            let error = Spec::parse(path).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
