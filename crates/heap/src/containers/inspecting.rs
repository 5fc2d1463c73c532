//! Looking into a container: whether what it holds is where it is looked for. No type is needed for
//! that but the order of an ordered map's keys, which is known for those that this crate names.

use std::cmp::Ordering;

use crate::error::Result;
use crate::sink::Source;

use super::data::Key;
use super::types::Types;

/// Compares two keys by their bytes.
pub(super) type Order = fn(&[u8], &[u8]) -> Ordering;

/// A container's state, which can be looked into.
pub(crate) trait Inspecting {
    /// Looks at all that the container holds, and calls `wrong` with the offset of each thing that
    /// is wrong, and a sentence about it. Returns the offset of each object once for each time it
    /// is reached.
    ///
    /// # Errors
    ///
    /// The container is so damaged that not all can be looked at.
    fn inspect(
        &self,
        source: &impl Source,
        order: Option<Order>,
        wrong: &mut dyn FnMut(u64, String),
    ) -> Result<Vec<u64>>;
}

/// Returns the order of keys of a type by its identity, if it is one of those that this crate
/// names.
pub(super) fn order_of(types: &Types) -> Option<Order> {
    fn named<K: Key + ?Sized>() -> (String, Order) {
        (K::identity().into_owned(), K::compare)
    }
    let known = [
        named::<u8>(),
        named::<u16>(),
        named::<u32>(),
        named::<u64>(),
        named::<u128>(),
        named::<usize>(),
        named::<i8>(),
        named::<i16>(),
        named::<i32>(),
        named::<i64>(),
        named::<i128>(),
        named::<isize>(),
        named::<str>(),
        named::<[u8]>(),
    ];
    let of = &types.0.first()?.identity;
    known
        .into_iter()
        .find_map(|(identity, order)| (identity == *of).then_some(order))
}
