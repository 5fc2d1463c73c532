//! Digests of what is in traces, the same on every host.
//!
//! The digest of a trace of the native format is that of its description, which holds a digest of
//! all columns ([the format](crate::formats::native)); it is in [`Meta::digest`](crate::Meta). That
//! of any other file is the digest of its bytes ([`crate::stamp`]).

use std::fmt;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// A digest: BLAKE3, 256 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).into())
    }

    /// Returns the digest of digests, in their order.
    pub fn of_all(digests: &[Self]) -> Self {
        let bytes: Vec<_> = digests.iter().flat_map(|digest| digest.0).collect();
        Self::of(&bytes)
    }

    /// Returns the digest of all bytes of a reader. `progress` is called now and then with the
    /// number of bytes read.
    ///
    /// # Errors
    /// Those of the reader.
    pub fn of_reader(reader: &mut impl Read, mut progress: impl FnMut(u64)) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; 1 << 20];
        let mut bytes = 0;
        loop {
            let read = match reader.read(&mut buffer) {
                Ok(0) => return Ok(Self(hasher.finalize().into())),
                Ok(read) => read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            hasher.update(&buffer[..read]);
            bytes += read as u64;
            progress(bytes);
        }
    }

    /// Returns its 256 bits.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the digest that 64 hexadecimal digits say.
    pub fn parse(text: &str) -> Option<Self> {
        let hash = blake3::Hash::from_hex(text).ok()?;
        Some(Self(hash.into()))
    }
}

impl fmt::Display for Digest {
    /// Writes 64 hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_text_says_the_digest(bytes: Vec<u8>) {
            let digest = Digest::of(&bytes);
            prop_assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
            prop_assert_eq!(Digest::parse(&digest.to_string()[1..]), None);
        }
    }
}
