//! The directory in which what was computed or fetched is kept.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the directory: `TERRACE_CACHE`, else `terrace` in `XDG_CACHE_HOME`, else in `~/.cache`;
/// none where the environment says nothing of it.
pub fn directory() -> Option<PathBuf> {
    of(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

/// Returns the directory by the variables of the environment.
fn of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(own) = variable("TERRACE_CACHE") {
        return Some(own.into());
    }
    let caches = variable("XDG_CACHE_HOME").map(PathBuf::from);
    // The standard has relative paths ignored.
    let caches = caches.filter(|caches| caches.is_absolute());
    let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
    Some(caches.or_else(home)?.join("terrace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_that_of_the_environment() {
        let found_in = |set: &[(&str, &str)]| {
            let found = |name: &str| set.iter().find(|(known, _)| *known == name);
            of(|name| found(name).map(|(_, value)| value.into()))
        };
        let (own, caches, home) = (
            ("TERRACE_CACHE", "c"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        );
        assert_eq!(found_in(&[own, caches, home]), Some("c".into()));
        assert_eq!(found_in(&[caches, home]), Some("/x/terrace".into()));
        assert_eq!(
            found_in(&[("XDG_CACHE_HOME", "x"), home]),
            Some("/h/.cache/terrace".into())
        );
        assert_eq!(found_in(&[home]), Some("/h/.cache/terrace".into()));
        assert_eq!(found_in(&[]), None);
    }
}
