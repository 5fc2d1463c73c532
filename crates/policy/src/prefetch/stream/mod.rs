//! `stream`: runs ahead of several interleaved constant-stride streams.
//!
//! Three faults of one thread at equal distances start a stream: at any distance, forwards or
//! backwards, with other faults between them. Distances are kept in bytes, because the rows of real
//! matrices are seldom whole pages. A stream predicts `depth` pages at a time; when the program
//! touches the first page of a prediction, the next one is made. The depth doubles with each
//! prediction that is reached or comes too late, and is bounded by the accuracy of the thread's
//! latest fetches.
//!
//! Walks are nested in loops: the next column of a matrix starts a constant distance behind the
//! start of the last, and a cyclic pass starts over where it started. A stream is compared with the
//! last of the same stride. Once two of the latest distances between their starts are equal, a
//! stream goes on at the end of its pass with the start of the next, which needs no fault.
//!
//! The window that opens as it is consumed is that of Linux's file readahead; the trigger on first
//! use is from Oskin & Loh 2015, V.B; Fedorov 2016, 5.4.4.3 has the case of stride one.

mod nest;
mod passes;
mod record;
mod thread;
mod track;

use rustc_hash::FxHashMap;

use super::{Entry, Make, Outcome, Prediction, Predictor, Source};
use crate::page::{Fault, Location, Memory, PAGE_BYTES, Space, Thread};
use crate::settings;
use nest::Nest;
use record::Record;
use thread::ThreadState;
use track::Track;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "stream",
    summary: "runs ahead of interleaved constant-stride streams, further the more it is right",
    paper: "Terrace's own; triggers on first use are Oskin & Loh 2015, V.B, the case of stride one Fedorov 2016, 5.4.4.3",
    when: "Programs that walk over matrices and arrays, several at once, pass after pass, in any direction and with any stride. `auto` asks it first.",
    evidence: crate::registry::Evidence::NONE,
    make: Make::Online(&|params| Ok(Box::new(Stream::new(StreamSettings::take(params)?)))),
};

settings! {
    /// Settings of `stream`: how far and how soon it predicts.
    pub struct StreamSettings {
        /// pages of a stream's first prediction
        first: u64 = 8, 1..=4096;
        /// pages of one prediction, at most
        depth: u64 = 256, 1..=4096;
        /// streams that are followed at once, over all threads
        streams: usize = 24, 1..=4096;
        /// latest faults of a thread that a new stream may be made of
        history: usize = 16, 2..=4096;
    }
}

/// The `stream` predictor.
pub struct Stream {
    settings: StreamSettings,
    /// Streams, the most recently active last.
    tracks: Vec<Track>,
    threads: FxHashMap<Thread, ThreadState>,
    sources: u32,
}

/// Number of touched pages up to a fault, with faults among them, from which a thread is taken to
/// walk page by page. The kernel's readahead, which fetches blocks, may hide faults between them.
const DENSE: u64 = 16;
/// Least stride in bytes that does not occur by chance among the faults of a dense walk.
const WIDE: u64 = 8 * PAGE_BYTES;
/// Most threads remembered.
const THREADS: usize = 4096;
/// Most steps over which a known stride is looked for.
const STEPS: u64 = 64;

impl Stream {
    /// Makes a predictor without any history.
    pub fn new(settings: StreamSettings) -> Self {
        Self {
            settings,
            tracks: Vec::new(),
            threads: FxHashMap::default(),
            sources: 0,
        }
    }

    /// Returns the record of fetches for a thread with a stride.
    fn record(&self, thread: Thread, stride: i64) -> Record {
        let state = self.threads.get(&thread);
        state.map_or(Record::UNKNOWN, |state| state.record_of(stride))
    }

