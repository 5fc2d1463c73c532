//! The memory behind DRAM.

use crate::nodes::Nodes;
use crate::tier::Tier;

/// The memory behind DRAM, by its kind.
pub(super) enum Far {
    /// There is none.
    None,
    /// Swap areas.
    Swap(Box<Tier>),
    /// Another memory node.
    Node(Nodes),
}

impl Far {
    /// Returns the swap areas, if it is these.
    pub fn swap(&self) -> Option<&Tier> {
        match self {
            Self::Swap(tier) => Some(tier),
            _ => None,
        }
    }

    /// Returns the node, if it is one.
    pub fn node(&self) -> Option<&Nodes> {
        match self {
            Self::Node(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// Takes the swap areas, if it is these; then there is none.
    pub fn take_swap(&mut self) -> Option<Tier> {
        match std::mem::replace(self, Self::None) {
            Self::Swap(tier) => Some(*tier),
            other => {
                *self = other;
                None
            }
        }
    }
}
