//! The containers of a heap, looked into.

use std::collections::HashMap;

use crate::error::Result;
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::medium::Medium;
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::roots::RootInfo;

use super::emptied::is_container;
use super::inspecting::{Inspecting, order_of};
use super::root::pointer_of;
use super::{btree_map, hash_map, queue, vector};

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
        pointer_of(pool, root.place.offset())?;
        let guard = Guard::new(None);
        match root.kind {
            btree_map::ROOT_KIND => {
                let types = btree_map::DESCRIBED.read(pool, table)?;
                let order = types.as_ref().and_then(order_of);
                btree_map::unknown::<M>(table, &pool.geometry, guard).inspect(pool, order, wrong)
            }
            queue::ROOT_KIND => {
                queue::DESCRIBED.read(pool, table)?;
                queue::unknown::<M>(table, &pool.geometry, guard).inspect(pool, None, wrong)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::check::check;
    use crate::containers::{BTreeMap, HashMap, Queue, Vector};
    use crate::heap::Heap;
    use crate::layout::FIELD_MAX;
    use crate::medium::simulated::{Granule, Simulated};
    use crate::options::Options;

    type Memory = Arc<Simulated>;

    /// A pool that was closed, with a container of each kind, and the offsets of their tables.
    fn pool() -> (Vec<u8>, impl Fn(&str) -> u64) {
        let memory = Arc::new(Simulated::new(4 << 20, Granule::Line));
        let options = Options::default().chunk_bytes(4096).lanes(1);
        let heap = Heap::make_on(Arc::clone(&memory), &options).unwrap();
        let tree = BTreeMap::<i64, [u8], Memory>::open(&heap, "tree").unwrap();
        let map = HashMap::<u64, [u8], Memory>::open(&heap, "map").unwrap();
        let queue = Queue::<str, Memory>::open(&heap, "queue").unwrap();
        let vector = Vector::<u64, Memory>::open(&heap, "vector").unwrap();
        for i in -100..100 {
            let value = vec![1; (i + 100) as usize * 20];
            tree.insert(&i, &value).unwrap();
            map.insert(&(i as u64), &value).unwrap();
            queue
                .push(&"text".repeat(i.unsigned_abs() as usize))
                .unwrap();
            vector.push(&7).unwrap();
        }
        drop((tree, map, queue, vector));
        let roots = heap.roots().unwrap();
        heap.close().unwrap();
        let table = move |name: &str| {
            let root = roots.iter().find(|root| root.name == name);
            root.unwrap().pointer.offset()
        };
        (memory.bytes(), table)
    }

    fn word(bytes: &[u8], at: u64) -> u64 {
        u64::from_le_bytes(bytes[at as usize..][..8].try_into().unwrap())
    }

    /// Returns the findings about a pool with a changed word.
    fn found(bytes: &[u8], changes: &[(u64, u64)]) -> Vec<String> {
        let mut bytes = bytes.to_vec();
        for &(at, word) in changes {
            bytes[at as usize..][..8].copy_from_slice(&word.to_le_bytes());
        }
        let findings = check(Simulated::from_bytes(&bytes, Granule::Line));
        findings.iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn what_is_wrong_within_containers_is_found() {
        let (bytes, table) = pool();
        assert_eq!(found(&bytes, &[]), [""; 0]);
        let expect = |changes: &[(u64, u64)], sentence: &str| {
            let found = found(&bytes, changes);
            assert!(
                found.iter().any(|found| found.contains(sentence)),
                "{sentence}: {found:?}"
            );
        };
        // The first two children of the root change places, and then two entries of a leaf.
        let (tree, map) = (table("tree"), table("map"));
        let root = word(&bytes, tree + 16) & FIELD_MAX;
        let swapped = |at| {
            let order = word(&bytes, at);
            (
                at,
                order & !0xff0 | (order >> 4 & 15) << 8 | (order >> 8 & 15) << 4,
            )
        };
        expect(
            &[swapped(root)],
            "in the container \"tree\", keys are not in their order",
        );
        let slot = word(&bytes, root + 16 + 8 * (word(&bytes, root) >> 4 & 15));
        let leaf = word(
            &bytes,
            root + 8 * (slot & 0xffff) + (slot >> 16 & 0xffff).next_multiple_of(8),
        );
        expect(
            &[swapped(leaf)],
            "keys are not in their order, at the node at",
        );
        // A separator that is above the keys of its child.
        let slot = word(&bytes, root + 16 + 8 * (word(&bytes, root) >> 8 & 15));
        let key = root + 8 * (slot & 0xffff);
        expect(
            &[(key, 1 << 40)],
            "a key is not in the part of the tree that its nodes name",
        );
        // An entry of the map with another hash, in another line, and twice.
        let segment = word(&bytes, map + 64);
        let slots = (segment..)
            .step_by(8)
            .filter(|at| !(at - segment + 8).is_multiple_of(64));
        let slot = slots.clone().find(|&at| word(&bytes, at) != 0).unwrap();
        let entry = word(&bytes, slot) & FIELD_MAX;
        expect(&[(entry, word(&bytes, entry) ^ 1)], "has another hash");
        let line = |at: u64| (at - segment) / 64;
        let other = slots
            .clone()
            .find(|&at| line(at) != line(slot) && word(&bytes, at) == 0);
        let moved = [(slot, 0), (other.unwrap(), word(&bytes, slot))];
        expect(&moved, "is where it is not looked for");
        let beside = slots
            .clone()
            .find(|&at| line(at) == line(slot) && word(&bytes, at) == 0);
        expect(&[(beside.unwrap(), word(&bytes, slot))], "is there twice");
        // A queue with another end, a vector without a segment, and a type that cannot be read.
        let back = table("queue") + 40;
        expect(&[(back, word(&bytes, back) - 8)], "and not at its back");
        expect(
            &[(table("vector") + 64, 0)],
            "it has 200 elements, and no segment 0",
        );
        expect(&[(tree + 64, 1)], "which it holds, cannot be read");
    }
}
