//! `stream`: runs ahead of several interleaved constant-stride streams.
//!
//! Three faults of one thread at equal distances make a stream: of any distance, forwards or
//! backwards, other faults in between. Distances are kept in bytes, because the rows of real
//! matrices are seldom whole pages. A stream asks for pages in predictions of `depth` pages;
//! when the program touches the first page of one, the next is asked for. The depth doubles
//! with each prediction that is reached or comes too late, and is bounded by how much of what
//! was fetched for the thread of late has been used.
//!
//! The shape, a window that opens as it is consumed, is that of Linux's file readahead; the
//! trigger on first use is Oskin & Loh 2015, V.B; Fedorov 2016, 5.4.4.3 has the case of
//! stride one.

use std::collections::{HashMap, VecDeque};

use super::{Outcome, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, PAGE_BYTES, Page, Residence, Space, Thread};

/// How far and how boldly `stream` predicts.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Pages in a stream's first prediction.
    pub first: u64,
    /// Most pages in one prediction.
    pub depth: u64,
    /// Streams followed at once, over all threads.
    pub streams: usize,
    /// Faults of a thread that a new stream may be made of.
    pub history: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            first: 8,
            depth: 128,
            streams: 64,
            history: 16,
        }
    }
}

/// The predictor.
pub struct Stream {
    settings: Settings,
    /// Most recently active last.
    tracks: Vec<Track>,
    threads: HashMap<Thread, ThreadState>,
    sources: u32,
}

/// One stream: element `k` lies at `origin + k * stride` bytes.
#[derive(Clone, Debug)]
struct Track {
    source: Source,
    space: Space,
    thread: Thread,
    origin: u64,
    stride: i64,
    /// Bytes that are touched after an element's first one, as far as faults have shown it.
    reach: u64,
    /// Faults still to come in it before it is believed.
    unproven: u32,
    /// The last element known to be touched.
    position: u64,
    /// The first element not predicted yet.
    frontier: u64,
    /// Where it was predicted from after a fault last.
    renewed: u64,
    /// Pages in the next prediction.
    depth: u64,
}

/// What is known of one thread.
struct ThreadState {
    space: Space,
    /// Its latest faults, newest last.
    recent: VecDeque<Fault>,
    /// Its latest faults that belonged to no stream, newest last.
    strays: VecDeque<Fault>,
    /// What became of all that was fetched for it.
    record: Record,
    /// What became of what was fetched for each stride, the latest used first.
    strides: Vec<(i64, Record)>,
}

/// What became of fetched pages, lately.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Share of them that were used, the latest weighing most: 0 to 1.
    accuracy: f64,
    /// How many that were.
    outcomes: u32,
}

/// A program may skip or repeat this many elements without leaving its stream.
const SLACK: u64 = 4;
/// Weight of one outcome in a record.
const NEWEST: f64 = 1.0 / 128.0;
/// Outcomes after which a record says something by itself.
const ENOUGH: u32 = 32;
/// A fetched page that is used saves a fault; one that is not costs a read and pushes another
/// out. From this accuracy on a stream is believed at once; each twentieth below it asks for
/// twice as many faults more.
const WORTHWHILE: f64 = 0.5;
/// A stream that has shown so many faults is one, whatever has been.
const MOST_PROOF: u32 = 32;
/// Below this accuracy streams stay short of their full depth: they are often overrun.
const RELIABLE: f64 = 0.8;
/// Below this accuracy streams stay shallow.
const DOUBTFUL: f64 = 0.3;
/// A thread that has touched this many pages up to its fault, and faulted among them before,
/// goes page by page. The kernel's readahead, which fetches blocks, may hide the faults between.
const DENSE: u64 = 16;
/// Strides of so many bytes do not come about by chance among the faults of a dense walk.
const WIDE: u64 = 8 * PAGE_BYTES;
/// Strides remembered a thread.
const STRIDES: usize = 8;
/// A known stride is looked for over at most this many of its steps.
const STEPS: u64 = 64;

