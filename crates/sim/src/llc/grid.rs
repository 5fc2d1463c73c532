//! Values for every setting of a hierarchy; the last-level caches are all combinations of size,
//! ways and policy.

use terrace_base::count::parse_count;
use terrace_base::{Bytes, Error, Result};
use terrace_device::{Catalogue, Technology};
use terrace_policy::llc::Spec;
use terrace_trace::Columns;

use super::memory::Chips;
use super::memory_side::Backing;
use super::settings::{Llc, LlcMachine, Prefetching, Size, Warmup, WriteBack};
use crate::setting::Given;

/// The capacity of the last level for each core, unless sizes are given (Fedorov 2016, table 2.1).
pub const LLC_PER_CORE: Bytes = Bytes(2 << 20);

/// What precedes the name of a memory behind a DRAM cache.
const CACHED: &str = "dram/";

/// The name that stands for no memory: counts are all that is wanted.
const NO_MEMORY: &str = "none";

/// Values of all settings.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// The settings that a pass has once; the other fields make its caches and memories.
    pub(super) machine: LlcMachine,
    /// Cores that were asked for.
    pub(super) cores: Option<usize>,
    /// Capacities of the last level; empty: [`LLC_PER_CORE`] times the number of cores.
    pub(super) sizes: Vec<Bytes>,
    /// Ways of the last level.
    pub(super) ways: Vec<usize>,
    /// Policies of the last level.
    pub(super) policies: Vec<Spec>,
    /// Memories behind the last level.
    pub(super) memories: Memories,
    /// The warm-up.
    pub(super) warmup: WarmupChoice,
}

/// The memories behind the last level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories {
    /// Technologies by name; `dram/NAME` is NAME behind a DRAM cache.
    pub names: Vec<String>,
    /// The capacity of each memory.
    pub capacity: Bytes,
    /// The capacity of the DRAM cache.
    pub dram_cache: Bytes,
    /// Lines in the write buffer of each.
    pub write_buffer: usize,
}

/// The warm-up: what is simulated before figures are taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarmupChoice {
    /// Requests to the last level.
    Requests(u64),
    /// A share of the traces' accesses, 0 to 1.
    Share(f64),
}

impl Default for WarmupChoice {
    fn default() -> Self {
        Self::Requests(0)
    }
}

/// What is known of the programs before they are simulated.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Programs.
    pub programs: usize,
    /// Cores of all programs.
    pub cores: usize,
    /// Accesses until every program has run once; `None` where the traces do not say.
    pub accesses: Option<u64>,
}

impl Grid {
    /// The grid of these values; the requests of the last level to memory are kept, for
    /// [`super::Sinks::traffic`], if `traffic`.
    ///
    /// # Errors
    /// A usage error where a policy is not known.
    pub fn new(given: &Given<Self>, traffic: bool) -> Result<Self> {
        let mut grid = Self::default();
        given.apply(&mut grid, &())?;
        grid.machine.traffic = traffic;
        Ok(grid)
    }

    /// Returns the columns of traces that the caches need; with those that their requests and
    /// traffic have if these are written.
    pub fn columns(&self, writes_requests: bool) -> Columns {
        let mut policies = self.policies.iter();
        let learns = policies.any(|policy| policy.entry().make.needs_ip());
        Columns {
            ip: learns
                || writes_requests
                || self.machine.prefetching == Prefetching::Stride
                || self.machine.write_back == WriteBack::LastWrite
                || !self.machine.flushes.ips.is_empty(),
            contents: false,
            ..Columns::ALL
        }
    }

    /// Returns the cores that were asked for.
    pub fn cores(&self) -> Option<usize> {
        self.cores
    }

