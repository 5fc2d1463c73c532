//! What a run needs to be allowed to do, and whether this process is.

use std::fs;

use terrace_base::{Error, Result};

/// A Linux capability that something here needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Its name.
    pub name: &'static str,
    /// Its bit in `CapEff`.
    bit: u32,
    /// What it is needed for.
    pub purpose: &'static str,
}

/// All that `terrace run` needs (linux/capability.h).
pub const NEEDED: [Capability; 4] = [
    Capability {
        name: "CAP_SYS_ADMIN",
        bit: 21,
        purpose: "swap areas and perf events of a cgroup",
    },
    Capability {
        name: "CAP_DAC_OVERRIDE",
        bit: 1,
        purpose: "cgroups and vm.page-cluster",
    },
    Capability {
        name: "CAP_SYS_PTRACE",
        bit: 19,
        purpose: "the program's pagemap",
    },
    Capability {
        name: "CAP_SYS_NICE",
        bit: 23,
        purpose: "process_madvise on the program",
    },
];

/// The capabilities among [`NEEDED`] that this process lacks.
pub fn missing() -> Vec<Capability> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    missing_in(&status)
}

fn missing_in(status: &str) -> Vec<Capability> {
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    NEEDED
        .into_iter()
        .filter(|capability| effective >> capability.bit & 1 == 0)
        .collect()
}

/// # Errors
/// A failure that says which capabilities are missing.
pub fn require() -> Result<()> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = missing
        .iter()
        .map(|c| format!("{} (for {})", c.name, c.purpose))
        .collect();
    Err(Error::failure(format!(
        "not enough privilege: {} missing; run as root (sudo terrace run ...)",
        list.join(", ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        assert!(missing_in("CapEff:\t000001ffffffffff\n").is_empty());
        assert_eq!(missing_in("CapEff:\t0000000000000000\n").len(), 4);
        let without_nice = format!("CapEff:\t{:016x}\n", !(1u64 << 23));
        assert_eq!(missing_in(&without_nice)[0].name, "CAP_SYS_NICE");
    }
}
