//! The settings of machines: options of `sim pages` and `sweep`, and their fields in results. Long:
//! one list.
//!
//! To add one: a field in [`PageMachine`], an entry here, and its use in the simulation. What reads
//! the texts of a list or of a name is in `values`.

use std::sync::Arc;

use terrace_base::Bytes;
use terrace_base::schema::{Field, Unit, Unsigned, fields};
use terrace_device::Catalogue;
use terrace_device::lifetime::Endurance;

use super::choice::Choice;
use super::cost::FaultCost;
use super::idle::{
    asks_no_scheme, controls_nothing, fetches_nothing, has_no_buffer, has_no_clock, has_no_device,
    has_no_faults, moves_nothing, reads_nothing_around, serves_no_lines, shares_no_bandwidth,
    unmaps_nothing,
};
use super::names::{Bandwidth, Picos, parse_latency};
use super::setting::{Setting, Values};
use super::settings::PageMachine;
use super::values::{
    control_writes, controls, dram, evictions, levellings, memory, middle, migrations, order,
    page_cluster, place, policies_of, schemes, threads, ways,
};
use crate::setting::{Machine, settings};

/// The order in which settings vary, the slowest first: a value that replaces that of a memory or
/// of a fault cost comes behind these. Settings that are not named follow.
pub(super) const VARY: &str = "memory dram middle replacement eviction control prefetch page-cluster prefetch-cache \
     prefetch-work inclusion eviction-buffer staging devices order fault-cost instruction-time access-time \
     warmup seed read-latency write-latency channels tier-size shootdown threads migration place fast-line slow-line slow-line-write bandwidth fast-bandwidth \
     fast-channels fill sample-time";

/// The order of settings in results, that of the schema `terrace.sim.pages/1`. Settings that are
/// not named follow.
const RESULTS: &str = "dram prefetch-cache memory read-latency write-latency channels devices bandwidth \
     order tier-size replacement eviction prefetch page-cluster prefetch-work inclusion eviction-buffer staging fault-cost \
     shootdown threads instruction-time access-time warmup seed";

/// The most pages that a prefetch cache can have.
const MOST_PAGES: usize = u32::MAX as usize;

/// Returns the fields of results that show the settings of a machine, in the order of JSON.
pub fn effective() -> Vec<Field<PageMachine>> {
    let mut settings = settings();
    let place = |name| RESULTS.split(' ').position(|known| known == name);
    settings.sort_by_key(|setting| place(setting.name).unwrap_or(usize::MAX));
    settings
        .into_iter()
        .flat_map(|setting| setting.fields)
        .collect()
}

/// Returns all settings, in the order of help and of tables.
pub fn settings() -> Vec<Setting> {
    let all = [policies(), costs(), tier(), lines(), writing(), driving()];
    all.into_iter().flatten().collect()
}

/// Heading of the options.
pub const HEADING: &str = "Machine (each takes a list: a,b,c)";

impl Machine for PageMachine {
    type Choice = Choice;
    type Known = Catalogue;
    type Record = Self;

    fn of(choice: &mut Choice) -> &mut Self {
        &mut choice.machine
    }

    fn settings() -> Vec<(Option<&'static str>, Vec<Setting>)> {
        vec![(Some(HEADING), settings())]
    }
}

