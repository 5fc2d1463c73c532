//! Leaves and inner nodes, and the way from the root to a leaf.

use std::marker::PhantomData;

use bytemuck::Pod;

use crate::error::{Error, Result};

use super::Source;
use super::layout::{Root, Shape, root_at};

/// Where a tree lies, and of what shape it is.
#[derive(Clone, Copy)]
pub(super) struct Tree<K, V> {
    pub shape: Shape,
    /// Offset of the table.
    pub table: u64,
    pub of: PhantomData<fn() -> (K, V)>,
}

/// Which leaf is meant.
#[derive(Clone, Copy)]
pub(super) enum Side<'k, K> {
    /// That of the smallest keys.
    First,
    /// That in which a key is, or would be.
    Of(&'k K),
    /// That of the largest keys.
    Last,
}

/// The way to a leaf.
pub(super) struct Path {
    /// Inner nodes from the root on, and which child of each is meant.
    pub steps: Vec<(u64, u64)>,
    pub leaf: u64,
    /// Where the smallest key lies that is to the right of the leaf's.
    pub upper: Option<u64>,
}

/// An inner node.
pub(super) struct Inner<K> {
    pub children: Vec<u64>,
    /// Those between the children.
    pub keys: Vec<K>,
}

/// All nodes of a tree.
#[derive(Default)]
pub(super) struct Nodes {
    pub inner: Vec<u64>,
    pub leaves: Vec<u64>,
}

impl<K: Pod + Ord, V: Pod> Tree<K, V> {
    pub fn root(&self, source: &impl Source) -> Result<Root> {
        Root::decode(source.get(root_at(self.table))?)
    }

    /// The way to a leaf; none in an empty tree.
    pub fn descend(&self, source: &impl Source, to: Side<K>) -> Result<Option<Path>> {
        let root = self.root(source)?;
        let mut path = Path {
            steps: Vec::new(),
            leaf: root.node,
            upper: None,
        };
        for _ in 0..root.levels {
            let node = path.leaf;
            let count = self.count(source, node)?;
            let child = match to {
                Side::First => 0,
                Side::Of(key) => self.child_of(source, node, count, key)?,
                Side::Last => count - 1,
            };
            if child < count - 1 {
                path.upper = Some(self.shape.key(node, child));
            }
            path.steps.push((node, child));
            path.leaf = self.child(source, node, child)?;
        }
        Ok((root.node != 0).then_some(path))
    }

    /// Children of an inner node.
    fn count(&self, source: &impl Source, node: u64) -> Result<u64> {
        let count: u64 = source.get(node)?;
        match (1..=u64::from(self.shape.children)).contains(&count) {
            true => Ok(count),
            false => Err(damaged(node)),
        }
    }

    fn child(&self, source: &impl Source, node: u64, child: u64) -> Result<u64> {
        match source.get(self.shape.child(node, child))? {
            0 => Err(damaged(node)),
            at => Ok(at),
        }
    }

    /// The child in which a key is: behind as many keys as are not above it.
    fn child_of(&self, source: &impl Source, node: u64, count: u64, key: &K) -> Result<u64> {
        let (mut low, mut high) = (0, count - 1);
        while low < high {
            let middle = low.midpoint(high);
            match source.get::<K>(self.shape.key(node, middle))? <= *key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// Which slots of a leaf are in use.
    pub fn used(&self, source: &impl Source, leaf: u64) -> Result<u64> {
        let used: u64 = source.get(leaf)?;
        match used & !self.shape.all() {
            0 => Ok(used),
            _ => Err(damaged(leaf)),
        }
    }

    /// The slot in which a key is.
    pub fn find(&self, source: &impl Source, leaf: u64, used: u64, key: &K) -> Result<Option<u32>> {
        for slot in bits(used) {
            if source.get::<K>(self.shape.slot(leaf, slot))? == *key {
                return Ok(Some(slot));
            }
        }
        Ok(None)
    }

    pub fn value_at(&self, leaf: u64, slot: u32) -> u64 {
        let slot = self.shape.slot(leaf, slot);
        slot.saturating_add(self.shape.key_stride())
    }

    pub fn value(&self, source: &impl Source, leaf: u64, slot: u32) -> Result<V> {
        source.get(self.value_at(leaf, slot))
    }

    /// Keys of a leaf and the slots in which they are, ascending.
    pub fn sorted(&self, source: &impl Source, leaf: u64) -> Result<Vec<(K, u32)>> {
        let key = |slot| Ok((source.get::<K>(self.shape.slot(leaf, slot))?, slot));
        let mut keys: Vec<_> = bits(self.used(source, leaf)?)
            .map(key)
            .collect::<Result<_>>()?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// A slot's bytes.
    pub fn entry(&self, key: &K, value: &V) -> Vec<u8> {
        let mut bytes = bytemuck::bytes_of(key).to_vec();
        bytes.resize(self.shape.key_stride() as usize, 0);
        bytes.extend_from_slice(bytemuck::bytes_of(value));
        bytes.resize(self.shape.stride() as usize, 0);
        bytes
    }

    /// The bytes of a leaf with these entries, at least one.
    pub fn leaf(&self, entries: &[(K, V)]) -> Vec<u8> {
        let used = u64::MAX >> (64 - entries.len());
        let mut bytes = used.to_le_bytes().to_vec();
        bytes.resize(self.shape.slot(0, 0) as usize, 0);
        for (key, value) in entries {
            bytes.extend(self.entry(key, value));
        }
        bytes.resize(self.shape.leaf_bytes() as usize, 0);
        bytes
    }

    pub fn inner(&self, source: &impl Source, node: u64) -> Result<Inner<K>> {
        let count = self.count(source, node)?;
        let children = (0..count).map(|child| self.child(source, node, child));
        let keys = (0..count - 1).map(|child| source.get(self.shape.key(node, child)));
        Ok(Inner {
            children: children.collect::<Result<_>>()?,
            keys: keys.collect::<Result<_>>()?,
        })
    }

    /// The bytes of an inner node.
    pub fn inner_image(&self, inner: &Inner<K>) -> Vec<u8> {
        let mut bytes = vec![0; self.shape.inner_bytes() as usize];
        let mut put = |at: u64, part: &[u8]| {
            bytes[at as usize..][..part.len()].copy_from_slice(part);
        };
        put(0, &inner.children.len().to_le_bytes());
        for (i, child) in (0..).zip(&inner.children) {
            put(self.shape.child(0, i), &child.to_le_bytes());
        }
        for (i, key) in (0..).zip(&inner.keys) {
            put(self.shape.key(0, i), bytemuck::bytes_of(key));
        }
        bytes
    }

    /// All nodes, of which there are at most so many.
    pub fn nodes(&self, source: &impl Source, most: u64) -> Result<Nodes> {
        let root = self.root(source)?;
        let mut nodes = Nodes::default();
        let mut level: Vec<u64> = (root.node != 0).then_some(root.node).into_iter().collect();
        for _ in 0..root.levels {
            let mut below = Vec::new();
            for &node in &level {
                below.extend(self.inner(source, node)?.children);
                if below.len() as u64 > most {
                    return Err(damaged(node));
                }
            }
            nodes.inner.append(&mut level);
            level = below;
        }
        nodes.leaves = level;
        Ok(nodes)
    }
}

/// The numbers of the bits that are 1.
fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros())?;
        word &= word - 1;
        Some(bit)
    })
}

fn damaged(node: u64) -> Error {
    Error::damaged(format!("a B-tree is damaged: its node at {node} is"))
}
