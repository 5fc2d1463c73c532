//! The tools of recording: the emulator and the plug-in.

use std::path::{Path, PathBuf};

use terrace_base::program::in_path;
use terrace_base::{Error, Result};

/// The emulator's name.
const EMULATOR: &str = "qemu-x86_64";
/// The plug-in's name.
const PLUGIN: &str = "libterrace_recorder.so";
/// The variable that names the plug-in's file.
const PLUGIN_VARIABLE: &str = "TERRACE_RECORDER";

/// The tools of recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tools {
    /// `qemu-x86_64`.
    pub emulator: PathBuf,
    /// The plug-in.
    pub plugin: PathBuf,
}

impl Tools {
    /// Finds both: the emulator in `PATH`, the plug-in at `$TERRACE_RECORDER`, beside this program, or
    /// in `../lib/terrace` from there.
    ///
    /// # Errors
    /// Returns a failure that says what to install.
    pub fn find() -> Result<Self> {
        Ok(Self {
            emulator: find_emulator()?,
            plugin: find_plugin()?,
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

fn find_plugin() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(PLUGIN_VARIABLE) {
        let path = PathBuf::from(path);
        return match path.is_file() {
            true => Ok(path),
            false => Err(Error::usage(format!(
                "${PLUGIN_VARIABLE} is `{}`, which is no file; let it name {PLUGIN}, or unset it",
                path.display()
            ))),
        };
    }
    let here = std::env::current_exe().unwrap_or_default();
    let here = here.parent().unwrap_or(Path::new("."));
    // Cargo that builds terrace alone leaves the plug-in in `deps`, and perhaps an older one beside
    // terrace.
    let places = [
        here.join("deps").join(PLUGIN),
        here.join(PLUGIN),
        here.join("../lib/terrace").join(PLUGIN),
    ];
    places.iter().find(|file| file.is_file()).cloned().ok_or_else(|| {
        Error::failure(format!(
            "the plug-in {PLUGIN} is neither beside terrace ({}) nor in ../lib/terrace; build it \
             (cargo build --release), or name it in ${PLUGIN_VARIABLE}",
            here.display()
        ))
    })
}
