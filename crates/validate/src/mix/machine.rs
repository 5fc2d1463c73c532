//! The simulator's machine from measurements of the real one.

use std::fs;

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Catalogue, Figure};
use terrace_live::sched::cache::Cache;
use terrace_policy::llc::LINE_BYTES;
use terrace_policy::{llc, sched};
use terrace_sim::llc::model::{CYCLE, LOOKUP};
use terrace_sim::llc::{Backing, Chips, Llc, Placement, Size};
use terrace_sim::mix::{MixMachine, Partition};

/// Ways of the last level.
const WAYS: usize = 16;
/// Capacity of the memory and places in its write buffer, as `sim mix` has them; no figure here
/// depends on the first.
const MEMORY: (Bytes, usize) = (Bytes(16 << 30), 32);
/// Time of a switch without the misses that follow, as in `sim mix`.
const SWITCH: Nanos = Nanos(3_000);
/// Private levels of a machine that does not tell them: Fedorov 2016, table 2.1.
const PRIVATE: [Size; 2] = [
    Size {
        bytes: Bytes(64 << 10),
        ways: 2,
    },
    Size {
        bytes: Bytes(256 << 10),
        ways: 8,
    },
];

/// Returns the private levels of data and of all that the kernel states for the first CPU.
pub fn private() -> [Size; 2] {
    // The caches of a CPU are those of its data, its instructions, and the second level.
    [
        stated(0).unwrap_or(PRIVATE[0]),
        stated(2).unwrap_or(PRIVATE[1]),
    ]
}

fn stated(index: usize) -> Option<Size> {
    let folder = format!("/sys/devices/system/cpu/cpu0/cache/index{index}");
    let read = |name: &str| fs::read_to_string(format!("{folder}/{name}")).ok();
    let size = Size {
        bytes: Bytes::parse(read("size")?.trim()).ok()?,
        ways: read("ways_of_associativity")?.trim().parse().ok()?,
    };
    size.geometry(LINE_BYTES).is_ok().then_some(size)
}

/// Returns a machine with these CPUs and this policy of turns, where the kernel's own are `slice`
/// long: its last level is as large as programs get it, and a miss takes as long as it was measured
/// to take.
///
/// # Errors
/// A failure where the last level is too small to be simulated.
pub fn machine(cache: &Cache, cpus: usize, turns: sched::Spec, slice: Nanos) -> Result<MixMachine> {
    let set = WAYS as u64 * LINE_BYTES;
    let bytes = Bytes(cache.effective_bytes / set * set);
    let size = Size { bytes, ways: WAYS };
    size.geometry(LINE_BYTES)?;
    Ok(MixMachine {
        line: LINE_BYTES,
        private: private().map(Some),
        empties: false,
        llc: Llc {
            size,
            policy: llc::Spec::parse("lru").map_err(Error::usage)?,
        },
        partition: Partition::parse("off")?,
        memory: memory(cache)?,
        placement: Placement::parse("jit").map_err(Error::usage)?,
        cores: cpus,
        turns,
        slice,
        switch: SWITCH,
        warmup: Nanos::ZERO,
        time: Nanos::ZERO,
        seed: 1,
    })
}

/// Returns DRAM with the measured time of a miss; the look-up in the last level is a part of it.
fn memory(cache: &Cache) -> Result<Backing> {
    let mut technology = Catalogue::builtin().get("dram")?.clone();
    let lookup = (LOOKUP * CYCLE) as f64 / 1000.0;
    let measured = || Figure {
        value: Nanos((cache.miss_ns - lookup).max(1.0) as u64),
        source: "measured".to_owned(),
    };
    technology.line_read = Some(measured());
    technology.line_write = Some(measured());
    let (capacity, write_buffer) = MEMORY;
    Ok(Backing {
        name: "measured".to_owned(),
        memory: Chips {
            technology,
            capacity,
            write_buffer,
        },
        cache: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(effective_bytes: u64) -> Cache {
        Cache {
            stated_bytes: None,
            effective_bytes,
            hit_ns: 13.0,
            miss_ns: 216.0,
            refill_ms: 1.0,
            accesses: Vec::new(),
        }
    }

    #[test]
    fn the_machine_is_as_it_was_measured() {
        let off = || sched::Spec::parse("off").unwrap();
        let made = machine(&cache(4_500_000), 2, off(), Nanos(4_000_000)).unwrap();
        assert_eq!(made.llc.size.bytes, Bytes(4_500_000 / 1024 * 1024));
        let read = made.memory.memory.technology.line_read.as_ref().unwrap();
        assert_eq!(read.value, Nanos(206));
        assert_eq!((made.cores, made.slice), (2, Nanos(4_000_000)));
        made.check(4).unwrap();
        assert!(machine(&cache(100), 1, off(), Nanos(1)).is_err());
    }
}
