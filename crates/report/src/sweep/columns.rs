//! The columns, in their order.

use super::{Column, Get, Row, Values};
use crate::sim::word;

/// Declares columns: a name, a type, whether each row has a value, the value, and what it is.
macro_rules! columns {
    (|$row:ident| $($name:ident: $kind:ident $get:ident($value:expr), $doc:literal;)*) => {
        /// All columns: the trace, the effective settings of the machine, and what was found.
        pub const COLUMNS: &[Column] = &[$(Column {
            name: stringify!($name),
            doc: $doc,
            values: Values::$kind(Get::$get(|$row: &Row| $value)),
        },)*];
    };
}

columns! { |row|
    trace: Text Always(row.trace.clone()), "the trace, as it was named";
    dram: Text Always(row.dram.clone()), "DRAM, as it was asked for";
    dram_pages: Integer Always(row.run.settings.dram_pages), "pages of DRAM";
    memory: Text Always(row.run.settings.memory.clone()), "technology of the tier";
    read_ns: Integer Always(row.run.settings.read_ns), "latency of a page read, in ns";
    write_ns: Integer Always(row.run.settings.write_ns), "latency of a page write, in ns";
    channels: Integer Always(row.run.settings.channels.into()), "requests that a device serves at the same time";
    devices: Integer Always(row.run.settings.devices.into()), "devices of that kind";
    bandwidth: Integer Maybe(row.run.settings.bandwidth), "bytes a second over all channels; null: no limit";
    order: Text Always(row.run.settings.order.to_owned()), "order in which the device serves";
    tier_pages: Integer Maybe(row.run.settings.tier_pages), "pages of the tier; null: the footprint";
    replacement: Text Always(row.run.settings.replacement.to_owned()), "replacement policy";
    prefetch: Text Always(row.run.settings.prefetch.to_owned()), "what is fetched ahead";
    page_cluster: Integer Maybe(row.run.settings.page_cluster.map(u64::from)), "vm.page-cluster of readahead";
    prefetch_cache: Integer Always(row.run.settings.prefetch_cache), "pages of DRAM kept for what is fetched ahead";
    prefetch_work: Text Always(word(&row.run.settings.work)), "who waits for prefetches";
    inclusion: Text Always(word(&row.run.settings.inclusion)), "whether fetched pages keep their copy in the tier";
    eviction_buffer: Integer Always(row.run.settings.eviction_buffer), "pages of the eviction buffer";
    fault_cost: Text Always(row.run.settings.fault.name.clone()), "what a fault costs, by name; the next ten are its parts";
    fault_trap_ns: Integer Always(row.run.settings.fault.trap.0), "into the kernel and back, in ns";
    fault_kernel_ns: Integer Always(row.run.settings.fault.kernel.0), "the kernel's way to the device and back, in ns";
    fault_copy_ns: Integer Always(row.run.settings.fault.copy.0), "moving or clearing a page, in ns";
    fault_map_ns: Integer Always(row.run.settings.fault.map.0), "mapping a page, in ns";
    fault_unmap_ns: Integer Always(row.run.settings.fault.unmap.0), "unmapping an evicted page, in ns";
    fault_write_out_ns: Integer Always(row.run.settings.fault.write_out.0), "handing an evicted page to the device for the first time, in ns";
    fault_write_again_ns: Integer Always(row.run.settings.fault.write_again.0), "the same where the tier had it before, in ns";
    fault_prefetch_ns: Integer Always(row.run.settings.fault.prefetch.0), "added while a predictor runs beside the program, in ns";
    shootdown: Text Always(word(&row.run.settings.fault.shootdown)), "how other processors are told of an evicted page";
    shootdown_on_map: Flag Always(row.run.settings.fault.shootdown_on_map), "whether they are told of a mapped page as well";
    threads: Integer Maybe(row.run.settings.threads.map(u64::from)), "threads that a shoot-down reaches; null: those of the program";
    instruction_ps: Integer Always(row.run.settings.instruction_ps), "time of an instruction, in ps";
    access_ns: Integer Always(row.run.settings.access_ns), "time of an access where instructions are not counted, in ns";
    warmup: Integer Always(row.run.settings.warmup), "accesses before figures were taken";
    seed: Unsigned Always(row.run.settings.seed), "for what a policy leaves to chance";
    accesses: Integer Always(row.run.accesses), "touches of pages; an access that crosses a page border is two";
    writes: Integer Always(row.run.writes), "those that wrote";
    misses: Integer Always(row.run.misses), "touches of pages not in DRAM: the sum of the next four";
    first_touches: Integer Always(row.run.first_touches), "first touches of a page, which read nothing";
    full_misses: Integer Always(row.run.full_misses), "misses for which the page had to be read";
    partial_misses: Integer Always(row.run.partial_misses), "misses on a page that was being read already";
    rescues: Integer Always(row.run.rescues), "misses on a page in the eviction buffer";
    miss_ratio: Float Always(row.run.miss_ratio), "misses an access, 0 to 1";
    evictions: Integer Always(row.run.evictions), "pages that left DRAM";
    background_evictions: Integer Always(row.run.background_evictions), "of these, pages that left for a page fetched ahead, which delayed nobody";
    writebacks: Integer Always(row.run.writebacks), "pages written to the tier";
    reads: Integer Always(row.run.reads), "pages read from the tier";
    predictions: Integer Always(row.run.prefetch.predicted), "pages that the predictor named: the sum of the next four, but for what waited at the end";
    predictions_filtered: Integer Always(row.run.prefetch.filtered), "those in memory, on their way, not in the tier, or named already";
    predictions_wiped: Integer Always(row.run.prefetch.wiped), "those pushed out of the queue by others";
    predictions_in_memory: Integer Always(row.run.prefetch.in_memory), "those found in memory when their turn came";
    prefetches: Integer Always(row.run.prefetch.issued), "pages fetched ahead";
    prefetches_used: Integer Always(row.run.prefetch.used), "those touched after they had arrived";
    prefetches_late: Integer Always(row.run.prefetch.late), "those touched before they had arrived";
    prefetches_wasted: Integer Always(row.run.prefetch.wasted), "those evicted untouched";
    prefetches_untouched: Integer Always(row.run.prefetch.untouched), "those in DRAM and not touched at the end";
    accuracy: Float Maybe(row.run.prefetch.accuracy), "share of the fetched pages with a known end that were touched";
    coverage: Float Maybe(row.run.prefetch.coverage), "share of the full misses that there would have been that were foreseen";
    timeliness: Float Maybe(row.run.prefetch.timeliness), "share of the touched pages that had arrived by then";
    fault_latency_ns: Float Maybe(row.run.fault_latency_ns), "from the touch of a page in the tier to its being mapped, mean, in ns";
    device_latency_ns: Float Maybe(row.run.device_latency_ns), "of a read of the device, waiting included, mean, in ns";
    shootdowns: Integer Always(row.run.shootdowns), "TLB shoot-downs";
    time_ns: Integer Always(row.run.time_ns.0), "virtual run time, in ns";
    all_dram_ns: Integer Always(row.run.all_dram_ns.0), "the same with DRAM for everything, in ns";
    slowdown: Float Always(row.run.slowdown), "time_ns divided by all_dram_ns";
    program_threads: Integer Always(row.run.programs.iter().map(|program| u64::from(program.threads)).sum()), "threads of the program; the next twelve add up their time";
    compute_ns: Integer Always(row.run.times_ns.compute.0), "instructions, or the time between accesses, in ns";
    trap_ns: Integer Always(row.run.times_ns.trap.0), "into the kernel and back, in ns";
    kernel_ns: Integer Always(row.run.times_ns.kernel.0), "the kernel's way to the device, in ns";
    wait_read_ns: Integer Always(row.run.times_ns.read.0), "waiting for pages to be read, in ns";
    copy_ns: Integer Always(row.run.times_ns.copy.0), "moving and clearing pages, in ns";
    map_ns: Integer Always(row.run.times_ns.map.0), "mapping pages, in ns";
    unmap_ns: Integer Always(row.run.times_ns.unmap.0), "unmapping evicted pages, in ns";
    write_out_ns: Integer Always(row.run.times_ns.write_out.0), "handing evicted pages to the device, in ns";
    shootdown_ns: Integer Always(row.run.times_ns.shootdown.0), "TLB shoot-downs, in ns";
    wait_evict_ns: Integer Always(row.run.times_ns.evict.0), "waiting for room in the eviction buffer, in ns";
    prefetch_ns: Integer Always(row.run.times_ns.prefetch.0), "handing work to the predictor, and synchronous prefetches, in ns";
    idle_ns: Integer Always(row.run.times_ns.idle.0), "waiting for other threads, in ns";
    lifetime_years: Float Maybe(row.run.lifetime.levelled), "until the tier wears out, all cells written evenly; null: nothing written, or no endurance known";
    lifetime_start_gap_years: Float Maybe(row.run.lifetime.start_gap), "the same with start-gap levelling";
    lifetime_unlevelled_years: Float Maybe(row.run.lifetime.unlevelled), "the same without levelling";
    energy_read_j: Float Maybe(row.run.energy.map(|energy| energy.read_j)), "energy of reads, in J; null: no powers known";
    energy_write_j: Float Maybe(row.run.energy.map(|energy| energy.write_j)), "energy of writes, in J";
    energy_standby_j: Float Maybe(row.run.energy.map(|energy| energy.standby_j)), "energy of standing by, in J";
    energy_refresh_j: Float Maybe(row.run.energy.map(|energy| energy.refresh_j)), "energy of refreshing, in J";
    footprint_pages: Integer Always(row.run.footprint_pages), "pages that were touched";
    tier_pages_used: Integer Always(row.run.tier_pages_used), "pages of the tier that were in use";
    dram_full_at: Integer Maybe(row.run.dram_full_at), "access at which the first page had to leave DRAM; null: all fitted";
    warning: Text Maybe(row.run.warning.clone()), "why the figures are not those of a steady state; null where they may be";
}
