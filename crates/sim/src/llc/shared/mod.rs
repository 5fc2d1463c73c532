//! A last-level cache that all cores share, with its memory sides.

mod early;
mod flush;

use std::ops::Range;

use terrace_policy::llc::{self, Bounds, Cache, Counts, Kind, Request, bounds};
use terrace_trace::{Access, Block};

use super::batch::{Asked, Batch, Near};
use super::early::{Early, EarlyCounts};
use super::lines::Lines;
use super::memory_side::{Asks, MemorySide};
use super::outcome::{Outcome, Point};
use super::requests;
use super::settings::Llc;

/// The most requests that are served together: few enough that their outcomes stay in the
/// processor's first cache.
const PART: usize = 256;

/// Removes a line from the private levels; returns whether it was dirty there.
pub type Above<'a> = &'a mut dyn FnMut(u64) -> bool;

/// A last-level cache that is simulated.
pub struct Shared {
    cache: Cache,
    lines: Lines,
    /// Counts by core; empty where there is one core. A victim counts for the core whose line
    /// replaced it; [`Counts::dirtied`], which only the cache knows, stays 0.
    by_core: Vec<Counts>,
    /// Requests of an epoch, and requests left of the current one.
    epoch: Option<(u64, u64)>,
    points: Vec<Point>,
    /// The number of requests before the last way was filled for the first time.
    full_at: Option<u64>,
    memory_sides: Vec<MemorySide>,
    traffic: Option<Block>,
    /// What is written before it is evicted; `None` where dirty lines are written on demand.
    early: Option<Early>,
    /// The state at the end of the warm-up.
    begin: Option<Begin>,
    /// Bounds of the transfers after the warm-up, if the policy knows the future.
    bounds: Option<Bounds>,
    /// The outcomes of the requests that are being served.
    outcomes: Vec<llc::Outcome>,
}

/// The state at the end of the warm-up.
struct Begin {
    /// Everything counted until then.
    counts: Counts,
    /// Counts by core until then.
    by_core: Vec<Counts>,
    early: Option<EarlyCounts>,
    /// Dirty lines.
    dirty: u64,
    positions: Vec<u64>,
}

impl Shared {
    /// Makes an empty cache for `cores`, which keeps its requests to memory if `traffic`.
    pub fn new(
        cache: Cache,
        lines: Lines,
        memory_sides: Vec<MemorySide>,
        epoch: Option<u64>,
        traffic: bool,
        early: Option<Early>,
        cores: usize,
    ) -> Self {
        Self {
            cache,
            lines,
            by_core: vec![Counts::default(); if cores > 1 { cores } else { 0 }],
            epoch: epoch.map(|epoch| (epoch, epoch)),
            points: Vec::new(),
            full_at: None,
            memory_sides,
            traffic: traffic.then(Block::default),
            early,
            begin: None,
            bounds: None,
            outcomes: Vec::with_capacity(PART),
        }
    }

    /// Shows the policy the requests of all batches, then serves them.
    pub fn serve_foreseen(&mut self, batches: &[Batch]) {
        let requests = || batches.iter().flat_map(Batch::requests).copied();
        self.cache.foresee(&mut requests());
        batches.iter().for_each(|batch| self.serve(batch));
        let flushes = batches.iter().any(|batch| !batch.flushed.is_empty());
        let geometry = self.cache.geometry();
        let bounded = !flushes && !self.cache.is_exclusive();
        self.bounds = bounded.then(|| bounds(geometry, requests(), warmup(batches)));
    }

    /// Serves all requests of a batch.
    pub fn serve(&mut self, batch: &Batch) {
        // What is written early depends on the state of the cache before each request; and an
        // exclusive cache says of no request whether it filled a place for the first time.
        let filling = self.cache.is_exclusive() && self.full_at.is_none();
        let part = if self.early.is_some() || filling {
            1
        } else {
            PART
        };
        self.serve_below(batch, part, None);
    }

    /// Serves all requests of a batch as a cache that includes the private levels: what it evicts
    /// leaves them, too, before the next request.
    pub fn serve_including(&mut self, batch: &Batch, above: Above) {
        self.serve_below(batch, 1, Some(above));
    }

