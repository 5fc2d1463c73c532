//! The DRAM budget: a memory cgroup of version 1 or 2. It also limits what goes to the tier, so
//! that the program does not fill other swap areas of the machine, those of other runs among them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::group::cgroup::{PROCESSES, processes_in, remove, value_of};
use crate::group::delegation::Needed;
use crate::group::footprint::Charges;
use crate::group::hierarchy::{Hierarchies, Version};
use crate::group::kills::in_group;
use terrace_base::{Bytes, Context, Error, Result};

/// Distance above the budget at which version 2 kills. At the budget it throttles the program and
/// reclaims; version 1 has no such step.
const MARGIN: Bytes = Bytes(2 << 20);

/// Memory by which the limit of a program that runs is lowered at once: most, and least.
const STEP: Bytes = Bytes(32 << 20);
const SMALLEST_STEP: Bytes = Bytes(64 << 10);
/// Tries without any page moved after which no more will be, and the pause between two. A disk that
/// others keep busy writes nothing for seconds.
const TRIES: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// Usage of the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Anonymous and shared memory in DRAM.
    pub resident: Bytes,
    /// Memory that is in the tier only.
    pub swapped: Bytes,
    /// Kernel memory for the group, mostly page tables; `None` if the kernel does not report it.
    pub kernel: Bytes,
    /// Anonymous memory in huge pages.
    pub huge: Bytes,
    /// Page faults of all kinds.
    pub faults: u64,
    /// Major faults: those that waited for a read.
    pub major_faults: u64,
    /// Memory charged to the group.
    pub charges: Charges,
}

/// Limits of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Limit of DRAM.
    pub dram: Bytes,
    /// Limit of the tier; `None` for the machine's own swap.
    pub tier: Option<Bytes>,
}

/// A memory cgroup of this run; removed when dropped.
#[derive(Debug)]
pub struct Budget {
    groups: Vec<PathBuf>,
    version: Version,
}

impl Budget {
    /// Makes the group `name` with these limits, or without any. Delegates controllers, which
    /// version 2 needs for limits, once the group exists.
    ///
    /// # Errors
    /// A failure if the group cannot be made or a limit is refused.
    pub fn create(
        found: &Hierarchies,
        name: &str,
        limits: Option<Limits>,
        needed: &Needed,
    ) -> Result<Self> {
        let mut budget = Self {
            groups: Vec::new(),
            version: found.version,
        };
        for directory in found.directories(name) {
            fs::create_dir(&directory).map_err(|e| {
                Error::failure(format!(
                    "cannot make the cgroup {}: {e}; run as root, or where cgroups may be made",
                    directory.display()
                ))
            })?;
            budget.groups.push(directory);
        }
        needed.carry_out()?;
        if let Some(limits) = limits {
            budget.limit(limits)?;
        }
        Ok(budget)
    }

    fn limit(&self, limits: Limits) -> Result<()> {
        // Version 1 counts DRAM and swap together.
        let (most, swap) = match self.version {
            Version::V1 => {
                self.set("memory.limit_in_bytes", limits.dram)?;
                let both = |tier: Bytes| Bytes(limits.dram.0.saturating_add(tier.0));
                ("memory.memsw.limit_in_bytes", limits.tier.map(both))
            }
            Version::V2 => {
                self.set("memory.high", limits.dram)?;
                self.set("memory.max", Bytes(limits.dram.0.saturating_add(MARGIN.0)))?;
                ("memory.swap.max", limits.tier)
            }
        };
        match swap {
            // A kernel without swap accounting (swapaccount=0) has no such file.
            Some(limit) if self.memory().join(most).exists() => self.set(most, limit),
            _ => Ok(()),
        }
    }

    /// Lowers the limits of a program that runs, in steps: the kernel takes each by moving pages to
    /// the tier, and the machine has time for others in between. If the program has ended, that is
    /// no error.
    ///
    /// Version 1 refuses a limit that its reclaim does not reach, as of a program that touches all
    /// of its memory between two looks of the kernel. Then `press` is to page out some of the
    /// program's memory, what is less by that is kept, and the next step is half as large.
    ///
    /// # Errors
    /// A failure if its memory does not become less any more, as if it is locked, or a limit is
    /// refused.
    pub fn lower(&self, limits: Limits, mut press: impl FnMut()) -> Result<()> {
        let below = |charged: Bytes, step: Bytes| {
            let less = Bytes(charged.0.saturating_sub(step.0));
            limits.dram.max(less)
        };
        let (mut least, mut step, mut tries) = (self.charged(), STEP, 0);
        let mut limit = below(least, step);
        loop {
            let taken = self.ask(limit)?;
            let charged = self.charged();
            let reached = taken && charged.0 <= limit.0.saturating_add(MARGIN.0);
            if reached && limit == limits.dram {
                return self.limit(limits);
            }
            if reached && limit.0 + SMALLEST_STEP.0 <= least.0 {
                (step, tries, least) = (Bytes(step.0 * 2).clamp(SMALLEST_STEP, STEP), 0, limit);
                limit = below(charged.min(limit), step);
                continue;
            }
            if self.processes().is_empty() {
                return Ok(());
            }
            tries = if charged < least { 0 } else { tries + 1 };
            least = least.min(charged);
            if tries == TRIES {
                return Err(Error::failure(format!(
                    "{charged} of the program's memory stay in DRAM, more than its budget: they are locked, or the tier \
                     has no room for the rest"
                )));
            }
            std::thread::sleep(PAUSE);
            if !taken || reached {
                press();
                step = match step > SMALLEST_STEP {
                    true => Bytes(step.0 / 2),
                    false => Bytes(0),
                };
                limit = below(self.charged(), step);
            }
        }
    }

