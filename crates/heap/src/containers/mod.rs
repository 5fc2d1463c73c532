//! Persistent containers.
//!
//! A container keeps its data in objects of a heap, reached from a root, and its locks and counts in
//! DRAM, where all its handles share them. Each of its operations is written once, over a source of words
//! and a sink for changes: by itself it is an operation of a lane, and within a transaction a part of that.

mod apart;
pub mod btree_map;
mod data;
pub mod hash_map;
pub mod queue;
pub mod vector;

use std::any::Any;
use std::sync::Arc;

use crate::error::Result;
use crate::heap::Heap;
use crate::medium::Medium;
use crate::transaction::Transaction;

pub use btree_map::BTreeMap;
#[cfg(feature = "serde")]
pub use data::Serde;
pub use data::{Bytewise, Key, Value};
pub use hash_map::HashMap;
pub use queue::Queue;
pub use vector::Vector;

mod sealed {
    /// Keeps other crates from writing containers.
    pub trait Sealed {}
}

/// A container that a transaction can open ([`Transaction::open`]).
pub trait Container<M: Medium>: sealed::Sealed {
    /// The container within a transaction.
    type Opened<'t>
    where
        Self: 't,
        M: 't;

    /// The heap in which it lies.
    fn heap(&self) -> &Heap<M>;

    /// What [`Transaction::open`] returns.
    ///
    /// # Errors
    ///
    /// As [`Transaction::open`].
    #[doc(hidden)]
    fn open_in<'t>(&'t self, tx: &'t Transaction<'_, M>) -> Result<Self::Opened<'t>>;
}

/// The state of containers that are open, by the place of their root. All handles of a container share
/// one.
#[derive(Default)]
pub(crate) struct Open(std::collections::HashMap<u64, Arc<dyn Any + Send + Sync>>);

impl Open {
    /// Forgets what is known of the container whose root lies there.
    pub fn forget(&mut self, root: u64) {
        self.0.remove(&root);
    }

    /// The state of the container whose root lies there; it is made if there is none.
    ///
    /// # Errors
    ///
    /// What `make` returns.
    pub fn share<S: Any + Send + Sync>(
        &mut self,
        root: u64,
        make: impl FnOnce() -> Result<S>,
    ) -> Result<Arc<S>> {
        if let Some(known) = self.0.get(&root).cloned()
            && let Ok(state) = known.downcast()
        {
            return Ok(state);
        }
        let state = Arc::new(make()?);
        self.0.insert(root, Arc::clone(&state) as _);
        Ok(state)
    }
}