    /// Serves all requests of a batch, at most `part` together.
    fn serve_below(&mut self, batch: &Batch, part: usize, mut above: Option<Above>) {
        let mut flushed = batch.flushed.iter().peekable();
        let mut orders = batch.orders.iter().peekable();
        let mut begin = 0;
        loop {
            if batch.measured_from == Some(begin) {
                self.measure();
            }
            while let Some(flushed) = flushed.next_if(|flushed| flushed.before <= begin) {
                self.flush(flushed);
            }
            while let Some(ordered) = orders.next_if(|ordered| ordered.before <= begin) {
                let memories = self.memory_sides.iter_mut();
                memories.for_each(|memory| memory.order(ordered));
            }
            if begin == batch.len() {
                self.serve_near(batch);
                return;
            }
            let flush = flushed.peek().map_or(batch.len(), |flushed| flushed.before);
            let order = orders.peek().map_or(batch.len(), |ordered| ordered.before);
            let end = self.end_of_part(begin, batch, part).min(flush).min(order);
            let above = above.as_mut().map(|above| &mut **above as Above);
            self.serve_part(batch, begin..end, above);
            begin = end;
        }
    }

    /// Returns the end of the requests that can be served together, without an epoch or the end of
    /// the warm-up among them.
    fn end_of_part(&self, begin: usize, batch: &Batch, part: usize) -> usize {
        let left = self.epoch.map_or(u64::MAX, |(_, left)| left);
        let most = usize::try_from(left).map_or(part, |left| left.min(part));
        let end = batch.len().min(begin + most);
        let measured = batch.measured_from.filter(|from| *from > begin);
        measured.map_or(end, |from| end.min(from))
    }

    fn serve_part(&mut self, batch: &Batch, range: Range<usize>, above: Option<Above>) {
        let mut nears = batch.nears(range.clone());
        if self.early.is_some() {
            self.write_in_idle_time(&batch.get(range.start), nears);
            nears = &[];
        }
        let (filled, served) = (self.cache.ever_filled(), self.counts().accesses());
        let requests = &batch.requests()[range.clone()];
        self.outcomes.clear();
        self.cache.serve(requests, &mut self.outcomes);
        if let Some(above) = above {
            self.evict_above(above);
        }
        if filled < self.cache.ever_filled() {
            self.note_filled(served);
        }
        self.note_cores(&batch.requests()[range.clone()]);
        self.ask_memory(batch, range.clone(), nears);
        if self.early.is_some() {
            self.note_early(&batch.get(range.start));
        }
        if let Some((epoch, left)) = &mut self.epoch {
            *left -= range.len() as u64;
            if *left == 0 {
                *left = *epoch;
                self.note_point();
            }
        }
    }

    /// Has evicted lines leave the private levels, and takes along what was written there.
    fn evict_above(&mut self, above: Above) {
        for outcome in &mut self.outcomes {
            if let llc::Outcome::Miss {
                evicted: Some(evicted),
            } = outcome
                && above(evicted.line)
            {
                self.cache.evicted_dirty(evicted);
            }
        }
    }

    /// Counts requests by core.
    fn note_cores(&mut self, requests: &[Request]) {
        if self.by_core.is_empty() {
            return;
        }
        for (request, outcome) in requests.iter().zip(&self.outcomes) {
            self.by_core[usize::from(request.core)].note(request.kind, outcome);
        }
    }

    /// Notes whether the last free way was filled by requests after the first `before`.
    fn note_filled(&mut self, served: u64) {
        let lines = self.cache.geometry().lines();
        if self.cache.ever_filled() == lines && self.full_at.is_none() {
            let filled = |outcome: &llc::Outcome| *outcome == llc::Outcome::Miss { evicted: None };
            let last = self.outcomes.iter().rposition(filled);
            self.full_at = last.map(|last| served + last as u64 + 1);
        }
    }

    /// Sends the reads and writes of requests to the memory sides, and the accesses to the second
    /// level that are among them.
    fn ask_memory(&mut self, batch: &Batch, range: Range<usize>, nears: &[Near]) {
        for memory_side in &mut self.memory_sides {
            let mut nears = nears.iter().peekable();
            let asked = range.clone().zip(batch.asked(range.clone()));
            for ((index, asked), outcome) in asked.zip(&self.outcomes) {
                while let Some(near) = nears.next_if(|near| near.before <= index) {
                    memory_side.serve_near(near);
                }
                memory_side.serve(&asked, asks(&asked, outcome));
            }
        }
        if let Some(traffic) = &mut self.traffic {
            for (asked, outcome) in batch.asked(range).zip(&self.outcomes) {
                note(traffic, self.lines, &asked, asks(&asked, outcome));
            }
        }
    }

    /// Has accesses to the second level take their time that no request follows.
    fn serve_near(&mut self, batch: &Batch) {
        for memory_side in &mut self.memory_sides {
            let nears = batch.late_nears().iter();
            nears.for_each(|near| memory_side.serve_near(near));
        }
    }

    fn note_point(&mut self) {
        self.points.push(Point {
            counts: self.counts(),
            in_force: self.cache.policy().in_force(),
        });
    }