/// Settings of DRAM, and of what moves pages into and out of it.
fn policies() -> Vec<Setting> {
    settings! { PageMachine;
        /// DRAM: 64M, 1000p (pages), or 25% of the tier
        "dram" "SIZE": parsed(dram), hyphens(), required(), common(),
            details("A share is the DRAM:NVM ratio, where the tier has the size of the footprint."),
            fields(fields! { PageMachine;
                /// pages of DRAM
                "dram_pages" None |m| m.dram_pages;
            });
        /// the memory behind DRAM
        "memory" "NAME": parsed(memory), default("pcm"), common(),
            details("A technology of `terrace list memories`; `terrace explain pcm` shows its figures. \
                     With `none` misses and what is written are counted, in the order of the trace \
                     and without a clock, which is several times as fast; no page waits to be \
                     written."),
            column("memory", "memory", Unit::None, |m| m.tier.name.clone());
        /// a memory between DRAM and the one behind it, and its size: pcm:25%, dram:64M; none:
        /// there is none
        "middle" "NAME:SIZE": parsed(middle), default("none"),
            details("A page that leaves DRAM goes there, and the page that has been there for longest goes on where there \
                     is no room; it is written to the last memory if that has no copy of it. A page that is touched comes \
                     back to DRAM and leaves it. It is one device, with the order of --order. A share is one of the footprint."),
            column("middle", "middle", Unit::None, |m| m.middle.as_ref().map(ToString::to_string)),
            fields(fields! { PageMachine;
                /// pages of the memory between; null: there is none
                "middle_pages" Pages |m| m.middle.as_ref().map(|middle| middle.pages);
                /// latency of a page read from it
                "middle_read_ns" Nanos |m| m.middle.as_ref().map(|middle| middle.timing.read);
                /// latency of a page write to it
                "middle_write_ns" Nanos |m| m.middle.as_ref().map(|middle| middle.timing.write);
            });
        /// what stays in DRAM
        "replacement" "NAME": new(Values::List(Arc::new(policies_of))), default("lru"), common(),
            details("Policies are listed by `terrace list policies`. Settings follow a name, as in \
                     cflru:window=0.3; `terrace explain cflru` lists them."),
            idle(has_no_faults),
            column("replacement", "replacement", Unit::None, |m| m.replacement.to_string());
        /// what leaves DRAM before the replacement policy would choose others
        "eviction" "NAME": new(Values::List(Arc::new(evictions))), default("kernel"),
            details("`kernel` is nothing; `hold` lets pages go right behind a pass over more than DRAM \
                     and holds the others. It acts on pages that a predictor foresaw. `terrace explain \
                     hold` lists its settings."),
            column("eviction", "eviction", Unit::None, |m| m.eviction.to_string());
        /// what decides how much DRAM the programs hold: none, for as much as there is, or a
        /// control policy
        "control" "NAME": new(Values::List(Arc::new(controls))), default("none"),
            details("It looks at even times of the virtual clock, and has the coldest pages by --replacement leave DRAM \
                     or fetches back those that left last, as it does for services that run. --dram is the most that \
                     they hold. Policies are listed by `terrace list control`. Settings follow a name, as in \
                     slowdown:goal=0.05; `terrace explain slowdown` lists them. fixed:dram=1T only looks."),
            column("control", "control", Unit::None, |m| m.control.as_ref().map(ToString::to_string));
        /// bytes a day that may be written to the tier before --control stops to reclaim: 20G;
        /// none: any number
        "control-writes" "SIZE": parsed(control_writes), default("none"), idle(controls_nothing),
            details("What is not used is saved for a day, and a day is saved at the start. Writes by the limit of \
                     --dram count as well."),
            column("control writes", "control_writes", Unit::Bytes, |m| m.control_writes);
        /// what is fetched ahead
        "prefetch" "NAME": new(Values::List(Arc::new(ways))), default("off"), common(),
            details("`off` is nothing. `readahead` reads what the kernel reads around a fault: a window \
                     of addresses, the wider the more of it is used. `readahead:slots` has a window of \
                     places of the swap area, as Linux on a disk that rotates, and `readahead:fixed` \
                     reads the whole block of places, as Linux before 3.14. Predictors are listed by `terrace list predictors`. Settings follow a name, as in \
                     stream:depth=64,queue=fifo; `terrace explain stream` lists them."),
            column("prefetch", "prefetch", Unit::None, |m| m.prefetch.to_string());
        /// pages that `readahead` reads at once at most, as a power of two (vm.page-cluster)
        "page-cluster" "N": parsed(page_cluster), single(), default("3"), idle(reads_nothing_around),
            fields(fields! { PageMachine;
                /// vm.page-cluster of readahead
                "page_cluster" None |m| m.prefetch.cluster();
            });
        /// pages of DRAM kept for fetched pages until they are used; 0: fetched pages go where all
        /// pages are
        "prefetch-cache" "PAGES": number(0..=MOST_PAGES, |m, pages| m.prefetch_cache = pages), default("0"),
            idle(fetches_nothing),
            column("prefetch cache", "prefetch_cache", Unit::None, |m| m.prefetch_cache),
            with(|field| field.behind("page_cluster"));
        /// who waits for prefetches: nobody, or the fault that caused them; single: nobody, and a
        /// fault causes some only while none is on its way
        "prefetch-work" "PREFETCH_WORK": named(|m, work| m.work = work), idle(fetches_nothing),
            column("work", "prefetch_work", Unit::None, |m| m.work),
            with(|field| field.json("work"));
        /// when a page that is fetched ahead enters the page table: at its first use, a minor
        /// fault, or as it arrives, so that its use costs nothing
        "prefetch-map" "PREFETCH_MAP": named(|m, mapped| m.mapped = mapped), idle(fetches_nothing),
            details("`arrival`: by hardware or another processor; under --prefetch-work synchronous by the fault that \
                     waits, with one shoot-down for all (Oskin & Loh 2015, V.C). A page that is touched before costs a \
                     fault."),
            column("mapped", "prefetch_map", Unit::None, |m| m.mapped);
        /// whether a fetched page keeps its copy in the tier, so that it need not be written if it
        /// stays clean
        "inclusion" "INCLUSION": named(|m, inclusion| m.inclusion = inclusion),
            column("inclusion", "inclusion", Unit::None, |m| m.inclusion);
        /// evicted pages that wait in DRAM to be written in the background; 0: faults wait
        "eviction-buffer" "PAGES": number(0..=65536, |m, pages| m.eviction_buffer = pages), default("64"),
            idle(has_no_buffer),
            column("buffer", "eviction_buffer", Unit::None, |m| m.eviction_buffer);
        /// evicted pages that stay in DRAM, of its pages, until their room is needed; 0: none
        "staging" "PAGES": number(0..=65536, |m, pages| m.staging = pages), default("0"),
            details("As in extended memory (`terrace extend`): one that is touched returns without the tier, and a \
                     dirty one is written once half of them are younger. They take the place of the eviction \
                     buffer."),
            column("staging", "staging", Unit::None, |m| m.staging);
    }
}

