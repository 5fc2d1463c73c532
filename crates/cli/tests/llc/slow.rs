//! A hierarchy of caches, slow and plain: vectors that are searched from end to end, one reference
//! after the other, written from the rules alone.

use terrace_trace::Access;

/// Sets and ways.
pub type Shape = (usize, usize);

/// A line, and whether it is dirty.
type Way = Option<(u64, bool)>;

/// A static partitioning: ways that are kept, and whether lines that are read, and lines that are
/// written back, are put behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    pub high: usize,
    pub low: bool,
    pub dirty_low: bool,
}

/// A cache: of each set the ways, the most recently used first, empty ones among them.
pub struct Cache(Vec<Vec<Way>>);

/// What a request found.
pub enum Found {
    /// The line, and how many lines come before it.
    Hit(usize),
    /// The line that had to go, if any.
    Miss(Way),
}

impl Cache {
    pub fn new((sets, ways): Shape) -> Self {
        Self(vec![vec![None; ways]; sets])
    }

    /// A read or a write of a line.
    pub fn ask(&mut self, line: u64, write: bool, rule: Rule) -> Found {
        let set = (line % self.0.len() as u64) as usize;
        self.ask_in(set, line, write, rule)
    }

    pub fn ask_in(&mut self, set: usize, line: u64, write: bool, rule: Rule) -> Found {
        let set = &mut self.0[set];
        let last = set.len() - 1;
        for at in 0..set.len() {
            if let Some((other, dirty)) = set[at]
                && other == line
            {
                set.remove(at);
                set.insert(0, Some((line, dirty || write)));
                return Found::Hit(at);
            }
        }
        let empty = set.iter().position(Option::is_none);
        let clean = |at: &usize| matches!(set[*at], Some((_, false)));
        let victim = (rule.high..set.len()).rev().find(clean);
        let gone = set.remove(empty.or(victim).unwrap_or(last));
        let low = if write { rule.dirty_low } else { rule.low };
        let behind = if low { rule.high.min(last) } else { 0 };
        set.insert(behind, Some((line, write)));
        Found::Miss(gone)
    }

    pub fn dirty(&self) -> u64 {
        let lines = self.0.iter().flatten().flatten();
        lines.filter(|(_, dirty)| *dirty).count() as u64
    }
}

/// Keeps all ways alike.
pub fn lru(ways: usize) -> Rule {
    Rule {
        high: ways,
        low: false,
        dirty_low: false,
    }
}

/// What was counted of a private level, of all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    pub accesses: u64,
    pub misses: u64,
    pub writebacks: u64,
}

/// A request to the last level: the line, and whether it is written back.
pub type Request = (u64, bool);

/// The requests of the private levels of several cores to the last level, for all accesses of a
/// trace.
pub struct Private {
    pub requests: Vec<Request>,
    pub levels: [Level; 2],
}

impl Private {
    pub fn of(trace: &[Access], line: u64, shapes: [Option<Shape>; 2], cores: u16) -> Self {
        let caches = || shapes.map(|shape| shape.map(Cache::new));
        let mut caches: Vec<_> = (0..cores).map(|_| caches()).collect();
        let (requests, levels) = (Vec::new(), [Level::default(); 2]);
        let mut private = Self { requests, levels };
        for access in trace {
            let core = &mut caches[usize::from(access.thread % cores)];
            let end = access.address + u64::from(access.size.max(1));
            for number in access.address / line..=(end - 1) / line {
                // A process has its own lines, 2^45 of them.
                let line = u64::from(access.process) << 45 | number;
                private.ask(core, 0, line, access.write, false);
            }
        }
        private
    }

    /// Asks a level and, if it has not got the line, the next one first, and then writes back
    /// what had to go. A level above that writes back brings the whole line: nothing is read.
    fn ask(
        &mut self,
        core: &mut [Option<Cache>; 2],
        level: usize,
        line: u64,
        write: bool,
        back: bool,
    ) {
        if level == core.len() {
            return self.requests.push((line, back));
        }
        // What is stored is dirty in the first level only, until it is written back.
        let top = core[..level].iter().all(Option::is_none);
        let Some(cache) = &mut core[level] else {
            return self.ask(core, level + 1, line, write, back);
        };
        let ways = cache.0[0].len();
        let found = cache.ask(line, back || (write && top), lru(ways));
        let counts = &mut self.levels[level];
        counts.accesses += u64::from(!back);
        let Found::Miss(gone) = found else { return };
        if !back {
            counts.misses += 1;
            self.ask(core, level + 1, line, write, false);
        }
        if let Some((gone, true)) = gone {
            self.levels[level].writebacks += 1;
            self.ask(core, level + 1, gone, false, true);
        }
    }
}

/// What was counted of a last level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub hits: u64,
    pub misses: u64,
    pub writeback_misses: u64,
    pub evictions_clean: u64,
    pub writebacks: u64,
    pub hits_by_position: Vec<u64>,
    pub dirty_at_end: u64,
}

impl Counts {
    pub fn new(ways: usize) -> Self {
        Self {
            hits_by_position: vec![0; ways],
            ..Self::default()
        }
    }

    pub fn note(&mut self, found: &Found, back: bool) {
        match found {
            Found::Hit(at) => {
                self.hits += 1;
                self.hits_by_position[*at] += 1;
            }
            Found::Miss(gone) => {
                self.misses += u64::from(!back);
                self.writeback_misses += u64::from(back);
                self.evictions_clean += u64::from(matches!(gone, Some((_, false))));
                self.writebacks += u64::from(matches!(gone, Some((_, true))));
            }
        }
    }
}

/// A last level under a static partitioning.
pub fn last_level(requests: &[Request], shape: Shape, rule: Rule) -> Counts {
    let (mut cache, mut counts) = (Cache::new(shape), Counts::new(shape.1));
    for &(line, back) in requests {
        counts.note(&cache.ask(line, back, rule), back);
    }
    counts.dirty_at_end = cache.dirty();
    counts
}
