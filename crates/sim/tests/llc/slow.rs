//! The hierarchy, slow and plain, from the rules in `terrace_sim::llc`.

use std::collections::HashMap;

use terrace_trace::Access;

/// A line: its process and its number within that.
pub type Line = (u16, u64);

/// A request to the last level, or to memory: who asks, at which instruction, for which line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    pub core: u16,
    pub instruction: u64,
    pub ip: u64,
    pub line: Line,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Load,
    Store,
    WriteBack,
}

/// A line's set: its number, the process above 45 bits, modulo the sets.
fn set(line: Line, sets: usize) -> usize {
    let number = u128::from(line.0) << 45 | u128::from(line.1);
    (number % sets as u128) as usize
}

/// A private level: of each set its lines, the most recently used first, and whether they are
/// dirty.
pub struct Level {
    sets: usize,
    ways: usize,
    lines: HashMap<usize, Vec<(Line, bool)>>,
}

impl Level {
    fn new((sets, ways): (usize, usize)) -> Self {
        let lines = HashMap::new();
        Self { sets, ways, lines }
    }

    /// Whether the line was there, and what dirty line had to go for it.
    fn touch(&mut self, line: Line, write: bool) -> (bool, Option<Line>) {
        let set = self.lines.entry(set(line, self.sets)).or_default();
        if let Some(place) = set.iter().position(|(other, _)| *other == line) {
            let (_, dirty) = set.remove(place);
            set.insert(0, (line, dirty || write));
            return (true, None);
        }
        set.insert(0, (line, write));
        let victim = if set.len() > self.ways {
            set.pop()
        } else {
            None
        };
        let dirty = victim.filter(|(_, dirty)| *dirty);
        (false, dirty.map(|(line, _)| line))
    }
}

/// The private levels of all cores.
pub struct Cores {
    line: u64,
    shapes: [Option<(usize, usize)>; 2],
    cores: u16,
    levels: HashMap<u16, [Option<Level>; 2]>,
    /// Of each thread.
    instruction: HashMap<u16, u64>,
    /// Of each core.
    instructions: HashMap<u16, u64>,
}

impl Cores {
    pub fn new(line: u64, shapes: [Option<(usize, usize)>; 2], cores: u16) -> Self {
        Self {
            line,
            shapes,
            cores,
            levels: HashMap::new(),
            instruction: HashMap::new(),
            instructions: HashMap::new(),
        }
    }

    /// What the last level is asked for an access.
    pub fn access(&mut self, access: &Access) -> Vec<Asked> {
        let core = access.thread % self.cores;
        let before = self.instruction.insert(access.thread, access.instruction);
        let since = access.instruction - before.unwrap_or(access.instruction);
        let instruction = self.instructions.entry(core).or_default();
        *instruction += since;
        let instruction = *instruction;
        let first = access.address / self.line;
        let last = (access.address + u64::from(access.size.max(1)) - 1) / self.line;
        let mut asked = Vec::new();
        for number in first..=last {
            for (kind, line) in self.touch(core, (access.process, number), access.write) {
                let ip = if kind == Kind::WriteBack {
                    0
                } else {
                    access.ip
                };
                asked.push(Asked {
                    core,
                    instruction,
                    ip,
                    line,
                    kind,
                });
            }
        }
        asked
    }

    fn touch(&mut self, core: u16, line: Line, write: bool) -> Vec<(Kind, Line)> {
        let shapes = self.shapes;
        let levels = self.levels.entry(core);
        let levels = levels.or_insert_with(|| shapes.map(|shape| shape.map(Level::new)));
        let demand = if write { Kind::Store } else { Kind::Load };
        let write_back = |line: Option<Line>| line.map(|line| (Kind::WriteBack, line));
        match levels {
            [None, None] => vec![(if write { Kind::WriteBack } else { Kind::Load }, line)],
            [Some(only), None] | [None, Some(only)] => match only.touch(line, write) {
                (true, _) => vec![],
                (false, victim) => [Some((demand, line)), write_back(victim)]
                    .into_iter()
                    .flatten()
                    .collect(),
            },
            [Some(first), Some(second)] => {
                let (hit, first_victim) = first.touch(line, write);
                let mut below = Vec::new();
                if !hit {
                    let (hit, victim) = second.touch(line, false);
                    if !hit {
                        below.push((demand, line));
                        below.extend(write_back(victim));
                    }
                }
                if let Some(line) = first_victim {
                    below.extend(write_back(second.touch(line, true).1));
                }
                below
            }
        }
    }
}

/// A last-level cache under nHm. LRU is all ways high.
pub struct Shared {
    sets: usize,
    ways: usize,
    high: usize,
    low_insertion: bool,
    /// Places of each set, the most recently used first; those that are free are in the order too.
    places: HashMap<usize, Vec<Option<(Line, bool)>>>,
    pub found: Found,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub hits: u64,
    pub misses: u64,
    pub writeback_misses: u64,
    pub clean_evictions: u64,
    pub dirty_evictions: u64,
    pub dirtied: u64,
    pub positions: Vec<u64>,
}

impl Shared {
    pub fn new((sets, ways): (usize, usize), high: usize, low_insertion: bool) -> Self {
        let found = Found {
            positions: vec![0; ways],
            ..Found::default()
        };
        Self {
            sets,
            ways,
            high,
            low_insertion,
            places: HashMap::new(),
            found,
        }
    }

    /// What memory is asked for a request.
    pub fn ask(&mut self, asked: &Asked) -> Vec<Asked> {
        let (set, ways) = (set(asked.line, self.sets), self.ways);
        let places = self.places.entry(set).or_insert_with(|| vec![None; ways]);
        let write = asked.kind == Kind::WriteBack;
        let is = |place: &Option<(Line, bool)>| place.is_some_and(|(line, _)| line == asked.line);
        let found = &mut self.found;
        if let Some(position) = places.iter().position(is) {
            found.hits += 1;
            found.positions[position] += 1;
            let (line, dirty) = places.remove(position).unwrap();
            found.dirtied += u64::from(write && !dirty);
            places.insert(0, Some((line, dirty || write)));
            return vec![];
        }
        let mut traffic = Vec::new();
        if write {
            found.writeback_misses += 1;
            found.dirtied += 1;
        } else {
            found.misses += 1;
            traffic.push(*asked);
        }
        let free = places.iter().position(Option::is_none);
        let clean = (self.high..ways)
            .rev()
            .find(|&place| places[place].is_some_and(|(_, dirty)| !dirty));
        let place = free.or(clean).unwrap_or(ways - 1);
        match places.remove(place) {
            Some((line, true)) => {
                found.dirty_evictions += 1;
                traffic.push(Asked {
                    line,
                    kind: Kind::WriteBack,
                    ip: 0,
                    ..*asked
                });
            }
            Some((_, false)) => found.clean_evictions += 1,
            None => (),
        }
        let low = self.low_insertion && !write;
        let position = if low { self.high.min(ways - 1) } else { 0 };
        places.insert(position, Some((asked.line, write)));
        traffic
    }

    pub fn dirty(&self) -> u64 {
        let lines = self.places.values().flatten().flatten();
        lines.filter(|(_, dirty)| *dirty).count() as u64
    }
}