/// Settings of what a fault costs.
fn costs() -> Vec<Setting> {
    settings! { PageMachine;
        /// what a fault costs beyond the device
        "fault-cost" "NAME": quantity(FaultCost::parse, |m, cost| m.fault = cost), default("linux"), idle(has_no_clock),
            details("Listed by `terrace list fault-costs`; a number is the cycles at 1.9 GHz of a whole fault \
                     (Oskin & Loh 2015, figure 2)."),
            column("fault cost", "fault_cost", Unit::None, |m| m.fault.name.clone()),
            with(|field| field.json("fault.name")),
            fields(parts());
        /// how other processors learn of an evicted page
        "shootdown" "SHOOTDOWN": named(|m, way| m.fault.shootdown = way), idle(unmaps_nothing),
            otherwise("that of the fault cost"), shown("shoot-down", "shootdown");
        /// threads that a shoot-down reaches
        "threads" "N": parsed(threads), otherwise("those of the program"), idle(unmaps_nothing),
            column("threads", "threads", Unit::None, |m| m.threads);
    }
}

/// Returns a field for each part of the cost of a fault.
fn parts() -> Vec<Field<PageMachine>> {
    fields! { PageMachine;
        /// into the kernel and back
        "fault_trap_ns" Nanos |m| m.fault.trap, json "fault.trap";
        /// the kernel's way to the device and back
        "fault_kernel_ns" Nanos |m| m.fault.kernel, json "fault.kernel";
        /// moving or clearing a page
        "fault_copy_ns" Nanos |m| m.fault.copy, json "fault.copy";
        /// mapping a page
        "fault_map_ns" Nanos |m| m.fault.map, json "fault.map";
        /// unmapping an evicted page
        "fault_unmap_ns" Nanos |m| m.fault.unmap, json "fault.unmap";
        /// handing an evicted page to the device for the first time
        "fault_write_out_ns" Nanos |m| m.fault.write_out, json "fault.write_out";
        /// handing an evicted page to the device that the tier had before
        "fault_write_again_ns" Nanos |m| m.fault.write_again, json "fault.write_again";
        /// how other processors learn of an evicted page
        "shootdown" None |m| m.fault.shootdown, json "fault.shootdown";
        /// whether they learn of a mapped page as well
        "shootdown_on_map" None |m| m.fault.shootdown_on_map, json "fault.shootdown_on_map";
        /// added while a predictor runs beside the program
        "fault_prefetch_ns" Nanos |m| m.fault.prefetch, json "fault.prefetch", behind "fault_write_again_ns";
        /// added for each page that readahead fetches beside that of a fault
        "fault_readahead_ns" Nanos |m| m.fault.readahead, json "fault.readahead", behind "fault_prefetch_ns";
    }
}

