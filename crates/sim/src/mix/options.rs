//! The settings of machines on which tasks take turns: options of `sim mix`, and their fields in
//! results.
//!
//! To add one: a field in [`super::MixMachine`] and [`super::Grid`], an entry here, and its use in
//! the simulation.

use std::ops::RangeInclusive;

use terrace_base::schema::{Field, Tree, Unit, described, fields, object};
use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_policy::{llc, sched};

use super::grid::Grid;
use super::outcome::{Run, Simulated};
use super::partition::Partition;
use super::settings::MixMachine;
use crate::llc::options::{backing, constants, level, placement, shape};
use crate::setting::{self, Machine, settings};

/// One value of a setting.
type Set = setting::Set<Grid>;

/// A setting with its option and its fields in results.
type Setting = setting::Setting<Grid>;

/// Names of `--private`, and whether private levels are emptied.
const PRIVATE: [(&str, bool, &str); 2] = [
    (
        "keep",
        false,
        "Lines stay until others replace them, as in hardware",
    ),
    ("flush", true, "Lines are written back and removed"),
];

/// Turns that a scheduler may have, in nanoseconds.
const SLICES: RangeInclusive<u64> = 100_000..=10_000_000_000;
/// Times that may be simulated: a day at most.
const TIMES: RangeInclusive<u64> = 0..=86_400_000_000_000;

impl Machine for Grid {
    type Choice = Self;
    type Known = ();
    type Record = Simulated;

    fn of(choice: &mut Self) -> &mut Self {
        choice
    }

    fn settings() -> Vec<(Option<&'static str>, Vec<Setting>)> {
        vec![
            (None, turns()),
            (Some("Hierarchy"), hierarchy()),
            (Some("Memory"), memory()),
        ]
    }
}

/// Returns the fields that all machines share.
pub fn effective() -> Vec<Field<Simulated>> {
    let settings = setting::all::<Grid>().into_iter();
    let settings = settings.flat_map(|setting| setting.fields);
    settings.chain(constants()).collect()
}

/// Returns the fields in which machines differ.
pub fn machine() -> Vec<Field<Run>> {
    fields! { Run;
        /// policy of turns
        "turn" None |run| run.machine.turns.to_string();
        /// policy of the last level
        "policy" None |run| run.machine.llc.policy.to_string();
        /// shape of the last level
        "llc": shape() => |run| {
            let size = run.machine.llc.size;
            Some((size, size.geometry(run.machine.line).ok()?))
        };
        /// division of the last level between tasks
        "partition" None |run| run.machine.partition.to_string();
        /// memory behind it
        "memory" None |run| run.machine.memory.name.clone();
    }
}

/// Returns the machine whose settings all share.
fn shared(one: &Simulated) -> &MixMachine {
    &one.runs[0].machine
}

/// Settings of turns and time.
fn turns() -> Vec<Setting> {
    settings! { Grid;
        /// policies of turns; a list
        "turn" "NAME": parsed(policies), default("off,static,refill"), single(), common(),
            details("Turns are compared with the first of the list. Policies are listed by `terrace list \
                     turn-policies`; settings follow a name, as in static:turn=45ms or fill:share=0.3.");
        /// cores, which share the last level
        "cores" "N": number(1..=256, |grid, cores| grid.cores = cores), default("1"), single(), common(),
            result("cores", Unit::None, |one| shared(one).cores);
        /// tasks of each core
        "tasks-per-core" "N": number(1..=4096, |grid, tasks| grid.tasks_per_core = Some(tasks)),
            otherwise("each trace once"), single(), common(),
            details("Tasks are the traces, and the first of them again if there are fewer. They are dealt to the \
                     cores one after the other: the first task to the first core, the second to the second.");
        /// turns of the scheduler itself, with the policy off
        "slice" "TIME": quantity(slice, |grid, slice| grid.slice = slice), default("4ms"), single(),
            details("Fedorov 2016 states 1 to 15 ms for Linux of that time, about 4 ms with four tasks a \
                     core, and about 2 ms on a machine with two cores."),
            result("slice_ns", Unit::Nanos, |one| shared(one).slice);
        /// time of a switch to another task, without the misses that follow
        "switch" "TIME": quantity(time, |grid, switch| grid.switch = switch), default("3us"), single(),
            result("switch_ns", Unit::Nanos, |one| shared(one).switch);
        /// simulated time that is measured, after the warm-up
        "time" "TIME": quantity(time, |grid, time| grid.time = time), default("1s"), single(),
            result("time_ns", Unit::Nanos, |one| shared(one).time);
        /// simulated time before figures are taken
        "warmup" "TIME": quantity(time, |grid, warmup| grid.warmup = warmup), default("300ms"), single(),
            result("warmup_ns", Unit::Nanos, |one| shared(one).warmup);
        /// seed of the random choices of policies and of the placement of pages
        "seed" "N": number(0..=u64::MAX, |grid, seed| grid.seed = seed), default("1"), single(),
            result("seed", Unit::None, |one| shared(one).seed);
    }
}

