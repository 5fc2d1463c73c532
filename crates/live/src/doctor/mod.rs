//! Checks what this machine can do and what is missing, each with the fix.

mod cleaning;
mod orphan;

use std::borrow::Cow;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};
use schemars::JsonSchema;
use serde::Serialize;

use crate::fetch::advice::Advisor;
use crate::group::hierarchy::{Hierarchies, Version};
use crate::journal::names::PREFIX;
use crate::journal::{State, state_directory};
use crate::machine::{peers, sysctl, view, zswap};
use crate::nodes::topology::{self, Node};
use crate::nodes::{self, balancing, chase};
use crate::system::privilege;
use crate::watch::faults::FaultStream;
use crate::watch::pagemap::{Pagemap, scans_tables};
use crate::{sched, tier};
use terrace_base::Bytes;
use terrace_base::kernel;
use terrace_policy::{Location, Memory, Page, Residence, Space};

pub use cleaning::clean;

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Works.
    Ok,
    /// Missing, and not needed by `terrace run`, but by something else.
    Optional,
    /// Missing, and needed by `terrace run`.
    Missing,
}

use Verdict::{Missing, Optional};

/// One check.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Check {
    /// Name of what was checked.
    pub name: &'static str,
    /// Outcome.
    pub verdict: Verdict,
    /// Finding, for people.
    pub found: String,
    /// Remedy; `None` if it works.
    pub fix: Option<Cow<'static, str>>,
}

/// Name of the check for what killed runs have left.
const LEFTOVERS: &str = "leftovers";
/// The oldest kernel with `process_madvise(MADV_WILLNEED)`.
const OLDEST_KERNEL: (u32, u32) = (5, 10);
/// The oldest kernel with `memory.reclaim`.
const RECLAIM: (u32, u32) = (5, 19);
/// Free space for a tier below which a remedy is named.
const ROOMY: Bytes = Bytes(4 << 30);

impl Check {
    /// Whether it has found something that a killed run has left.
    pub fn found_leftovers(&self) -> bool {
        self.name == LEFTOVERS && self.verdict != Verdict::Ok
    }
}

/// Checks everything that `terrace` needs.
pub fn examine() -> Vec<Check> {
    vec![
        kernel(),
        privileges(),
        state_is_ours(),
        memory_cgroup(),
        memory_limits(),
        swap(),
        page_cluster(),
        zram(),
        zram_writeback(),
        zswap(),
        perf_events(),
        pagemap(),
        process_madvise(),
        cold_memory(),
        memory_nodes(),
        accesses_by_node(),
        longer_turns(),
        processor_counters(),
        userfaultfd(),
        qemu_user(),
        free_space(),
        leftovers(),
    ]
}

/// Makes a check of what was found, or of what was found instead, for which there is a `fix`.
fn check(
    name: &'static str,
    otherwise: Verdict,
    found: std::result::Result<impl ToString, impl ToString>,
    fix: impl Into<Cow<'static, str>>,
) -> Check {
    let (verdict, found, fix) = match found {
        Ok(found) => (Verdict::Ok, found.to_string(), None),
        Err(found) => (otherwise, found.to_string(), Some(fix.into())),
    };
    Check {
        name,
        verdict,
        found,
        fix,
    }
}

/// Returns the text as what was found if `works`, else as what was found instead.
fn either<T>(works: bool, found: T) -> std::result::Result<T, T> {
    if works { Ok(found) } else { Err(found) }
}

fn kernel() -> Check {
    let release = kernel::release();
    let new_enough = parse_release(&release).is_some_and(|version| version >= OLDEST_KERNEL);
    let found = either(new_enough, format!("Linux {release}"));
    check("kernel", Missing, found, "boot Linux 5.10 or later")
}

fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn privileges() -> Check {
    let missing = privilege::missing();
    let otherwise = match missing.iter().any(|capability| capability.required) {
        true => Missing,
        false => Optional,
    };
    let found = match missing.as_slice() {
        [] => Ok("all capabilities that are needed"),
        missing => Err(format!("without {}", privilege::list(missing))),
    };
    let fix = match privilege::is_root() {
        true => "give this root what it lacks, or run where root has it".to_owned(),
        false => format!("run as root: {}", privilege::as_root()),
    };
    check("privileges", otherwise, found, fix)
}

