//! The slow memory that a user names.

use std::fmt;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};
use terrace_device::{Catalogue, Order, Timing};
use terrace_policy::params::Params;
use terrace_region::slow::Slow;
use terrace_region::slow::device::Device;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;

/// An emulated memory by its name: a technology of the catalogue, and settings behind a colon, as
/// in `flash:devices=10,order=elevator`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// The name of the technology.
    pub technology: String,
    /// Devices of it, each with a queue of its own; pages are on them in turn.
    devices: u32,
    /// Which waiting request goes next.
    order: Order,
    /// The settings as they were given.
    settings: String,
}

impl Emulation {
    /// The most devices.
    const DEVICES: u32 = 1024;

    /// Reads the name of a technology, and settings behind a colon.
    ///
    /// # Errors
    /// Returns a usage error if there is no such setting, or it has no such value.
    fn parse(text: &str) -> Result<Self> {
        let (technology, settings) = text.split_once(':').unwrap_or((text, ""));
        let wrong = |problem| Error::usage(format!("`{text}`: {problem}"));
        let mut params = Params::parse(settings).map_err(wrong)?;
        let meaning = "devices, each with a queue of its own; pages are on them in turn";
        let devices = params.take("devices", meaning, 1, 1..=Self::DEVICES);
        let devices = devices.map_err(wrong)?;
        let meaning = "which waiting request goes next";
        let order = params.take("order", meaning, Order::Plain, Order::named());
        let order = order.map_err(wrong)?;
        params.finish().map_err(wrong)?;
        Ok(Self {
            technology: technology.to_owned(),
            devices,
            order,
            settings: settings.to_owned(),
        })
    }

    /// Makes the memory.
    ///
    /// # Errors
    /// Returns a usage error if there is no such technology, or its timing is not known.
    fn open(&self, catalogue: &Catalogue) -> Result<Emulated> {
        let timing = Timing {
            order: self.order,
            ..catalogue.get(&self.technology)?.timing()?
        };
        Ok(Emulated::of_devices(timing, self.devices))
    }
}

impl fmt::Display for Emulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.technology)?;
        match &*self.settings {
            "" => Ok(()),
            settings => write!(f, ":{settings}"),
        }
    }
}

/// A slow memory by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Memory {
    /// An emulated memory.
    Emulated(Emulation),
    /// A file without a name in a directory.
    Directory(PathBuf),
    /// A block device that nothing else uses.
    Device(PathBuf),
}

impl Memory {
    /// Reads a path, which has a slash in it, of a directory or of a block device, or the name of a
    /// technology with its settings.
    ///
    /// # Errors
    /// Returns a usage error if a setting of an emulated memory is wrong.
    pub fn parse(text: &str) -> Result<Self> {
        let is_device =
            || fs::metadata(text).is_ok_and(|found| found.file_type().is_block_device());
        Ok(match text.contains('/') {
            true if is_device() => Self::Device(text.into()),
            true => Self::Directory(text.into()),
            false => Self::Emulated(Emulation::parse(text)?),
        })
    }

    /// Checks that the slow memory can be made, and changes nothing.
    ///
    /// # Errors
    /// Returns those of [`Memory::open`].
    pub fn check(&self, catalogue: &Catalogue) -> Result<()> {
        match self {
            Self::Device(path) => Device::check(path),
            other => other.open(catalogue).map(drop),
        }
    }

    /// Takes the device, if it is one, for a process that opens it by [`Memory::open_taken`].
    ///
    /// # Errors
    /// Returns those of [`Device::take`].
    pub fn take(&self) -> Result<Option<Device>> {
        match self {
            Self::Device(path) => Device::take(path).map(Some),
            _ => Ok(None),
        }
    }

    /// Makes the slow memory where another process has taken the device, if it is one.
    ///
    /// # Errors
    /// Returns those of [`Memory::open`].
    pub fn open_taken(&self, catalogue: &Catalogue) -> Result<Box<dyn Slow>> {
        match self {
            Self::Device(path) => Ok(Box::new(Disk::on_taken(path)?)),
            other => other.open(catalogue),
        }
    }

    /// Makes the slow memory.
    ///
    /// # Errors
    /// Returns a usage error if there is no such technology, its timing is not known, or the device
    /// is not free or not blank; a failure if no file can be made or the device cannot be used.
    pub fn open(&self, catalogue: &Catalogue) -> Result<Box<dyn Slow>> {
        Ok(match self {
            Self::Emulated(emulation) => Box::new(emulation.open(catalogue)?),
            Self::Directory(directory) => Box::new(Disk::in_directory(directory)?),
            Self::Device(path) => Box::new(Disk::on_device(path)?),
        })
    }

    /// Returns the memory with a path that holds in every working directory.
    ///
    /// # Errors
    /// Returns a failure if the directory or device does not exist.
    pub fn absolute(self) -> Result<Self> {
        let whole = |path: PathBuf| {
            let cannot = || format!("cannot use {} as slow memory", path.display());
            path.canonicalize().or_fail(cannot)
        };
        Ok(match self {
            Self::Directory(path) => Self::Directory(whole(path)?),
            Self::Device(path) => Self::Device(whole(path)?),
            emulated @ Self::Emulated(_) => emulated,
        })
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulated(emulation) => emulation.fmt(f),
            Self::Directory(path) | Self::Device(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Returns the catalogue with the memories of the user's file, if there is one.
///
/// # Errors
/// Returns those of [`Catalogue::load`].
pub fn catalogue(file: Option<&Path>) -> Result<Catalogue> {
    file.map_or_else(|| Ok(Catalogue::builtin()), Catalogue::load)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_follow_the_name_of_an_emulated_memory() {
        for text in ["pcm", "flash:devices=10,order=elevator", "pcm:order=plain"] {
            let memory = Memory::parse(text).expect("it is right");
            assert_eq!(memory.to_string(), text);
            memory.open(&Catalogue::builtin()).expect("it can be made");
        }
        for (text, why) in [
            ("pcm:devices=0", "devices=0"),
            ("pcm:devices=9999", "devices=9999"),
            (
                "pcm:order=fast",
                "one of plain, round-robin, elevator, deadline",
            ),
            ("pcm:channels=2", "no setting `channels`"),
            ("pcm:10", "write it as key=value"),
        ] {
            let problem = Memory::parse(text).expect_err(text).to_string();
            assert!(problem.contains(why), "{text}: {problem}");
        }
    }
}
