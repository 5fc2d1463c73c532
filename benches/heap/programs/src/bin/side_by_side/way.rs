//! Ways of this program, by their names.

use terrace_heap::Mode;

use crate::Outcome;

/// The container that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A hash map with room for all entries.
    Sized,
    /// A hash map that begins small.
    Growing,
    /// An ordered map.
    Tree,
    /// Objects without a map.
    Objects,
}

#[derive(Clone, Copy)]
pub struct Way {
    pub kind: Kind,
    pub mode: Mode,
    /// Whether many puts share one commit.
    pub batched: bool,
}

const WAYS: [(&str, Kind, Mode, bool); 8] = [
    ("sized", Kind::Sized, Mode::Lines, false),
    ("growing", Kind::Growing, Mode::Lines, false),
    ("synchronous", Kind::Sized, Mode::Synced, false),
    ("batched", Kind::Sized, Mode::Synced, true),
    ("tree", Kind::Tree, Mode::Lines, false),
    ("tree-synchronous", Kind::Tree, Mode::Synced, false),
    ("tree-batched", Kind::Tree, Mode::Synced, true),
    ("allocator", Kind::Objects, Mode::Lines, false),
];

impl Way {
    pub fn of(name: &str) -> Outcome<Self> {
        let found = WAYS.iter().find(|(known, ..)| *known == name);
        let ways = || WAYS.map(|(name, ..)| name).join(", ");
        let &(_, kind, mode, batched) = found.ok_or_else(|| format!("ways are {}", ways()))?;
        Ok(Self {
            kind,
            mode,
            batched,
        })
    }
}