    /// Ends the warm-up.
    fn measure(&mut self) {
        self.begin = Some(Begin {
            counts: self.counts(),
            by_core: self.by_core.clone(),
            early: self.early.as_ref().map(Early::counts),
            dirty: self.cache.dirty_lines(),
            positions: self.cache.tags().positions().to_vec(),
        });
        self.memory_sides.iter_mut().for_each(MemorySide::measure);
    }

    /// Returns the time of a core at an instruction before the first memory, in picoseconds, if it
    /// requests nothing before; 0 if there is no memory.
    pub fn time_at(&self, core: usize, instruction: u64) -> u64 {
        let memory = self.memory_sides.first();
        memory.map_or(0, |memory| memory.time_at(core, instruction))
    }

    /// Ends the simulation, after the given instructions of each core.
    pub fn end(&mut self, instructions: &[u64]) {
        if self.epoch.is_some_and(|(epoch, left)| left < epoch) {
            self.note_point();
        }
        for memory_side in &mut self.memory_sides {
            memory_side.end(instructions);
        }
    }

    /// Returns everything counted since the beginning.
    fn counts(&self) -> Counts {
        *self.cache.tags().counts()
    }

    /// Returns the results of the cache, whose settings are `llc`.
    pub fn outcome(&self, llc: Llc) -> Outcome {
        let begin = self.begin.as_ref();
        let since = begin.map_or(Counts::default(), |begin| begin.counts);
        let by_core = self.by_core.iter().enumerate();
        Outcome {
            llc,
            geometry: self.cache.geometry(),
            storage_bits: self.cache.policy().storage_bits(),
            counts: self.counts() - since,
            by_core: by_core
                .map(|(core, now)| *now - begin.map_or(Counts::default(), |b| b.by_core[core]))
                .collect(),
            warmup: begin.map(|begin| begin.counts),
            early: self.early_writes(),
            dirty_at_begin: begin.map_or(0, |begin| begin.dirty),
            dirty_at_end: self.cache.dirty_lines(),
            positions: self.positions(),
            points: self.points.clone(),
            full_at: self.full_at,
            filled: self.cache.tags().filled(),
            bounds: self.bounds,
            memories: self.memory_sides.iter().map(MemorySide::found).collect(),
        }
    }

    /// Returns the hits after the warm-up by stack position: the number of lines of the set that
    /// were used more recently; `None` where the policy does not keep that order.
    fn positions(&self) -> Option<Vec<u64>> {
        let mut positions = self.cache.tags().positions().to_vec();
        let knows = positions.iter().any(|hits| *hits > 0);
        if let Some(begin) = &self.begin {
            for (hits, before) in positions.iter_mut().zip(&begin.positions) {
                *hits -= before;
            }
        }
        knows.then_some(positions)
    }

    /// Returns the requests to memory since they were last cleared, if they are kept.
    pub fn traffic(&mut self) -> Option<&mut Block> {
        self.traffic.as_mut()
    }
}

/// Returns the requests of the warm-up; none if it does not end, as figures are of the whole then.
fn warmup(batches: &[Batch]) -> usize {
    let mut before = 0;
    for batch in batches {
        if let Some(from) = batch.measured_from {
            return before + from;
        }
        before += batch.len();
    }
    0
}

/// Returns what a request with this outcome asks of memory.
#[inline]
pub fn asks(asked: &Asked, outcome: &llc::Outcome) -> Asks {
    let (line, reads) = (asked.request.line, asked.request.kind.reads());
    match outcome {
        llc::Outcome::Hit { .. } => Asks {
            read: false,
            write: None,
        },
        llc::Outcome::Passed => Asks {
            read: true,
            write: None,
        },
        llc::Outcome::Miss { evicted } => Asks {
            read: reads,
            write: evicted
                .filter(|evicted| evicted.dirty)
                .map(|evicted| evicted.line),
        },
        llc::Outcome::Bypassed { written } => Asks {
            read: reads,
            write: written.then_some(line),
        },
    }
}

/// Appends the requests to memory as rows: the line that is read, and the line that is written.
fn note(traffic: &mut Block, lines: Lines, asked: &Asked, asks: Asks) {
    if asks.read {
        traffic.push(requests::row(lines, asked));
    }
    if let Some(line) = asks.write {
        let mut written = *asked;
        written.request.line = line;
        written.request.kind = Kind::WriteBack;
        written.request.ip = 0;
        traffic.push(requests::row(lines, &written));
    }
}

/// Replaces `block` by one row for each request of the batch.
pub fn rows(batch: &Batch, lines: Lines, block: &mut Block) {
    block.clear();
    let asked = batch.asked(0..batch.len());
    let rows = asked.map(|asked| requests::row(lines, &asked));
    rows.for_each(|row: Access| block.push(row));
}

#[cfg(test)]
mod tests;
