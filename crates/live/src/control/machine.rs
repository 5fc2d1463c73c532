//! Whether a machine is short of memory by itself.

use std::fs;
use std::time::Duration;

use terrace_base::Bytes;
use terrace_base::memory::meminfo;

use super::stalls::total;

/// Part of the memory below which a machine is short. Above that no program has to wait for memory:
/// the kernel reclaims in the background below its high watermarks, which are a hundredth or less
/// (vm.min_free_kbytes, vm.watermark_scale_factor).
const PART: u64 = 50;
/// Share of the time in which all of a machine waits for memory, beyond what the service explains.
const FULL: f64 = 0.05;

/// Looks at the machine.
#[derive(Default)]
pub(super) struct Machine {
    full: Option<Duration>,
}

impl Machine {
    /// Whether it is short of memory: little is available, or all of it stood still for memory for
    /// more of the time that `passed` than the service (`stalled`) explains.
    pub fn is_short(&mut self, passed: Duration, stalled: Duration) -> bool {
        // A kernel without this information (psi=0) has no such file, or does not let it be read.
        let text = fs::read_to_string("/proc/pressure/memory").unwrap_or_default();
        let now = total(&text, "full");
        let before = std::mem::replace(&mut self.full, now);
        let full = now
            .zip(before)
            .map(|(now, before)| now.saturating_sub(before));
        Self::has_little() || is_still(full.unwrap_or_default(), passed, stalled)
    }

    /// Whether little memory is available.
    pub fn has_little() -> bool {
        let available = meminfo("MemAvailable:").unwrap_or(Bytes(u64::MAX));
        is_little(available, meminfo("MemTotal:").unwrap_or_default())
    }
}

fn is_little(available: Bytes, all: Bytes) -> bool {
    available.0 < all.0 / PART
}

fn is_still(full: Duration, passed: Duration, stalled: Duration) -> bool {
    full.saturating_sub(stalled) > passed.mul_f64(FULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_or_stalls_of_others() {
        let gib = |count: u64| Bytes(count << 30);
        assert!(is_little(gib(1), gib(64)) && !is_little(gib(2), gib(64)));
        let ms = Duration::from_millis;
        assert!(is_still(ms(60), ms(1000), ms(0)));
        assert!(!is_still(ms(60), ms(1000), ms(20)), "the service's own");
        assert!(!is_still(ms(40), ms(1000), ms(0)));
    }
}
