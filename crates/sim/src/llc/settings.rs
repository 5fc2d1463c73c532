//! Settings of a simulation: the private levels, and the last-level caches that serve their
//! requests.

use terrace_base::{Bytes, Error, Result};
use terrace_policy::llc::{Geometry, LINE_BYTES, Place, Prefetcher, Spec};

use super::flush::Flushes;
use super::lines::Lines;
use super::memory_side::Backing;
use super::placement::Placement;
use crate::named::{Named, named};

/// End of the warm-up, after which figures are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Number of requests to the last level.
    Requests(u64),
    /// Number of accesses of the traces.
    Accesses(u64),
}

impl Default for Warmup {
    fn default() -> Self {
        Self::Requests(0)
    }
}

/// Size of a cache and number of lines per set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Capacity.
    pub bytes: Bytes,
    /// Associativity.
    pub ways: usize,
}

impl Size {
    /// Returns the shape of the cache with lines of `line` bytes.
    ///
    /// # Errors
    /// A usage error where the size is not a whole number of sets.
    pub fn geometry(self, line: u64) -> Result<Geometry> {
        Geometry::of(self.bytes.0, self.ways, line).map_err(Error::usage)
    }
}

/// Last-level cache.
#[derive(Clone, Debug)]
pub struct Llc {
    /// Size of the cache.
    pub size: Size,
    /// Policy of the cache.
    pub policy: Spec,
}

impl Llc {
    /// The error of a policy that has no meaning in an exclusive cache.
    pub(super) fn is_not_exclusive(&self) -> Error {
        Error::usage(format!(
            "{} learns from lines that stay where they are hit, and an exclusive last level gives them up; give another policy, as lru, drrip or ship",
            self.policy
        ))
    }
}

named! {
    /// What the second private level of each core reads ahead of its use.
    pub enum Prefetching {
        /// Nothing.
        #[default]
        Off = "off",
        /// The line behind each that the first level asks for.
        NextLine = "next-line" "The line behind each that the first level asks for",
        /// Three lines in the stride of an instruction.
        Stride = "stride" "Three lines in the stride of an instruction, once it was seen twice",
    }
}

named! {
    /// Whether the last level has all lines of the private levels, or none.
    pub enum Inclusion {
        /// No level knows what another has.
        #[default]
        NonInclusive = "non-inclusive" "No level knows what another has",
        /// What the last level evicts leaves the private levels.
        Inclusive = "inclusive" "What the last level evicts leaves the private levels as well",
        /// The last level has what the private levels evict, and no line that they have.
        Exclusive = "exclusive" "What leaves the private levels comes into the last, and leaves it when it is hit",
    }
}

named! {
    /// When the last level writes a dirty line to memory. But for demand it writes lines of its
    /// low-hit part before they are evicted, where they stay, clean.
    pub enum WriteBack {
        /// When it is evicted.
        #[default]
        Demand = "demand" "When it is evicted",
        /// In idle cycles of the memory (Lee, Tyson and Farrens, MICRO 2000).
        Eager = "eager" "In idle cycles of the memory as well",
        /// Together with another line of its row of the memory (Lee et al. 2010; Stuecheli et al.,
        /// ISCA 2010).
        Rows = "rows" "With an evicted line of its row of the memory as well",
        /// In idle cycles, if it is predicted to get no more writes (Wang et al., ISCA 2012).
        LastWrite = "last-write" "In idle cycles, if it is predicted that no other write follows",
    }
}

