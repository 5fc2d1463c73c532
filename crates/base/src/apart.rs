//! Checks that no file that a command writes is one that it reads or writes otherwise.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::output::{parent, resolve};

/// The option or argument that names a file, and its path.
pub type Named<'a> = (&'a str, &'a Path);

/// Checks that no output is an input or another output, under any name.
///
/// # Errors
/// Returns a usage error that names the file and both options.
pub fn keep_apart(inputs: &[Named], outputs: &[Named]) -> Result<()> {
    let all: Vec<_> = outputs
        .iter()
        .chain(inputs)
        .map(|(option, path)| (option, identity(path)))
        .collect();
    for (index, (option, path)) in outputs.iter().enumerate() {
        let Some(own) = &all[index].1 else { continue };
        let mut others = all[..index].iter().chain(&all[outputs.len()..]);
        if let Some((other, _)) = others.find(|(_, identity)| identity.as_ref() == Some(own)) {
            return Err(Error::usage(format!(
                "{option} would overwrite {}, which {other} names; name another file",
                path.display()
            )));
        }
    }
    Ok(())
}

/// Identity of a file, independent of its names.
#[derive(PartialEq)]
enum Identity {
    /// Device and inode of an existing file.
    There(u64, u64),
    /// Path of a file that does not exist.
    Not(PathBuf),
}

/// Returns the identity of a file; `None` for character devices such as `/dev/null`, which can be
/// written any number of times.
fn identity(path: &Path) -> Option<Identity> {
    // Standard input, or standard output: the caller knows which.
    if path.as_os_str() == "-" {
        return None;
    }
    match fs::metadata(path) {
        Ok(found) if found.file_type().is_char_device() => None,
        // Two names of one block device are two inodes.
        Ok(found) if found.file_type().is_block_device() => Some(Identity::There(0, found.rdev())),
        Ok(found) => Some(Identity::There(found.dev(), found.ino())),
        Err(_) => {
            let target = resolve(path).ok()?;
            let directory = parent(&target).canonicalize().ok()?;
            Some(Identity::Not(directory.join(target.file_name()?)))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_itself_by_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("a"), "").unwrap();
        fs::write(at("b"), "").unwrap();
        fs::create_dir(at("folder")).unwrap();
        symlink("a", at("link")).unwrap();
        symlink("new", at("dangling")).unwrap();
        fs::hard_link(at("a"), at("hard")).unwrap();
        for (one, other, same) in [
            ("a", "a", true),
            ("a", "b", false),
            ("a", "link", true),
            ("a", "hard", true),
            ("a", "folder/../a", true),
            ("new", "new", true),
            ("new", "dangling", true),
            ("new", "folder/../new", true),
            ("new", "newer", false),
            ("new", "folder/new", false),
        ] {
            let (one, other) = (at(one), at(other));
            let read = keep_apart(&[("--in", &one)], &[("--out", &other)]);
            let written = keep_apart(&[], &[("--one", &one), ("--other", &other)]);
            assert_eq!(read.is_err(), same, "{one:?} {other:?}");
            assert_eq!(written.is_err(), same, "{one:?} {other:?}");
        }
        let error = keep_apart(&[("TRACE", &at("a"))], &[("--json", &at("link"))]).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with("--json would overwrite "), "{error}");
        assert!(error.contains("which TRACE names"), "{error}");
    }

    #[test]
    fn what_swallows_everything_may_be_named_twice() {
        let null = Path::new("/dev/null");
        keep_apart(&[("TRACE", null)], &[("--json", null), ("-o", null)]).unwrap();
    }
}
