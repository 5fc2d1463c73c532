//! The pager: what happens to a page at a fault, at an eviction, and at the end of a transfer.
//!
//! It is stepped by one thread, and waits for nothing. `faults` serves faults, `ahead` brings pages
//! in before them, `filling` fills pages before they are touched, `sampling` hears of touches of
//! pages in DRAM, `evictions` lets pages go, and `changes` follows what the program does to its
//! mappings.

mod ahead;
mod changes;
mod evictions;
mod faults;
mod filling;
mod forks;
mod sampling;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use ahead::Ahead;
use filling::Runs;
use rustc_hash::FxHashMap;
use sampling::Sampling;
use terrace_base::{Error, Result};
use terrace_policy::page::Page;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use crate::figures::{Board, Figures};
use crate::judge::Judge;
use crate::settings::Settings;
use crate::shares::Shares;
use crate::slow::{Buffer, Wait};
use crate::staging::Staging;
use crate::store::Store;
use crate::uffd::{Event, Uffd, feature};

/// Where the contents of a page are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nowhere: it is zeros.
    #[default]
    Nowhere,
    /// In DRAM, at its address.
    Resident,
    /// In DRAM, in a slot that is not its address, so that its next touch shows.
    Sampled(u32),
    /// In a slot of the staging range.
    Staged(u32),
    /// In the slow memory.
    Slow,
    /// In the slow memory, and on its way from there.
    Fetching,
    /// In the slow memory, and on its way from there before it is touched.
    Coming,
    /// Come from the slow memory, and not mapped before it is touched.
    Held,
    /// Nowhere: it could not be read. Every touch ends with SIGBUS.
    Lost,
}

/// What is known of a page that was filled ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Filled {
    /// It was not, or all is known.
    #[default]
    No,
    /// Nothing.
    Ahead,
    /// That it was touched, as the run went on behind it, but not whether it was written.
    Passed,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// The virtual page number.
    at: u64,
    state: State,
    /// Whether it was written since it came in, so that the slow memory holds something else.
    dirty: bool,
    /// Whether the slow memory holds it, as it was when it last left.
    copied: bool,
    /// Whether it is resident or sampled, and to be evicted.
    leaving: bool,
    /// Whether it is staged, and what it holds is being written.
    writing: bool,
    /// Whether it is staged, and to be written once the transfer of it that is under way has ended.
    again: bool,
    /// Whether it was mapped before it was touched, and is not known to have been touched.
    unseen: bool,
    filled: Filled,
    /// Whether it is resident or sampled for good, beyond the bound, as it could not be evicted.
    kept: bool,
}

/// A fault that is served.
#[derive(Clone, Copy, Debug)]
struct Fault {
    address: u64,
    offset: u16,
    thread: u32,
    write: bool,
    seen: Instant,
}

/// A page on its way from the slow memory.
struct Fetch {
    /// Whether a thread that waits for it writes.
    write: bool,
    seen: Instant,
    /// Whether its read began before the fault.
    foreseen: bool,
}

/// Serves faults and evicts pages.
pub(crate) struct Pager {
    uffd: Uffd,
    staging: Staging,
    ranges: crate::ranges::Ranges,
    /// By number.
    pages: Vec<Known>,
    policy: Box<dyn Replacement>,
    store: Store,
    /// What is fetched ahead, if anything is.
    ahead: Option<Ahead>,
    runs: Runs,
    /// What lies aside, if pages are sampled.
    sampling: Option<Sampling>,
    judge: Option<Judge>,
    board: Arc<Board>,
    /// Pages that the policy has evicted, and which are resident or sampled still.
    leaving: VecDeque<PageId>,
    /// Faults that wait for room in DRAM, or for the kernel.
    waiting: VecDeque<Fault>,
    fetching: FxHashMap<u32, Fetch>,
    /// Pages that were fetched, and could not be mapped while a mapping changes.
    arrived: VecDeque<(PageId, Box<Buffer>)>,
    /// Pages that could not be read, whose threads could not be told while a mapping changes.
    lost: VecDeque<PageId>,
    /// Staged pages that could not be written, nor moved back while a mapping changes.
    returning: VecDeque<PageId>,
    /// Ranges that were unmapped, and about which the kernel could not be asked while a mapping
    /// changes.
    unmapped: Vec<(u64, u64)>,
    /// Whether a change of mappings is followed, and nothing may be mapped.
    settling: bool,
    /// How many threads keep evictions from beginning.
    suspended: usize,
    /// Whether a child that is forked now has the memory.
    shared: bool,
    /// The bound of DRAM in pages.
    dram: usize,
    /// Pages in DRAM that have not left, and those on their way.
    resident: usize,
    /// Pages with contents.
    footprint: usize,
    figures: Figures,
    /// What the board has of them.
    shown: Figures,
}