/// Settings of one pass.
#[derive(Clone, Debug, Default)]
pub struct LlcMachine {
    /// Bytes per line, in all levels.
    pub line: u64,
    /// Private levels of each core, first and second; `None` for a level that is absent.
    pub private: [Option<Size>; 2],
    /// What the second private level reads ahead.
    pub prefetching: Prefetching,
    /// Whether the last level has all lines of the private levels, or none.
    pub inclusion: Inclusion,
    /// When the last level writes dirty lines to memory.
    pub write_back: WriteBack,
    /// Last-level caches, each simulated independently.
    pub llcs: Vec<Llc>,
    /// Memories behind each last-level cache, each simulated independently.
    pub memories: Vec<Backing>,
    /// End of the warm-up.
    pub warmup: Warmup,
    /// Requests per epoch; `None` if no epochs are recorded.
    pub epoch: Option<u64>,
    /// Seed of the random choices of policies.
    pub seed: u64,
    /// Whether the requests of the last level to memory are kept.
    pub traffic: bool,
    /// Placement of pages in frames.
    pub placement: Placement,
    /// Accesses that are flushes.
    pub flushes: Flushes,
}

impl LlcMachine {
    /// Returns the hierarchy of Fedorov 2016, table 2.1, for `cores` cores: private levels of 64 KB
    /// with 2 ways and 256 KB with 8 ways, a last level of 2 MB per core with 16 ways, lines of 64
    /// bytes.
    pub fn table_2_1(cores: usize, policies: Vec<Spec>) -> Self {
        let size = |kib, ways| Size {
            bytes: Bytes(kib << 10),
            ways,
        };
        let llc = |policy| Llc {
            size: size(2048 * cores as u64, 16),
            policy,
        };
        Self {
            line: LINE_BYTES,
            private: [Some(size(64, 2)), Some(size(256, 8))],
            llcs: policies.into_iter().map(llc).collect(),
            seed: 1,
            ..Self::default()
        }
    }

    /// Returns the size and shape of a private level, 0 for the first; `None` where it is absent,
    /// or not a whole number of sets.
    pub fn level(&self, number: usize) -> Option<(Size, Geometry)> {
        let size = self.private[number]?;
        Some((size, size.geometry(self.line).ok()?))
    }

    /// Returns what flushes; `None` where no program does.
    pub fn flushes(&self) -> Option<&Flushes> {
        Some(&self.flushes).filter(|flushes| !flushes.ips.is_empty())
    }

    /// Returns the prefetcher of a core; `None` where nothing is read ahead.
    pub fn prefetcher(&self) -> Option<Prefetcher> {
        match self.prefetching {
            Prefetching::Off => None,
            Prefetching::NextLine => Some(Prefetcher::next_line(self.line)),
            Prefetching::Stride => Some(Prefetcher::stride(self.line)),
        }
    }

    /// Whether the last level has all lines of the private levels.
    pub fn is_inclusive(&self) -> bool {
        self.inclusion == Inclusion::Inclusive
    }

    /// Whether the last level has no line of the private levels.
    pub fn is_exclusive(&self) -> bool {
        self.inclusion == Inclusion::Exclusive
    }

    /// Checks that there are the private levels that read ahead, are included or excluded, and that
    /// the last level can be so.
    ///
    /// # Errors
    /// A usage error that says what is missing, or cannot be.
    pub(super) fn check_private(&self) -> Result<()> {
        let levels = self.private.iter().flatten().count();
        if self.prefetching != Prefetching::Off && levels < 2 {
            return Err(Error::usage(format!(
                "‘prefetch’ {} reads into the second level what the first asks for next; give ‘l1’ and ‘l2’",
                self.prefetching.name()
            )));
        }
        if self.inclusion != Inclusion::NonInclusive && levels == 0 {
            return Err(Error::usage(format!(
                "‘inclusion’ {} is about private levels, and there are none; give ‘l1’ or ‘l2’",
                self.inclusion.name()
            )));
        }
        match self.inclusion {
            Inclusion::NonInclusive => Ok(()),
            Inclusion::Inclusive => self.check_inclusive(),
            Inclusion::Exclusive => self.check_exclusive(),
        }
    }

