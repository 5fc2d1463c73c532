//! The tools of recording: the emulator and the plug-in.

use std::path::PathBuf;

use terrace_base::program::in_path;
use terrace_base::{Companion, Error, Result};

/// The emulator's name.
const EMULATOR: &str = "qemu-x86_64";
/// The library of `terrace-recorder-plugin`.
const PLUGIN: Companion = Companion {
    kind: "plug-in",
    name: "libterrace_recorder_plugin.so",
    variable: "TERRACE_RECORDER",
};

/// The library of `terrace-preload-objects`, loaded into programs whose allocations are recorded or
/// placed.
pub const OBJECTS: Companion = Companion {
    kind: "library",
    name: "libterrace_preload_objects.so",
    variable: "TERRACE_ALLOCATIONS",
};

/// The tools of recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// `qemu-x86_64`.
    pub emulator: PathBuf,
    /// The plug-in.
    pub plugin: PathBuf,
}

impl Tools {
    /// Finds both: the emulator in `PATH`, the plug-in at `$TERRACE_RECORDER`, beside this program,
    /// or in `../lib/terrace` from there.
    ///
    /// # Errors
    /// Returns a failure that says what to install.
    pub fn find() -> Result<Self> {
        Ok(Self {
            emulator: find_emulator()?,
            plugin: PLUGIN.find()?,
        })
    }
}

fn find_emulator() -> Result<PathBuf> {
    let mut files = in_path(EMULATOR).into_iter();
    files.find(|file| file.is_file()).ok_or_else(|| {
        Error::failure(format!(
            "{EMULATOR}, in which programs are recorded, is not installed; install it \
                 (Debian: apt-get install qemu-user)"
        ))
    })
}
