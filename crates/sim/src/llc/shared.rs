//! A last-level cache that is asked by all cores, with the memories behind it.

mod flush;

use terrace_policy::llc::{Cache, InForce, Kind, Outcome};
use terrace_trace::{Access, Block};

use super::batch::{Asked, Batch};
use super::behind::{Asks, Behind};
use super::counts::Counts;
use super::lines::Lines;
use super::requests;

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
    counts: Counts,
    /// The same of the requests of each core; none where there is one core.
    by_core: Vec<Counts>,
    /// Hits by how many lines of the set were used more recently; of policies that know it.
    positions: Vec<u64>,
    knows_positions: bool,
    /// Requests of an epoch, and how many of this one are left.
    epoch: Option<(u64, u64)>,
    points: Vec<Point>,
    /// Requests at which the last free place was filled.
    full_at: Option<u64>,
    behind: Vec<Behind>,
    traffic: Option<Block>,
    /// What was there when figures were first taken.
    begin: Option<Begin>,
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
        let ways = cache.geometry().ways;
        Self {
            cache,
            lines,
            counts: Counts::default(),
            by_core: vec![Counts::default(); if cores > 1 { cores } else { 0 }],
            positions: vec![0; ways],
            knows_positions: false,
            epoch: epoch.map(|epoch| (epoch, epoch)),
            points: Vec::new(),
            full_at: None,
            behind,
            traffic: traffic.then(Block::default),
            begin: None,
        }
    }

    /// Serves all requests of a batch.
    pub fn serve(&mut self, batch: &Batch) {
        if !batch.flushed.is_empty() {
            return self.serve_flushing(batch);
        }
        let (before, after) = match batch.measured_from {
            Some(begin) => batch.asked.split_at(begin),
            None => (&batch.asked[..], &[][..]),
        };
        before.iter().for_each(|asked| self.ask(asked));
        if batch.measured_from.is_some() {
            self.measure();
        }
        after.iter().for_each(|asked| self.ask(asked));
    }

    #[inline]
    fn ask(&mut self, asked: &Asked) {
        let outcome = self.cache.access(&asked.request);
        self.counts.note(asked.request.kind, &outcome);
        if let Some(counts) = self.by_core.get_mut(usize::from(asked.request.core)) {
            counts.note(asked.request.kind, &outcome);
        }
        if let Outcome::Hit {
            position: Some(position),
        } = outcome
        {
            self.knows_positions = true;
            self.positions[position] += u64::from(self.begin.is_some());
        }
        let asks = asks(asked, &outcome);
        for behind in &mut self.behind {
            behind.serve(asked, asks);
        }
        if let Some(traffic) = &mut self.traffic {
            note(traffic, self.lines, asked, asks);
        }
        if let Outcome::Miss { evicted: None } = outcome
            && self.cache.filled() == self.cache.geometry().lines()
            && self.full_at.is_none()
        {
            self.full_at = Some(self.counts.accesses());
        }
        if let Some((epoch, left)) = &mut self.epoch {
            *left -= 1;
            if *left == 0 {
                *left = *epoch;
                self.note_point();
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
        Counts {
            dirtied: self.cache.dirtied() + self.counts.from_above.bypasses + self.counts.dirtied,
            ..self.counts
        }
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
    pub fn positions(&self) -> Option<&[u64]> {
        self.knows_positions.then_some(&self.positions)
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
    let rows = batch.asked.iter().map(|asked| requests::row(lines, asked));
    rows.for_each(|row: Access| block.push(row));
}