    fn check_inclusive(&self) -> Result<()> {
        let [llc] = &self.llcs[..] else {
            return Err(Error::usage(
                "what an inclusive last level evicts changes what it is asked for, so that each has private levels of its own; give one policy and one size",
            ));
        };
        let policy = llc.policy.policy(llc.size.geometry(self.line)?, self.seed);
        let bypasses = policy.map_err(Error::usage)?.bypasses();
        if llc.policy.entry().make.knows_future() {
            return Err(Error::usage(format!(
                "{} knows all requests beforehand, and those to an inclusive last level depend on what it evicts; give another policy",
                llc.policy
            )));
        }
        match bypasses {
            false => Ok(()),
            true => Err(Error::usage(format!(
                "{} lets lines bypass the last level, which an inclusive one cannot; give bypass=off, or another policy",
                llc.policy
            ))),
        }
    }

    fn check_exclusive(&self) -> Result<()> {
        if self.write_back != WriteBack::Demand {
            return Err(Error::usage(format!(
                "‘write-back’ {} is not simulated in an exclusive last level, whose lines may leave it and come back; give ‘write-back’ demand",
                self.write_back.name()
            )));
        }
        for llc in &self.llcs {
            let policy = llc.policy.policy(llc.size.geometry(self.line)?, self.seed);
            if !policy.map_err(Error::usage)?.go_exclusive() {
                return Err(llc.is_not_exclusive());
            }
        }
        Ok(())
    }

    /// Checks that no cores share lines before an exclusive last level.
    ///
    /// # Errors
    /// A usage error where a program has several.
    pub(super) fn check_cores(&self, programs: usize, cores: usize) -> Result<()> {
        match self.is_exclusive() && cores > programs {
            false => Ok(()),
            true => Err(Error::usage(
                "cores that share lines read them from each other before an exclusive last level, which is not simulated; give ‘cores’ as many as traces",
            )),
        }
    }

    /// Checks that the requests to the last level can be rows of a trace, if they are to be.
    ///
    /// # Errors
    /// A usage error where there is no row for some.
    pub(super) fn check_requests(&self, written: bool) -> Result<()> {
        match self.is_exclusive() && written {
            false => Ok(()),
            true => Err(Error::usage(
                "a trace of requests has no rows for the clean lines that an exclusive last level is given; leave ‘requests’ or ‘inclusion’ exclusive out",
            )),
        }
    }

    /// Checks that lines can be written before they are evicted, if they are to be.
    ///
    /// # Errors
    /// A usage error that says what is missing.
    pub(super) fn check_write_back(&self) -> Result<()> {
        if self.write_back == WriteBack::Demand {
            return Ok(());
        }
        let named = format!("‘write-back’ {}", self.write_back.name());
        let memory = match &self.memories[..] {
            [only] if only.cache.is_none() => &only.memory,
            _ => {
                return Err(Error::usage(format!(
                    "{named} depends on the memory right behind the last level; give one ‘memory’, without a DRAM cache"
                )));
            }
        };
        if self.write_back == WriteBack::Rows && memory.write_buffer < 2 {
            return Err(Error::usage(format!(
                "{named} puts lines behind another into the write buffer; give ‘write-buffer’ 2 or more"
            )));
        }
        let first = Place { set: 0, way: 0 };
        for llc in &self.llcs {
            let policy = llc.policy.policy(llc.size.geometry(self.line)?, self.seed);
            if policy.map_err(Error::usage)?.low_hit(first).is_none() {
                return Err(Error::usage(format!(
                    "{named} writes lines of the low-hit part, and {} does not tell which these are; give another policy, as lru, nhm or ari",
                    llc.policy
                )));
            }
        }
        Ok(())
    }

