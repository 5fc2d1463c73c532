//! What is counted, and where the time went.

use std::ops::Sub;

use serde::{Deserialize, Serialize};
use terrace_base::Nanos;
use terrace_policy::prefetch::{self, LifeStory};

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
        /// Pages that a predictor named; with readahead, the others of each block. Each is counted
        /// once more below, unless it waited to be fetched at the end.
        predictions,
        /// Those of them that were in memory, on their way, not in the tier, or named already.
        predictions_filtered,
        /// Those pushed out of the secondary queue, or for which readahead had no room.
        predictions_wiped,
        /// Those found in memory, or on their way, when their turn came.
        predictions_in_memory,
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

/// [`LifeStory`] as it is kept in results.
#[derive(Serialize, Deserialize)]
#[serde(remote = "LifeStory")]
struct Story {
    predicted: u64,
    filtered: u64,
    wiped: u64,
    in_memory: u64,
    issued: u64,
    used: u64,
    late: u64,
    wasted: u64,
}

/// A combination's predictors, and what became of the pages that these named and no others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constituent {
    /// Their names, with `+` between them: `spatial`, `spatial+temporal`.
    pub names: String,
    /// What became of the pages. Those that were named anew in doubt whether they are still there
    /// were issued once more.
    #[serde(with = "Story")]
    pub story: LifeStory,
}

impl From<&prefetch::Constituent> for Constituent {
    fn from(found: &prefetch::Constituent) -> Self {
        Self {
            names: found.names.clone(),
            story: found.story,
        }
    }
}

impl Constituent {
    /// What was added since `earlier`, where that has the same.
    pub(super) fn since(&self, earlier: &[Self]) -> Self {
        let before = earlier.iter().find(|one| one.names == self.names);
        let before = before.map(|one| one.story).unwrap_or_default();
        Self {
            names: self.names.clone(),
            story: self.story - before,
        }
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

figures! {
    /// What waits took, and how many there were.
    Latencies: u64 {
        /// Faults on pages of the tier that ended: full and partial misses.
        faults,
        /// From the touch to the page being mapped, in nanoseconds, of all of them (Fedorov 2016,
        /// figure 5.4).
        faults_ns,
        /// Reads of the device that ended, on demand or ahead.
        device_reads,
        /// From asking the device to the end of the read, in nanoseconds, of all of them.
        device_reads_ns,
    }
}

impl Latencies {
    /// Of a fault, in nanoseconds; none where there was none.
    pub fn fault(&self) -> Option<f64> {
        mean(self.faults_ns, self.faults)
    }

    /// Of a read of the device, in nanoseconds; none where there was none.
    pub fn device(&self) -> Option<f64> {
        mean(self.device_reads_ns, self.device_reads)
    }
}

fn mean(sum: u64, number: u64) -> Option<f64> {
    (number > 0).then(|| sum as f64 / number as f64)
}

impl Counts {
    /// What became of predictions.
    pub fn story(&self) -> LifeStory {
        LifeStory {
            predicted: self.predictions,
            filtered: self.predictions_filtered,
            wiped: self.predictions_wiped,
            in_memory: self.predictions_in_memory,
            issued: self.prefetches,
            used: self.prefetches_used,
            late: self.prefetches_late,
            wasted: self.prefetches_wasted,
        }
    }

    /// Touches of pages that were not in DRAM.
    pub fn misses(&self) -> u64 {
        self.first_touches + self.full_misses + self.partial_misses + self.rescues
    }
}