fn page_cluster() -> Check {
    let current = sysctl::current().unwrap_or_default();
    let found = match sysctl::may_set() {
        true => Ok(format!("{current}, and may be set")),
        false => Err(format!("{current}, and root's alone to set")),
    };
    let fix = "terrace run leaves the kernel's readahead as it is; --compare, bench and calibrate need root";
    check("vm.page-cluster", Optional, found, fix)
}

fn memory_cgroup() -> Check {
    let found = match Hierarchies::find() {
        Ok(h) if h.perf.is_none() => Err("memory, but none that filters perf events".to_owned()),
        Ok(h) => Ok(format!(
            "version {} at {}",
            h.version.number(),
            h.memory.display()
        )),
        Err(e) => Err(e.to_string()),
    };
    let fix = "mount cgroup2 on /sys/fs/cgroup (mount -t cgroup2 none /sys/fs/cgroup)";
    check("memory cgroup", Missing, found, fix)
}

/// Finds out whether programs can see memory limits as without terrace.
fn memory_limits() -> Check {
    let works = Hierarchies::find().and_then(|h| view::check(&h.memory));
    let found = works.and_then(|()| peers::private()).map(|private| {
        let mounts = match private {
            0 => "all mounts are shared".to_owned(),
            some => format!("{some} private mounts are shared while they run"),
        };
        format!(
            "programs see those that hold for terrace, in a mount name space of their own; {mounts}"
        )
    });
    let fix = "programs see the limit of their group, and some size themselves by it; run where root may mount \
               (docker: --privileged)";
    check("memory limits", Optional, found, fix)
}

fn swap() -> Check {
    let areas = tier::active_areas();
    let names: Vec<_> = areas.iter().map(|area| named(area)).collect();
    let found = match names.as_slice() {
        _ if !Path::new("/proc/swaps").exists() => Err("not in the kernel".to_owned()),
        [] => Ok("in the kernel; nothing is swapped to now".to_owned()),
        names => Ok(format!(
            "in the kernel; swapping to {} now",
            names.join(", ")
        )),
    };
    check("swap", Missing, found, "boot a kernel with CONFIG_SWAP")
}

/// Describes an area: its path, and its owner if that is known.
fn named(area: &Path) -> String {
    let name = area.file_name().unwrap_or_default().to_string_lossy();
    let whose = match name.starts_with(PREFIX) {
        true => " (of a run of terrace)",
        false => "",
    };
    format!("{}{whose}", area.display())
}

fn zram() -> Check {
    let mut signs = ["/sys/class/zram-control", "/sys/block/zram0"].iter();
    let found = signs.any(|path| Path::new(path).exists());
    let found = found.then_some("there, for --tier zram").ok_or("not there");
    check("zram", Optional, found, "modprobe zram")
}

fn zram_writeback() -> Check {
    let found = match tier::zram::writes_back() {
        Some(true) => Ok("there, for --tier zram+DIR"),
        Some(false) => Err("not in this kernel"),
        None => Err("not known without a zram device"),
    };
    let fix = "not needed; --tier zram+DIR needs a kernel with CONFIG_ZRAM_WRITEBACK, and the module zram. \
               A disk behind --zswap auto:shrinker=on does the like without";
    check("zram writeback", Optional, found, fix)
}

fn zswap() -> Check {
    let found = zswap::may_set().map(|()| format!("{}, and may be set", zswap::current()));
    let fix = "not needed; --zswap needs a kernel with CONFIG_ZSWAP, and root";
    check("zswap", Optional, found, fix)
}

fn perf_events() -> Check {
    let opened = Hierarchies::find().and_then(|h| FaultStream::open(&h.perf.unwrap_or(h.memory)));
    let found = opened.map(|_| "page-fault events of a cgroup can be sampled");
    let fix = "without them only --prefetch off works";
    check("perf software events", Missing, found, fix)
}

