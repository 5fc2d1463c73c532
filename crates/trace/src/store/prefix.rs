//! Objects of a store whose names begin alike.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::object::{asked, named, told};
use super::uri::Uri;

/// Objects that are fetched at once: each takes a round trip, and few bytes.
const AT_ONCE: usize = 32;

/// Objects of a store whose names begin with a path.
pub(super) struct Prefix {
    /// Works on the thread that asks, while it waits.
    runtime: Runtime,
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// Whether the store lists its objects in the order of their names.
    is_ordered: bool,
}

impl Prefix {
    /// Finds the store, which is not asked yet.
    pub(super) fn of(uri: &Uri) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (store, path) = named(uri)?;
        Ok(Self {
            runtime,
            store: store.into(),
            path,
            is_ordered: !uri.to_string().starts_with("http"),
        })
    }

    /// Returns the names of its objects behind the path; those with another beginning may be left
    /// out.
    pub(super) fn names(&self, begin: &str) -> io::Result<Vec<String>> {
        if begin.is_empty() || !self.is_ordered {
            let list = self.store.list_with_delimiter(Some(&self.path));
            let list = asked(|| self.runtime.block_on(list))?;
            let names = list.objects.iter();
            let names = names.filter_map(|object| object.location.filename());
            return Ok(names.map(str::to_owned).collect());
        }
        let list = async {
            let from = self.object(begin);
            let mut objects = self.store.list_with_offset(Some(&self.path), &from);
            let mut names = Vec::new();
            while let Some(object) = objects.try_next().await? {
                match object.location.filename() {
                    Some(name) if name.starts_with(begin) => names.push(name.to_owned()),
                    _ => break,
                }
            }
            Ok(names)
        };
        asked(|| self.runtime.block_on(list))
    }

    /// Returns the contents of objects; those that are not there are left out.
    pub(super) fn read(&self, names: Vec<String>) -> io::Result<HashMap<String, Vec<u8>>> {
        self.runtime.block_on(async {
            let (mut names, mut reads) = (names.into_iter(), JoinSet::new());
            let mut found = HashMap::new();
            loop {
                while reads.len() < AT_ONCE
                    && let Some(name) = names.next()
                {
                    let (store, path) = (self.store.clone(), self.object(&name));
                    reads.spawn(async move { (name, contents(&*store, &path).await) });
                }
                let Some(read) = reads.join_next().await else {
                    return Ok(found);
                };
                let (name, read) = read.map_err(io::Error::other)?;
                match read {
                    Ok(bytes) => drop(found.insert(name, bytes)),
                    Err(Error::NotFound { .. }) => {}
                    Err(error) => return Err(told(error)),
                }
            }
        })
    }

    /// Writes an object, which others see when it is whole.
    pub(super) fn write(&self, name: &str, bytes: Vec<u8>) -> io::Result<()> {
        let path = self.object(name);
        let put = self.store.put(&path, bytes.into());
        asked(|| self.runtime.block_on(put)).map(drop)
    }

    fn object(&self, name: &str) -> Path {
        self.path.clone().join(name)
    }
}

async fn contents(store: &dyn ObjectStore, path: &Path) -> object_store::Result<Vec<u8>> {
    let got = store.get(path).await?;
    Ok(got.bytes().await?.to_vec())
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefix({})", self.path)
    }
}
