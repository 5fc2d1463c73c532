//! A folder of files: a directory, or objects whose names begin alike in a store.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use terrace_base::user::give_to_caller;
use terrace_base::{Context, Error, Output, Result};

#[cfg(feature = "object-store")]
use super::prefix::Prefix;
use super::uri::Uri;

/// A folder of files, which any number of programs may use at once, from any host.
#[derive(Debug)]
pub struct Folder {
    name: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// It need not be there.
    Directory(PathBuf),
    #[cfg(feature = "object-store")]
    Store(Prefix),
}

impl Folder {
    /// Finds the folder of a path or URI; nothing is made or asked.
    ///
    /// # Errors
    /// A usage error if it is a file, or a URI that names no folder; a failure if the settings of
    /// its store are wrong.
    pub fn of(name: &Path) -> Result<Self> {
        let place = match Uri::of(name)? {
            Some(uri) => Self::store(&uri)?,
            None if name.exists() && !name.is_dir() => {
                return Err(Error::usage(format!(
                    "`{}` is not a directory; name another one for the results",
                    name.display()
                )));
            }
            None => Place::Directory(name.to_owned()),
        };
        let name = name.to_owned();
        Ok(Self { name, place })
    }

    #[cfg(feature = "object-store")]
    fn store(uri: &Uri) -> Result<Place> {
        let prefix = Prefix::of(uri).or_fail(|| format!("cannot use `{uri}`"))?;
        Ok(Place::Store(prefix))
    }

    #[cfg(not(feature = "object-store"))]
    fn store(uri: &Uri) -> Result<Place> {
        Err(super::absent(&format!("the folder `{uri}`")))
    }

    /// Returns the names of its files with this beginning and ending, in their order; none where it
    /// is not there. A store is not asked for what has another beginning.
    ///
    /// # Errors
    /// A failure where it cannot be listed.
    pub fn names(&self, begin: &str, ending: &str) -> Result<Vec<String>> {
        let names = match &self.place {
            Place::Directory(directory) => names(directory),
            #[cfg(feature = "object-store")]
            Place::Store(prefix) => prefix.names(begin),
        };
        let mut names = names.or_fail(|| format!("cannot read `{self}`"))?;
        names.retain(|name| name.starts_with(begin) && name.ends_with(ending));
        names.sort();
        Ok(names)
    }

    /// Returns the contents of files by their names; those are left out that nobody has any more.
    ///
    /// # Errors
    /// A failure where one cannot be read.
    pub fn read(&self, names: Vec<String>) -> Result<HashMap<String, Vec<u8>>> {
        let read: io::Result<_> = match &self.place {
            Place::Directory(directory) => names
                .into_iter()
                .filter_map(|name| {
                    let read = fs::read(directory.join(&name));
                    present(read.map(|bytes| (name, bytes)))
                })
                .collect(),
            #[cfg(feature = "object-store")]
            Place::Store(prefix) => prefix.read(names),
        };
        read.or_fail(|| format!("cannot read `{self}`"))
    }

    /// Writes a file: it gets its name when it is whole, and then it is on disk, or in the store.
    ///
    /// # Errors
    /// A failure where it cannot be written; nothing of it is there then.
    pub fn write(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        match &self.place {
            Place::Directory(directory) => {
                let path = directory.join(name);
                make(directory).or_fail(|| format!("cannot write `{}`", path.display()))?;
                let written = Output::save(&path, &bytes);
                if written.is_err() {
                    // A directory with something in it stays.
                    let _ = fs::remove_dir(directory);
                }
                written
            }
            #[cfg(feature = "object-store")]
            Place::Store(prefix) => {
                let written = prefix.write(name, bytes);
                written.or_fail(|| format!("cannot write `{name}` in `{self}`"))
            }
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name.display())
    }
}

/// Returns what was read; none where it is not there.
fn present<T>(read: io::Result<T>) -> Option<io::Result<T>> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        read => Some(read),
    }
}

/// Returns the names of the regular files of a directory, as far as they are texts.
fn names(directory: &Path) -> io::Result<Vec<String>> {
    let Some(files) = present(fs::read_dir(directory)) else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for file in files? {
        let file = file?;
        // Reading a pipe of somebody's would wait for ever.
        if file.path().metadata().is_ok_and(|found| found.is_file()) {
            names.extend(file.file_name().into_string().ok());
        }
    }
    Ok(names)
}

/// Makes a directory, unless it is there.
fn make(directory: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(directory) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => return Ok(()),
        made => made?,
    }
    give_to_caller(&File::open(directory)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_made_with_the_first_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("results");
        let folder = Folder::of(&path).unwrap();
        assert_eq!(folder.names("", "").unwrap(), [""; 0]);
        assert!(!path.exists());
        for name in ["b.x", "a.x", "c.y"] {
            folder.write(name, name.into()).unwrap();
        }
        fs::create_dir(path.join("directory.x")).unwrap();
        assert_eq!(folder.names("", ".x").unwrap(), ["a.x", "b.x"]);
        assert_eq!(folder.names("b", "").unwrap(), ["b.x"]);
        let read = folder.read(vec!["a.x".into(), "gone.x".into()]).unwrap();
        assert_eq!(read, HashMap::from([("a.x".into(), b"a.x".to_vec())]));
    }

    #[test]
    fn what_cannot_be_is_one_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Folder::of(&file).unwrap_err().to_string();
        assert!(error.contains("is not a directory"), "{error}");
        let folder = Folder::of(&directory.path().join("none/results")).unwrap();
        let error = folder.write("a", Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("cannot write"), "{error}");
        assert!(!directory.path().join("none").exists());
    }
}