/// Returns the address of a page of ours that is certainly in memory.
fn own_page() -> Location {
    static HERE: u8 = 1;
    let address = &raw const HERE as u64;
    // SAFETY: reads a static of our own, so that its page is in memory.
    unsafe { std::ptr::read_volatile(&raw const HERE) };
    Location::new(Space(std::process::id()), Page::of(address))
}

fn pagemap() -> Check {
    let works = Pagemap::default().residence(own_page()) == Residence::InMemory;
    let found = works
        .then_some("readable")
        .ok_or("/proc/PID/pagemap cannot be read");
    let fix = "boot a kernel with CONFIG_PROC_PAGE_MONITOR";
    check("pagemap", Missing, found, fix)
}

fn process_madvise() -> Check {
    let own = own_page();
    let result = Advisor::default().will_need(own.space, &mut [own.page]);
    let fix = "boot Linux 5.10 or later with CONFIG_ADVISE_SYSCALLS, and run as root";
    check("process_madvise", Missing, result.map(|()| "works"), fix)
}

/// Finds out what tells the memory of services that nobody touches (`terrace size`, `terraced`).
fn cold_memory() -> Check {
    let own = own_page();
    let tried = Advisor::default().page_out(own.space, &mut [own.page]);
    let has_reclaim = || {
        let found = Hierarchies::find().is_ok_and(|h| h.version == Version::V2);
        found && parse_release(&kernel::release()).is_some_and(|version| version >= RECLAIM)
    };
    let found = tried.map(|()| match has_reclaim() {
        true => "by trials of pages, then by the kernel's list (memory.reclaim)",
        false => "by trials of pages alone: memory.reclaim needs cgroup version 2 and Linux 5.19",
    });
    let fix = "terrace size and terraced need process_madvise(MADV_PAGEOUT): Linux 5.10 or later, and root";
    check("cold memory", Optional, found, fix)
}

fn memory_nodes() -> Check {
    let nodes = topology::read();
    let described = |node: &Node| {
        let processors = match node.cpus {
            0 => "no CPUs".to_owned(),
            1 => "1 CPU".to_owned(),
            some => format!("{some} CPUs"),
        };
        format!("node {} has {processors} and {}", node.id, node.memory)
    };
    let all: Vec<_> = nodes.iter().map(described).collect();
    let found = match nodes::slower(&nodes) {
        Some(slow) => Ok(format!("{}; for --tier node:{slow}", all.join(", "))),
        None if nodes.len() > 1 => Err(format!("{}; none is slower", all.join(", "))),
        None => Err(match all.first() {
            Some(only) => format!("one alone: {only}"),
            None => "not known to this kernel".to_owned(),
        }),
    };
    let fix = "not needed; --tier node:N needs a slower memory node: a CXL expander, DRAM beside HBM, or another socket";
    check("memory nodes", Optional, found, fix)
}

/// Finds out by what the kernel shows or handles accesses by node.
fn accesses_by_node() -> Check {
    let there = |path: &str| Path::new(path).exists();
    let mut ways = Vec::new();
    if let Some(mode) = balancing::current() {
        ways.push(format!("hint faults (numa_balancing is {mode})"));
    }
    let others = [
        ("DAMON", there("/sys/kernel/mm/damon/admin")),
        (
            "idle page tracking",
            there("/sys/kernel/mm/page_idle/bitmap"),
        ),
        ("PAGEMAP_SCAN (writes alone)", scans_tables()),
    ];
    let others = others.into_iter().filter(|(_, there)| *there);
    ways.extend(others.map(|(way, _)| way.to_owned()));
    ways.push(match balancing::demotion() {
        Some(true) => "demotion is on".to_owned(),
        Some(false) => "demotion is off".to_owned(),
        None => "no demotion".to_owned(),
    });
    let ways = ways.join(", ");
    let found = match balancing::may_set() {
        Ok(()) => Ok(ways),
        Err(_) => Err(ways),
    };
    let fix = "not needed; --tier node:N needs CONFIG_NUMA_BALANCING, and root, to see accesses";
    check("accesses by node", Optional, found, fix)
}

