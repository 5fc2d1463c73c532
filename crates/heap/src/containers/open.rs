//! Open containers.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::Result;

/// The state of open containers by the place of their root. All handles of a container share one.
#[derive(Default)]
pub(crate) struct Open(HashMap<u64, Arc<dyn Any + Send + Sync>>);

impl Open {
    /// Forgets the state of the container whose root lies there.
    pub fn forget(&mut self, root: u64) {
        self.0.remove(&root);
    }

    /// Returns the state of the container whose root lies there; `make` makes it if there is none.
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
