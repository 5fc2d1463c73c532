//! Object storage: what lies there is named by a URI, `s3://`, `gs://`, `az://`, `https://`, and
//! `http://` where `AWS_ALLOW_HTTP` is `true`. Traces are read there, and results of sweeps are
//! kept in a [`Folder`] there.
//!
//! Credentials and other settings come from the environment, by the names that `object_store` gives
//! them: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, and so on.

#[cfg(feature = "object-store")]
mod cache;
mod folder;
#[cfg(feature = "object-store")]
mod object;
#[cfg(feature = "object-store")]
mod prefix;
mod uri;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "object-store")]
use cache::Cache;
pub use folder::Folder;
#[cfg(not(feature = "object-store"))]
use terrace_base::Error;
use terrace_base::{Context, Result};
pub use uri::Uri;

use crate::ranges::Ranges;

/// An object in a store.
pub struct Stored {
    pub(crate) ranges: Arc<dyn Ranges>,
    /// Tells it from objects that had its name before.
    version: String,
}

impl Stored {
    /// Finds the object that a path names; none where it is the path of a file.
    pub(crate) fn of(path: &Path) -> Result<Option<Self>> {
        Uri::of(path)?.map(|uri| Self::find(&uri)).transpose()
    }

    #[cfg(feature = "object-store")]
    fn find(uri: &Uri) -> Result<Self> {
        let object = object::Object::open(uri);
        let object = object.or_fail(|| format!("cannot read the trace `{uri}`"))?;
        Ok(Self {
            version: object.version(),
            ranges: Arc::new(object),
        })
    }

    /// Returns the length of the object that a path names in bytes, and what tells it from objects
    /// that had its name before; none where it is the path of a file.
    ///
    /// # Errors
    /// A failure where the object is not found.
    pub fn identity(path: &Path) -> Result<Option<(u64, String)>> {
        let Some(stored) = Self::of(path)? else {
            return Ok(None);
        };
        let bytes = stored.ranges.length();
        let bytes = bytes.or_fail(|| format!("cannot read the trace `{}`", path.display()))?;
        Ok(Some((bytes, stored.version)))
    }

    /// Returns the file in which all of the object that a path names is kept; none where it is the
    /// path of a file.
    ///
    /// # Errors
    /// A failure where the object cannot be fetched or kept.
    pub(crate) fn file(path: &Path) -> Result<Option<File>> {
        let Some(uri) = Uri::of(path)? else {
            return Ok(None);
        };
        Self::find(&uri)?.keep(&uri).map(Some)
    }

    #[cfg(feature = "object-store")]
    fn keep(&self, uri: &Uri) -> Result<File> {
        Cache::of_environment()?.file(uri, self)
    }

    #[cfg(not(feature = "object-store"))]
    fn keep(&self, uri: &Uri) -> Result<File> {
        Err(absent(&format!("the trace `{uri}`")))
    }

    #[cfg(not(feature = "object-store"))]
    fn find(uri: &Uri) -> Result<Self> {
        Err(absent(&format!("the trace `{uri}`")))
    }
}

/// Returns the error of a build without object storage.
#[cfg(not(feature = "object-store"))]
fn absent(what: &str) -> Error {
    Error::usage(format!(
        "{what} lies in object storage, which this build does not use; build one that does with \
         `cargo build --release -p terrace --features object-store`, or use a file"
    ))
}