/// Settings of the caches.
fn hierarchy() -> Vec<Setting> {
    settings! { Grid;
        /// sizes of the last level, which all cores share; a list
        "llc" "SIZE": quantity(Bytes::parse, |grid, size| grid.sizes.push(size)), default("16M"), common();
        /// ways of the last level
        "ways" "N": number(1..=64, |grid, ways| grid.ways = ways), default("16"), single();
        /// policies of the last level: what is kept, where new lines go; a list
        "policy" "NAME": parsed(caches), default("lru"), single(), common(),
            details("Policies are listed by `terrace list policies`.");
        /// division of the last level between tasks; a list
        "partition" "NAME": parsed(|text| {
                let partition = Partition::parse(text)?;
                Ok(Set::plain(move |grid: &mut Grid| grid.partitions.push(partition.clone())))
            }), default("off"),
            details("off: all use all of it. equal: as many ways for each task. 8:4:2:2: ways of each task. \
                     alone: a cache of the whole size for each task, the best case (Fedorov 2016, 3.5.2).");
        /// private levels at a switch to another task
        "private" "NAME": names(&PRIVATE, |grid, empties| grid.empties = empties),
            default("keep"), single(),
            result("private_flushed", Unit::None, |one| shared(one).empties);
        /// first private level of each core: size and ways, or off
        "l1" "SIZE[:WAYS]": quantity(level, |grid, size| grid.private[0] = size),
            default("64K:2"), single(),
            fields(object("l1?", "shape of the first private level", shape(), |one: &Simulated| private(one, 0)));
        /// second private level of each core: size and ways, or off
        "l2" "SIZE[:WAYS]": quantity(level, |grid, size| grid.private[1] = size),
            default("256K:8"), single(),
            fields(object("l2?", "shape of the second private level", shape(), |one: &Simulated| private(one, 1)));
        /// placement of pages in frames of memory when they are first touched
        "pages" "NAME": read(placement, |grid, placement| grid.placement = placement),
            default("jit"), single(),
            details("Placements are listed by `terrace list placements`. With virtual, tasks have their \
                     lines in the same sets."),
            result("pages", Unit::None, |one| shared(one).placement.to_string());
        /// bytes of a line, in all levels
        "line" "BYTES": number(0..=u64::MAX, |grid, line| grid.line = line), default("64"), single(),
            result("line_bytes", Unit::Bytes, |one| shared(one).line);
    }
}

/// Settings of the memory behind the last level.
fn memory() -> Vec<Setting> {
    settings! { Grid;
        /// memories behind the last level; a list
        "memory" "NAME": read(|text| Ok(text.to_owned()), |grid, name| grid.memories.names.push(name)),
            default("dram"),
            details("Memories are listed by `terrace list memories`; dram/NAME is a DRAM cache \
                     with NAME behind it."),
            result("memories", Unit::None, |one| {
                let mut memories: Vec<_> = one.runs.iter().map(|run| run.machine.memory.clone()).collect();
                memories.sort_by(|a, b| a.name.cmp(&b.name));
                memories.dedup_by(|a, b| a.name == b.name);
                Tree::list(&backing(), &memories)
            }),
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

fn private(one: &Simulated, number: usize) -> Option<(crate::llc::Size, llc::Geometry)> {
    let size = shared(one).private[number]?;
    Some((size, size.geometry(shared(one).line).ok()?))
}

fn slice(text: &str) -> Result<Nanos> {
    within(text, SLICES)
}

fn time(text: &str) -> Result<Nanos> {
    within(text, TIMES)
}

/// Reads a time in a range of nanoseconds.
fn within(text: &str, range: RangeInclusive<u64>) -> Result<Nanos> {
    let time = Nanos::parse(text)?;
    match range.contains(&time.0) {
        true => Ok(time),
        false => Err(Error::usage(format!(
            "{time} is not from {} to {}",
            Nanos(*range.start()),
            Nanos(*range.end())
        ))),
    }
}

/// Takes a list of turn policies. An unknown one is an error of its own, without the option.
fn policies(text: &str) -> Result<Set> {
    let text = text.to_owned();
    Ok(Set::new(move |grid, ()| {
        grid.turns = sched::Spec::parse_list(&text).map_err(Error::usage)?;
        Ok(())
    }))
}

/// Takes a list of policies of the last level, likewise.
fn caches(text: &str) -> Result<Set> {
    let text = text.to_owned();
    Ok(Set::new(move |grid, ()| {
        grid.policies = llc::Spec::parse_list(&text).map_err(Error::usage)?;
        Ok(())
    }))
}
