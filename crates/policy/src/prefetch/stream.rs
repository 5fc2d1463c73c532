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

mod record;
mod thread;
mod track;

use rustc_hash::FxHashMap;

use super::{Outcome, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, PAGE_BYTES, Space, Thread};
use record::Record;
use thread::ThreadState;
use track::Track;

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
            depth: 256,
            streams: 24,
            history: 16,
        }
    }
}

impl Settings {
    /// Takes them from what was written behind the name.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn take(params: &mut Params) -> Result<Self, String> {
        let default = Self::default();
        Ok(Self {
            first: params.number("first", default.first, 1..=4096)?,
            depth: params.number("depth", default.depth, 1..=4096)?,
            streams: params.number("streams", default.streams, 1..=4096)?,
            history: params.number("history", default.history, 2..=4096)?,
        })
    }
}

/// The predictor.
pub struct Stream {
    settings: Settings,
    /// Most recently active last.
    tracks: Vec<Track>,
    threads: FxHashMap<Thread, ThreadState>,
    sources: u32,
}

/// A thread that has touched this many pages up to its fault, and faulted among them before,
/// goes page by page. The kernel's readahead, which fetches blocks, may hide the faults between.
const DENSE: u64 = 16;
/// Strides of so many bytes do not come about by chance among the faults of a dense walk.
const WIDE: u64 = 8 * PAGE_BYTES;
/// Threads remembered.
const THREADS: usize = 4096;
/// A known stride is looked for over at most this many of its steps.
const STEPS: u64 = 64;

impl Stream {
    /// A predictor that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            tracks: Vec::new(),
            threads: FxHashMap::default(),
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
        let mut prediction = None;
        if wanted {
            if overtaken {
                track.deepen(record.limit(&self.settings));
            }
            track.frontier = element + 1;
            track.renewed = element;
            prediction = track.predict();
        }
        self.tracks.push(track);
        Some(prediction)
    }

    /// Notes a fault of its thread; tells which way that goes if it goes page by page.
    fn note(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<i64> {
        let history = self.settings.history;
        let known = self.threads.get(&fault.thread);
        if known.is_none_or(|state| state.space != fault.at.space) {
            if self.threads.len() >= THREADS {
                // Threads that have ended cannot be told from idle ones; all begin anew.
                self.threads.clear();
            }
            let new = ThreadState::new(fault.at.space);
            self.threads.insert(fault.thread, new);
        }
        let state = self.threads.get_mut(&fault.thread)?;
        let dense = state.dense_direction(fault, memory);
        state.note(fault, history);
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
        state.note_stray(fault, self.settings.history);
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
        Source(u64::from(self.sources))
    }

    fn track_mut(&mut self, source: Source) -> Option<&mut Track> {
        self.tracks.iter_mut().find(|track| track.source == source)
    }
}

impl Predictor for Stream {
    fn fault(&mut self, fault: &Fault, memory: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let dense = self.note(fault, memory);
        if dense.is_some() {
            self.forget_impostors(fault);
        }
        let followed = self.follow(fault, memory);
        predictions.extend(followed.unwrap_or_else(|| self.discover(fault, dense)));
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let track = self.tracks.iter().find(|track| track.source == source)?;
        let record = self.record(track.thread, track.stride);
        let limit = record.limit(&self.settings);
        let track = self.track_mut(source)?;
        if let Some(at) = reached {
            let element = track.element_on(at.page, at.page.0.wrapping_mul(PAGE_BYTES));
            track.position = track.position.max(element.unwrap_or(0));
            track.deepen(limit);
        }
        track.predict()
    }

    /// One stream takes a quarter of the window at most with one prediction.
    fn limit(&mut self, window: u64) {
        let most = (window / 4).max(self.settings.first);
        self.settings.depth = self.settings.depth.min(most);
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
