//! A copy of a leaf for a cursor, and the way to its neighbours.

use std::convert::Infallible;

use crate::error::{Result, ensure};
use crate::medium::{LINE_BYTES, WORD_BYTES};
use crate::sink::Source;

use super::super::data::Key;
use super::layout::{Head, damaged};
use super::node::{Path, Side, search};
use super::tree::Tree;

/// The direction in which a cursor moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Forth,
    Back,
}

/// A copy of a leaf.
#[derive(Default)]
pub(super) struct Leaf {
    /// `None` before the first copy, and of an empty tree.
    path: Option<Path>,
    /// The bytes of the node, as far as it has entries.
    words: Vec<u64>,
    /// The tree's count of changes at the time of the copy.
    pub changes: u64,
}

impl Leaf {
    /// Returns the number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.head().map_or(0, |head| head.order.len())
    }

    /// Returns the key of an entry.
    #[inline]
    pub fn key(&self, entry: usize) -> &[u8] {
        let slot = self.head().map(|head| head.entry(entry));
        slot.map_or(&[], |slot| self.bytes(slot.key_at(), slot.key_len))
    }

    /// Returns the value of an entry, unless it lies apart.
    #[inline]
    pub fn value(&self, entry: usize) -> Option<&[u8]> {
        let slot = self.head()?.entry(entry);
        (!slot.apart).then(|| self.bytes(slot.value_at(), slot.value_len))
    }

    /// Reads the value of an entry from the tree, which has not changed since.
    ///
    /// # Errors
    ///
    /// The node is damaged.
    pub fn read(&self, tree: &Tree, source: &impl Source, entry: usize) -> Result<Vec<u8>> {
        match self.head() {
            Some(head) => tree.value::<[u8]>(source, head, entry),
            None => Ok(Vec::new()),
        }
    }

    /// Returns how many entries are below a key, or not above it.
    pub fn count_below<K: Key + ?Sized>(&self, key: &[u8], or_at: bool) -> usize {
        let compare = |entry| Ok::<_, Infallible>(K::compare(self.key(entry), key));
        let Ok(found) = search(0..self.len(), compare);
        found.map_or_else(|above| above, |equal| equal + usize::from(or_at))
    }

    /// Copies the leaf on a side; returns whether there is one.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn load<K: Key + ?Sized>(
        &mut self,
        tree: &Tree,
        source: &impl Source,
        side: Side,
        changes: u64,
    ) -> Result<bool> {
        self.changes = changes;
        self.path = tree.descend::<K>(source, side)?;
        self.copy(tree, source)?;
        Ok(self.path.is_some())
    }

    /// Copies the next leaf; returns whether there is one. The tree has not changed since this leaf
    /// was copied.
    ///
    /// # Errors
    ///
    /// The tree is damaged.
    pub fn step(&mut self, tree: &Tree, source: &impl Source, way: Way) -> Result<bool> {
        let Some(Path { steps, node }) = &mut self.path else {
            return Ok(false);
        };
        let neighbour = |&(head, child): &(Head, usize)| match way {
            Way::Forth => Some(child + 1).filter(|&child| child < head.order.len()),
            Way::Back => child.checked_sub(1),
        };
        let Some((depth, child)) = (0..steps.len())
            .rev()
            .find_map(|depth| Some((depth, neighbour(&steps[depth])?)))
        else {
            return Ok(false);
        };
        steps.truncate(depth + 1);
        steps[depth].1 = child;
        let (mut above, mut child) = steps[depth];
        while above.level > 1 {
            let at = tree.child(source, &above, child)?;
            above = tree.head(source, at, above.level - 1)?;
            child = match way {
                Way::Forth => 0,
                Way::Back => above.order.len() - 1,
            };
            steps.push((above, child));
        }
        let at = tree.child(source, &above, child)?;
        if way == Way::Forth && child + 1 < above.order.len() {
            // Fetched while the entries of this leaf are read.
            let next = tree.child(source, &above, child + 1)?;
            source.prefetch(next, above.bytes.min(16 * LINE_BYTES));
        }
        *node = tree.head(source, at, 0)?;
        self.copy(tree, source)?;
        Ok(true)
    }

    fn copy(&mut self, tree: &Tree, source: &impl Source) -> Result<()> {
        let Some(Path { node, .. }) = &self.path else {
            return Ok(());
        };
        let end = node.room_at();
        ensure(end <= node.bytes, || damaged(node.at))?;
        self.words.resize((end / WORD_BYTES) as usize, 0);
        source.load(node.at, &mut self.words)?;
        tree.expect_entries(node, bytemuck::cast_slice(&self.words))
    }

    #[inline]
    fn head(&self) -> Option<&Head> {
        self.path.as_ref().map(|path| &path.node)
    }

    #[inline]
    fn bytes(&self, at: u64, len: u16) -> &[u8] {
        let all: &[u8] = bytemuck::cast_slice(&self.words);
        // A damaged slot may name bytes outside of the node.
        let part = all.get(at as usize..).and_then(|all| all.get(..len.into()));
        part.unwrap_or_default()
    }
}
