//! What pages hold, as of the touches that a machine has made of them.

use std::sync::Arc;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustc_hash::FxHashMap;
use terrace_policy::replacement::PageId;
use terrace_policy::write::{Contents, LINE_BYTES, LINES};
use terrace_trace::changes::{Change, Word};
use terrace_trace::contents::next_version;

use crate::named::named;

/// A page of zeros, as programs get memory.
const ZEROS: &Contents = &[0; size_of::<Contents>()];

/// Contents of a page at some time. Places of the slow memory share them with DRAM until the page
/// changes.
pub(super) type Shared = Arc<Contents>;

/// The contents of all pages.
///
/// A machine may make touches in another order than they were recorded in. The changes of a page
/// are made in the order of their versions all the same: one that comes too early waits for those
/// before it.
pub(super) struct Pages {
    pages: Vec<Page>,
    /// Contents of pages that were never changed.
    zeros: Shared,
    /// Changes that wait for the version before, by page and version.
    waiting: FxHashMap<(PageId, u32), Vec<Word>>,
}

/// A page.
#[derive(Clone, Default)]
struct Page {
    version: u32,
    /// Whether a word was changed since it was last written out.
    changed: bool,
    /// Whether it was given back since it was last written out.
    given_back: bool,
    contents: Option<Shared>,
}

impl Page {
    fn change(&mut self, words: &[Word], version: u32) {
        self.version = version;
        if words.is_empty() {
            return;
        }
        self.changed = true;
        let contents = self.contents.get_or_insert_with(|| Arc::new(*ZEROS));
        let (held, _) = Arc::make_mut(contents).as_chunks_mut::<8>();
        for word in words {
            if let Some(bytes) = held.get_mut(usize::from(word.index)) {
                *bytes = word.value.to_le_bytes();
            }
        }
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self {
            pages: Vec::new(),
            zeros: Arc::new(*ZEROS),
            waiting: FxHashMap::default(),
        }
    }
}

impl Pages {
    /// Makes room for pages numbered below `count`.
    pub(super) fn cover(&mut self, count: usize) {
        if count > self.pages.len() {
            self.pages.resize(count, Page::default());
        }
    }

    /// Makes the change that comes with a touch of a page.
    pub(super) fn change(&mut self, page: PageId, change: Change<'_>) {
        if change.version == 0 {
            return;
        }
        let held = &mut self.pages[page.index()];
        if change.version != next_version(held.version) {
            self.waiting
                .insert((page, change.version), change.words.to_vec());
            return;
        }
        held.change(change.words, change.version);
        if self.waiting.is_empty() {
            return;
        }
        let mut version = next_version(change.version);
        while let Some(words) = self.waiting.remove(&(page, version)) {
            held.change(&words, version);
            version = next_version(version);
        }
    }

    /// Returns what a page holds.
    pub(super) fn contents(&self, page: PageId) -> &Contents {
        self.held(page)
    }

    /// Returns what a page holds, to be kept.
    pub(super) fn share(&self, page: PageId) -> Shared {
        Arc::clone(self.held(page))
    }

    fn held(&self, page: PageId) -> &Shared {
        self.pages[page.index()]
            .contents
            .as_ref()
            .unwrap_or(&self.zeros)
    }

    /// Returns whether a page was changed since it was last written out or given back, and counts
    /// it as written out.
    pub(super) fn take_changed(&mut self, page: PageId) -> bool {
        let held = &mut self.pages[page.index()];
        let is_new = std::mem::take(&mut held.given_back);
        // That a page given back has become zeros is told as a change, but nobody has written them.
        let is_zero = || held.contents.as_ref().is_none_or(|held| **held == *ZEROS);
        std::mem::take(&mut held.changed) && !(is_new && is_zero())
    }

    /// Forgets that a page was changed: it was given back. What it held is needed still: the next
    /// change, which comes with its next touch, tells what differs from that.
    pub(super) fn discard(&mut self, page: PageId) {
        let held = &mut self.pages[page.index()];
        held.changed = false;
        held.given_back = true;
    }
}

named! {
    /// What the slow memory holds where nothing was written yet.
    pub enum Unwritten {
        /// Random data: the memory was in use (Awad 2016, 5.1.2, of the place that wear levelling
        /// chooses).
        #[default]
        Random = "random",
        /// Zeros: the memory is a new file, or was erased.
        Zeros = "zeros",
    }
}

impl Unwritten {
    /// Returns what a line holds.
    pub(super) fn line(self, line: u64) -> [u8; LINE_BYTES] {
        let mut bytes = [0; LINE_BYTES];
        if self == Self::Random {
            SplitMix64::seed_from_u64(line).fill_bytes(&mut bytes);
        }
        bytes
    }

    /// Returns what a place holds.
    pub(super) fn place(self, place: u32) -> Contents {
        let mut contents = *ZEROS;
        let (lines, _) = contents.as_chunks_mut();
        for (line, number) in lines.iter_mut().zip(u64::from(place) * LINES as u64..) {
            *line = self.line(number);
        }
        contents
    }
}
