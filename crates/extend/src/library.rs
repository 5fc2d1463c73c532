//! The library that is loaded into programs.

use std::path::{Path, PathBuf};

use terrace_base::{Error, Result};

/// Its name.
const NAME: &str = "libterrace_extend_preload.so";
/// The variable that names its file.
const VARIABLE: &str = "TERRACE_EXTEND_LIBRARY";

/// Finds the library: at `$TERRACE_EXTEND_LIBRARY`, beside this program, or in `../lib/terrace` from there.
///
/// # Errors
/// Returns a failure that says how to build it.
pub fn find() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE) {
        let path = PathBuf::from(path);
        return match path.is_file() {
            true => Ok(path),
            false => Err(Error::usage(format!(
                "${VARIABLE} is `{}`, which is no file; let it name {NAME}, or unset it",
                path.display()
            ))),
        };
    }
    let here = std::env::current_exe().unwrap_or_default();
    let here = here.parent().unwrap_or(Path::new("."));
    // Cargo that builds terrace alone leaves the library in `deps`, and perhaps an older one beside terrace.
    let places = [
        here.join("deps").join(NAME),
        here.join(NAME),
        here.join("../lib/terrace").join(NAME),
    ];
    places
        .iter()
        .find(|file| file.is_file())
        .cloned()
        .ok_or_else(|| {
            Error::failure(format!(
                "the library {NAME} is neither beside terrace ({}) nor in ../lib/terrace; build it \
             (cargo build --release), or name it in ${VARIABLE}",
                here.display()
            ))
        })
}
