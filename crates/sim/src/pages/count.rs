//! What is counted, and where the time went.

use std::ops::Sub;

use serde::{Deserialize, Serialize};
use terrace_base::Nanos;

/// Declares a struct of figures that only grow, and how to subtract an earlier state.
macro_rules! figures {
    ($(#[$doc:meta])* $name:ident: $kind:ty { $($(#[$field_doc:meta])* $field:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl Sub for $name {
            type Output = Self;
            /// What was added since `earlier`.
            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }
    };
}

figures! {
    /// Events since the start, or since the warm-up.
    Counts: u64 {
        /// Touches of pages; an access that crosses a page border makes two.
        accesses,
        /// Those of them that wrote.
        writes,
        /// Touches of a page for the first time: they cost no read.
        first_touches,
        /// Full misses: the page had to be read from the tier.
        full_misses,
        /// Partial misses: it was being read already.
        partial_misses,
        /// Touches of a page in the eviction buffer.
        rescues,
        /// Pages that left DRAM.
        evictions,
        /// Those of them that left for a page fetched ahead: unmapped, and the other processors told,
        /// by whoever fetches, on a processor of its own; this delays nobody.
        background_evictions,
        /// Pages written to the tier.
        writebacks,
        /// Pages read from the tier, on demand or ahead.
        reads,
        /// Pages fetched ahead.
        prefetches,
        /// Touches of a page that was fetched ahead and had arrived.
        prefetches_used,
        /// Touches of a page that was being fetched ahead.
        prefetches_late,
        /// Pages fetched ahead and evicted untouched.
        prefetches_wasted,
        /// TLB shoot-downs.
        shootdowns,
    }
}

figures! {
    /// Where the time of all threads went, added up.
    Times: Nanos {
        /// Instructions, or the time between accesses.
        compute,
        /// Into the kernel and back.
        trap,
        /// The kernel's way to the device.
        kernel,
        /// Waiting for pages to be read.
        read,
        /// Moving and clearing pages.
        copy,
        /// Mapping pages.
        map,
        /// Unmapping evicted pages.
        unmap,
        /// Handing evicted pages to the device.
        write_out,
        /// TLB shoot-downs.
        shootdown,
        /// Waiting for room in the eviction buffer.
        evict,
        /// Handing work to the predictor, and waiting for synchronous prefetches.
        prefetch,
        /// Waiting for other threads, as far as the trace shows it.
        idle,
    }
}

impl Counts {
    /// Touches of pages that were not in DRAM.
    pub fn misses(&self) -> u64 {
        self.first_touches + self.full_misses + self.partial_misses + self.rescues
    }
}