    /// Returns the settings of one pass over programs of this extent.
    ///
    /// # Errors
    /// A usage error where a memory is not in the catalogue, or the settings cannot be simulated.
    pub fn settings(&self, catalogue: &Catalogue, extent: Extent) -> Result<LlcMachine> {
        let settings = LlcMachine {
            llcs: self.llcs(extent.cores),
            memories: self.memories.or_none(catalogue)?,
            warmup: self.warmup.warmup(extent.accesses)?,
            ..self.machine.clone()
        };
        if settings.traffic && settings.llcs.len() > 1 {
            return Err(Error::usage(
                "‘traffic’ is that of one cache; give one policy and one size",
            ));
        }
        let given = settings.flushes.ips.len();
        if given != 0 && given != extent.programs {
            return Err(Error::usage(format!(
                "‘flush-ip’ names {given} instructions for {} traces; give one for each, or off",
                extent.programs
            )));
        }
        settings.check()?;
        settings.check_cores(extent.programs, extent.cores)?;
        Ok(settings)
    }

    /// Returns all combinations, the size slowest and the policy fastest.
    fn llcs(&self, cores: usize) -> Vec<Llc> {
        let sizes = match &self.sizes[..] {
            [] => vec![Bytes(LLC_PER_CORE.0 * cores as u64)],
            sizes => sizes.to_vec(),
        };
        let shapes = sizes
            .iter()
            .flat_map(|&bytes| self.ways.iter().map(move |&ways| Size { bytes, ways }));
        let caches = shapes.flat_map(|size| {
            self.policies.iter().map(move |policy| Llc {
                size,
                policy: policy.clone(),
            })
        });
        caches.collect()
    }
}

impl Memories {
    /// Returns the memories; none if that is what was asked for.
    ///
    /// # Errors
    /// Errors of [`Memories::backings`]; a usage error where memories are named beside none.
    fn or_none(&self, catalogue: &Catalogue) -> Result<Vec<Backing>> {
        let none = self.names.iter().filter(|name| *name == NO_MEMORY).count();
        match (none, self.names.len()) {
            (0, _) => self.backings(catalogue),
            (1, 1) => Ok(Vec::new()),
            _ => Err(Error::usage(
                "‘memory’ none goes with no other memory; name none, or memories",
            )),
        }
    }

    /// Returns the memories.
    ///
    /// # Errors
    /// A usage error where one is not in the catalogue.
    pub fn backings(&self, catalogue: &Catalogue) -> Result<Vec<Backing>> {
        let chips = |name: &str, capacity| {
            Ok(Chips {
                technology: catalogue.get_for(name, Technology::has_lines)?.clone(),
                capacity,
                write_buffer: self.write_buffer,
            })
        };
        let backing = |name: &String| {
            let cached = name.strip_prefix(CACHED);
            let cache = cached.map(|_| chips("dram", self.dram_cache)).transpose()?;
            Ok(Backing {
                name: name.clone(),
                memory: chips(cached.unwrap_or(name), self.capacity)?,
                cache,
            })
        };
        self.names.iter().map(backing).collect()
    }
}

impl WarmupChoice {
    /// Parses a number of requests, as `1000000` or `1M`, or a share, as `10%`.
    ///
    /// # Errors
    /// A usage error that names the text.
    pub fn parse(text: &str) -> Result<Self> {
        let no = || {
            Error::usage(format!(
                "`{text}` is no warm-up; write it as 1000000, 1M, or 10%"
            ))
        };
        match text.strip_suffix('%') {
            None if text == "0" => Ok(Self::Requests(0)),
            None => parse_count(text).map(Self::Requests).map_err(|_| no()),
            Some(share) => match share.parse::<f64>() {
                Ok(share) if (0.0..100.0).contains(&share) => Ok(Self::Share(share / 100.0)),
                _ => Err(no()),
            },
        }
    }