/// Opens a userfaultfd that has all that a pager needs.
///
/// # Errors
/// Returns a failure that says what is missing, and what to do.
pub(crate) fn open() -> Result<Uffd> {
    let events = feature::REMAP | feature::REMOVE | feature::UNMAP;
    let needed = feature::WRITE_PROTECT | events;
    let uffd = Uffd::open(
        needed,
        feature::POISON | feature::MOVE | feature::THREAD | feature::EXACT_ADDRESS,
    )?;
    match uffd.has(feature::MOVE) {
        true => Ok(uffd),
        false => Err(Error::failure(
            "this kernel cannot move pages by userfaultfd; use Linux 6.8 or later",
        )),
    }
}

impl Pager {
    /// Makes a pager without memory, which shows its figures on a board.
    ///
    /// # Errors
    /// Returns a usage error for settings that cannot be met, and a failure if the kernel does not
    /// allow what is needed.
    pub fn new(settings: Settings, board: Arc<Board>) -> Result<Self> {
        let dram = settings.dram.pages() as usize;
        if dram < Settings::LEAST_DRAM as usize {
            return Err(Error::usage(format!(
                "a DRAM share of {} pages is too small; give it {} pages or more",
                dram,
                Settings::LEAST_DRAM
            )));
        }
        if let Some(share) = settings.references {
            Settings::check_references(share)?;
        }
        let shares = Shares::of(dram);
        let uffd = open()?;
        let policy = settings.replacement.policy(shares.policy, 0, None);
        let judge = match settings.judge {
            true => Some(Judge::start(Arc::clone(&board))?),
            false => None,
        };
        Ok(Self {
            uffd,
            staging: Staging::new(shares.staging)?,
            ranges: crate::ranges::Ranges::default(),
            pages: Vec::new(),
            ahead: Ahead::new(settings.prefetch.as_ref(), dram)?,
            runs: Runs::default(),
            sampling: Sampling::new(settings.references, shares.policy)?,
            policy: policy.map_err(Error::usage)?,
            store: Store::new(
                settings.slow,
                settings.write.scheme().map_err(Error::usage)?,
            ),
            judge,
            board,
            leaving: VecDeque::new(),
            waiting: VecDeque::new(),
            fetching: FxHashMap::default(),
            arrived: VecDeque::new(),
            lost: VecDeque::new(),
            returning: VecDeque::new(),
            unmapped: Vec::new(),
            settling: false,
            suspended: 0,
            shared: false,
            dram,
            resident: 0,
            footprint: 0,
            figures: Figures {
                dram: dram as u64,
                ..Figures::default()
            },
            shown: Figures::default(),
        })
    }

    /// Returns the userfaultfd, which can be read when there is an event.
    pub fn uffd(&self) -> &Uffd {
        &self.uffd
    }

    /// Returns what may be done until another transfer ends.
    pub fn wait(&self) -> Wait {
        match self.later() + self.waiting.len() {
            0 => self.store.wait(),
            // A mapping changes, or pages are written to make room: soon there is something to do.
            _ => Wait::Until(Instant::now()),
        }
    }

    /// Returns how much waits for a mapping to have changed.
    fn later(&self) -> usize {
        self.arrived.len() + self.lost.len() + self.returning.len() + self.unmapped.len()
    }

    /// Takes all events that wait, those that change mappings before faults, and returns whether
    /// there were any.
    pub fn take_events(&mut self, events: &mut Vec<Event>) -> std::io::Result<bool> {
        self.follow_changes(events)?;
        for (fault, protected) in forks::faults(events) {
            match protected {
                true => self.first_write(fault),
                false => self.missing(fault),
            }
        }
        Ok(!events.is_empty())
    }

