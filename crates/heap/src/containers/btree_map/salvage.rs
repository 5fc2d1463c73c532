//! What can still be read of a damaged tree, and a new tree of it.

use std::collections::HashSet;

use crate::error::{Result, ensure};
use crate::heap::Heap;
use crate::medium::Medium;
use crate::sink::Source;

use super::super::inspecting::Order;
use super::super::salvaging::{Lost, Take, operate};
use super::layout::{Head, Root, damaged};
use super::node::Entry;
use super::tree::Tree;

/// Entries of a new node, so that it has room for some more.
const FILLED: usize = 10;

/// The reading of a damaged tree.
struct Reading<'r> {
    order: Option<Order>,
    /// The last key.
    last: Option<Vec<u8>>,
    /// Nodes that were reached: each is one of the tree once.
    seen: HashSet<u64>,
    lost: &'r mut Lost,
}

impl Tree {
    /// Calls `take` with each entry that can be read, in the order of the keys.
    ///
    /// # Errors
    ///
    /// What `take` returns.
    pub fn salvage(
        &self,
        source: &impl Source,
        order: Option<Order>,
        lost: &mut Lost,
        take: Take<'_>,
    ) -> Result<()> {
        let root = match self.expect_table(source).and_then(|()| self.root(source)) {
            Ok(root) => root,
            Err(error) => {
                lost.part(self.table, error.to_string());
                return Ok(());
            }
        };
        let (last, seen) = (None, HashSet::new());
        let mut reading = Reading {
            order,
            last,
            seen,
            lost,
        };
        match root.node {
            0 => Ok(()),
            node => self.salvage_node(source, node, root.levels as u8, &mut reading, take),
        }
    }

    fn salvage_node(
        &self,
        source: &impl Source,
        at: u64,
        level: u8,
        reading: &mut Reading,
        take: Take<'_>,
    ) -> Result<()> {
        let head = self.head(source, at, level);
        let sound = |head: Head| {
            ensure(head.is_sound() && reading.seen.insert(at), || damaged(at))?;
            Ok(head)
        };
        let head = match head.and_then(sound) {
            Ok(head) => head,
            Err(error) => {
                let what = match level {
                    0 => format!("{error}; the entries of this leaf are lost"),
                    _ => format!("{error}; what lies below it is lost"),
                };
                reading.lost.part(at, what);
                return Ok(());
            }
        };
        for entry in 0..head.order.len() {
            if level > 0 {
                match self.child(source, &head, entry) {
                    Ok(child) => {
                        self.salvage_node(source, child, level - 1, reading, take)?;
                    }
                    Err(error) => {
                        let what = format!("{error}; what lies below its child {entry} is lost");
                        reading.lost.part(at, what);
                    }
                }
                continue;
            }
            let found = self.key_of(source, &head, entry).and_then(|key| {
                let stored = self.stored(source, &head, head.entry(entry))?;
                Ok((key, stored.bytes(source)?))
            });
            match found {
                Ok((key, value)) if reading.is_next(&key) => {
                    take(&key, &value)?;
                    reading.last = Some(key);
                }
                Ok(_) => reading
                    .lost
                    .entry(at, "a key is not in its order".to_owned()),
                Err(error) => reading.lost.entry(at, error.to_string()),
            }
        }
        Ok(())
    }

    /// Makes the nodes of an empty tree from entries in the order of their keys.
    pub fn builder<'b, M: Medium>(&'b self, heap: &'b Heap<M>) -> Builder<'b, M> {
        let (entries, nodes) = (Vec::new(), Vec::new());
        Builder {
            tree: self,
            heap,
            entries,
            nodes,
        }
    }
}

impl Reading<'_> {
    /// Returns whether a key comes behind the last one.
    fn is_next(&self, key: &[u8]) -> bool {
        let before = self.order.zip(self.last.as_ref());
        before.is_none_or(|(order, last)| order(last, key).is_lt())
    }
}

/// A tree that is being made, from its leaves on.
pub(crate) struct Builder<'b, M: Medium> {
    tree: &'b Tree,
    heap: &'b Heap<M>,
    /// The entries of the next leaf.
    entries: Vec<(Vec<u8>, Vec<u8>)>,
    /// Each leaf and its first key.
    nodes: Vec<(Vec<u8>, u64)>,
}

impl<M: Medium> Builder<'_, M> {
    /// Adds an entry whose key is above all others.
    ///
    /// # Errors
    ///
    /// The pool cannot grow, or a fence failed.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.entries.push((key.to_vec(), value.to_vec()));
        match self.entries.len() < FILLED {
            true => Ok(()),
            false => self.make_leaf(),
        }
    }

    fn make_leaf(&mut self) -> Result<()> {
        let Some((first, _)) = self.entries.first().cloned() else {
            return Ok(());
        };
        let (tree, entries) = (self.tree, &self.entries);
        let leaf = operate(self.heap, |sink| {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| tree.entry(sink, key, value));
            let entries = entries.collect::<Result<Vec<_>>>()?;
            tree.make_node(sink, 0, &entries)
        })?;
        self.nodes.push((first, leaf));
        self.entries.clear();
        Ok(())
    }

    /// Makes the nodes above the leaves, and the root.
    ///
    /// # Errors
    ///
    /// Same as [`Builder::add`].
    pub fn finish(mut self) -> Result<()> {
        self.make_leaf()?;
        let (tree, mut level) = (self.tree, 0);
        while self.nodes.len() > 1 {
            level += 1;
            let mut above = Vec::new();
            for nodes in self.nodes.chunks(FILLED) {
                let pointer = |(key, node): &(Vec<u8>, u64)| Entry::pointer(key.clone(), *node);
                let entries: Vec<Entry> = nodes.iter().map(pointer).collect();
                let node = operate(self.heap, |sink| tree.make_node(sink, level, &entries))?;
                above.push((nodes[0].0.clone(), node));
            }
            self.nodes = above;
        }
        let Some(&(_, node)) = self.nodes.first() else {
            return Ok(());
        };
        let levels = level.into();
        operate(self.heap, |sink| tree.set_root(sink, Root { node, levels }))
    }
}
