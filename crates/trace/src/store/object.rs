//! An object in a store, read in ranges.

use std::env;
use std::error::Error;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, parse_url_opts};
use terrace_base::unpanicked;
use tokio::runtime::{Builder, Runtime};

use super::uri::Uri;
use crate::ranges::Ranges;

/// Bytes at the end that are read at once: the description of most traces lies within them.
const TAIL: u64 = 64 << 10;

/// An object, as it was when it was opened.
pub(super) struct Object {
    /// Works on the thread that reads, while it waits.
    runtime: Runtime,
    store: Box<dyn ObjectStore>,
    path: Path,
    meta: ObjectMeta,
    /// The last bytes, once any of them was asked for.
    tail: OnceLock<Bytes>,
}

impl Object {
    /// Finds an object, with the credentials of the environment. What fails is tried again as
    /// `object_store` does it, for up to three minutes.
    pub(super) fn open(uri: &Uri) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (store, path) = named(uri)?;
        let meta = asked(|| runtime.block_on(store.head(&path)))?;
        Ok(Self {
            runtime,
            store,
            path,
            meta,
            tail: OnceLock::new(),
        })
    }

    /// Returns what tells the object from those that had its name before: its entity tag, or else
    /// when it was changed.
    pub(super) fn version(&self) -> String {
        let tag = self.meta.e_tag.clone();
        tag.unwrap_or_else(|| self.meta.last_modified.to_rfc3339())
    }

    /// Fetches a range, which is not empty and lies within the object.
    fn get(&self, range: Range<u64>) -> io::Result<Bytes> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.clone())),
            ..GetOptions::default()
        };
        let get = async {
            let got = self.store.get_opts(&self.path, options).await?;
            Ok((got.meta.clone(), got.bytes().await?))
        };
        let (meta, bytes) = asked(|| self.runtime.block_on(get))?;
        if (&meta.e_tag, meta.size) != (&self.meta.e_tag, self.meta.size) {
            return Err(io::Error::other(
                "it was replaced by another object while it was read",
            ));
        }
        match bytes.len() as u64 == range.end - range.start {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Returns the last bytes, from `begin` on.
    fn tail(&self, begin: u64) -> io::Result<&Bytes> {
        if let Some(tail) = self.tail.get() {
            return Ok(tail);
        }
        let tail = self.get(begin..self.meta.size)?;
        Ok(self.tail.get_or_init(|| tail))
    }
}

impl Ranges for Object {
    fn length(&self) -> io::Result<u64> {
        Ok(self.meta.size)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let tail = self.meta.size.saturating_sub(TAIL);
        let before = tail.saturating_sub(offset).min(buffer.len() as u64);
        let (before_tail, in_tail) = buffer.split_at_mut(before as usize);
        if !before_tail.is_empty() {
            before_tail.copy_from_slice(&self.get(offset..offset + before)?);
        }
        if !in_tail.is_empty() {
            let begin = (offset + before - tail) as usize;
            let bytes = self.tail(tail)?.get(begin..begin + in_tail.len());
            in_tail.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        }
        Ok(())
    }
}

/// Returns the store that a URI names, with the credentials of the environment, and what it names
/// there.
pub(super) fn named(uri: &Uri) -> io::Result<(Box<dyn ObjectStore>, Path)> {
    let url = uri.to_string().parse();
    let url = url.map_err(|_| io::Error::other("its address is no URI"))?;
    asked(|| parse_url_opts(&url, options()))
}

/// Returns the settings of stores that the environment has, as their names there, in any case.
fn options() -> Vec<(String, String)> {
    let named = |name: &str| {
        let prefixes = ["AWS_", "AZURE_", "GOOGLE_"];
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    };
    let texts = env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        named(&name).then_some((name, value))
    });
    let mut options: Vec<_> = texts.collect();
    // One setting for all stores, and for servers that are none.
    let allowed = env::var("AWS_ALLOW_HTTP").ok();
    options.extend(allowed.map(|value| ("allow_http".to_owned(), value)));
    options
}

/// Has `object_store` do something. It panics where it finds settings to be no addresses.
pub(super) fn asked<T>(ask: impl FnOnce() -> object_store::Result<T>) -> io::Result<T> {
    let answer = unpanicked(ask).ok_or_else(|| {
        io::Error::other(
            "a setting of its store in the environment, such as AWS_ENDPOINT_URL, is wrong",
        )
    });
    answer?.map_err(told)
}

/// Returns the error as a reason for people, without addresses and answers of servers, which may
/// hold credentials.
pub(super) fn told(error: object_store::Error) -> io::Error {
    io::Error::other(match &error {
        object_store::Error::NotFound { .. } => "the store has no such object".to_owned(),
        object_store::Error::PermissionDenied { .. }
        | object_store::Error::Unauthenticated { .. } => {
            "the store refuses access with the credentials of the environment".to_owned()
        }
        object_store::Error::NotSupported { .. } => "its server sends no parts of it".to_owned(),
        _ => innermost(&error),
    })
}

/// Hosts that give credentials to machines which rent them; asked where the environment has none.
const CREDENTIALS: [&str; 3] = [
    "://169.254.169.254",
    "://169.254.170.2",
    "://metadata.google.internal",
];

/// Returns the text of the innermost cause.
fn innermost(error: &dyn Error) -> String {
    const STATUS: &str = "Server returned non-2xx status code: ";
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if CREDENTIALS
        .iter()
        .any(|host| error.to_string().contains(host))
    {
        return "the environment has no credentials for its store, and this machine gives none"
            .to_owned();
    }
    let text = cause.to_string();
    let text = text.lines().next().unwrap_or_default();
    if let Some(answer) = text.strip_prefix(STATUS) {
        let status = answer.split(": ").next().unwrap_or_default();
        return format!("the store answers {}", status.trim_end_matches(':'));
    }
    if text == "URL scheme is not allowed" {
        return "its store is asked by http, which AWS_ALLOW_HTTP=true allows".to_owned();
    }
    let words = text.split(' ').map(|word| match word.contains("://") {
        true => "…",
        false => word,
    });
    words.collect::<Vec<_>>().join(" ")
}