    /// Asks for a limit; returns whether it is set. Version 1 sets one that it has reached, version
    /// 2 sets any and goes on moving pages.
    fn ask(&self, limit: Bytes) -> Result<bool> {
        let file = self
            .memory()
            .join(self.either("memory.limit_in_bytes", "memory.high"));
        match fs::write(&file, limit.0.to_string()) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => Ok(false),
            written => written.map(|()| true).or_fail(|| refusal(limit, &file)),
        }
    }

    /// Takes the limit of DRAM away, as far as the kernel allows that.
    pub fn unlimit(&self) {
        let none = self.either("-1", "max");
        let files: &[&str] = match self.version {
            Version::V1 => &["memory.memsw.limit_in_bytes", "memory.limit_in_bytes"],
            Version::V2 => &["memory.max", "memory.high", "memory.swap.max"],
        };
        for file in files {
            let _ = fs::write(self.memory().join(file), none);
        }
    }

    /// Returns the DRAM charged to the group now.
    fn charged(&self) -> Bytes {
        let charged = self.number(self.either("memory.usage_in_bytes", "memory.current"));
        Bytes(charged.unwrap_or(0))
    }

    fn set(&self, file: &str, limit: Bytes) -> Result<()> {
        let file = self.memory().join(file);
        fs::write(&file, limit.0.to_string()).or_fail(|| refusal(limit, &file))
    }

    /// Returns the files to which a process writes `0` to join the group.
    pub fn entrances(&self) -> Vec<PathBuf> {
        self.groups.iter().map(|g| g.join(PROCESSES)).collect()
    }

    /// Returns the path of the limit of DRAM under version 1.
    pub fn limit_file(&self) -> PathBuf {
        self.memory().join("memory.limit_in_bytes")
    }

    /// Returns the path of the file by which version 2 reclaims memory; Linux has it since 5.19.
    pub fn reclaim_file(&self) -> PathBuf {
        self.memory().join("memory.reclaim")
    }

    /// Returns the version of the group.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns the directories of the group.
    pub fn directories(&self) -> &[PathBuf] {
        &self.groups
    }

    /// Returns the directory by which perf events can be filtered.
    pub fn watched(&self) -> &Path {
        &self.groups[self.groups.len() - 1]
    }

    /// Returns the path of the counter of the group's memory, in bytes.
    pub fn counter(&self) -> PathBuf {
        let counter = self.either("memory.usage_in_bytes", "memory.current");
        self.memory().join(counter)
    }

    /// Returns the path of the group's `memory.stat`.
    pub fn statistics(&self) -> PathBuf {
        self.memory().join("memory.stat")
    }

    /// Returns a function that counts the group's faults of all kinds so far; it returns `None`
    /// when they cannot be read.
    pub fn fault_counter(&self) -> Box<dyn FnMut() -> Option<u64> + Send> {
        let (file, name) = (self.statistics(), self.either("total_pgfault", "pgfault"));
        Box::new(move || value_of(&fs::read_to_string(&file).ok()?, name))
    }

    /// Returns the counter of the group's memory by node.
    pub(crate) fn nodes(&self) -> NodeCounter {
        NodeCounter {
            file: self.memory().join("memory.numa_stat"),
            version: self.version,
        }
    }

    fn memory(&self) -> &Path {
        &self.groups[0]
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.memory().join(file)).ok()
    }

    /// Returns the present usage, all zero if the kernel's files cannot be read.
    pub fn usage(&self) -> Usage {
        // Read before what is subtracted from it, which may grow meanwhile.
        let peak = self.peak_with_swap();
        let stat = self.read("memory.stat").unwrap_or_default();
        let figure = |name| value_of(&stat, name).unwrap_or(0);
        let value = |v1, v2| figure(self.either(v1, v2));
        let number = |file| self.number(file).unwrap_or(0);
        let shared = value("total_shmem", "shmem");
        let files = value("total_cache", "file").saturating_sub(shared);
        let resident = value("total_rss", "anon") + shared;
        // A page in the swap cache is no file page of a group (mm/swap_state.c counts it as such
        // for the node alone). Version 1 takes it out of `total_swap` as it comes back, and charges
        // it once (on Linux 6.18, 40 MiB that were asked for became less in `total_swap`, and more
        // in `total_swapcached`); version 2 charges its slot as well.
        let (swapped, kernel, twice) = match self.version {
            Version::V1 => (
                figure("total_swap"),
                number("memory.kmem.usage_in_bytes"),
                0,
            ),
            Version::V2 => {
                let (slots, cached) = (number("memory.swap.current"), figure("swapcached"));
                (slots.saturating_sub(cached), figure("kernel"), cached)
            }
        };
        Usage {
            resident: Bytes(resident),
            swapped: Bytes(swapped),
            kernel: Bytes(kernel),
            huge: Bytes(value("total_rss_huge", "anon_thp")),
            faults: value("total_pgfault", "pgfault"),
            major_faults: value("total_pgmajfault", "pgmajfault"),
            charges: Charges {
                peak,
                own: Bytes(resident + swapped),
                files: Bytes(files),
                kernel: Bytes(kernel),
                twice: Bytes(twice),
            },
        }
    }

    /// Returns the name of a file or a figure under the version of this group.
    fn either<T>(&self, v1: T, v2: T) -> T {
        match self.version {
            Version::V1 => v1,
            Version::V2 => v2,
        }
    }

    /// Returns the peak of the DRAM charged to the group, page cache included. Linux before 5.19
    /// keeps none under version 2.
    pub fn peak(&self) -> Option<Bytes> {
        let peak = self.number(self.either("memory.max_usage_in_bytes", "memory.peak"));
        peak.map(Bytes)
    }

    /// Returns the peak of memory and swap together, if the kernel keeps one.
    fn peak_with_swap(&self) -> Option<Bytes> {
        match self.version {
            Version::V1 => self.number("memory.memsw.max_usage_in_bytes"),
            Version::V2 => Some(self.number("memory.peak")? + self.number("memory.swap.peak")?),
        }
        .map(Bytes)
    }

    /// Returns the peak of kernel memory, if the kernel keeps one: version 2 does not.
    pub fn kernel_peak(&self) -> Option<Bytes> {
        self.number("memory.kmem.max_usage_in_bytes").map(Bytes)
    }

    /// Returns the processor time of all that ever ran in the group, in user mode and in the
    /// kernel. Groups of version 2 count it, also beside version 1, without any controller; `None`
    /// if there is none.
    pub fn processor_time(&self) -> Option<(Duration, Duration)> {
        let stat = fs::read_to_string(self.watched().join("cpu.stat")).ok()?;
        let micros = |name| value_of(&stat, name).map(Duration::from_micros);
        Some((micros("user_usec")?, micros("system_usec")?))
    }

    /// Returns the number of processes that the kernel killed because budget and tier were
    /// exceeded.
    pub fn oom_kills(&self) -> u64 {
        in_group(self.memory()).unwrap_or(0)
    }

    /// Returns the processes in the group and in groups that the program has made below it.
    pub fn processes(&self) -> Vec<u32> {
        processes_in(self.memory())
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }
}

fn refusal(limit: Bytes, file: &Path) -> String {
    format!("cannot set a limit of {limit} in {}", file.display())
}

/// Counts the memory of a group by node: anonymous and shared, as in [`Usage::resident`].
#[derive(Clone, Debug)]
pub(crate) struct NodeCounter {
    file: PathBuf,
    version: Version,
}

impl NodeCounter {
    /// Returns what the group has on a node; nothing if the kernel's file cannot be read.
    pub fn on(&self, node: u32) -> Bytes {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        let column = format!("N{node}=");
        let figure = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            let words = line.split_whitespace();
            words
                .filter_map(|word| word.strip_prefix(&column))
                .next()?
                .parse::<u64>()
                .ok()
        };
        match self.version {
            // Its figures are of lists of pages, on which shared ones are among the anonymous.
            Version::V1 => Bytes::of_pages(figure("hierarchical_anon=").unwrap_or(0)),
            Version::V2 => Bytes(figure("anon ").unwrap_or(0) + figure("shmem ").unwrap_or(0)),
        }
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        for group in &self.groups {
            // A group that cannot be removed now stays in the journal for `terrace doctor --clean`.
            let _ = remove(group);
        }
    }
}

#[cfg(test)]
mod tests;
