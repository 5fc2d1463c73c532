//! A last-level cache that is asked by all cores, with the memories behind it.

mod flush;

use std::ops::Range;

use terrace_policy::llc::{Cache, Counts, InForce, Kind, Outcome, Request};
use terrace_trace::{Access, Block};

use super::batch::{Asked, Batch};
use super::behind::{Asks, Behind};
use super::lines::Lines;
use super::requests;

/// Requests that are served together, at most: few enough that what came of them stays in the
/// processor's first cache.
const PART: usize = 256;

/// What there was at the end of an epoch, since the beginning of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Everything counted.
    pub counts: Counts,
    /// How the policy kept lines, if it changes that.
    pub in_force: Option<InForce>,
}

/// A last-level cache at work.
pub struct Shared {
    cache: Cache,
    lines: Lines,
    /// What is counted of the requests of each core; none where there is one core.
    by_core: Vec<Counts>,
    /// Requests of an epoch, and how many of this one are left.
    epoch: Option<(u64, u64)>,
    points: Vec<Point>,
    /// Requests at which the last free place was filled.
    full_at: Option<u64>,
    behind: Vec<Behind>,
    traffic: Option<Block>,
    /// What was there when figures were first taken.
    begin: Option<Begin>,
    /// What came of the requests that are being served.
    outcomes: Vec<Outcome>,
}

/// What was there when figures were first taken.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Everything counted until then.
    pub counts: Counts,
    /// The same by core.
    pub by_core: Vec<Counts>,
    /// Lines that were dirty.
    pub dirty: u64,
    positions: Vec<u64>,
}

impl Shared {
    /// An empty cache for so many cores; what it asks of memory is kept if `traffic`.
    pub fn new(
        cache: Cache,
        lines: Lines,
        behind: Vec<Behind>,
        epoch: Option<u64>,
        traffic: bool,
        cores: usize,
    ) -> Self {
        Self {
            cache,
            lines,
            by_core: vec![Counts::default(); if cores > 1 { cores } else { 0 }],
            epoch: epoch.map(|epoch| (epoch, epoch)),
            points: Vec::new(),
            full_at: None,
            behind,
            traffic: traffic.then(Block::default),
            begin: None,
            outcomes: Vec::with_capacity(PART),
        }
    }

    /// Serves all requests of a batch.
    pub fn serve(&mut self, batch: &Batch) {
        let mut flushed = batch.flushed.iter().peekable();
        let mut begin = 0;
        loop {
            if batch.measured_from == Some(begin) {
                self.measure();
            }
            while let Some(flushed) = flushed.next_if(|flushed| flushed.before <= begin) {
                self.flush(flushed);
            }
            if begin == batch.len() {
                return;
            }
            let next = flushed.peek().map_or(batch.len(), |flushed| flushed.before);
            let end = self.end_of_part(begin, batch).min(next);
            self.serve_part(batch, begin..end);
            begin = end;
        }
    }

    /// Up to where requests can be served together: nothing is looked at meanwhile.
    fn end_of_part(&self, begin: usize, batch: &Batch) -> usize {
        let left = self.epoch.map_or(u64::MAX, |(_, left)| left);
        let most = usize::try_from(left).map_or(PART, |left| left.min(PART));
        let end = batch.len().min(begin + most);
        let measured = batch.measured_from.filter(|from| *from > begin);
        measured.map_or(end, |from| end.min(from))
    }

    fn serve_part(&mut self, batch: &Batch, range: Range<usize>) {
        let (filled, served) = (self.cache.tags().filled(), self.counts().accesses());
        let requests = &batch.requests()[range.clone()];
        self.outcomes.clear();
        self.cache.serve(requests, &mut self.outcomes);
        if filled < self.cache.tags().filled() {
            self.note_filled(served);
        }
        self.note_cores(&batch.requests()[range.clone()]);
        self.ask_memory(batch, range.clone());
        if let Some((epoch, left)) = &mut self.epoch {
            *left -= range.len() as u64;
            if *left == 0 {
                *left = *epoch;
                self.note_point();
            }
        }
    }

    /// Counts requests for their cores.
    fn note_cores(&mut self, requests: &[Request]) {
        if self.by_core.is_empty() {
            return;
        }
        for (request, outcome) in requests.iter().zip(&self.outcomes) {
            self.by_core[usize::from(request.core)].note(request.kind, outcome);
        }
    }

