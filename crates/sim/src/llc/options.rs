//! The settings of hierarchies: options of `sim llc`, and their fields in results.
//!
//! To add one: a field in [`super::LlcMachine`], an entry here, and its use in the simulation.

use terrace_base::count::parse_count;
use terrace_base::schema::{Field, Tree, Unit, Value, described, fields, object};
use terrace_base::{Bytes, Error, Result};
use terrace_device::Figure;
use terrace_policy::llc::{Geometry, Spec};

use super::grid::{Grid, WarmupChoice};
use super::memory_side::Backing;
use super::model;
use super::placement::Placement;
use super::settings::{Size, Warmup};
use super::simulated::Simulated;
use crate::setting::{self, Machine, settings};

/// One value of a setting.
type Set = setting::Set<Grid>;

/// A setting with its option and its fields in results.
type Setting = setting::Setting<Grid>;

/// The order of settings in results, that of the schema `terrace.sim.llc/1`. Settings that are not
/// named follow.
const RESULTS: &str =
    "cores line l1 l2 prefetch inclusion write-back warmup epoch seed pages flush-ip flush memory";

/// Names of `--flush`, and whether lines stay in the caches.
const FLUSH: [(&str, bool, &str); 2] = [
    ("clflush", false, "The line leaves all caches"),
    ("clwb", true, "The line stays in the caches, clean"),
];

impl Machine for Grid {
    type Choice = Self;
    type Known = ();
    type Record = Simulated;

    fn of(choice: &mut Self) -> &mut Self {
        choice
    }

    fn settings() -> Vec<(Option<&'static str>, Vec<Setting>)> {
        vec![
            (None, requests()),
            (Some("Hierarchy"), hierarchy()),
            (Some("Memory"), memory()),
        ]
    }
}

/// Returns the fields of results that show the settings of a pass, in the order of JSON.
pub fn effective() -> Vec<Field<Simulated>> {
    let mut settings = setting::all::<Grid>();
    let place = |name| RESULTS.split(' ').position(|known| known == name);
    settings.sort_by_key(|setting| place(setting.name).unwrap_or(usize::MAX));
    let settings = settings.into_iter().flat_map(|setting| setting.fields);
    settings.chain(constants()).collect()
}

/// Settings of what is done with the requests to the last level.
fn requests() -> Vec<Setting> {
    settings! { Grid;
        /// policies of the last level: what is kept, where new lines go; a list
        "policy" "NAME": parsed(policies), default("lru"), single(), common(),
            details("Policies are listed by `terrace list policies`. Settings follow a name, as in \
                     nhm:n=8,insert=lh; `terrace explain nhm` lists them. A cache has at most 64 ways.");
        /// requests before figures are taken, or a share, as 10%
        "warmup" "N": quantity(WarmupChoice::parse, |grid, warmup| grid.warmup = warmup),
            default("0"), single(),
            details("Requests to the last level, or a share of the traces' accesses."),
            result("warmup_requests", Unit::None, |one| match one.machine.warmup {
                Warmup::Requests(requests) => Some(requests),
                Warmup::Accesses(_) => None,
            }),
            result("warmup_accesses", Unit::None, |one| match one.machine.warmup {
                Warmup::Requests(_) => None,
                Warmup::Accesses(accesses) => Some(accesses),
            });
        /// write the counts after each N requests to the last level into the results
        "epoch" "N": read(parse_count, |grid, epoch| grid.machine.epoch = Some(epoch)),
            single(), needs_results(),
            result("epoch", Unit::None, |one| one.machine.epoch);
        /// seed of the random choices of policies and of the placement of pages
        "seed" "N": number(0..=u64::MAX, |grid, seed| grid.machine.seed = seed), default("1"), single(),
            result("seed", Unit::None, |one| one.machine.seed);
    }
}

