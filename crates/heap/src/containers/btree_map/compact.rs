//! Compaction of a tree: sparse neighbours become one node, and nodes move. A node is always made
//! anew, of its entries.
//!
//! A step handles the children of one inner node. Those of leaves come first, from left to right,
//! then those of the level above, and so on, and the root last. Nodes that became children of the
//! same node may be neighbours for the first time, so after nodes of an inner level became fewer
//! all begins anew.

use crate::error::{Result, ensure};
use crate::medium::Medium;
use crate::sink::{Sink, Source};

use super::super::compacting::{Compacting, Mover, Phase, Position};
use super::layout::{Head, Root, SLOTS, Slot, damaged};
use super::node::{Entry, Path};
use super::tree::Tree;

/// The most entries of a node that is made of several: it has room for others.
const MOST: usize = SLOTS - 2;
/// The most bytes of its entries.
const MOST_BYTES: u64 = 8 << 10;

/// What a [`Position`] means here.
struct Place {
    /// The level of the inner node whose children come next; above the root, the root itself.
    level: u8,
    /// Whether nodes of an inner level became fewer.
    again: bool,
    /// The number of the child on the path at each level from the root on.
    path: Vec<u64>,
}

impl Place {
    /// Returns the place of a position in a tree with this root.
    fn of(at: &Position, root: Root) -> Self {
        let levels = root.levels as u8;
        let depth = |level: u8| usize::from(levels.saturating_sub(level));
        match at[..] {
            [level, again, ref path @ ..]
                if level > 0
                    && level <= u64::from(levels) + 1
                    && path.len() == depth(level as u8) =>
            {
                Self {
                    level: level as u8,
                    again: again > 0,
                    path: path.to_vec(),
                }
            }
            // The tree has other levels by now.
            _ => Self {
                level: 1,
                again: false,
                path: vec![0; depth(1)],
            },
        }
    }

    fn position(self) -> Position {
        let mut at = vec![self.level.into(), self.again.into()];
        at.extend(self.path);
        at
    }
}

impl Compacting for Tree {
    fn compact_some<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        at: &mut Position,
    ) -> Result<bool> {
        let root = self.root(mover.sink)?;
        if root.node == 0 {
            return Ok(false);
        }
        let mut place = Place::of(at, root);
        if u16::from(place.level) > root.levels {
            self.compact_root(mover)?;
            at.clear();
            return Ok(place.again);
        }
        let Some(path) = self.inner_at(mover.sink, root, &mut place)? else {
            place.level += 1;
            place.path = vec![0; usize::from(root.levels).saturating_sub(place.level.into())];
            *at = place.position();
            return Ok(true);
        };
        let merged = mover.phase == Phase::Condense && self.condense(mover, &path)?;
        if !merged {
            self.move_children(mover, &path.node)?;
        }
        place.again |= merged && place.level > 1;
        match place.path.last_mut() {
            Some(child) => *child += 1,
            None => {
                place.level += 1;
            }
        }
        *at = place.position();
        Ok(true)
    }
}

