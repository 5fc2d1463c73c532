//! Files that the kernel reads and writes by itself (FUSE passthrough): all handles of one, or
//! none.

use std::io;
use std::sync::Arc;

use fuser::BackingId;

/// The handles of a file by the way that its bytes take.
#[derive(Default)]
pub(super) struct Passing {
    backing: Option<Arc<BackingId>>,
    by_kernel: usize,
    by_us: usize,
}

/// The way that the bytes of a handle take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    ByKernel,
    ByUs,
}

impl Passing {
    /// Begins a handle, which the kernel `may` serve. `register` shows it the file; a file that
    /// it refuses is served by us.
    pub fn begin(
        &mut self,
        may: bool,
        register: impl FnOnce() -> io::Result<BackingId>,
    ) -> (Way, Option<Arc<BackingId>>) {
        if may && self.by_us == 0 && self.backing.is_none() {
            self.backing = register().ok().map(Arc::new);
        }
        match &self.backing {
            Some(backing) => {
                self.by_kernel += 1;
                (Way::ByKernel, Some(Arc::clone(backing)))
            }
            None => {
                self.by_us += 1;
                (Way::ByUs, None)
            }
        }
    }

    /// Ends a handle.
    pub fn end(&mut self, way: &Way) {
        match way {
            Way::ByUs => self.by_us -= 1,
            Way::ByKernel => self.by_kernel -= 1,
        }
        if self.by_kernel == 0 {
            self.backing = None;
        }
    }
}