/// Settings of the tier.
fn tier() -> Vec<Setting> {
    settings! { PageMachine;
        /// latency of a page read
        "read-latency" "TIME": quantity(parse_latency, |m, time| m.tier.timing.read = time), idle(has_no_faults),
            details("Written as 25us."), otherwise("that of the memory"),
            column("read latency", "read_ns", Unit::Nanos, |m| m.tier.timing.read);
        /// latency of a page write
        "write-latency" "TIME": quantity(parse_latency, |m, time| m.tier.timing.write = time), idle(has_no_faults),
            otherwise("that of the memory"),
            column("write latency", "write_ns", Unit::Nanos, |m| m.tier.timing.write);
        /// requests that a device serves at the same time
        "channels" "N": number(1..=65536, |m, channels| m.tier.timing.channels = channels),
            idle(shares_no_bandwidth),
            otherwise("those of the memory"),
            column("channels", "channels", Unit::None, |m| m.tier.timing.channels);
        /// devices of that kind, each with a queue of its own; evicted pages go to them in turn
        "devices" "N": number(1..=1024, |m, devices| m.tier.devices = devices), default("1"),
            idle(shares_no_bandwidth),
            column("devices", "devices", Unit::None, |m| m.tier.devices.max(1));
        /// what all channels of a device transfer together: 6.6GB/s, or none for no limit
        "bandwidth" "RATE": quantity(Bandwidth::parse, |m, rate| m.tier.timing.bandwidth = rate.0),
            details("Under --migration pages are interleaved between the channels of all devices. Each line that \
                     is read or written, and each page that moves, occupies one for as long as its bytes take; reads \
                     and writes take the same."),
            otherwise("that of the memory"),
            shown("bandwidth", "bandwidth"),
            fields(fields! { PageMachine;
                /// what all channels transfer together; null: no limit
                "bandwidth" Rate |m| m.tier.timing.bandwidth;
            });
        /// which waiting request goes next: plain (first come, first served), round-robin (over
        /// the classes), elevator (by place, as Linux's deadline scheduler), deadline (faults
        /// before prefetches before writes)
        "order" "NAME": parsed(order), default("deadline"), idle(has_no_device),
            column("order", "order", Unit::None, |m| m.tier.timing.order.name());
        /// bytes that may be written to the tier, as on the data sheet of a drive: 600TBW, 1.2PBW
        "endurance" "TBW": quantity(Endurance::parse, |m, endurance| m.tier.rated = Some(endurance)),
            otherwise("that of the memory's cells, all written evenly"),
            details("The lifetime is that at the mean rate of writing behind --warmup, in virtual time. What a drive writes \
                     by itself (write amplification) is not in it."),
            fields(fields! { PageMachine;
                /// bytes that may be written to the tier; null: by the endurance of its cells
                "endurance_bytes" Bytes |m| m.tier.rated.map(|rated| rated.bytes().0);
            });
        /// size of the tier, for its lifetime
        "tier-size" "SIZE": quantity(Bytes::parse, |m, size| m.tier.pages = Some(size.pages_needed())),
            otherwise("the footprint"), shown("tier", "tier_pages"),
            fields(fields! { PageMachine;
                /// pages of the tier; null: the footprint
                "tier_pages" Pages |m| m.tier.pages;
            });
    }
}