/// Settings of the caches.
fn hierarchy() -> Vec<Setting> {
    settings! { Grid;
        /// cores, shared evenly by the traces
        "cores" "N": number(1..=256, |grid, cores| grid.cores = Some(cores)),
            otherwise("one a trace"), single(), common(),
            details("Threads go to the cores of their program in turn, and each core goes on by its own time, where there \
                     is a memory. The default for a trace of requests is the number of cores that made it."),
            result("cores", Unit::None, |one| one.pass.instructions.len());
        /// first private level of each core: size and ways, or off
        "l1" "SIZE[:WAYS]": quantity(level, |grid, size| grid.machine.private[0] = size),
            default("64K:2"), single(),
            fields(object("l1?", "shape of the first private level", shape(), |one: &Simulated| one.machine.level(0)));
        /// second private level of each core: size and ways, or off
        "l2" "SIZE[:WAYS]": quantity(level, |grid, size| grid.machine.private[1] = size),
            default("256K:8"), single(),
            fields(object("l2?", "shape of the second private level", shape(), |one: &Simulated| one.machine.level(1)));
        /// lines that the second private level reads ahead of their use
        "prefetch" "NAME": named(|grid, prefetching| grid.machine.prefetching = prefetching), single(),
            details("As `next_line` and `ip_stride` of ChampSim: after what the first level asks for, in the same page of 4 KiB. \
                     They go into both levels, and policies are told of them."),
            result("prefetch", Unit::None, |one| one.machine.prefetching);
        /// whether the last level has all lines of the private levels, or none
        "inclusion" "INCLUSION": named(|grid, inclusion| grid.machine.inclusion = inclusion), single(),
            details("An inclusive one needs a single policy and size, as it changes what it is asked for. Before an \
                     exclusive one L2 includes L1, and programs have one core each."),
            result("inclusion", Unit::None, |one| one.machine.inclusion);
        /// when the last level writes a dirty line to memory
        "write-back" "NAME": named(|grid, write_back| grid.machine.write_back = write_back), single(),
            details("But for demand, lines of the low-hit part are written early and stay, clean: of lru, dip and dblk \
                     the last quarter of the ways, of nhm and ari what these have. It needs one memory, without a DRAM cache."),
            result("write_back", Unit::None, |one| one.machine.write_back);
        /// sizes of the last level, which all cores share; a list
        "llc" "SIZE": quantity(Bytes::parse, |grid, size| grid.sizes.push(size)),
            otherwise("2M a core"), common();
        /// ways of the last level; a list
        "ways" "N": number(0..=usize::MAX, |grid, ways| grid.ways.push(ways)), default("16");
        /// placement of pages in frames of memory when they are first touched
        "pages" "NAME": read(placement, |grid, placement| grid.machine.placement = placement),
            default("virtual"), single(),
            details("Placements are listed by `terrace list placements`. Free memory lies in runs of \
                     contiguous frames in random order; a run has 16 frames by default."),
            result("pages", Unit::None, |one| one.machine.placement.to_string());
        /// address of the instruction whose accesses flush their line, or off, for each trace in
        /// turn; a list
        "flush-ip" "ADDRESS": read(instruction, |grid, ip| grid.machine.flushes.ips.push(ip)),
            result("flush_ips", Unit::None, |one| {
                one.machine.flushes().map(|flushes| Value::list(&flushes.ips))
            });
        /// effect of a flush beyond writing a dirty line to memory
        "flush" "NAME": names(&FLUSH, |grid, keeps| grid.machine.flushes.keeps = keeps),
            default("clflush"), single(),
            result("flush_keeps", Unit::None, |one| one.machine.flushes().map(|flushes| flushes.keeps));
        /// bytes of a line, in all levels
        "line" "BYTES": number(0..=u64::MAX, |grid, line| grid.machine.line = line),
            default("64"), single(),
            result("line_bytes", Unit::Bytes, |one| one.machine.line);
    }
}

/// Settings of the memories behind the last level.
fn memory() -> Vec<Setting> {
    settings! { Grid;
        /// memories behind the last level; a list
        "memory" "NAME": read(|text| Ok(text.to_owned()), |grid, name| grid.memories.names.push(name)),
            default("dram"), common(),
            details("Memories are listed by `terrace list memories`; dram/NAME is a DRAM cache \
                     with NAME behind it. With none only requests are counted, which is faster."),
            result("memories", Unit::None, |one| Tree::list(&backing(), &one.machine.memories)),
            with(|field| field.items(|| described(&backing())));
        /// capacity of the memory
        "memory-size" "SIZE": quantity(Bytes::parse, |grid, size| grid.memories.capacity = size),
            default("4G"), single();
        /// capacity of the DRAM cache of `dram/NAME`
        "dram-cache" "SIZE": quantity(Bytes::parse, |grid, size| grid.memories.dram_cache = size),
            default("256M"), single();
        /// lines that can wait to be written; a core that writes one more waits
        "write-buffer" "LINES": number(0..=4096, |grid, lines| grid.memories.write_buffer = lines),
            default("32"), single();
    }
}

