//! The containers that are open: their states, which all their handles share.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use super::Heap;
use crate::error::{Error, Result, ensure};
use crate::guard::{Inside, Writing};
use crate::layout::FIELD_MAX;
use crate::lock::lock;
use crate::medium::Medium;

/// The containers that are open.
#[derive(Default)]
pub(super) struct Open {
    /// Their states by the places of their roots.
    states: HashMap<u64, Arc<dyn Any + Send + Sync>>,
    /// The root of the container whose state compaction has, besides all handles.
    compacted: Option<u64>,
}

impl<M: Medium> Heap<M> {
    /// Returns the state of the container whose root lies there, shared by all its handles; `make`
    /// makes it if none is open.
    ///
    /// # Errors
    ///
    /// What `make` returns.
    pub(crate) fn share<S: Any + Send + Sync>(
        &self,
        root: u64,
        make: impl FnOnce() -> Result<S>,
    ) -> Result<Arc<S>> {
        let mut open = lock(&self.inner.open);
        if self.core().space.pool.medium.load_word(root) == 0 {
            // The container that was open there was freed through its root.
            open.states.remove(&root);
        }
        if let Some(known) = open.states.get(&root).cloned()
            && let Ok(state) = known.downcast()
        {
            return Ok(state);
        }
        let state = Arc::new(make()?);
        open.states.insert(root, Arc::clone(&state) as _);
        Ok(state)
    }

    /// Carries out a step of compaction on the container of a root: on the state that its handles
    /// share, while `hold` holds a guard of that, or, if no handle exists, on one that `make`
    /// makes, and that no handle can be opened of meanwhile. `work` is told whether no handle
    /// exists. Returns `None` if there is no such container any more.
    ///
    /// A thread that waits for a guard holds no other lock.
    ///
    /// # Errors
    ///
    /// What `hold`, `make` or `work` return.
    pub(crate) fn visit_shared<S: Any + Send + Sync, R>(
        &self,
        root: u64,
        hold: impl Fn(&S) -> Result<Writing<'_>>,
        make: impl FnOnce() -> Result<S>,
        work: impl FnOnce(&S, &mut Inside, bool) -> Result<R>,
    ) -> Result<Option<R>> {
        let is_there = || self.core().space.pool.medium.load_word(root) & FIELD_MAX != 0;
        let mut open = lock(&self.inner.open);
        let Some(state) = open.states.get(&root).cloned() else {
            if !is_there() {
                return Ok(None);
            }
            let (state, mut inside) = (make()?, Inside::default());
            let done = work(&state, &mut inside, true);
            if inside.last.is_some() {
                // A handle that is opened next knows nothing of the last operation.
                self.core().lanes.settle(&self.core().space)?;
            }
            return done.map(Some);
        };
        let Ok(state) = state.downcast::<S>() else {
            return Ok(None);
        };
        open.compacted = Some(root);
        drop(open);
        let held = hold(&state);
        let mut open = lock(&self.inner.open);
        open.compacted = None;
        let mut writing = held?;
        let known = open.states.get(&root).map(Arc::as_ptr);
        // It may have been removed while the guard was waited for.
        if known.map(<*const _>::cast::<S>) != Some(Arc::as_ptr(&state)) || !is_there() {
            return Ok(None);
        }
        work(&state, &mut writing, false).map(Some)
    }

    /// Carries out `work` on the container of a root that no handle is open of, and that none can
    /// be opened of meanwhile.
    ///
    /// # Errors
    ///
    /// A handle exists, or what `work` returns.
    pub(crate) fn close_shared(&self, root: u64, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut open = lock(&self.inner.open);
        let others = 1 + usize::from(open.compacted == Some(root));
        let in_use = |state: &Arc<_>| Arc::strong_count(state) > others;
        ensure(!open.states.get(&root).is_some_and(in_use), || {
            Error::usage("the container is open; drop its handles first")
        })?;
        open.states.remove(&root);
        work()
    }
}