impl Track {
    fn address(&self, element: u64) -> Option<u64> {
        let distance = self.stride.checked_mul(i64::try_from(element).ok()?)?;
        self.origin.checked_add_signed(distance)
    }

    /// The pages that element `k` touches.
    fn pages(&self, element: u64) -> Option<std::ops::RangeInclusive<u64>> {
        let start = self.address(element)?;
        let end = start.checked_add(self.reach)?;
        Some(start / PAGE_BYTES..=end / PAGE_BYTES)
    }

    /// Which element a fault belongs to, if it is near where the stream is.
    fn element_of(&self, fault: &Fault) -> Option<u64> {
        if (self.space, self.thread) != (fault.at.space, fault.thread) {
            return None;
        }
        let behind = self.position.saturating_sub(SLACK);
        let near = behind..=self.frontier + self.depth.max(DENSE) + SLACK;
        let far = behind..=self.frontier + STEPS;
        self.element_on(fault.at.page, fault.address())
            .filter(|element| {
                near.contains(element) || (far.contains(element) && self.is_exact(fault))
            })
    }

    /// Whether a fault lies a whole number of wide steps away, to the byte.
    fn is_exact(&self, fault: &Fault) -> bool {
        let distance = fault.address().wrapping_sub(self.origin) as i64;
        self.stride.unsigned_abs() >= WIDE && distance % self.stride == 0
    }

    /// The element that touches `page`, looked for around byte `address`.
    fn element_on(&self, page: Page, address: u64) -> Option<u64> {
        let distance = address as f64 - self.origin as f64;
        let nearest = (distance / self.stride as f64).round();
        let nearest = (nearest >= 0.0).then_some(nearest as u64)?;
        (nearest.saturating_sub(1)..=nearest + 1).find(|&element| self.touches(element, page))
    }

    /// Whether an element lies on `page`, or may end on it.
    fn touches(&self, element: u64, page: Page) -> bool {
        let Some(pages) = self.pages(element) else {
            return false;
        };
        let may_spill = pages.start() == pages.end() && self.stride.unsigned_abs() >= WIDE;
        pages.contains(&page.0) || (may_spill && page.0 == pages.end() + 1)
    }

    /// Whether the program has touched what lies between its last known position and `element`.
    /// A walk leaves nothing out; what does is another that crosses it. A few are looked at.
    fn leads_to(&self, element: u64, memory: &mut dyn Memory) -> bool {
        let first = self.position + 1;
        [1, 2, element.saturating_sub(first) / 2]
            .iter()
            .filter_map(|back| element.checked_sub(*back))
            .filter(|between| (first..element).contains(between))
            .all(|between| self.has_touched(between, memory))
    }

    /// Whether the program has touched an element, at its first byte.
    fn has_touched(&self, element: u64, memory: &mut dyn Memory) -> bool {
        let page = self.address(element).map(|start| Page(start / PAGE_BYTES));
        page.is_some_and(|page| {
            memory.residence(Location::new(self.space, page)) == Residence::InMemory
        })
    }

    /// The program was seen at `element`, by a fault on `page`.
    fn resume(&mut self, element: u64, page: Page) {
        if let Some(start) = self.address(element) {
            let spill = (page.0 * PAGE_BYTES).saturating_sub(start);
            self.reach = self.reach.max(spill.min(PAGE_BYTES - 1));
        }
        self.position = self.position.max(element);
        self.frontier = self.frontier.max(element + 1);
    }

    /// The next `depth` pages; moves the frontier behind them.
    fn predict(&mut self) -> Option<Prediction> {
        let wanted = self.depth as usize;
        let mut pages: Vec<Page> = Vec::with_capacity(wanted + 1);
        while pages.len() < wanted {
            let Some(element) = self.pages(self.frontier) else {
                break;
            };
            self.frontier += 1;
            for page in element.map(Page) {
                if pages.last() != Some(&page) {
                    pages.push(page);
                }
            }
        }
        (!pages.is_empty()).then_some(Prediction {
            source: self.source,
            space: self.space,
            pages,
        })
    }

