//! What policies know of this machine: its last-level cache.

use std::fs;
use std::time::Duration;

use terrace_base::Bytes;
use terrace_policy::sched::Machine;

/// Caches of the first CPU, as the kernel knows them.
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";
/// Bytes of a line.
const LINE: u64 = 64;

/// Returns the size of the last-level cache that the processor states. A virtual machine may get
/// far less of it, which `terrace sched profile` measures.
pub fn stated_cache() -> Option<Bytes> {
    let caches = fs::read_dir(CACHES).ok()?.flatten();
    let read = |cache: &fs::DirEntry, name: &str| {
        let text = fs::read_to_string(cache.path().join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    let sizes = caches.filter_map(|cache| {
        let level: u32 = read(&cache, "level")?.parse().ok()?;
        Some((level, Bytes::parse(&read(&cache, "size")?).ok()?))
    });
    sizes
        .max_by_key(|(level, size)| (*level, size.0))
        .map(|(_, size)| size)
}

/// Returns the machine for policies, with this last-level cache or else the one that the processor
/// states.
pub fn machine(cache: Option<Bytes>) -> Machine {
    let usual = Machine::default();
    let cache = cache.or_else(stated_cache);
    Machine {
        lines: cache.map_or(usual.lines, |bytes| (bytes.0 / LINE).max(1)),
        miss: Duration::from_nanos(100),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_size_goes_before_the_stated_one() {
        assert_eq!(machine(Some(Bytes(1 << 20))).lines, (1 << 20) / LINE);
        assert!(machine(None).lines > 0);
    }
}