    /// Returns the warm-up before `accesses`.
    ///
    /// # Errors
    /// A usage error for a share of accesses whose number is not known.
    fn warmup(self, accesses: Option<u64>) -> Result<Warmup> {
        match (self, accesses) {
            (Self::Requests(requests), _) => Ok(Warmup::Requests(requests)),
            (Self::Share(share), Some(accesses)) => {
                Ok(Warmup::Accesses((share * accesses as f64) as u64))
            }
            (Self::Share(_), None) => Err(Error::usage(
                "a share of what is not known beforehand cannot be the warm-up; give ‘warmup’ as a number of requests",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)], traffic: bool) -> Result<LlcMachine> {
        let extent = Extent {
            programs: 1,
            cores: 2,
            accesses: None,
        };
        let grid = Grid::new(&Given::parse(values)?, traffic)?;
        grid.settings(&Catalogue::builtin(), extent)
    }

    #[test]
    fn caches_are_all_combinations_and_grow_with_the_cores() {
        let of = |values: &[(&str, &str)]| {
            let policies = [("policy", "lru,nhm")];
            let llcs = settings(&[&policies, values].concat(), false).unwrap().llcs;
            let words = llcs.into_iter().map(|llc| {
                let policy = llc.policy.to_string();
                let name = policy.split(':').next().unwrap_or_default();
                format!("{} {} {name}", llc.size.bytes.0 >> 20, llc.size.ways)
            });
            words.collect::<Vec<_>>()
        };
        let all = ["4 8 lru", "4 8 nhm", "4 16 lru", "4 16 nhm"];
        assert_eq!(of(&[("ways", "8,16")]), all);
        let all = ["1 16 lru", "1 16 nhm", "8 16 lru", "8 16 nhm"];
        assert_eq!(of(&[("llc", "1M,8M")]), all);
    }

    #[test]
    fn a_dram_cache_is_before_the_memory_that_names_it() {
        let memories = settings(&[("memory", "dram,dram/pcm-row")], false);
        let memories = memories.unwrap().memories;
        let of = |index: usize| {
            let backing: &Backing = &memories[index];
            (&*backing.memory.technology.name, backing.cache.is_some())
        };
        assert_eq!((of(0), of(1)), (("dram", false), ("pcm-row", true)));
    }

    #[test]
    fn no_memory_goes_with_no_other() {
        let memories = settings(&[("memory", "none")], false);
        assert!(memories.unwrap().memories.is_empty());
        for names in ["none,dram", "none,none"] {
            let error = settings(&[("memory", names)], false).unwrap_err();
            assert!(error.to_string().contains("no other memory"), "{error}");
        }
    }

    /// Addresses of instructions are read for policies that learn by them, for flushes, and to be
    /// written.
    #[test]
    fn columns_are_read_that_are_needed() {
        let ip = |values: &[(&str, &str)], writes| {
            let grid = Grid::new(&Given::parse(values).unwrap(), false).unwrap();
            grid.columns(writes).ip
        };
        assert!(!ip(&[("policy", "lru,ari")], false));
        assert!(ip(&[("policy", "lru,ship")], false));
        assert!(ip(&[("policy", "lru")], true));
        assert!(ip(&[("flush-ip", "0x1")], false));
        assert!(!ip(&[("write-back", "eager")], false));
        assert!(ip(&[("write-back", "last-write")], false));
    }

    #[test]
    fn traffic_of_several_caches_and_flushes_of_other_programs_are_refused() {
        let error = settings(&[("policy", "lru,nhm")], true)
            .unwrap_err()
            .to_string();
        assert!(error.contains("one policy and one size"), "{error}");
        let error = settings(&[("flush-ip", "off,0x1")], false).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("2 instructions for 1 traces"), "{error}");
    }

    #[test]
    fn a_warm_up_is_a_number_or_a_share() {
        let of = |text, accesses| {
            WarmupChoice::parse(text).and_then(|warmup: WarmupChoice| warmup.warmup(accesses))
        };
        assert_eq!(of("0", None), Ok(Warmup::Requests(0)));
        assert_eq!(of("1000", None), Ok(Warmup::Requests(1000)));
        assert_eq!(of("2M", None), Ok(Warmup::Requests(2_000_000)));
        assert_eq!(of("10%", Some(500)), Ok(Warmup::Accesses(50)));
        assert!(of("10%", None).is_err());
        for text in ["", "100%", "-1%", "x", "-5", "nan%"] {
            assert!(of(text, Some(1)).is_err(), "{text}");
        }
    }
}
