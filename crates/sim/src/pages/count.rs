//! Counts of events, and times by cause.

use std::ops::Sub;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::Nanos;
use terrace_base::schema::{Field, Unit};
use terrace_policy::migration::Side;

/// Declares a struct of figures that only grow, how to subtract an earlier state, and the fields of
/// results that show them, whose help is the documentation.
macro_rules! figures {
    ($(#[$doc:meta])* $name:ident: $kind:ty, $unit:ident; {
        $($(#[doc = $help:literal])* $field:ident,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub struct $name {
            $($(#[doc = $help])* pub $field: $kind,)*
        }

        impl Sub for $name {
            type Output = Self;
            /// Returns what was added since `earlier`.
            fn sub(self, earlier: Self) -> Self {
                Self { $($field: self.$field - earlier.$field,)* }
            }
        }

        impl $name {
            /// Returns the figures as fields of results.
            pub fn fields() -> Vec<Field<Self>> {
                vec![$(Field::new(
                    stringify!($field),
                    Unit::$unit,
                    concat!($($help),*).trim_ascii(),
                    |figures: &Self| figures.$field,
                ),)*]
            }
        }
    };
}

figures! {
    /// Events since the start, or since the warm-up.
    Counts: u64, None; {
        /// touches of pages; an access that crosses a page border makes two
        accesses,
        /// touches that wrote
        writes,
        /// lines that caches wrote back, in a trace that has passed caches: they touch no page
        line_writebacks,
        /// first touches of a page, which read nothing
        first_touches,
        /// misses for which the page had to be read from the tier, or from the memory of --middle
        full_misses,
        /// misses on a page that was being read already
        partial_misses,
        /// misses on a page on its way out of DRAM, which read nothing
        rescues,
        /// pages that left DRAM
        evictions,
        /// pages that left DRAM for a page fetched ahead, which delayed no thread: they are
        /// unmapped on a processor of the fetches
        background_evictions,
        /// pages that left DRAM early, by the eviction policy
        let_go,
        /// pages that the program gave back, which left DRAM and tier without a write
        discards,
        /// pages written to the tier
        writebacks,
        /// pages of zeros that left DRAM changed or for the first time and were not
        /// written
        zeros_dropped,
        /// pages read from the tier, on demand or ahead
        reads,
        /// pages that left DRAM for the memory of --middle
        middle_writes,
        /// pages read from the memory of --middle, on demand or ahead; they leave it
        middle_reads,
        /// TLB shoot-downs
        shootdowns,
        /// accesses to lines that slow memory served, under --migration
        slow_accesses,
        /// lines of slow memory that accesses read, under --migration
        slow_reads,
        /// lines of slow memory that accesses wrote, or caches wrote back, under --migration
        slow_writes,
        /// lines of slow memory that moves to DRAM read, under --migration
        move_reads,
        /// lines of slow memory that moves from DRAM wrote, under --migration
        move_writes,
        /// accesses to objects that --place has put into DRAM
        placed_accesses,
        /// pages that moved to DRAM by --migration
        promotions,
        /// pages that moved to slow memory by --migration
        demotions,
        /// faults that only showed the migration policy an access
        hint_faults,
        /// accesses that the migration policy sampled
        samples,
    }
}

figures! {
    /// Time of all threads by cause, summed over the threads.
    Times: Nanos, Nanos; {
        /// instructions, or the time between accesses
        compute,
        /// into the kernel and back
        trap,
        /// the kernel's way to the device
        kernel,
        /// waiting for pages to be read
        read,
        /// moving and clearing pages
        copy,
        /// mapping pages
        map,
        /// unmapping evicted pages
        unmap,
        /// handing evicted pages to the device
        write_out,
        /// TLB shoot-downs
        shootdown,
        /// waiting for room in the eviction buffer
        evict,
        /// handing work to the predictor, or pages that readahead fetches to the device, and
        /// waiting for synchronous prefetches
        prefetch,
        /// waiting for other threads, as far as the trace shows it
        idle,
        /// lines of slow memory, beyond what they take from DRAM
        slow_lines,
        /// samples for the migration policy
        sample,
        /// waiting for a channel of DRAM, under --fast-bandwidth; all_dram_ns has no such limit
        fast_wait,
        /// waiting for a channel of slow memory, under --migration
        slow_wait,
    }
}

figures! {
    /// Sums and numbers of waits.
    Latencies: u64, None; {
        /// faults on pages behind DRAM that ended: full and partial misses
        faults,
        /// nanoseconds from the touch to the mapped page, summed over these faults (Fedorov 2016,
        /// figure 5.4)
        faults_ns,
        /// reads of the device that ended, on demand or ahead
        device_reads,
        /// nanoseconds from the request to the end of the read, summed over these reads
        device_reads_ns,
    }
}

impl Latencies {
    /// Returns the mean latency of a fault in nanoseconds; `None` if there was none.
    pub fn fault(&self) -> Option<f64> {
        mean(self.faults_ns, self.faults)
    }

    /// Returns the mean latency of a device read in nanoseconds; `None` if there was none.
    pub fn device(&self) -> Option<f64> {
        mean(self.device_reads_ns, self.device_reads)
    }
}

fn mean(sum: u64, number: u64) -> Option<f64> {
    (number > 0).then(|| sum as f64 / number as f64)
}

impl Times {
    /// Returns the time of waiting for the channels of a memory.
    pub(super) fn wait_of(&mut self, side: Side) -> &mut Nanos {
        match side {
            Side::Fast => &mut self.fast_wait,
            Side::Slow => &mut self.slow_wait,
        }
    }
}

impl Counts {
    /// Returns the touches of pages that were not in DRAM.
    pub fn misses(&self) -> u64 {
        self.first_touches + self.full_misses + self.partial_misses + self.rescues
    }
}