    /// Whether a fault within what was predicted is to be answered anew. It says that the
    /// prediction failed there: what was in memory then has been evicted since, as the oldest
    /// pages are. But mostly it is just late, and what follows is on its way.
    fn is_due_again(&self, element: u64) -> bool {
        element >= self.renewed + self.depth / 2
    }

    /// What was predicted ahead of the program is not there: less of it next time, and anew.
    fn retreat(&mut self) {
        if self.frontier > self.position + 1 {
            self.frontier = self.position + 1;
            self.depth = (self.depth / 2).max(1);
        }
    }

    fn deepen(&mut self, limit: u64) {
        self.depth = (self.depth * 2).min(limit);
    }
}

impl Record {
    const UNKNOWN: Self = Self {
        accuracy: WORTHWHILE,
        outcomes: 0,
    };

    fn count(&mut self, outcome: Outcome) {
        let used = if outcome == Outcome::Wasted { 0.0 } else { 1.0 };
        self.accuracy += (used - self.accuracy) * NEWEST;
        self.outcomes = self.outcomes.saturating_add(1);
    }

    fn is_proven(&self) -> bool {
        self.outcomes >= ENOUGH && self.accuracy >= WORTHWHILE
    }

    /// How many faults more than three a new stream must show before it is believed.
    fn proof(&self) -> u32 {
        let twentieths = (WORTHWHILE - self.accuracy) * 20.0;
        if twentieths <= 0.0 {
            0
        } else {
            (twentieths.exp2() as u32).min(MOST_PROOF)
        }
    }

    /// The deepest prediction that it allows.
    fn limit(&self, settings: &Settings) -> u64 {
        match self.accuracy {
            a if a < DOUBTFUL => settings.first / 4,
            a if a < WORTHWHILE => settings.first,
            a if a < RELIABLE => settings.depth / 4,
            _ => settings.depth,
        }
    }
}

impl ThreadState {
    fn new(space: Space) -> Self {
        Self {
            space,
            recent: VecDeque::new(),
            strays: VecDeque::new(),
            record: Record::UNKNOWN,
            strides: Vec::new(),
        }
    }

    /// Which way the thread goes if it touches page after page: 1 or -1.
    fn dense_direction(&self, fault: &Fault, memory: &mut dyn Memory) -> Option<i64> {
        [1, -1].into_iter().find(|direction| {
            let behind = |k: u64| fault.at.page.0.checked_add_signed(-direction * k as i64);
            let place = |k| behind(k).map(|page| Location::new(fault.at.space, Page(page)));
            let faulted = (1..=DENSE)
                .filter_map(place)
                .filter(|at| self.has_faulted(*at));
            faulted.count() >= 2
                && (1..=DENSE)
                    .all(|k| place(k).is_some_and(|at| memory.residence(at) == Residence::InMemory))
        })
    }

    fn has_faulted(&self, at: Location) -> bool {
        self.recent.iter().any(|fault| fault.at == at)
    }

    /// A stride that has served this thread, if this fault and an earlier one lie some of its
    /// steps apart. A walk over the next column of a matrix faults only on rows whose page the
    /// last one did not touch, so it cannot show its stride by itself.
    fn stride_again(&self, fault: &Fault) -> Option<i64> {
        self.proven().find(|&stride| {
            self.strays.iter().any(|stray| {
                let distance = fault.address().wrapping_sub(stray.address()) as i64;
                stray.at.space == fault.at.space
                    && distance % stride == 0
                    && (1..=STEPS as i64).contains(&(distance / stride))
            })
        })
    }

    /// A multiple of a stride that has served this thread is taken for the stride itself.
    fn reduce(&self, stride: i64) -> i64 {
        let whole = |&proven: &i64| stride % proven == 0 && stride.signum() == proven.signum();
        self.proven().find(whole).unwrap_or(stride)
    }

