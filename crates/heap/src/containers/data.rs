//! Keys, values and elements of containers: how they become bytes, and are read again.

use std::borrow::Cow;
use std::cmp::Ordering;

use bytemuck::Pod;

use crate::error::{Error, Result};

use super::identity::Identity;

/// A type that a container holds as a value or as an element.
///
/// Plain data (`bytemuck::Pod`: numbers, arrays of them, structures that derive it) lie in the pool
/// as they lie in memory. A type of a program's own declares its [`Identity`]. `str` and `[u8]`
/// have any length. With the feature `serde`, `Serde<T>` holds any type that serde supports.
///
/// ```
/// use terrace_heap::containers::HashMap;
/// use terrace_heap::{Heap, Result};
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let numbers = HashMap::<u64, [u32; 3]>::open(&heap, "numbers")?;
///     numbers.insert(&7, &[1, 2, 3])?;
///     let pages = HashMap::<str, [u8]>::open(&heap, "pages")?;
///     pages.insert("/index.html", b"<html>")?;
///     assert_eq!(pages.get("/index.html")?, Some(b"<html>".to_vec()));
///     Ok(())
/// }
/// ```
pub trait Value: Identity {
    /// The type that reading returns: the type itself, or an owned one for types of any length.
    type Owned;
    /// The type that a cursor lends, valid until the cursor moves.
    type View<'v>;

    /// Bytes of every value, if all values have the same size.
    const BYTES: Option<u64>;
    /// Alignment of the type in memory.
    const ALIGN: u64 = 1;

    /// Returns the bytes of a value.
    ///
    /// # Errors
    ///
    /// Serde cannot serialize the value.
    fn encode(&self) -> Result<Cow<'_, [u8]>>;

    /// Reads a value of `len` bytes by `fill`.
    ///
    /// # Errors
    ///
    /// What `fill` returns; the bytes are not a valid value.
    fn read(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Self::Owned>;

    /// Returns a view of a value in memory.
    ///
    /// # Errors
    ///
    /// The bytes are not a valid value.
    fn view(bytes: &[u8]) -> Result<Self::View<'_>>;
}

/// A type that an ordered map holds as a key.
pub trait Key: Value {
    /// Whether the order of keys is that of their bytes.
    const BYTEWISE: bool = false;

    /// Compares two keys, passed as bytes. Invalid bytes, which a damaged pool may hold, may have
    /// any order.
    fn compare(a: &[u8], b: &[u8]) -> Ordering;
}

/// Keys of any length in the order of their bytes, which can be looked up by prefix.
pub trait Bytewise: Key {
    /// Returns the bytes of a key.
    fn as_key_bytes(&self) -> &[u8];
}

impl Bytewise for [u8] {
    fn as_key_bytes(&self) -> &[u8] {
        self
    }
}

impl Bytewise for str {
    fn as_key_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl<T: Pod + Identity> Value for T {
    type Owned = T;
    type View<'v> = T;

    const BYTES: Option<u64> = Some(size_of::<T>() as u64);
    const ALIGN: u64 = align_of::<T>() as u64;

    #[inline]
    fn encode(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(bytemuck::bytes_of(self)))
    }

    #[inline]
    fn read(_: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<T> {
        let mut value = T::zeroed();
        fill(bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    #[inline]
    fn view(bytes: &[u8]) -> Result<T> {
        bytemuck::try_pod_read_unaligned(bytes).map_err(|_| no_value())
    }
}

impl<T: Pod + Identity + Ord> Key for T {
    #[inline]
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        match (T::view(a), T::view(b)) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            _ => a.cmp(b),
        }
    }
}

impl Value for [u8] {
    type Owned = Vec<u8>;
    type View<'v> = &'v [u8];

    const BYTES: Option<u64> = None;

    #[inline]
    fn encode(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(self))
    }

    #[inline]
    fn read(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        fill(&mut bytes)?;
        Ok(bytes)
    }

    #[inline]
    fn view(bytes: &[u8]) -> Result<&[u8]> {
        Ok(bytes)
    }
}

impl Key for [u8] {
    const BYTEWISE: bool = true;

