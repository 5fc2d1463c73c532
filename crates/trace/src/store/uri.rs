//! The URI of an object in a store.

use std::fmt;
use std::path::Path;

use terrace_base::{Error, Result};

/// Schemes of stores. Any other path is that of a file.
const SCHEMES: [&str; 5] = ["s3", "gs", "az", "https", "http"];

/// The URI of an object in a store, as `s3://bucket/key`. It has no user and no query, so that it
/// can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uri(String);

impl Uri {
    /// Returns the URI that stands for a trace, or for a folder of objects; none where that is the
    /// path of a file or directory.
    ///
    /// # Errors
    /// A usage error if it names no object, or if there are a user, a query or a fragment in it,
    /// which may be secrets: the sentence does not show them.
    pub fn of(path: &Path) -> Result<Option<Self>> {
        let text = path.to_string_lossy();
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(None);
        };
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.contains(&&*scheme) {
            return Ok(None);
        }
        let (authority, path) =
            rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (key, query) = path.split_at(path.find(['?', '#']).unwrap_or(path.len()));
        if !is_host(host) {
            return Err(Error::usage(format!(
                "an address that begins with `{scheme}://` names no host or bucket \
                 behind that; write it as `{scheme}://HOST/KEY`"
            )));
        }
        let shown = format!("{scheme}://{host}{key}");
        if user.is_some() {
            // Where a password holds what would end it, nobody knows where it ends.
            let is_clear = rest.matches('@').count() == 1;
            let shown = match is_clear {
                true => shown,
                false => format!("{scheme}://…"),
            };
            return Err(Error::usage(format!(
                "the address `{shown}` has a user before its host, which is not shown \
                 here; leave it away: credentials come from the environment alone"
            )));
        }
        if !query.is_empty() {
            return Err(Error::usage(format!(
                "the address `{shown}` has a query or fragment at its end, which is \
                 not shown here; leave it away: credentials come from the environment alone, and \
                 a ? or # in a name is written as %3F or %23"
            )));
        }
        match key.trim_start_matches('/').is_empty() {
            true => Err(Error::usage(format!(
                "the address `{shown}` names no object in its store; write it as \
                 `{scheme}://{host}/KEY`"
            ))),
            false => Ok(Some(Self(shown))),
        }
    }
}

/// Whether this is the name or number of a host, with or without a port, and nothing that could be
/// a secret.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !text.ends_with(']') => (name, port),
        _ => (text, "80"),
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let inner = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    let is_name = match inner {
        Some(number) => number
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b':'),
        None => name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)),
    };
    !name.is_empty() && is_name && is_number
}

impl fmt::Display for Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Result<Option<String>> {
        Ok(Uri::of(Path::new(text))?.map(|uri| uri.to_string()))
    }

    #[test]
    fn an_address_of_a_store_is_told_from_a_path() {
        for uri in [
            "s3://traces/a.parquet",
            "gs://traces/2026/a b.parquet",
            "az://container/a@b:c.parquet",
            "https://host.example:8080/a.parquet",
            "http://127.0.0.1:1/a",
            "http://[::1]:1/a%3Fb",
        ] {
            assert_eq!(of(uri), Ok(Some(uri.to_owned())));
        }
        assert_eq!(of("S3://traces/A"), Ok(Some("s3://traces/A".to_owned())));
        for path in [
            "-",
            "a.parquet",
            "./s3://a/b",
            "ftp://a:b@c/d",
            "/s3://a",
            "s3:/a/b",
            "",
        ] {
            assert_eq!(of(path), Ok(None), "{path}");
        }
    }

    #[test]
    fn an_address_without_host_or_object_is_one_sentence() {
        for uri in [
            "s3://",
            "s3:///",
            "s3:///a",
            "https://a:b/c",
            "https://a b/c",
            "http://a:/b",
            "gs://[x]/a",
        ] {
            let error = of(uri).unwrap_err().to_string();
            assert!(error.contains("names no host"), "{uri}: {error}");
        }
        for uri in ["s3://traces", "s3://traces/", "https://host:1//"] {
            let error = of(uri).unwrap_err().to_string();
            assert!(error.contains("names no object"), "{uri}: {error}");
        }
    }

    #[test]
    fn a_user_is_refused_and_left_out() {
        for uri in ["s3://SECRET@traces/a", "s3://u:SECRET@traces/a?SECRET"] {
            let error = of(uri).unwrap_err().to_string();
            assert!(error.contains("`s3://traces/a` has a user"), "{error}");
        }
        // The password may be `a@b/SECRET`.
        let error = of("s3://u:a@b/SECRET@traces/a").unwrap_err().to_string();
        assert!(error.contains("`s3://…` has a user"), "{error}");
    }

    proptest! {
        /// Whatever stands before the host or behind the key.
        #[test]
        fn no_secret_is_shown(
            scheme in prop::sample::select(&SCHEMES[..]),
            secret in "[a-z:@/?#\\\\]{0,5}SECRET[a-z:@/?#\\\\]{0,5}",
            is_user: bool,
        ) {
            let uri = match is_user {
                true => format!("{scheme}://u:{secret}@host/key"),
                false => format!("{scheme}://host/key?{secret}"),
            };
            let error = of(&uri).unwrap_err().to_string();
            prop_assert!(!error.contains("SECRET"), "{uri}: {error}");
        }

        #[test]
        fn any_text_has_an_answer(text in "(s3|https)://[a-z0-9:@/?#\\[\\].\\\\é]{0,12}") {
            let _ = of(&text);
        }
    }
}
