//! Looking into containers: whether what they hold is where it is looked for. No type is needed for that but
//! the order of an ordered map's keys, which is known for those that this crate names.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::error::Result;
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::medium::Medium;
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::roots::RootInfo;
use crate::sink::Source;

use super::data::Key;
use super::emptied::is_container;
use super::types::Types;
use super::{btree_map, hash_map, queue, vector};

/// Compares two keys by their bytes.
pub(super) type Order = fn(&[u8], &[u8]) -> Ordering;

/// A container's state, which can be looked into.
pub(crate) trait Inspecting {
    /// Looks at all that the container holds, and calls `wrong` with the offset of each thing that is wrong,
    /// and a sentence about it. Returns the offset of each object once for each time it is reached.
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

/// Returns the order of keys of a type by its identity, if it is one of those that this crate names.
fn order_of(types: &Types) -> Option<Order> {
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

impl<M: Medium> Heap<M> {
    /// Looks into all containers; `wrong` is called as by [`Inspecting::inspect`].
    ///
    /// # Errors
    ///
    /// The heap was closed.
    pub(crate) fn inspect(&self, wrong: &mut dyn FnMut(u64, String)) -> Result<()> {
        let mut reached: HashMap<u64, String> = HashMap::new();
        for root in self.roots()? {
            let table = root.pointer.offset() & FIELD_MAX;
            if table == 0 || !is_container(self, root.kind, table) {
                continue;
            }
            let name = &root.name;
            let mut say = |at, what| wrong(at, format!("in the container {name:?}, {what}"));
            match self.inspect_one(&root, table, &mut say) {
                Err(error) => say(table, error.to_string()),
                Ok(objects) => {
                    for object in objects {
                        if self.object(Ptr::<u8>::at(object)).is_err() {
                            say(object, format!("no object is in use at {object}"));
                        } else if let Some(other) = reached.insert(object, name.clone()) {
                            let what = format!("the object at {object} is also one of {other:?}");
                            say(object, what);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn inspect_one(
        &self,
        root: &RootInfo,
        table: u64,
        wrong: &mut dyn FnMut(u64, String),
    ) -> Result<Vec<u64>> {
        let pool: &Pool<M> = &self.core().space.pool;
        let guard = Guard::new(None);
        match root.kind {
            btree_map::ROOT_KIND => {
                let types = btree_map::DESCRIBED.read(pool, table)?;
                let order = types.as_ref().and_then(order_of);
                btree_map::unknown(table, &pool.geometry, guard).inspect(pool, order, wrong)
            }
            queue::ROOT_KIND => {
                queue::DESCRIBED.read(pool, table)?;
                queue::unknown(table, &pool.geometry, guard).inspect(pool, None, wrong)
            }
            vector::ROOT_KIND => {
                vector::DESCRIBED.read(pool, table)?;
                vector::unknown(pool, table)?.inspect(pool, None, wrong)
            }
            _ => {
                hash_map::DESCRIBED.read(pool, table)?;
                hash_map::unknown(self, table)?.inspect(pool, None, wrong)
            }
        }
    }
}