    #[inline]
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

impl Value for str {
    type Owned = String;
    type View<'v> = &'v str;

    const BYTES: Option<u64> = None;

    #[inline]
    fn encode(&self) -> Result<Cow<'_, [u8]>> {
        Ok(Cow::Borrowed(self.as_bytes()))
    }

    #[inline]
    fn read(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<String> {
        String::from_utf8(<[u8]>::read(len, fill)?).map_err(|_| no_value())
    }

    #[inline]
    fn view(bytes: &[u8]) -> Result<&str> {
        std::str::from_utf8(bytes).map_err(|_| no_value())
    }
}

impl Key for str {
    const BYTEWISE: bool = true;

    #[inline]
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

/// A value of any type that serde supports, in the format of [postcard](https://docs.rs/postcard).
///
/// A map finds a key by its bytes, so equal keys must have equal bytes. In an ordered map keys have
/// the order of `T`.
///
/// ```
/// use std::borrow::Cow;
///
/// use serde::{Deserialize, Serialize};
/// use terrace_heap::containers::{BTreeMap, Identity, Serde};
/// use terrace_heap::{Heap, Result};
///
/// #[derive(Serialize, Deserialize, PartialEq, Debug)]
/// struct Account {
///     name: String,
///     limits: Vec<u32>,
/// }
///
/// impl Identity for Account {
///     fn identity() -> Cow<'static, str> {
///         "bank.account".into()
///     }
/// }
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     let accounts = BTreeMap::<u64, Serde<Account>>::open(&heap, "accounts")?;
///     let anna = Account { name: "Anna".into(), limits: vec![10, 500] };
///     accounts.insert(&1, &Serde(anna))?;
///     assert_eq!(accounts.get(&1)?.unwrap().name, "Anna");
///     Ok(())
/// }
/// ```
#[cfg(feature = "serde")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Serde<T>(pub T);

#[cfg(feature = "serde")]
impl<T: Identity> Identity for Serde<T> {
    fn identity() -> Cow<'static, str> {
        format!("serde of {}", T::identity()).into()
    }
}

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + Identity> Value for Serde<T> {
    type Owned = T;
    type View<'v> = T;

    const BYTES: Option<u64> = None;

    fn encode(&self) -> Result<Cow<'_, [u8]>> {
        let bytes = postcard::to_allocvec(&self.0);
        let bytes = bytes.map_err(|e| Error::usage(format!("a value cannot be written: {e}")))?;
        Ok(Cow::Owned(bytes))
    }

    fn read(len: usize, fill: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<T> {
        Self::view(&<[u8]>::read(len, fill)?)
    }

    fn view(bytes: &[u8]) -> Result<T> {
        postcard::from_bytes(bytes).map_err(|_| no_value())
    }
}

#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned + Identity + Ord> Key for Serde<T> {
    fn compare(a: &[u8], b: &[u8]) -> Ordering {
        match (Self::view(a), Self::view(b)) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            _ => a.cmp(b),
        }
    }
}

/// Marks values of any length in the table of a container.
pub(super) const ANY: u32 = u32::MAX;

/// Returns the number that stands in the table of a container for the size of its values.
///
/// # Errors
///
/// The size does not fit the table.
pub(super) fn said_bytes<V: Value + ?Sized>() -> Result<u32> {
    let bytes = V::BYTES.map_or(Ok(ANY), u32::try_from).ok();
    let bytes = bytes.filter(|&bytes| V::BYTES.is_none() || bytes != ANY);
    bytes.ok_or_else(|| Error::usage("keys and values of one size have less than 4 GiB"))
}

/// Returns the error for a container with keys and values of other sizes than it is opened for.
pub(super) fn other_sizes(what: &str, name: &str, key: u32, value: u32) -> Error {
    let say = |bytes| match bytes {
        ANY => "any number of".to_owned(),
        bytes => bytes.to_string(),
    };
    Error::usage(format!(
        "the {what} {name:?} has keys of {} bytes and values of {} bytes",
        say(key),
        say(value)
    ))
}

fn no_value() -> Error {
    Error::damaged("a container is damaged, or holds values of another type")
}
