//! What is held of every case, whatever it is about: see [`complaints`].

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::case::Case;

/// Words of libraries, of the compiler and of the system that say nothing to a person.
const RAW: [&str; 25] = [
    "panicked",
    "RUST_BACKTRACE",
    "(os error",
    "failed to fill whole buffer",
    "unexpected end of file",
    "unexpected EOF",
    "EOF while parsing",
    "Disabled feature",
    "Parquet error",
    "External:",
    "called `Option",
    "called `Result",
    "ParseIntError",
    "invalid digit found",
    "invalid float literal",
    "cannot parse integer",
    "number too large to fit",
    "did not contain valid UTF-8",
    "stream did not contain",
    "ErrorKind",
    "Os {",
    "Custom {",
    "Some(",
    "Size is ",
    "error: ",
];

/// What was seen of a file, without its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    mode: u32,
    owner: u32,
    size: u64,
    /// Of the content, or of where a link leads to; 0 for what may not be read, or is no file.
    content: u64,
}

/// All files below a directory, by their paths from there.
pub type Files = BTreeMap<PathBuf, Seen>;

/// Looks at all files below a directory.
pub fn files(root: &Path) -> Files {
    let mut found = Files::new();
    let mut ahead = vec![root.to_path_buf()];
    while let Some(directory) = ahead.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(about) = path.symlink_metadata() else {
                continue;
            };
            let mut hasher = DefaultHasher::new();
            if about.is_symlink() {
                fs::read_link(&path).ok().hash(&mut hasher);
            } else if about.is_file() {
                fs::read(&path).ok().hash(&mut hasher);
            }
            let seen = Seen {
                mode: about.mode(),
                owner: about.uid(),
                size: if about.is_dir() { 0 } else { about.size() },
                content: hasher.finish(),
            };
            found.insert(path.strip_prefix(root).unwrap().to_path_buf(), seen);
            if about.is_dir() {
                ahead.push(path);
            }
        }
    }
    found
}

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// `None` after a signal.
    pub code: Option<i32>,
    /// It did not end in time, and was killed.
    pub hung: bool,
    pub stdout: String,
    pub stderr: String,
    pub before: Files,
    pub after: Files,
    /// Processes, groups and swap areas that outlive it.
    pub outlive: Vec<String>,
}

/// All that is wrong with what came of a case; nothing if it is as it must be.
pub fn complaints(case: &Case, observed: &Observed) -> Vec<String> {
    let mut all = Vec::new();
    if observed.hung {
        all.push("it hangs".into());
    } else if !observed.code.is_some_and(|code| case.codes.contains(&code)) {
        let code = observed.code.map_or("a signal".into(), |c| c.to_string());
        let codes: Vec<String> = case.codes.iter().map(i32::to_string).collect();
        all.push(format!(
            "it ends with {code} instead of {}",
            codes.join(" or ")
        ));
    }
    all.extend(sentence(case, &observed.stderr));
    for words in &case.prints {
        if !observed.stdout.contains(words) {
            all.push(format!("it does not print «{words}»"));
        }
    }
    for word in RAW {
        if observed.stderr.contains(word) || observed.stdout.contains("panicked") {
            all.push(format!("a raw word: «{word}»"));
        }
    }
    all.extend(changes(case, &observed.before, &observed.after));
    all.extend(
        observed
            .outlive
            .iter()
            .map(|what| format!("{what} is left")),
    );
    all
}

/// Checks that what failed says one sentence in our name, and what succeeded at most one.
fn sentence(case: &Case, stderr: &str) -> Vec<String> {
    let mut all = Vec::new();
    let lines: Vec<_> = stderr.lines().collect();
    match lines[..] {
        [] if case.speaks => all.push("it fails without a word".into()),
        [] => {}
        [line] => {
            if !line.starts_with("terrace: ") {
                all.push("the sentence does not start with «terrace: »".into());
            }
            if line.matches("terrace: ").count() > 1 {
                all.push("it says twice who speaks".into());
            }
        }
        _ => all.push(format!("{} lines instead of one sentence", lines.len())),
    }
    if case.is_silent && !lines.is_empty() {
        all.push("it says something".into());
    }
    for words in &case.says {
        if !stderr.contains(words) {
            all.push(format!("it does not say «{words}»"));
        }
    }
    all
}

/// Checks that no file is another, and none new but those that must be.
fn changes(case: &Case, before: &Files, after: &Files) -> Vec<String> {
    let mut all = Vec::new();
    let is = |names: &[String], path: &Path| names.iter().any(|name| Path::new(name) == path);
    for (path, seen) in before {
        match after.get(path) {
            _ if is(&case.changes, path) => {}
            None => all.push(format!("{} is gone", path.display())),
            Some(now) if now != seen => all.push(format!("{} was changed", path.display())),
            Some(_) => {}
        }
    }
    for path in after.keys().filter(|path| !before.contains_key(*path)) {
        if !case.leaves.iter().any(|name| path.starts_with(name)) {
            all.push(format!("{} is new", path.display()));
        }
    }
    for name in &case.leaves {
        if !after.contains_key(Path::new(name)) {
            all.push(format!("{name} is missing"));
        }
    }
    all
}