/// Settings of slow memory that serves lines by itself.
fn lines() -> Vec<Setting> {
    settings! { PageMachine;
        /// when a page of slow memory that serves lines by itself moves to DRAM, and which leaves
        "migration" "NAME": new(Values::List(Arc::new(migrations))), default("fault"),
            details("`fault`: slow memory serves no lines, and each page that is used comes in by a fault. Others \
                     are listed by `terrace list migration`; they choose what leaves by themselves, and nothing is \
                     fetched ahead. An access of the trace is then one to a line: record with --filter l1l2. A \
                     move is paid by the thread at whose access it is decided."),
            column("migration", "migration", Unit::None, |m| m.migration.to_string());
        /// a placement file, of terrace place -o: objects of its sites are in DRAM, the policy has
        /// the others
        "place" "FILE": parsed(place), otherwise("none"),
            details("Under --migration, of one program that was recorded with --allocations: its sites in their order, as far as there \
                     is room in DRAM. With --migration never that is static placement alone."),
            column("place", "place", Unit::None, |m| m.place.as_ref().map(|place| place.path.display().to_string()));
        /// time of an access to a line of DRAM, beside the instructions
        "fast-line" "TIME": quantity(Picos::parse, |m, time| m.fast_line_ps = time.0), default("0ns"), idle(has_no_clock),
            column("fast line", "fast_line_ps", Unit::Picos, |m| m.fast_line_ps);
        /// time of an access to a line of slow memory under --migration
        "slow-line" "TIME": quantity(Picos::parse, |m, time| {
                m.tier.line_ps = Some(time.0);
                m.tier.line_write_ps = None;
            }),
            otherwise("that of the memory"), idle(serves_no_lines),
            column("slow line", "slow_line_ps", Unit::Picos, |m| m.tier.line_ps);
        /// time of writing a line of slow memory under --migration, by an access or as a cache
        /// writes it back
        "slow-line-write" "TIME": quantity(Picos::parse, |m, time| m.tier.line_write_ps = Some(time.0)),
            otherwise("that of --slow-line, or of the memory"), idle(serves_no_lines),
            column("slow line write", "slow_line_write_ps", Unit::Picos, |m| m.tier.written_line_ps());
        /// the most that all channels of DRAM together transfer in a second under --migration:
        /// 51.2GB/s, or none for no limit
        "fast-bandwidth" "RATE": quantity(Bandwidth::parse, |m, rate| m.fast_bandwidth = rate.0), default("none"),
            column("fast bandwidth", "fast_bandwidth", Unit::Rate, |m| m.fast_bandwidth);
        /// channels of DRAM that share --fast-bandwidth; pages are interleaved between them
        "fast-channels" "N": number(1..=65536, |m, channels| m.fast_channels = channels), default("1"),
            column("fast channels", "fast_channels", Unit::None, |m| m.fast_bandwidth.map(|_| m.fast_channels));
        /// what moves at once under --migration: a page, or those lines of it that are used, each
        /// at its first use
        "fill" "FILL": named(|m, fill| m.fill = fill), idle(moves_nothing),
            column("fill", "fill", Unit::None, |m| m.fill);
        /// time of an access that a policy of --migration samples
        "sample-time" "TIME": quantity(parse_latency, |m, time| m.sample = time), default("0ns"),
            idle(moves_nothing),
            details("0 where slow memory counts by itself (CXL 3.2, hot-page monitoring). Samples of the processor \
                     cost some 200ns each."),
            column("sample", "sample_time_ns", Unit::Nanos, |m| m.sample);
    }
}

