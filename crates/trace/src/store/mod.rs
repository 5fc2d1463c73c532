//! Traces that lie in object storage, and are named by a URI: `s3://`, `gs://`, `az://`,
//! `https://`, and `http://` where `AWS_ALLOW_HTTP` is `true`.
//!
//! Credentials and other settings come from the environment, by the names that `object_store` gives
//! them: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `GOOGLE_SERVICE_ACCOUNT`, and so on.

#[cfg(feature = "object-store")]
mod object;
mod uri;

use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "object-store")]
use terrace_base::Context;
#[cfg(not(feature = "object-store"))]
use terrace_base::Error;
use terrace_base::Result;
pub use uri::Uri;

use crate::ranges::Ranges;

/// An object in a store.
pub(crate) struct Stored {
    pub ranges: Arc<dyn Ranges>,
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
            ranges: Arc::new(object),
        })
    }

    #[cfg(not(feature = "object-store"))]
    fn find(uri: &Uri) -> Result<Self> {
        Err(Error::usage(format!(
            "the trace `{uri}` lies in object storage, which this build does not read; build one \
             that does with `cargo build --release -p terrace --features object-store`, or fetch \
             the trace to a file"
        )))
    }
}