    /// Checks that all caches, policies and memories can be built.
    ///
    /// # Errors
    /// A usage error that names what cannot be built.
    pub fn check(&self) -> Result<()> {
        self.lines()?;
        self.levels()?;
        self.check_private()?;
        self.check_write_back()?;
        for llc in &self.llcs {
            let geometry = llc.size.geometry(self.line)?;
            let policy = llc.policy.policy(geometry, self.seed);
            policy.map(drop).map_err(Error::usage)?;
        }
        for memory in &self.memories {
            memory.memory_side(self.line, 1)?;
        }
        let largest = self.llcs.iter().map(|llc| llc.size.bytes).max();
        let memories = self.memories.iter().map(|backing| backing.memory.capacity);
        match (largest, memories.min()) {
            (Some(cache), Some(memory)) if memory < cache => Err(Error::usage(format!(
                "a memory of {memory} is smaller than the last level of {cache} before it; make it larger"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the private levels in words: `L1 64.0 KiB 2-way, L2 256 KiB 8-way, lines of 64
    /// bytes`; and what is read ahead, whether they are included, and when lines are written back,
    /// if that is not the default.
    pub fn hierarchy(&self) -> String {
        let level = |number: usize| match self.private[number] {
            None => format!("L{} off", number + 1),
            Some(size) => format!("L{} {} {}-way", number + 1, size.bytes, size.ways),
        };
        let line = Bytes(self.line);
        let ahead = match self.prefetching {
            Prefetching::Off => String::new(),
            prefetching => format!(" with prefetcher {}", prefetching.name()),
        };
        let included = match self.inclusion {
            Inclusion::NonInclusive => "",
            Inclusion::Inclusive => ", both in the LLC",
            Inclusion::Exclusive => ", the LLC their victim cache",
        };
        let written = match self.write_back {
            WriteBack::Demand => String::new(),
            early => format!(", write-back {}", early.name()),
        };
        format!(
            "{}, {}{ahead}{included}, lines of {line}{written}",
            level(0),
            level(1)
        )
    }

    /// Returns the division of addresses into lines.
    ///
    /// # Errors
    /// A usage error where the line size is not valid.
    pub fn lines(&self) -> Result<Lines> {
        Lines::new(self.line)
    }

    /// Returns the shapes of the private levels.
    ///
    /// # Errors
    /// A usage error where a level is not a whole number of sets.
    pub fn levels(&self) -> Result<[Option<Geometry>; 2]> {
        let of = |size: Option<Size>| size.map(|size| size.geometry(self.line)).transpose();
        Ok([of(self.private[0])?, of(self.private[1])?])
    }
}

#[cfg(test)]
mod tests {
    use terrace_device::Catalogue;

    use super::super::memory::Chips;
    use super::*;

    fn machine(policies: &str, change: impl FnOnce(&mut LlcMachine)) -> Result<()> {
        let policies = Spec::parse_list(policies).unwrap();
        let mut machine = LlcMachine::table_2_1(1, policies);
        change(&mut machine);
        machine.check()
    }

    fn said(policies: &str, change: impl FnOnce(&mut LlcMachine)) -> String {
        machine(policies, change).unwrap_err().to_string()
    }

    #[test]
    fn both_levels_are_needed_to_read_ahead() {
        for level in 0..2 {
            let said = said("lru", |machine| {
                machine.prefetching = Prefetching::NextLine;
                machine.private[level] = None;
            });
            assert!(said.contains("‘prefetch’ next-line"), "{said}");
        }
        let fine = machine("lru,mockingjay,opt", |machine| {
            machine.prefetching = Prefetching::Stride;
        });
        assert_eq!(fine, Ok(()));
    }

    #[test]
    fn what_cannot_include_the_others_is_said() {
        let inclusive = |machine: &mut LlcMachine| machine.inclusion = Inclusion::Inclusive;
        for (policies, says) in [
            ("lru,drrip", "one policy and one size"),
            ("opt:bypass=off", "knows all requests beforehand"),
            ("mockingjay", "bypass=off"),
            ("dblk", "bypass=off"),
        ] {
            let said = said(policies, inclusive);
            assert!(said.contains(says), "{policies}: {said}");
        }
        let said = said("lru", |machine| {
            inclusive(machine);
            machine.private = [None, None];
        });
        assert!(said.contains("there are none"), "{said}");
        for policy in ["lru", "mockingjay:bypass=off", "hawkeye"] {
            assert_eq!(machine(policy, inclusive), Ok(()), "{policy}");
        }
    }

    #[test]
    fn what_cannot_exclude_the_others_is_said() {
        let exclusive = |machine: &mut LlcMachine| machine.inclusion = Inclusion::Exclusive;
        let all = "lru,dip,drrip,dblk,fifo,hawkeye,mockingjay,nhm,nru,opt,plru,random,rlr,ship,ari";
        assert_eq!(machine(all, exclusive), Ok(()));
        let words = said("lru,density", exclusive);
        assert!(
            words.contains("density learns from lines that stay"),
            "{words}"
        );
        let words = said("lru", |machine| {
            exclusive(machine);
            machine.private = [None, None];
        });
        assert!(words.contains("‘inclusion’ exclusive is about"), "{words}");
        let words = said("lru", |machine| {
            exclusive(machine);
            machine.write_back = WriteBack::Rows;
        });
        assert!(words.contains("give ‘write-back’ demand"), "{words}");
        let mut machine = LlcMachine::table_2_1(1, Vec::new());
        assert_eq!(machine.check_cores(1, 2), Ok(()));
        assert_eq!(machine.check_requests(true), Ok(()));
        exclusive(&mut machine);
        assert!(
            machine
                .hierarchy()
                .contains("8-way, the LLC their victim cache, ")
        );
        assert_eq!(machine.check_cores(2, 2), Ok(()));
        assert!(machine.check_cores(1, 2).is_err());
        assert_eq!(machine.check_requests(false), Ok(()));
        assert!(machine.check_requests(true).is_err());
    }

    #[test]
    fn what_cannot_be_written_early_is_said() {
        let memory = |cache: bool, write_buffer| {
            let chips = Chips {
                technology: Catalogue::builtin().get("dram").unwrap().clone(),
                capacity: Bytes(1 << 30),
                write_buffer,
            };
            Backing {
                name: "dram".to_owned(),
                memory: chips.clone(),
                cache: cache.then_some(chips),
            }
        };
        let (plain, cached) = (memory(false, 2), memory(true, 2));
        let ways = [WriteBack::Eager, WriteBack::Rows, WriteBack::LastWrite];
        for write_back in ways {
            let with = |memories: &[&Backing]| {
                let memories: Vec<Backing> = memories.iter().copied().cloned().collect();
                move |machine: &mut LlcMachine| {
                    machine.write_back = write_back;
                    machine.memories = memories;
                }
            };
            for memories in [&[][..], &[&cached], &[&plain, &plain]] {
                let said = said("lru", with(memories));
                assert!(said.contains("one ‘memory’"), "{said}");
            }
            for policy in ["lru,drrip", "opt", "ari:order=rrip", "ari:live=on"] {
                let said = said(policy, with(&[&plain]));
                assert!(said.contains("does not tell which"), "{said}");
            }
            let fine = machine("lru,dip,dblk,nhm,ari", with(&[&plain]));
            assert_eq!(fine, Ok(()));
            let short = machine("lru", with(&[&memory(false, 1)]));
            assert_eq!(short.is_err(), write_back == WriteBack::Rows);
        }
    }

    #[test]
    fn what_is_read_ahead_and_included_is_in_the_words() {
        let mut machine = LlcMachine::table_2_1(1, Vec::new());
        let plain = "L1 64.0 KiB 2-way, L2 256 KiB 8-way, lines of 64 B";
        assert_eq!(machine.hierarchy(), plain);
        machine.prefetching = Prefetching::NextLine;
        machine.inclusion = Inclusion::Inclusive;
        let words = machine.hierarchy();
        assert!(
            words.contains("8-way with prefetcher next-line, both in the LLC"),
            "{words}"
        );
        machine.write_back = WriteBack::LastWrite;
        let words = machine.hierarchy();
        assert!(
            words.ends_with("lines of 64 B, write-back last-write"),
            "{words}"
        );
    }
}
