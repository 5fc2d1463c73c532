//! Rules that people state beside the policies: paths whose pages are always admitted, and paths
//! and sizes whose pages never are.

use std::collections::BTreeSet;

use glob::{MatchOptions, Pattern};

/// What the rules say of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    /// Its pages are admitted as the policies say.
    #[default]
    Policy,
    /// Its pages are admitted whatever the policies say, and stay.
    Pinned,
    /// No page of it is admitted.
    Excluded,
}

impl Rule {
    /// Returns what all rules say of a file, by what those of paths say, the largest that is not
    /// excluded, and its size.
    pub fn of_size(self, largest: Option<u64>, bytes: u64) -> Self {
        match self {
            Self::Policy if largest.is_some_and(|largest| bytes > largest) => Self::Excluded,
            of_path => of_path,
        }
    }
}

/// The rules. Paths are relative to the root that is cached, without a slash at the start; a pin
/// counts more than an exclusion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rules {
    /// Files that are pinned, and directories whose files all are; the empty path is the root.
    pub pinned: BTreeSet<String>,
    /// Patterns whose files are excluded, and those in directories with such a name.
    pub excluded: BTreeSet<String>,
    /// Bytes of the largest file that is not excluded.
    pub largest: Option<u64>,
}

impl Rules {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Pins a path. Returns whether it was not.
    pub fn pin(&mut self, path: &str) -> bool {
        self.pinned.insert(trimmed(path).to_owned())
    }

    /// Takes a pin back. Returns whether there was one of this very path.
    pub fn unpin(&mut self, path: &str) -> bool {
        self.pinned.remove(trimmed(path))
    }

    /// Excludes what a pattern matches: `*` is any part of a name, `**` any directories, `?` and
    /// `[ab]` one character. A pattern without a slash is one of names, wherever they are.
    ///
    /// # Errors
    /// Returns a message if it is no pattern.
    pub fn exclude(&mut self, pattern: &str) -> Result<bool, String> {
        let made = Pattern::new(pattern);
        made.map_err(|error| format!("`{pattern}` is no pattern of paths: {}", error.msg))?;
        Ok(self.excluded.insert(pattern.to_owned()))
    }

    /// Takes an exclusion back. Returns whether there was one by this very pattern.
    pub fn include(&mut self, pattern: &str) -> bool {
        self.excluded.remove(pattern)
    }

    /// Returns what the rules of paths say of a file.
    pub fn of_path(&self, path: &str) -> Rule {
        if self.pinned.iter().any(|pinned| is_in(path, pinned)) {
            return Rule::Pinned;
        }
        match self.excluded.iter().any(|pattern| matches(pattern, path)) {
            true => Rule::Excluded,
            false => Rule::Policy,
        }
    }
}

fn trimmed(path: &str) -> &str {
    path.trim_matches('/')
}

/// Whether a path is `directory`, or lies in it.
fn is_in(path: &str, directory: &str) -> bool {
    match path.strip_prefix(directory) {
        Some(rest) => directory.is_empty() || rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// Whether a pattern matches a path, or a directory that it lies in.
fn matches(pattern: &str, path: &str) -> bool {
    const OPTIONS: MatchOptions = MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: false,
    };
    let Ok(made) = Pattern::new(trimmed(pattern)) else {
        return false;
    };
    if !pattern.contains('/') {
        let mut names = path.split('/');
        return names.any(|name| made.matches_with(name, OPTIONS));
    }
    let ends = path.match_indices('/').map(|(at, _)| at);
    let mut paths = ends.chain([path.len()]).map(|end| &path[..end]);
    paths.any(|path| made.matches_with(path, OPTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_of_a_file_or_of_all_in_a_directory() {
        let mut rules = Rules::default();
        assert!(rules.pin("/db/") && !rules.pin("db"));
        for (path, rule) in [
            ("db", Rule::Pinned),
            ("db/a/b", Rule::Pinned),
            ("db2", Rule::Policy),
            ("x/db", Rule::Policy),
        ] {
            assert_eq!(rules.of_path(path), rule, "{path}");
        }
        assert!(rules.unpin("db") && !rules.unpin("db") && rules.is_empty());
        rules.pin("");
        assert_eq!(rules.of_path("x"), Rule::Pinned);
    }

    #[test]
    fn patterns_are_of_names_or_of_paths() {
        for (pattern, path, is_excluded) in [
            ("*.iso", "a.iso", true),
            ("*.iso", "deep/in/a.iso", true),
            ("*.iso", "a.iso.txt", false),
            ("tmp", "tmp/x", true),
            ("tmp", "a/tmp/x", true),
            ("a/*.o", "a/b.o", true),
            ("a/*.o", "a/b/c.o", false),
            ("a/**/*.o", "a/b/c/d.o", true),
            ("/a", "a/x", true),
            ("/a", "b/a", false),
            ("*.iso", ".hidden.iso", true),
        ] {
            let mut rules = Rules::default();
            rules.exclude(pattern).unwrap();
            let found = rules.of_path(path) == Rule::Excluded;
            assert_eq!(found, is_excluded, "{pattern} {path}");
            assert!(rules.include(pattern) && rules.is_empty());
        }
        let error = Rules::default().exclude("a[").unwrap_err();
        assert!(error.starts_with("`a[` is no pattern"), "{error}");
    }

    #[test]
    fn a_pin_counts_more_than_an_exclusion() {
        let mut rules = Rules::default();
        let largest = Some(100);
        rules.exclude("*").unwrap();
        rules.pin("db");
        assert_eq!(rules.of_path("db/a").of_size(largest, 101), Rule::Pinned);
        assert_eq!(rules.of_path("x"), Rule::Excluded);
        rules.include("*");
        assert_eq!(rules.of_path("x").of_size(largest, 101), Rule::Excluded);
        assert_eq!(rules.of_path("x").of_size(largest, 100), Rule::Policy);
    }
}
