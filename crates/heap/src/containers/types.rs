//! The types that a container holds, as its table records them.
//!
//! A description follows the table in the same object: a word with its own words:16, the number of
//! types:16 and the check of what follows:32; then each type: a word with its bytes:32 (all ones if
//! they have any number), its alignment:16 and the bytes of its identity:16, and the identity,
//! filled with zeros to whole words. A word of the table says that there is a description;
//! containers of format versions 1 to 3 have none until they are opened.

use std::fmt;

use crate::checksum::checksum;
use crate::error::{Cause, Error, Result, ensure};
use crate::heap::Heap;
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};
use crate::ptr::Place;
use crate::sink::{Sink, Source};

use super::data::{ANY, Value, said_bytes};

/// Bytes of the longest identity.
const MAX_IDENTITY: usize = 1024;
/// The most words of a description: of two types.
const MAX_WORDS: u64 = 1 + 2 * (1 + MAX_IDENTITY as u64 / WORD_BYTES);

/// A type that a container holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Type {
    /// Bytes of a value, or [`ANY`].
    pub bytes: u32,
    align: u16,
    pub identity: String,
}

/// The types that a container holds: key and value, or the element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Types(pub Vec<Type>);

/// Where a kind of container has its description.
#[derive(Clone, Copy, Debug)]
pub(super) struct Described {
    /// The name of the kind in sentences.
    pub what: &'static str,
    /// Words of its table, behind which the description lies.
    pub table_words: usize,
    /// The word of the table that says that there is a description, and what it says.
    pub marker: (usize, u64),
}

impl Type {
    /// Returns what is recorded of a type.
    ///
    /// # Errors
    ///
    /// The type is too large, or its identity too long.
    pub fn of<V: Value + ?Sized>() -> Result<Self> {
        let identity = V::identity().into_owned();
        ensure((1..=MAX_IDENTITY).contains(&identity.len()), || {
            Error::usage(format!(
                "the identity of a type has 1 to {MAX_IDENTITY} bytes, not {}",
                identity.len()
            ))
        })?;
        Ok(Self {
            bytes: said_bytes::<V>()?,
            align: u16::try_from(V::ALIGN).unwrap_or(u16::MAX),
            identity,
        })
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            ANY => f.write_str(&self.identity),
            bytes => write!(f, "{} ({bytes} bytes)", self.identity),
        }
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, of) in self.0.iter().enumerate() {
            write!(f, "{}{of}", if i == 0 { "" } else { " to " })?;
        }
        // Types that differ in nothing else.
        let aligns: Vec<u16> = self.0.iter().map(|of| of.align).collect();
        match f.alternate() {
            true => write!(f, " with alignments of {aligns:?}"),
            false => Ok(()),
        }
    }
}

impl Types {
    /// Returns the types of a map.
    ///
    /// # Errors
    ///
    /// Same as [`Type::of`].
    pub fn of_map<K: Value + ?Sized, V: Value + ?Sized>() -> Result<Self> {
        Ok(Self(vec![Type::of::<K>()?, Type::of::<V>()?]))
    }

    /// Returns the type of a container of elements.
    ///
    /// # Errors
    ///
    /// Same as [`Type::of`].
    pub fn of_elements<T: Value + ?Sized>() -> Result<Self> {
        Ok(Self(vec![Type::of::<T>()?]))
    }

    /// Returns the words of the description.
    pub fn encode(&self) -> Vec<u64> {
        let mut words = vec![0];
        for of in &self.0 {
            let len = of.identity.len() as u64;
            words.push(u64::from(of.bytes) | u64::from(of.align) << 32 | len << 48);
            words.extend(
                of.identity
                    .as_bytes()
                    .chunks(8)
                    .map(crate::checksum::padded),
            );
        }
        words[0] = words.len() as u64 | (self.0.len() as u64) << 16;
        words[0] |= checksum(words[0], &words[1..]) << 32;
        words
    }