impl Tree {
    /// Returns the path to the inner node at a place, or to the next one of its level; `None`
    /// behind the last one.
    fn inner_at(
        &self,
        source: &impl Source,
        root: Root,
        place: &mut Place,
    ) -> Result<Option<Path>> {
        'next: loop {
            let (mut at, mut steps) = (root.node, Vec::new());
            for depth in 0..place.path.len() {
                let head = self.head(source, at, (usize::from(root.levels) - depth) as u8)?;
                let child = place.path[depth] as usize;
                if child >= head.order.len() {
                    place.path[depth..].fill(0);
                    let Some(before) = depth.checked_sub(1) else {
                        return Ok(None);
                    };
                    place.path[before] += 1;
                    continue 'next;
                }
                at = self.child(source, &head, child)?;
                steps.push((head, child));
            }
            let node = self.head(source, at, place.level)?;
            return Ok(Some(Path { steps, node }));
        }
    }

    /// Makes fewer children of those of an inner node, whose entries fit in them; returns whether
    /// there are fewer.
    fn condense<M: Medium>(&self, mover: &mut Mover<'_, '_, M>, path: &Path) -> Result<bool> {
        let node = &path.node;
        let heads = (0..node.order.len()).map(|child| {
            let at = self.child(mover.sink, node, child)?;
            let head = self.head(mover.sink, at, node.level - 1)?;
            ensure(head.is_sound(), || damaged(at))?;
            Ok(head)
        });
        let heads = heads.collect::<Result<Vec<Head>>>()?;
        let groups = groups(&heads);
        if groups.len() == heads.len() {
            return Ok(false);
        }
        let mut above = self.entries(mover.sink, node)?.into_iter();
        let mut entries = Vec::new();
        for group in groups {
            let mut first = above.next().ok_or_else(|| damaged(node.at))?;
            let child = match &heads[group.clone()] {
                [alone] => {
                    self.look_at(mover, alone)?;
                    alone.at
                }
                several => {
                    let keys = above
                        .by_ref()
                        .take(several.len() - 1)
                        .map(|entry| entry.key);
                    let keys: Vec<Vec<u8>> = keys.collect();
                    self.merge(mover, several, keys)?
                }
            };
            first.value = child.to_le_bytes().to_vec();
            entries.push(first);
        }
        let new = self.make_node(mover.sink, node.level, &entries)?;
        self.point_to(mover.sink, path, new)?;
        mover.replaced(node.at)?;
        Ok(true)
    }

    /// Makes one node of several neighbours; `keys` are those between them in the node above.
    fn merge<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        nodes: &[Head],
        keys: Vec<Vec<u8>>,
    ) -> Result<u64> {
        let mut keys = keys.into_iter();
        let mut entries: Vec<Entry> = Vec::new();
        for (i, node) in nodes.iter().enumerate() {
            let mut of_node = self.entries(mover.sink, node)?;
            if i > 0 && node.level > 0 {
                // The first entry of an inner node has no key of its own.
                of_node[0].key = keys.next().ok_or_else(|| damaged(node.at))?;
            }
            entries.append(&mut of_node);
            self.look_at_values(mover, node)?;
            mover.replaced(node.at)?;
        }
        let new = self.make_node(mover.sink, nodes[0].level, &entries)?;
        mover.look(new);
        Ok(new)
    }

    /// Looks at a node that stays, and at its values that lie apart.
    fn look_at<M: Medium>(&self, mover: &mut Mover<'_, '_, M>, node: &Head) -> Result<()> {
        mover.look(node.at);
        self.look_at_values(mover, node)
    }

    fn look_at_values<M: Medium>(&self, mover: &mut Mover<'_, '_, M>, node: &Head) -> Result<()> {
        for entry in 0..node.order.len() * usize::from(node.level == 0) {
            let stored = self.stored(mover.sink, node, node.entry(entry))?;
            for object in stored.objects(mover.sink)? {
                mover.look(object);
            }
        }
        Ok(())
    }

    /// Moves those children of an inner node that are to move, and values of leaves among them.
    fn move_children<M: Medium>(&self, mover: &mut Mover<'_, '_, M>, node: &Head) -> Result<()> {
        for child in 0..node.order.len() {
            let at = self.child(mover.sink, node, child)?;
            let head = self.head(mover.sink, at, node.level - 1)?;
            if let Some(new) = self.move_node(mover, &head)? {
                self.set_child(mover.sink, node, child, new)?;
            }
        }
        Ok(())
    }

    /// Has an entry point to its value, which lies apart, at another place.
    fn set_pointer<S: Sink>(&self, sink: &mut S, node: &Head, slot: Slot, new: u64) -> Result<()> {
        let at = node.at + slot.value_at();
        let [_, len] = sink.words(at)?;
        self.seal_value(sink, node, slot, bytemuck::cast_slice(&[new, len]))?;
        sink.set(at, new)
    }

    fn compact_root<M: Medium>(&self, mover: &mut Mover<'_, '_, M>) -> Result<()> {
        if mover.phase == Phase::Condense {
            self.lower(mover.sink)?;
        }
        let root = self.root(mover.sink)?;
        let head = self.head(mover.sink, root.node, root.levels as u8)?;
        if let Some(node) = self.move_node(mover, &head)? {
            let levels = root.levels;
            self.set_root(mover.sink, Root { node, levels })?;
        }
        Ok(())
    }

    /// Moves a node if it is to move, and those of its values that lie apart that are; returns
    /// where it is now, if it has moved.
    fn move_node<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        node: &Head,
    ) -> Result<Option<u64>> {
        ensure(node.is_sound(), || damaged(node.at))?;
        let moves = mover.look(node.at);
        let mut values = Vec::new();
        for entry in 0..node.order.len() * usize::from(node.level == 0) {
            let slot = node.entry(entry);
            let stored = self.stored(mover.sink, node, slot)?;
            if let Some(new) = stored.compact(mover)? {
                values.push((entry, new));
            }
        }
        if !moves {
            for (entry, new) in values {
                self.set_pointer(mover.sink, node, node.entry(entry), new)?;
            }
            return Ok(None);
        }
        let mut entries = self.entries(mover.sink, node)?;
        for (entry, new) in values {
            entries[entry].value[..8].copy_from_slice(&new.to_le_bytes());
        }
        let new = self.make_node(mover.sink, node.level, &entries)?;
        mover.replaced(node.at)?;
        Ok(Some(new))
    }
}

/// Divides neighbours into groups that each fit into one node.
fn groups(nodes: &[Head]) -> Vec<std::ops::Range<usize>> {
    let mut groups: Vec<std::ops::Range<usize>> = Vec::new();
    let (mut count, mut bytes) = (0, 0);
    for (i, node) in nodes.iter().enumerate() {
        let (more, longer) = (node.order.len(), node.used());
        match groups.last_mut() {
            Some(group) if count + more <= MOST && bytes + longer <= MOST_BYTES => {
                group.end = i + 1;
                (count, bytes) = (count + more, bytes + longer);
            }
            _ => {
                groups.push(i..i + 1);
                (count, bytes) = (more, longer);
            }
        }
    }
    groups
}
