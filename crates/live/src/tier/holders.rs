//! Programs that hold pages in swap, as far as the kernel shows them.
//!
//! The kernel tells how much of a process is in swap (`VmSwap` of `/proc/PID/status`), not in which
//! area. Shared memory in swap belongs to no process, and is in none of these figures.

use std::fs;

use terrace_base::Bytes;

use crate::group::members::everyone;

/// Number of programs that a sentence names.
const NAMED: usize = 4;

/// A process with pages in swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Bytes of it that are in swap, in whatever area.
    pub swapped: Bytes,
}

/// Returns the processes that hold pages in swap, the one with the most first.
pub(crate) fn holders() -> Vec<Holder> {
    let mut all: Vec<_> = everyone().filter_map(Holder::of).collect();
    all.sort_by_key(|holder| std::cmp::Reverse(holder.swapped));
    all
}

/// Names the programs of a list that begins with the largest.
pub(crate) fn named(holders: &[Holder]) -> String {
    if holders.is_empty() {
        return "no process shows them as its own: shared memory, or processes that are hidden here".into();
    }
    let name = |it: &Holder| format!("{} (process {}) has {}", it.name, it.pid, it.swapped);
    let mut named: Vec<_> = holders.iter().take(NAMED).map(name).collect();
    match holders.len().saturating_sub(NAMED) {
        0 => {}
        1 => named.push("1 other process has less".to_owned()),
        more => named.push(format!("{more} other processes have less")),
    }
    format!("{} in swap", named.join(", "))
}

impl Holder {
    /// Reads a process; `None` if it has ended, or nothing in swap.
    fn of(pid: u32) -> Option<Self> {
        let status = fs::read(format!("/proc/{pid}/status")).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&status))
    }

    fn parse(pid: u32, status: &str) -> Option<Self> {
        let field = |key| status.lines().find_map(|line| line.strip_prefix(key));
        let kilobytes: u64 = field("VmSwap:")?.split_whitespace().next()?.parse().ok()?;
        (kilobytes > 0).then(|| Self {
            pid,
            name: field("Name:").unwrap_or_default().trim().to_owned(),
            swapped: Bytes(kilobytes * 1024),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(pid: u32, mib: u64) -> Holder {
        Holder {
            pid,
            name: "cat".to_owned(),
            swapped: Bytes(mib << 20),
        }
    }

    #[test]
    fn a_process_is_a_holder_by_what_it_has_in_swap() {
        let status = |swap: &str| format!("Name:\tcat\nState:\tS\n{swap}Threads:\t1\n");
        let parse = |swap: &str| Holder::parse(7, &status(swap));
        assert_eq!(parse("VmSwap:\t    2048 kB\n"), Some(holder(7, 2)));
        assert_eq!(parse("VmSwap:\t       0 kB\n"), None);
        assert_eq!(parse(""), None, "a kernel thread");
    }

    #[test]
    fn the_largest_are_named_and_the_others_counted() {
        assert!(named(&[]).contains("no process"));
        assert_eq!(
            named(&[holder(7, 2)]),
            "cat (process 7) has 2.00 MiB in swap"
        );
        let many: Vec<_> = (1..8).map(|pid| holder(pid, 9)).collect();
        let text = named(&many);
        assert!(
            text.contains("cat (process 4) has") && !text.contains("process 5"),
            "{text}"
        );
        assert!(
            text.ends_with("3 other processes have less in swap"),
            "{text}"
        );
    }
}
