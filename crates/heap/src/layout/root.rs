//! A root: a named word from which everything else is reached.

use crate::checksum::checksum;
use crate::error::{Error, Result, ensure};

/// Bytes of a root.
pub(crate) const ROOT_BYTES: u64 = 128;
/// Words of a root; the first is the pointer.
pub(crate) const ROOT_WORDS: usize = 16;
/// Position of the check in a root.
pub(crate) const ROOT_CHECK_AT: u64 = ROOT_BYTES - 8;
/// The longest name.
pub(crate) const MAX_NAME: usize = 104;

/// A root: its name, and the type to which it points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    /// Its name.
    pub name: String,
    /// Bytes of the type.
    pub size: u32,
    /// Alignment of the type.
    pub align: u16,
    /// Kind of the root, a number of its owner's choice.
    pub kind: u16,
}

impl Root {
    /// Encodes all words behind the pointer, which lies at `at`.
    ///
    /// # Errors
    ///
    /// The name is empty or too long.
    pub fn encode(&self, at: u64) -> Result<[u64; ROOT_WORDS - 1]> {
        let name = self.name.as_bytes();
        if name.is_empty() || name.len() > MAX_NAME || name.contains(&0) {
            return Err(Error::usage(format!(
                "a root's name has 1 to {MAX_NAME} bytes, and none of them is 0: {:?}",
                self.name
            )));
        }
        let mut words = [0; ROOT_WORDS - 1];
        words[0] = u64::from(self.size) | u64::from(self.align) << 32 | u64::from(self.kind) << 48;
        bytemuck::cast_slice_mut(&mut words[1..14])[..name.len()].copy_from_slice(name);
        words[14] = checksum(at, &words[..14]);
        Ok(words)
    }

    /// Returns the root at `at`; `None` if there is none, or a torn one. The upper half of the
    /// check may be that of the pointer ([`bound`]).
    pub fn decode(at: u64, words: &[u64; ROOT_WORDS]) -> Option<Self> {
        if checksum(at, &words[1..15]) as u32 != words[15] as u32 {
            return None;
        }
        let name: &[u8] = bytemuck::cast_slice(&words[2..15]);
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        Some(Self {
            name: std::str::from_utf8(&name[..end]).ok()?.to_owned(),
            size: words[1] as u32,
            align: (words[1] >> 32) as u16,
            kind: (words[1] >> 48) as u16,
        })
    }
}

/// Returns the check of a root at `at` which points to a container whose contents have checksums:
/// the upper half is the check of its pointer. Of a pointer that is null, the check is the one of
/// any root.
pub(crate) fn bound(at: u64, words: &[u64; ROOT_WORDS], pointer: u64) -> u64 {
    let check = checksum(at, &words[1..15]);
    match pointer {
        0 => check,
        pointer => check & u64::from(u32::MAX) | checksum(at, &[pointer]) >> 32 << 32,
    }
}

/// Returns the pointer of a root at `at`.
///
/// # Errors
///
/// Its check is wrong: it was changed neither by a container nor, as the pointer to an object, by a
/// program.
pub(crate) fn pointer(at: u64, words: &[u64; ROOT_WORDS]) -> Result<u64> {
    let fits = [bound(at, words, words[0]), bound(at, words, 0)].contains(&words[15]);
    ensure(fits, || {
        Error::damaged(format!("the pointer of the root at {at} is damaged"))
    })?;
    Ok(words[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for name in ["a", &"é".repeat(52)] {
            let root = Root {
                name: name.to_owned(),
                size: 24,
                align: 8,
                kind: 3,
            };
            let mut words = [0; ROOT_WORDS];
            words[1..].copy_from_slice(&root.encode(128).unwrap());
            assert_eq!(Root::decode(128, &words), Some(root));
            assert_eq!(Root::decode(256, &words), None);
        }
        let long = Root {
            name: "x".repeat(105),
            size: 0,
            align: 0,
            kind: 0,
        };
        assert!(long.encode(0).is_err());
    }
}