/// Settings of what is written of pages that leave DRAM. A machine is asked about all schemes at
/// once.
fn writing() -> Vec<Setting> {
    settings! { PageMachine;
        /// write schemes that are asked what they would write of the contents of pages that leave
        /// DRAM
        "write" "SCHEME": new(Values::List(Arc::new(schemes))),
            details("Schemes are listed by `terrace list write-schemes`; all of a list see the same evictions, and \
                     change nothing else. The trace must hold contents, as `terrace record --contents` writes \
                     them. With pin=off, as in dcw:pin=off, a page goes not to its own place but to the one that \
                     has been free for longest, of one place in 64 more than there are pages. A row of CSV and \
                     Parquet is then a scheme under a wear levelling. Under --migration there is `lines` alone, which \
                     needs no contents: each line that is written, by an access or a move, wears all its cells."),
            result("write", Unit::None, |m| list(&m.writing.schemes));
        /// what the tier holds where --write has written nothing yet
        "unwritten" "UNWRITTEN": named(|m, held| m.writing.unwritten = held), idle(asks_no_scheme),
            details("`random`: the memory was in use (Awad 2016, 5.1.2). `zeros`: it was erased, or is a new file, as \
                     under `terrace extend`."),
            result("unwritten", Unit::None, |m| {
                m.writing.is_asked().then_some(m.writing.unwritten)
            });
        /// wear levelling under each scheme of --write
        "levelling" "NAME": new(Values::List(Arc::new(levellings))), default("none,start-gap,randomised"),
            idle(asks_no_scheme),
            details("Levellings are listed by `terrace list wear-levellings`. Lines are moved, and that is counted as \
                     written."),
            result("levelling", Unit::None, |m| match m.writing.is_asked() {
                true => list(&m.writing.levellings),
                false => None,
            });
    }
}

/// Settings of time, warm-up and chance.
fn driving() -> Vec<Setting> {
    settings! { PageMachine;
        /// time of an instruction, page faults aside
        "instruction-time" "TIME": quantity(Picos::parse, |m, time| m.instruction_ps = time.0), default("0.5ns"),
            idle(has_no_clock),
            column("instruction", "instruction_ps", Unit::Picos, |m| m.instruction_ps);
        /// time between two accesses of a trace that does not count instructions
        "access-time" "TIME": quantity(parse_latency, |m, time| m.access = time), default("100ns"), idle(has_no_clock),
            column("access", "access_ns", Unit::Nanos, |m| m.access);
        /// what decides when a thread goes on: what was recorded of its creation, waits and wakes,
        /// or nothing, so that all threads begin together
        "thread-order" "ORDER": named(|m, order| m.thread_order = order), idle(has_no_clock),
            details("A trace without such a record leaves it to the place of a thread's accesses in it."),
            column("thread order", "thread_order", Unit::None, |m| m.thread_order);
        /// what pages hold before they are touched first: nothing, so that the first touch counts
        /// as a write; zeros; what is in files; what is in the tier
        "initial" "INITIAL": named(|m, initial| m.initial = initial),
            details("Beside `filled`, a page that was never written is not written to the tier. `filled` is right for \
                     recordings of programs whose memory the kernel fills, as by read(2), which they do not show."),
            column("initial", "initial", Unit::None, |m| m.initial);
        /// what becomes of pages of zeros that leave DRAM: they are written as others, or dropped,
        /// and come back unread
        "zero-pages" "ZERO_PAGES": named(|m, zeros| m.zero_pages = zeros),
            details("`dropped` is what the kernel does since Linux 6.12, and `terrace validate` simulates of such a one. The \
                     trace must tell which pages hold zeros, as `terrace record --level pages` does without --filter \
                     and --contents."),
            column("zero pages", "zero_pages", Unit::None, |m| m.zero_pages);
        /// accesses before figures are taken
        "warmup" "N": number(0..=u64::MAX, |m, accesses| m.warmup = accesses), default("0"),
            column("warm-up", "warmup", Unit::None, |m| m.warmup);
        /// seed of the random numbers that a policy draws
        "seed" "N": number(0..=u64::MAX, |m, seed| m.seed = seed), default("1"),
            column("seed", "seed", Unit::None, |m| Unsigned(m.seed));
    }
}

/// Returns specifications as they are listed on the command line; nothing if there are none.
fn list(specs: &[impl ToString]) -> Option<String> {
    let specs: Vec<String> = specs.iter().map(ToString::to_string).collect();
    (!specs.is_empty()).then(|| specs.join(","))
}
