//! Identities of types, as pools record them.

use std::borrow::Cow;
use std::collections;

use crate::ptr::Ptr;

/// A type that declares its identity: the name by which pools know it.
///
/// A container records the identities, the sizes and the alignments of the types that it was made
/// with, and is opened with the same types only. An identity stays the same when the type is
/// renamed or moved to another module; a type whose bytes get another meaning, or another order as
/// keys, gets another identity.
///
/// ```
/// use std::borrow::Cow;
///
/// use terrace_heap::bytemuck::{Pod, Zeroable};
/// use terrace_heap::containers::{BTreeMap, Identity};
/// use terrace_heap::{Heap, Result};
///
/// /// An amount of money in cents.
/// #[repr(transparent)]
/// #[derive(Clone, Copy)]
/// struct Cents(i64);
///
/// // SAFETY: a number: any bytes are valid.
/// unsafe impl Zeroable for Cents {}
/// // SAFETY: as above, without padding.
/// unsafe impl Pod for Cents {}
///
/// impl Identity for Cents {
///     fn identity() -> Cow<'static, str> {
///         "bank.cents".into()
///     }
/// }
///
/// fn main() -> Result<()> {
///     let heap = Heap::anonymous(4 << 20)?;
///     BTreeMap::<u64, Cents>::open(&heap, "accounts")?;
///     let other = BTreeMap::<u64, i64>::open(&heap, "accounts").err().unwrap();
///     assert_eq!(
///         other.to_string(),
///         "the ordered map \"accounts\" holds u64 (8 bytes) to bank.cents (8 bytes), and was to be \
///          opened as one of u64 (8 bytes) to i64 (8 bytes); open it with the types that it holds"
///     );
///     Ok(())
/// }
/// ```
pub trait Identity {
    /// Returns the identity: at most 1024 bytes.
    fn identity() -> Cow<'static, str>;
}

/// Implements [`Identity`] by the names of types.
macro_rules! named {
    ($($type:ty = $name:literal),+ $(,)?) => {
        $(impl Identity for $type {
            fn identity() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
        })+
    };
}

named!(
    u8 = "u8",
    u16 = "u16",
    u32 = "u32",
    u64 = "u64",
    u128 = "u128",
    usize = "usize",
    i8 = "i8",
    i16 = "i16",
    i32 = "i32",
    i64 = "i64",
    i128 = "i128",
    isize = "isize",
    f32 = "f32",
    f64 = "f64",
    bool = "bool",
    char = "char",
    str = "str",
    String = "str",
    () = "()",
);

impl<T: Identity, const N: usize> Identity for [T; N] {
    fn identity() -> Cow<'static, str> {
        format!("[{}; {N}]", T::identity()).into()
    }
}

/// Implements [`Identity`] for types that hold others.
macro_rules! generic {
    ($($type:ty = $format:literal, $($of:ident)+ $(, any $any:ident)?;)+) => {
        $(impl<$($of: Identity,)+ $($any)?> Identity for $type {
            fn identity() -> Cow<'static, str> {
                format!($format, $($of::identity()),+).into()
            }
        })+
    };
}

generic!(
    [T] = "[{}]", T;
    Vec<T> = "[{}]", T;
    Box<T> = "{}", T;
    Option<T> = "option of {}", T;
    collections::BTreeMap<K, V> = "map of {} to {}", K V;
    collections::HashMap<K, V, S> = "map of {} to {}", K V, any S;
    collections::BTreeSet<T> = "set of {}", T;
    collections::HashSet<T, S> = "set of {}", T, any S;
    (A,) = "({},)", A;
    (A, B) = "({}, {})", A B;
    (A, B, C) = "({}, {}, {})", A B C;
    (A, B, C, D) = "({}, {}, {}, {})", A B C D;
);

impl<T> Identity for Ptr<T> {
    fn identity() -> Cow<'static, str> {
        Cow::Borrowed("pointer")
    }
}