    /// Decodes a description.
    fn decode(words: &[u64]) -> Option<Self> {
        let (&first, mut rest) = words.split_first()?;
        let said = first & u64::from(u32::MAX);
        if checksum(said, rest) << 32 | said != first {
            return None;
        }
        let mut types = Vec::new();
        for _ in 0..said >> 16 {
            let (&of, behind) = rest.split_first()?;
            let len = (of >> 48) as usize;
            let (identity, behind) = behind.split_at_checked(len.div_ceil(8))?;
            let identity: &[u8] = bytemuck::cast_slice(identity);
            types.push(Type {
                bytes: of as u32,
                align: (of >> 32) as u16,
                identity: std::str::from_utf8(&identity[..len]).ok()?.to_owned(),
            });
            rest = behind;
        }
        rest.is_empty().then_some(Self(types))
    }
}

impl Described {
    /// Adds the description of types to the words of a new table.
    pub fn with_types(&self, table: &[u64], types: &Types) -> Vec<u64> {
        let mut words = table.to_vec();
        words[self.marker.0] = self.marker.1;
        words.extend(types.encode());
        // Whole lines, so that the table begins with a line and a change of it takes no second one.
        words.resize(words.len().next_multiple_of(LINE_BYTES as usize / 8), 0);
        words
    }

    /// Returns the types of a container by its table; `None` if it has no description.
    ///
    /// # Errors
    ///
    /// The description is damaged.
    pub fn read(&self, source: &impl Source, table: u64) -> Result<Option<Types>> {
        let (word, said) = self.marker;
        if source.word(table.saturating_add(word as u64 * WORD_BYTES))? != said {
            return Ok(None);
        }
        let at = table.saturating_add(self.table_words as u64 * WORD_BYTES);
        let count = source.word(at)? & 0xffff;
        let damaged = || {
            Error::damaged(format!(
                "a container is damaged: the types at {at}, which it holds, cannot be read"
            ))
        };
        ensure((1..=MAX_WORDS).contains(&count), damaged)?;
        let mut words = vec![0; count as usize];
        source.load(at, &mut words)?;
        Types::decode(&words).ok_or_else(damaged).map(Some)
    }

    /// Checks that a container holds these types, if its types are recorded; returns whether they
    /// are.
    ///
    /// # Errors
    ///
    /// It holds others, or the description is damaged.
    pub fn expect(
        &self,
        source: &impl Source,
        table: u64,
        name: &str,
        wanted: &Types,
    ) -> Result<bool> {
        let Some(found) = self.read(source, table)? else {
            return Ok(false);
        };
        ensure(found == *wanted, || self.holds_others(name, &found, wanted))?;
        Ok(true)
    }

    fn holds_others(&self, name: &str, found: &Types, wanted: &Types) -> Error {
        let what = self.what;
        let say = |types: &Types| match found.to_string() == wanted.to_string() {
            true => format!("{types:#}"),
            false => types.to_string(),
        };
        Error::usage(format!(
            "the {what} {name:?} holds {}, and was to be opened as one of {}; open it with the types \
             that it holds",
            say(found),
            say(wanted)
        ))
    }

    /// Records the types of a container that was made by format version 1 to 3; returns its new
    /// table. If there is no room for that, it stays as it is.
    ///
    /// # Errors
    ///
    /// The table is not in the pool, or a fence failed.
    pub fn record<T: bytemuck::Pod, M: Medium>(
        &self,
        heap: &Heap<M>,
        root: Place<T>,
        table: u64,
        types: &Types,
    ) -> Result<u64> {
        if heap.core().is_read_only() {
            return Ok(table);
        }
        let recorded = heap.convert(root, table, |sink, old| {
            let mut words = vec![0; self.table_words];
            sink.load(old, &mut words)?;
            let new = sink.make_words(&self.with_types(&words, types))?;
            sink.free(old)?;
            Ok(new)
        });
        match recorded {
            Err(error) if error.cause() == Cause::Full => Ok(table),
            recorded => recorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_it_was_written_and_no_other() {
        for types in [
            Types::of_map::<u64, [i16; 3]>().unwrap(),
            Types::of_map::<str, ()>().unwrap(),
            Types::of_elements::<[u8]>().unwrap(),
        ] {
            let words = types.encode();
            assert_eq!(Types::decode(&words), Some(types));
            for bit in 0..words.len() * 64 {
                let mut other = words.clone();
                other[bit / 64] ^= 1 << (bit % 64);
                assert_eq!(Types::decode(&other), None, "bit {bit}");
            }
            assert_eq!(Types::decode(&words[..words.len() - 1]), None);
        }
    }
}