/// Returns the fields of a memory behind the last level.
pub(crate) fn backing() -> Vec<Field<Backing>> {
    fn value<T: Copy>(figure: &Option<Figure<T>>) -> Option<T> {
        figure.as_ref().map(|figure| figure.value)
    }
    fields! { Backing;
        /// memory as it was named: a technology, or `dram/` and a technology
        "memory" None |one| one.name.clone();
        /// capacity
        "bytes" Bytes |one| one.memory.capacity;
        /// capacity of the DRAM cache in front of the memory; null where there is none
        "dram_cache_bytes" Bytes |one| one.cache.as_ref().map(|chips| chips.capacity);
        /// ways of the DRAM cache; null where there is none
        "dram_cache_ways" None |one| one.cache.as_ref().map(|_| model::DRAM_CACHE_WAYS);
        /// lines that can wait to be written
        "write_buffer" None |one| one.memory.write_buffer;
        /// read latency of a line in a row that is not open; null where no source states it
        "read_ns" Nanos |one| value(&one.memory.technology.line_read);
        /// write latency of a line in a row that is not open; null where no source states it
        "write_ns" Nanos |one| value(&one.memory.technology.line_write);
        /// latency of a line in the open row; null where no source states it
        "same_row_ns" Nanos |one| value(&one.memory.technology.same_row);
        /// writes that a cell sustains; null where no source states it
        "endurance" None |one| value(&one.memory.technology.endurance);
    }
}

/// Returns the fields of the shape of a cache.
pub(crate) fn shape() -> Vec<Field<(Size, Geometry)>> {
    fields! { (Size, Geometry);
        /// capacity
        "bytes" Bytes |shape| shape.0.bytes;
        /// lines per set
        "ways" None |shape| shape.1.ways;
        /// number of sets
        "sets" None |shape| shape.1.sets;
    }
}

/// Returns the fields of the models of core and memory, whose figures are all assumed.
pub(crate) fn constants<R: 'static>() -> Vec<Field<R>> {
    fields! { R;
        /// cycles per second
        "core.clock_hz" None |_one| 1_000_000_000_000 / model::CYCLE;
        /// instructions per cycle while no request goes beyond the private levels
        "core.issue" None |_one| model::ISSUE;
        /// instructions that may follow a load that has not completed
        "core.window" None |_one| model::WINDOW;
        /// loads and stores that may be in progress beyond the private levels
        "core.outstanding" None |_one| model::OUTSTANDING;
        /// cycles of a look-up in the last level
        "core.lookup_cycles" None |_one| model::LOOKUP;
        /// bytes per second on the bus of a memory
        "memory.bandwidth" Rate |_one| model::BANDWIDTH;
        /// banks of a memory, each with an open row
        "memory.banks" None |_one| model::BANKS;
        /// bytes per row of a memory
        "memory.row_bytes" Bytes |_one| model::ROW_BYTES;
    }
}

/// Takes a list of policies. An unknown policy is an error of its own, without the option.
fn policies(text: &str) -> Result<Set> {
    let text = text.to_owned();
    Ok(Set::new(move |grid, ()| {
        grid.policies = Spec::parse_list(&text).map_err(Error::usage)?;
        Ok(())
    }))
}

/// Reads the size and ways of a private level, or `off`.
pub(crate) fn level(text: &str) -> Result<Option<Size>> {
    if text == "off" {
        return Ok(None);
    }
    let (bytes, ways) = text.split_once(':').unwrap_or((text, "8"));
    let ways = ways
        .parse()
        .map_err(|_| Error::usage(format!("`{text}` is no cache; write it as 256K:8, or off")))?;
    let bytes = Bytes::parse(bytes)?;
    Ok(Some(Size { bytes, ways }))
}

/// Reads the name of a placement with its settings.
pub(crate) fn placement(text: &str) -> Result<Placement> {
    Placement::parse(text).map_err(Error::usage)
}

/// Reads the address of an instruction in hexadecimal, or `off`.
fn instruction(text: &str) -> Result<Option<u64>> {
    if text == "off" {
        return Ok(None);
    }
    let digits = text.strip_prefix("0x");
    let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let address = address.filter(|address| *address != 0).ok_or_else(|| {
        Error::usage(format!(
            "`{text}` is no address of an instruction; write it as 0x401136, or off"
        ))
    })?;
    Ok(Some(address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_level_as_people_write_it() {
        let size = |kib: u64, ways| {
            Some(Size {
                bytes: Bytes(kib << 10),
                ways,
            })
        };
        assert_eq!(level("64K:2"), Ok(size(64, 2)));
        assert_eq!(level("96K:12"), Ok(size(96, 12)));
        assert_eq!(level("32K"), Ok(size(32, 8)));
        assert_eq!(level("off"), Ok(None));
        for text in ["", "64K:", "64K:x", "-64K:2", "on"] {
            assert!(level(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_instruction_as_people_write_it() {
        assert_eq!(instruction("0x401136"), Ok(Some(0x40_1136)));
        assert_eq!(instruction("off"), Ok(None));
        for text in ["", "0x", "0x0", "401136", "-1"] {
            assert!(instruction(text).is_err(), "{text}");
        }
    }
}