    /// Free places were filled, the last one perhaps; so many requests had come before.
    fn note_filled(&mut self, served: u64) {
        let tags = self.cache.tags();
        if tags.filled() == tags.geometry().lines() && self.full_at.is_none() {
            let filled = |outcome: &Outcome| *outcome == Outcome::Miss { evicted: None };
            let last = self.outcomes.iter().rposition(filled);
            self.full_at = last.map(|last| served + last as u64 + 1);
        }
    }

    /// Asks the memories for what came of requests.
    fn ask_memory(&mut self, batch: &Batch, range: Range<usize>) {
        for behind in &mut self.behind {
            for (asked, outcome) in batch.asked(range.clone()).zip(&self.outcomes) {
                behind.serve(&asked, asks(&asked, outcome));
            }
        }
        if let Some(traffic) = &mut self.traffic {
            for (asked, outcome) in batch.asked(range).zip(&self.outcomes) {
                note(traffic, self.lines, &asked, asks(&asked, outcome));
            }
        }
    }

    fn note_point(&mut self) {
        self.points.push(Point {
            counts: self.counts(),
            in_force: self.cache.policy().in_force(),
        });
    }

    /// From now on figures are taken.
    fn measure(&mut self) {
        self.begin = Some(Begin {
            counts: self.counts(),
            by_core: self.by_core.clone(),
            dirty: self.cache.dirty_lines(),
            positions: self.cache.tags().positions().to_vec(),
        });
        self.behind.iter_mut().for_each(Behind::measure);
    }

    /// Nothing more is asked; so many instructions each core has executed.
    pub fn end(&mut self, instructions: &[u64]) {
        if self.epoch.is_some_and(|(epoch, left)| left < epoch) {
            self.note_point();
        }
        for behind in &mut self.behind {
            behind.end(instructions);
        }
    }

    /// Everything counted since the beginning.
    pub fn counts(&self) -> Counts {
        *self.cache.tags().counts()
    }

    /// The requests of each core since the beginning; none where there is one core. A line that had to
    /// go is counted for whom it made room, and what the cache alone knows ([`Counts::dirtied`]) not
    /// at all.
    pub fn by_core(&self) -> &[Counts] {
        &self.by_core
    }

    /// What was there when figures were first taken, if they were.
    pub fn begin(&self) -> Option<&Begin> {
        self.begin.as_ref()
    }

    /// The cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Hits since figures are taken, by how many lines of the set were used more recently; none
    /// where the policy does not know.
    pub fn positions(&self) -> Option<Vec<u64>> {
        let mut positions = self.cache.tags().positions().to_vec();
        let knows = positions.iter().any(|hits| *hits > 0);
        if let Some(begin) = &self.begin {
            for (hits, before) in positions.iter_mut().zip(&begin.positions) {
                *hits -= before;
            }
        }
        knows.then_some(positions)
    }

    /// The ends of epochs, and of the trace.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The number of requests when the last free place was filled.
    pub fn full_at(&self) -> Option<u64> {
        self.full_at
    }

    /// The memories behind it.
    pub fn behind(&self) -> &[Behind] {
        &self.behind
    }

    /// What was asked of memory since it was forgotten last, if that is kept.
    pub fn traffic(&mut self) -> Option<&mut Block> {
        self.traffic.as_mut()
    }
}

/// What is asked of memory for a request that ended so.
#[inline]
fn asks(asked: &Asked, outcome: &Outcome) -> Asks {
    let write_back = asked.request.kind == Kind::WriteBack;
    match outcome {
        Outcome::Hit { .. } => Asks {
            read: false,
            write: None,
        },
        Outcome::Miss { evicted } => Asks {
            read: !write_back,
            write: evicted
                .filter(|evicted| evicted.dirty)
                .map(|evicted| evicted.line),
        },
        Outcome::Bypassed => Asks {
            read: !write_back,
            write: write_back.then_some(asked.request.line),
        },
    }
}

/// Notes what is asked of memory as rows: the line that is read, and the one that is written.
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

/// A row a request of the batch.
pub fn rows(batch: &Batch, lines: Lines, block: &mut Block) {
    block.clear();
    let asked = batch.asked(0..batch.len());
    let rows = asked.map(|asked| requests::row(lines, &asked));
    rows.for_each(|row: Access| block.push(row));
}