/// A memory node, with the time of a load from it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct MeasuredNode {
    /// The node.
    #[serde(flatten)]
    pub node: Node,
    /// Time of a load that waits for the load before, by a chase through 64 MiB from the CPU on
    /// which this runs, in nanoseconds; null where the node has no room for it.
    pub load_ns: Option<f64>,
}

/// Measures the memory nodes; takes a second or so.
pub fn nodes() -> Vec<MeasuredNode> {
    let nodes = topology::read().into_iter();
    nodes
        .map(|node| MeasuredNode {
            load_ns: chase::latency_ns(node.id),
            node,
        })
        .collect()
}

fn longer_turns() -> Check {
    let ways: Vec<_> = sched::ways().into_iter().map(sched::Way::name).collect();
    let found = match ways.as_slice() {
        [] => Err("none".to_owned()),
        ways => Ok(format!("by {}", ways.join(" or "))),
    };
    let fix = "not needed by terrace run; terrace sched needs CAP_SYS_NICE, or Linux 6.12";
    check("longer turns", Optional, found, fix)
}

fn processor_counters() -> Check {
    let found = match sched::counters::missing() {
        None => Ok("cycles, instructions and cache misses of tasks are counted"),
        Some(why) => Err(why),
    };
    let fix = "not needed by terrace run; without them terrace sched goes by time";
    check("processor counters", Optional, found, fix)
}

fn userfaultfd() -> Check {
    // SAFETY: takes flags, returns a descriptor, touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
    if fd >= 0 {
        // SAFETY: the descriptor was given to us just now and nobody else has it.
        unsafe { libc::close(fd as libc::c_int) };
    }
    let found = (fd >= 0).then_some("works").ok_or("refused");
    let fix = "not needed by terrace run; allow it with sysctl vm.unprivileged_userfaultfd=1";
    check("userfaultfd", Optional, found, fix)
}

fn qemu_user() -> Check {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join("qemu-x86_64"))
        .find(|candidate| candidate.exists());
    let found = found.map(|path| path.display().to_string());
    let fix = "not needed by terrace run; it records programs (apt-get install qemu-user)";
    check("qemu-user", Optional, found.ok_or("not there"), fix)
}

fn state_is_ours() -> Check {
    let path = state_directory();
    // A missing one is made if that is allowed.
    let there = path.ancestors().find(|directory| directory.exists());
    let writable = there.is_some_and(|directory| {
        rustix::fs::accessat(CWD, directory, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    });
    let name = path.display();
    let found = match State::open(&path) {
        Ok(_) if writable => Ok(format!("{name} may be written by us only")),
        Ok(_) => Err(format!("{name} may not be written")),
        Err(e) => Err(e.to_string()),
    };
    let fix = "run as root, or set TERRACE_STATE_DIR to a directory of your own on a disk";
    check("state directory", Missing, found, fix)
}

fn free_space() -> Check {
    let state = state_directory();
    // A tier would lie on the disk of the nearest directory that exists.
    let existing = state.ancestors().find(|directory| directory.is_dir());
    let free = existing.and_then(|directory| tier::free_space(directory).ok());
    let text = match free {
        Some(free) => format!("{free} free for a tier in {}", state.display()),
        None => format!("cannot look at {}", state.display()),
    };
    let found = either(free.is_some_and(|free| free >= ROOMY), text);
    let fix = "free some, or name a directory on a larger disk with --tier";
    check("free space", Optional, found, fix)
}

fn leftovers() -> Check {
    let by_hand = "see to it by hand";
    let (found, fix) = match cleaning::look() {
        Ok(found) if found.is_empty() => (Ok("nothing left behind by a killed run"), ""),
        Ok(found) => {
            let state = state_directory();
            let left = found.leftovers.iter().flat_map(|left| left.found(&state));
            let all: Vec<_> = left.chain(found.strays.iter().cloned()).collect();
            // Cleaning leaves strays alone.
            let fix = match found.leftovers.is_empty() {
                true => by_hand,
                false => "terrace doctor --clean",
            };
            (Err(all.join("; ")), fix)
        }
        // Cleaning cannot read more than this check could.
        Err(e) => (Err(e.to_string()), by_hand),
    };
    check(LEFTOVERS, Optional, found, fix)
}

#[cfg(test)]
mod tests;