    /// The wide strides that have served this thread.
    fn proven(&self) -> impl Iterator<Item = i64> {
        self.strides
            .iter()
            .filter(|(stride, record)| record.is_proven() && stride.unsigned_abs() >= WIDE)
            .map(|(stride, _)| *stride)
    }

    /// The record of a stride; where it is short, that of the thread.
    fn record_of(&self, stride: i64) -> Record {
        let own = self.strides.iter().find(|(s, _)| *s == stride);
        own.map(|(_, record)| *record)
            .filter(|record| record.outcomes >= ENOUGH)
            .unwrap_or(self.record)
    }

    /// Books what became of a page that was fetched for `stride`.
    fn count(&mut self, stride: i64, outcome: Outcome) {
        self.record.count(outcome);
        let place = self.strides.iter().position(|(s, _)| *s == stride);
        let mut entry = match place {
            Some(place) => self.strides.remove(place),
            None => (stride, Record::UNKNOWN),
        };
        entry.1.count(outcome);
        self.strides.truncate(STRIDES - 1);
        self.strides.insert(0, entry);
    }

    /// The distance in bytes at which this fault and two earlier ones lie, the most recent
    /// such pair first. Exact in bytes if it can be, else in pages.
    fn stride_to(&self, fault: &Fault) -> Option<i64> {
        let in_bytes = self.regular(|f| f.address() as i64, fault);
        let in_pages = || self.regular(|f| f.at.page.0 as i64, fault);
        in_bytes
            .filter(|stride| stride.unsigned_abs() >= PAGE_BYTES)
            .or_else(|| Some(in_pages()? * PAGE_BYTES as i64))
    }

    fn regular(&self, coordinate: impl Fn(&Fault) -> i64, fault: &Fault) -> Option<i64> {
        let here = coordinate(fault);
        let known: Vec<i64> = self
            .strays
            .iter()
            .filter(|stray| stray.at.space == fault.at.space)
            .map(&coordinate)
            .collect();
        known.iter().enumerate().rev().find_map(|(i, &before)| {
            let distance = here - before;
            let earlier = before.checked_sub(distance)?;
            (distance != 0 && known[..i].contains(&earlier)).then_some(distance)
        })
    }
}