    /// Takes all events that wait, and follows those that change mappings.
    fn follow_changes(&mut self, events: &mut Vec<Event>) -> std::io::Result<()> {
        events.clear();
        loop {
            let before = events.len();
            self.uffd.events(events)?;
            if events.len() == before {
                break;
            }
        }
        for event in events.iter() {
            self.change(event);
        }
        // The place may have been taken by a mapping that has moved away again: that has to be
        // known by now.
        for (start, end) in std::mem::take(&mut self.unmapped) {
            self.unmapped(Page::of(start), Page::of(end));
        }
        Ok(())
    }

    /// Goes on with what was begun, and returns whether anything happened.
    pub fn step(&mut self) -> bool {
        let mut happened = self.end_transfers();
        self.retry();
        let shares = Shares::of(self.dram);
        if self.leaving.len() >= shares.leaving || !self.waiting.is_empty() {
            self.stage();
        }
        self.write_staged(shares.staging / 2);
        for _ in 0..self.waiting.len() {
            if let Some(fault) = self.waiting.pop_front() {
                happened = true;
                self.missing(fault);
            }
        }
        happened |= self.sample();
        self.prefetch();
        happened
    }

    /// Does what could not be done while a mapping changed.
    fn retry(&mut self) {
        for _ in 0..self.arrived.len() {
            if let Some((page, buffer)) = self.arrived.pop_front() {
                self.arrive(page, buffer);
            }
        }
        for _ in 0..self.lost.len() {
            if let Some(page) = self.lost.pop_front() {
                self.lose(page);
            }
        }
        for _ in 0..self.returning.len() {
            if let Some(page) = self.returning.pop_front() {
                self.bring_back(page);
            }
        }
    }

    /// Shows the figures on the board.
    pub fn show(&mut self) {
        let wear = self.store.wear();
        self.figures.most_written_line = wear.most().into();
        self.figures.places = wear.places() as u64;
        self.figures.written = self.store.written().into();
        let story = self.story();
        self.figures.prefetched = story.issued;
        self.figures.prefetched_used = story.used;
        self.figures.prefetched_late = story.late;
        self.figures.prefetched_wasted = story.wasted;
        self.board.add_figures(&mut self.shown, &self.figures);
    }

    /// Waits until all evictions so far have been judged.
    pub fn finish(&self) {
        if let Some(judge) = &self.judge {
            judge.finish();
        }
    }

    /// Keeps evictions from beginning, until [`Pager::resume`] is called as often as this.
    pub fn suspend(&mut self) {
        self.suspended += 1;
    }

    /// See [`Pager::suspend`].
    pub fn resume(&mut self) {
        self.suspended -= 1;
    }

    fn page(&mut self, page: PageId) -> &mut Known {
        &mut self.pages[page.index()]
    }

    fn address(&self, page: PageId) -> u64 {
        Page(self.pages[page.index()].at).start()
    }

    /// Returns the pages in DRAM.
    fn in_dram(&self) -> usize {
        self.resident + self.staging.held()
    }

    /// Tells the policy of a touch; the page that it evicts leaves.
    fn touch(&mut self, page: PageId, write: bool) {
        let touch = Touch { page, write };
        if let Answer::Miss {
            evicted: Some(evicted),
        } = self.policy.touch(touch)
        {
            self.leave(evicted);
        }
    }

    /// Has a page leave DRAM as soon as it has come.
    fn leave(&mut self, page: PageId) {
        self.page(page).leaving = true;
        match self.page(page).state {
            State::Resident | State::Sampled(_) => self.leaving.push_back(page),
            State::Held => self.let_go(page),
            _ => {}
        }
    }

    /// A page is in DRAM at its address.
    fn came(&mut self, page: PageId, dirty: bool) {
        let known = self.page(page);
        known.state = State::Resident;
        known.dirty = dirty;
        match known.leaving {
            true => self.leaving.push_back(page),
            false => self.arrived(page),
        }
        self.figures.peak_dram = self.figures.peak_dram.max(self.in_dram() as u64);
    }

    /// A page without contents gets some.
    fn grow(&mut self) {
        self.footprint += 1;
        self.figures.peak_footprint = self.figures.peak_footprint.max(self.footprint as u64);
    }
}
