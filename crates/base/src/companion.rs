//! Libraries that are built and installed with `terrace`, and loaded into other programs.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// A shared library that belongs to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Companion {
    /// What it is called in messages: library, plug-in.
    pub kind: &'static str,
    /// The name of its file.
    pub name: &'static str,
    /// The variable of the environment that names its file, if it lies elsewhere.
    pub variable: &'static str,
}

impl Companion {
    /// Finds the file: the one that the variable names, beside this program, or in `../lib/terrace`
    /// from there.
    ///
    /// # Errors
    /// Returns a usage error if the variable names no file, and a failure that says how to build
    /// the library if it is nowhere.
    pub fn find(&self) -> Result<PathBuf> {
        let here = std::env::current_exe().unwrap_or_default();
        self.find_from(
            here.parent().unwrap_or(Path::new(".")),
            std::env::var_os(self.variable).map(PathBuf::from),
        )
    }

    fn find_from(&self, here: &Path, named: Option<PathBuf>) -> Result<PathBuf> {
        let Self {
            kind,
            name,
            variable,
        } = self;
        if let Some(path) = named {
            return match path.is_file() {
                true => Ok(path),
                false => Err(Error::usage(format!(
                    "${variable} is `{}`, which is no file; let it name {name}, or unset it",
                    path.display()
                ))),
            };
        }
        // Cargo that builds terrace alone leaves the library in `deps`, and perhaps an older one
        // beside terrace.
        let places = ["deps", ".", "../lib/terrace"].map(|place| here.join(place).join(name));
        let found = places.into_iter().find(|file| file.is_file());
        found.ok_or_else(|| {
            Error::failure(format!(
                "the {kind} {name} is neither beside terrace ({}) nor in ../lib/terrace; build it \
                 (cargo build --release), or name it in ${variable}",
                here.display()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: Companion = Companion {
        kind: "library",
        name: "libnone.so",
        variable: "TERRACE_NONE",
    };

    #[test]
    fn the_named_file_comes_before_the_places() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().join("bin");
        let find =
            |named: Option<PathBuf>| LIBRARY.find_from(&here, named).map_err(|e| e.to_string());
        let error = find(None).unwrap_err();
        assert!(
            error.contains("the library libnone.so is neither beside"),
            "{error}"
        );
        for place in ["../lib/terrace", ".", "deps"] {
            let place = here.join(place);
            std::fs::create_dir_all(&here).unwrap();
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("libnone.so"), "").unwrap();
            assert_eq!(find(None), Ok(place.join("libnone.so")));
        }
        let named = directory.path().join("named");
        let error = find(Some(named.clone())).unwrap_err();
        assert!(error.contains("$TERRACE_NONE is `"), "{error}");
        std::fs::write(&named, "").unwrap();
        assert_eq!(find(Some(named.clone())), Ok(named));
    }
}