impl Stream {
    /// A predictor that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            tracks: Vec::new(),
            threads: HashMap::new(),
            sources: 0,
        }
    }

    /// What became of what was fetched for a thread with a stride.
    fn record(&self, thread: Thread, stride: i64) -> Record {
        let state = self.threads.get(&thread);
        state.map_or(Record::UNKNOWN, |state| state.record_of(stride))
    }

    /// Follows an existing stream that the fault belongs to.
    fn follow(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<Option<Prediction>> {
        let (index, element) = self
            .tracks
            .iter()
            .enumerate()
            .rev()
            .find_map(|(i, track)| {
                let element = track.element_of(fault)?;
                track.leads_to(element, memory).then_some((i, element))
            })?;
        let mut track = self.tracks.remove(index);
        let record = self.record(fault.thread, track.stride);
        let overtaken = element >= track.frontier;
        track.resume(element, fault.at.page);
        let wanted = track.unproven == 0 && (overtaken || track.is_due_again(element));
        track.unproven = track.unproven.saturating_sub(1);
        if wanted {
            track.frontier = element + 1;
            track.renewed = element;
        }
        if overtaken && wanted {
            track.deepen(record.limit(&self.settings));
        }
        let prediction = wanted.then(|| track.predict()).flatten();
        self.tracks.push(track);
        Some(prediction)
    }

    /// Notes a fault of its thread; tells which way that goes if it goes page by page.
    fn note(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<i64> {
        let history = self.settings.history;
        let state = self
            .threads
            .entry(fault.thread)
            .or_insert_with(|| ThreadState::new(fault.at.space));
        state.space = fault.at.space;
        let dense = state.dense_direction(fault, memory);
        push_bounded(&mut state.recent, *fault, history);
        dense
    }

    /// The kernel's readahead lets a dense walk fault at every eighth page only, which looks
    /// like one stream of eight pages or several of more. What claims such a fault is wrong.
    fn forget_impostors(&mut self, fault: &Fault) {
        self.tracks.retain(|track| {
            track.stride.unsigned_abs() == PAGE_BYTES || track.element_of(fault).is_none()
        });
    }

    /// Makes a new stream of this fault and two earlier ones.
    fn discover(&mut self, fault: &Fault, dense: Option<i64>) -> Option<Prediction> {
        let state = self.threads.get_mut(&fault.thread)?;
        let stride = dense
            .map(|direction| direction * PAGE_BYTES as i64)
            .or_else(|| state.stride_again(fault))
            .or_else(|| Some(state.reduce(state.stride_to(fault)?)));
        push_bounded(&mut state.strays, *fault, self.settings.history);
        let stride = stride?;
        let record = state.record_of(stride);
        let kin = self.depth_of_kin(fault, stride);
        let depth = kin.unwrap_or(0).max(self.settings.first);
        let mut track = Track {
            source: self.new_source(),
            space: fault.at.space,
            thread: fault.thread,
            origin: fault.address(),
            stride,
            reach: 0,
            unproven: record.proof(),
            position: 0,
            frontier: 1,
            renewed: 0,
            depth: depth.min(record.limit(&self.settings)),
        };
        let prediction = (track.unproven == 0).then(|| track.predict()).flatten();
        if self.tracks.len() == self.settings.streams {
            self.tracks.remove(0);
        }
        self.tracks.push(track);
        prediction
    }

    /// How deep the thread's latest stream of this stride ran: a walk that begins anew, as
    /// over the next column of a matrix, need not prove itself again.
    fn depth_of_kin(&self, fault: &Fault, stride: i64) -> Option<u64> {
        self.tracks
            .iter()
            .rev()
            .find(|track| (track.thread, track.stride) == (fault.thread, stride))
            .map(|track| track.depth)
    }

    fn new_source(&mut self) -> Source {
        self.sources = self.sources.wrapping_add(1);
        Source(self.sources)
    }

    fn track_mut(&mut self, source: Source) -> Option<&mut Track> {
        self.tracks.iter_mut().find(|track| track.source == source)
    }
}

fn push_bounded(faults: &mut VecDeque<Fault>, fault: Fault, most: usize) {
    faults.push_back(fault);
    if faults.len() > most {
        faults.pop_front();
    }
}

impl Predictor for Stream {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<Prediction> {
        let dense = self.note(fault, memory);
        if dense.is_some() {
            self.forget_impostors(fault);
        }
        match self.follow(fault, memory) {
            Some(prediction) => prediction,
            None => self.discover(fault, dense),
        }
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let track = self.tracks.iter().find(|track| track.source == source)?;
        let record = self.record(track.thread, track.stride);
        let limit = record.limit(&self.settings);
        let track = self.track_mut(source)?;
        if let Some(at) = reached {
            let element = track.element_on(at.page, at.page.0 * PAGE_BYTES);
            track.position = track.position.max(element.unwrap_or(0));
            track.deepen(limit);
        }
        track.predict()
    }

    fn futile(&mut self, source: Source) {
        if let Some(track) = self.track_mut(source) {
            track.retreat();
        }
    }

    fn outcome(&mut self, source: Source, outcome: Outcome) {
        let Some(track) = self.track_mut(source) else {
            return;
        };
        let (thread, stride) = (track.thread, track.stride);
        if outcome == Outcome::Wasted {
            track.retreat();
        }
        if let Some(state) = self.threads.get_mut(&thread) {
            state.count(stride, outcome);
        }
    }

    fn forget(&mut self, space: Space) {
        self.tracks.retain(|track| track.space != space);
        self.threads.retain(|_, state| state.space != space);
    }
}