    /// Continues an existing stream that the fault belongs to.
    fn follow(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<Option<Prediction>> {
        let (index, element) = self.find(fault, memory).or_else(|| {
            let mut nested = self.tracks.iter_mut().filter(|track| track.nest.is_known());
            let longer = nested.any(|track| track.outlast(fault));
            longer.then(|| self.find(fault, memory))?
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
        track.rebase();
        self.tracks.push(track);
        Some(prediction)
    }

    /// Returns the place of the stream that a fault belongs to, and its element.
    fn find(&self, fault: &Fault, memory: &mut dyn Memory) -> Option<(usize, u64)> {
        let mut latest_first = self.tracks.iter().enumerate().rev();
        latest_first.find_map(|(index, track)| {
            let element = track.element_of(fault)?;
            track.leads_to(element, memory).then_some((index, element))
        })
    }

    /// Records a fault of its thread; returns the direction of a thread that walks page by page.
    fn note(&mut self, fault: &Fault, memory: &mut dyn Memory) -> Option<i64> {
        let history = self.settings.history;
        let known = self.threads.get(&fault.thread);
        if known.is_none_or(|state| state.space != fault.at.space) {
            if self.threads.len() >= THREADS {
                // Threads that have ended cannot be told from idle ones, so all of them start anew.
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

    /// Drops streams that match the faults of a dense walk by accident. The kernel's readahead lets
    /// such a walk fault at every eighth page only, which looks like one stream of eight pages or
    /// several streams of larger strides.
    fn forget_impostors(&mut self, fault: &Fault) {
        self.tracks.retain(|track| {
            track.stride.unsigned_abs() == PAGE_BYTES || track.element_of(fault).is_none()
        });
    }

    /// Starts a new stream from this fault and two earlier ones.
    fn discover(
        &mut self,
        fault: &Fault,
        dense: Option<i64>,
        memory: &mut dyn Memory,
    ) -> Option<Prediction> {
        let state = self.threads.get_mut(&fault.thread)?;
        let found = dense
            .map(|direction| (direction * PAGE_BYTES as i64, 0))
            .or_else(|| state.stride_again(fault))
            .or_else(|| state.stride_anew(fault));
        state.note_stray(fault, self.settings.history);
        let (stride, steps) = found?;
        let record = state.record_of(stride);
        let kin = self.kin_of(fault.thread, stride);
        let depth = kin.map_or(0, |kin| kin.depth).max(self.settings.first);
        let kin = kin.cloned();
        let mut track = Track {
            source: self.new_source(),
            space: fault.at.space,
            thread: fault.thread,
            origin: fault.address(),
            stride,
            nest: Nest::UNKNOWN,
            reach: 0,
            unproven: record.proof(),
            position: 0,
            frontier: 1,
            renewed: 0,
            depth: depth.min(record.limit(&self.settings)),
        };
        track.start_earlier(steps);
        if let Some(kin) = kin {
            track.succeed(&kin, memory);
        }
        let prediction = (track.unproven == 0).then(|| track.predict()).flatten();
        if self.tracks.len() == self.settings.streams {
            self.tracks.remove(0);
        }
        self.tracks.push(track);
        prediction
    }

    /// Returns the thread's latest stream with this stride: a walk that starts anew, as over the
    /// next column of a matrix, need not prove itself again.
    fn kin_of(&self, thread: Thread, stride: i64) -> Option<&Track> {
        let mut latest = self.tracks.iter().rev();
        latest.find(|track| (track.thread, track.stride) == (thread, stride))
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
        predictions.extend(followed.unwrap_or_else(|| self.discover(fault, dense, memory)));
    }

    fn advance(&mut self, source: Source, reached: Option<Location>) -> Option<Prediction> {
        let track = self.tracks.iter().find(|track| track.source == source)?;
        let record = self.record(track.thread, track.stride);
        let limit = record.limit(&self.settings);
        let track = self.track_mut(source)?;
        if let Some(at) = reached {
            let element = track.element_on(at.page, at.page.start());
            track.position = track.position.max(element.unwrap_or(0));
            track.rebase();
            track.deepen(limit);
        }
        track.predict()
    }

    /// Limits one prediction to a quarter of the window.
    fn set_window(&mut self, window: u64) {
        let most = (window / 4).max(self.settings.first);
        self.settings.depth = self.settings.depth.min(most);
    }

    fn on_exhausted(&mut self, source: Source) {
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
