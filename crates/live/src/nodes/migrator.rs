//! The thread that has a policy decide on which node the pages of a program lie, and moves them.
//!
//! It drains the hint faults, looks at the page tables for pages that came and went, asks the
//! policy, and moves in batches. Looks are as rare as they are long, so that they take a tenth of a
//! processor at most.
//!
//! A page counts from when it is mapped by one process alone, as a page of that process. What a
//! child has in common with its parent goes by what the parent does, and what came to be in common
//! before it was seen stays where it lies until one of them writes or ends. Shared memory and pages
//! of files are left alone; they are on the slow node.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use rustix::time::{ClockId, clock_gettime};
use terrace_base::{Bytes, Result, lock};
use terrace_policy::migration::{Access, Migration, Move, Plan, Side};
use terrace_policy::replacement::PageId;
use terrace_policy::{Location, Page, Space};

use super::Nodes;
use super::anonymous::anonymous_pages;
use super::binding::{bound_to, draw_nothing, find_marked, move_pages};
use super::figures::Figures;
use super::numbers::Numbers;
use super::timeline::{Moment, Timeline};
use crate::group::budget::NodeCounter;
use crate::group::cgroup::processes_in;
use crate::system::clock;
use crate::system::worker::Worker;
use crate::watch::faults::FaultStream;
use crate::watch::pagemap::{is_own_alone, private};

/// Pause between two steps.
const STEP: Duration = Duration::from_millis(5);
/// How many times as long as a look its rest is, and the least rest.
const REST: u32 = 9;
const LEAST_REST: Duration = Duration::from_millis(10);
/// Pages that are moved at once: programs wait for those that they touch meanwhile.
const BATCH: usize = 256;
/// Known pages whose node a look asks for.
const CHECKED: usize = 1024;
/// Lines of a page. A hint fault shows that a page was used since the last scan, not how often:
/// each of its lines once is what is assumed where a policy counts accesses.
const LINES: u32 = 64;

/// The running thread.
pub(crate) struct Migrator {
    figures: Arc<Mutex<Figures>>,
    worker: Worker,
}

impl Migrator {
    /// Starts to move the pages of the processes in `group`, at most `dram` of them on the fast
    /// node; `placed` of these are kept for what a placement puts there. `faults` are their minor
    /// faults, if the policy looks at accesses.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(
        nodes: &Nodes,
        policy: Box<dyn Migration>,
        faults: Option<FaultStream>,
        group: PathBuf,
        counter: NodeCounter,
        dram: Bytes,
        placed: Option<Bytes>,
    ) -> Result<Self> {
        let figures = Figures {
            fast: nodes.fast,
            slow: nodes.slow,
            slower_ps: nodes.costs.line_ps,
            ..Figures::default()
        };
        let told = Arc::new(Mutex::new(figures));
        let figures = Arc::clone(&told);
        let nodes = nodes.clone();
        let worker = Worker::start("terrace-nodes", move |stop| {
            // A kernel without nodes has nothing to draw.
            let _ = draw_nothing();
            let began = clock::now();
            let mut driver = Driver {
                stop,
                policy,
                faults,
                group,
                counter,
                nodes,
                dram: dram.pages(),
                capacity: dram.pages() - placed.unwrap_or_default().pages().min(dram.pages()),
                is_placed: placed.is_some(),
                began,
                plan: Plan::default(),
                numbers: Numbers::default(),
                sides: Vec::new(),
                fast: 0,
                accessed: BTreeSet::new(),
                marked: FxHashMap::default(),
                credit: 0,
                next_look: Duration::ZERO,
                hand: 0,
                timeline: Timeline::default(),
                figures,
            };
            while !stop.load(Ordering::Relaxed) {
                driver.step();
                thread::park_timeout(STEP);
            }
            driver.finish();
        })?;
        Ok(Self {
            figures: told,
            worker,
        })
    }

    /// Ends the thread, and returns what it did.
    pub fn finish(self) -> Figures {
        drop(self.worker);
        std::mem::take(&mut *lock(&self.figures))
    }
}

struct Driver<'a> {
    stop: &'a AtomicBool,
    policy: Box<dyn Migration>,
    faults: Option<FaultStream>,
    group: PathBuf,
    counter: NodeCounter,
    nodes: Nodes,
    /// Pages that the fast node may hold, and those of them that the policy may have there.
    dram: u64,
    capacity: u64,
    /// Whether a placement puts pages on the fast node.
    is_placed: bool,
    /// The time of the start, by [`clock::now`].
    began: Duration,
    plan: Plan,
    numbers: Numbers,
    /// Where each page lies.
    sides: Vec<Side>,
    /// Pages on the fast node.
    fast: u64,
    /// Pages that were accessed since the last scan.
    accessed: BTreeSet<PageId>,
    /// When the policy named pages whose next access it wants to know of.
    marked: FxHashMap<PageId, Duration>,
    /// Accesses that were seen, and are less than one in which the policy looks at.
    credit: u32,
    next_look: Duration,
    /// The number from which on the next look finds out where pages lie.
    hand: usize,
    timeline: Timeline,
    figures: Arc<Mutex<Figures>>,
}

impl Driver<'_> {
    /// Time since the start.
    fn now(&self) -> Duration {
        clock::now().saturating_sub(self.began)
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn step(&mut self) {
        self.watch();
        if self.now() >= self.next_look {
            let began = Instant::now();
            self.look();
            self.next_look = self.now() + (began.elapsed() * REST).max(LEAST_REST);
        }
        self.consult();
        self.carry_out();
        self.keep_within();
        if self.timeline.is_due(self.now()) {
            self.note();
        }
    }

    /// Hands the accesses that were seen to the policy.
    fn watch(&mut self) {
        let Some(mut faults) = self.faults.take() else {
            return;
        };
        let mut seen = Vec::new();
        faults.drain(|time, fault| seen.push((time.saturating_sub(self.began), fault.at)));
        let known: Vec<_> = seen
            .into_iter()
            .filter_map(|(time, at)| Some((time, self.numbers.of(at)?)))
            .collect();
        for (time, page) in &known {
            self.saw(*page, *time);
        }
        let mut figures = lock(&self.figures);
        figures.seen += known.len() as u64;
        figures.unseen = faults.lost();
        drop(figures);
        self.faults = Some(faults);
    }

    /// Takes a hint fault. The kernel's samples do not tell whether it was of a write.
    fn saw(&mut self, page: PageId, time: Duration) {
        let (now, access) = (self.now(), Access::read(page));
        self.accessed.insert(page);
        if let Some(marked) = self.marked.remove(&page) {
            let waited = time.saturating_sub(marked);
            self.policy.hinted(access, waited, now, &mut self.plan);
        }
        if let Some(every) = self.policy.every() {
            self.credit += LINES;
            while self.credit >= every.get() {
                self.credit -= every.get();
                self.policy.sampled(access, now, &mut self.plan);
            }
        }
    }

    /// Looks which pages came and which are gone, and where some of the others lie.
    fn look(&mut self) {
        let running: Vec<Space> = processes_in(&self.group).into_iter().map(Space).collect();
        for space in &running {
            if self.stops() {
                return;
            }
            self.look_at(*space);
        }
        for space in self.numbers.spaces() {
            if !running.contains(&space) {
                self.all_gone(space);
            }
        }
        self.check();
        let mut figures = lock(&self.figures);
        figures.looks += 1;
        figures.known = self.numbers.len() as u64;
    }

    fn look_at(&mut self, space: Space) {
        let Ok(tables) = File::open(format!("/proc/{}/pagemap", space.0)) else {
            return self.all_gone(space);
        };
        let mut there = BTreeSet::new();
        let mut new = Vec::new();
        let placed = match self.is_placed {
            true => bound_to(space, self.nodes.fast),
            false => BTreeSet::new(),
        };
        let ranges = private(space).into_iter();
        for range in ranges.filter(|range| !placed.contains(&range.start)) {
            for (page, entry) in anonymous_pages(&tables, range) {
                match self.numbers.of(Location::new(space, page)) {
                    Some(number) => _ = there.insert(number),
                    None if is_own_alone(entry) => new.push(page),
                    None => {}
                }
            }
        }
        let known: Vec<PageId> = self.numbers.in_space(space).collect();
        for page in known.into_iter().filter(|page| !there.contains(page)) {
            self.gone(page);
        }
        for pages in new.chunks(BATCH) {
            self.came(space, pages);
        }
    }

    /// Tells the policy of new pages of a process, and has those move that lie on the other node.
    fn came(&mut self, space: Space, pages: &[Page]) {
        let addresses: Vec<u64> = pages.iter().map(|page| page.0).collect();
        let mut status = Vec::new();
        if find_marked(space, &addresses, None, &mut status).is_err() {
            return;
        }
        for (page, node) in pages.iter().zip(status) {
            let Some(lies) = self.side_of(node) else {
                continue;
            };
            let number = self.numbers.add(Location::new(space, *page));
            self.sides.resize(self.numbers.end(), Side::Slow);
            self.sides[number.index()] = lies;
            self.fast += u64::from(lies == Side::Fast);
            let to = self.policy.came(number);
            if to != lies {
                self.plan.moves.push(Move { page: number, to });
            }
        }
    }

    /// Returns the side of a node; `None` of another node, or an error.
    fn side_of(&self, node: i32) -> Option<Side> {
        match u32::try_from(node) {
            Ok(node) if node == self.nodes.fast => Some(Side::Fast),
            Ok(node) if node == self.nodes.slow => Some(Side::Slow),
            _ => None,
        }
    }

    fn gone(&mut self, page: PageId) {
        self.policy.gone(page);
        self.numbers.remove(page);
        self.accessed.remove(&page);
        self.marked.remove(&page);
        self.lies(page, Side::Slow);
    }

    fn all_gone(&mut self, space: Space) {
        let pages: Vec<PageId> = self.numbers.in_space(space).collect();
        pages.into_iter().for_each(|page| self.gone(page));
    }

    /// Notes where a page lies now.
    fn lies(&mut self, page: PageId, side: Side) {
        let before = std::mem::replace(&mut self.sides[page.index()], side);
        self.fast += u64::from(side == Side::Fast);
        self.fast -= u64::from(before == Side::Fast);
    }

    /// Finds out where some known pages lie: one that was written since a fork has come anew to the
    /// slow node.
    fn check(&mut self) {
        let end = self.numbers.end();
        let numbers = (0..end.min(CHECKED)).map(|step| PageId(((self.hand + step) % end) as u32));
        let pages: Vec<PageId> = numbers.collect();
        self.hand = (self.hand + pages.len()) % end.max(1);
        for (page, node) in self.relocate(&pages, None) {
            if let Some(side) = self
                .side_of(node)
                .filter(|side| self.sides[page.index()] != *side)
            {
                self.lies(page, side);
                self.policy.stays(page, side);
            }
        }
    }

    /// Shows the policy what was accessed, if that is due.
    fn consult(&mut self) {
        let now = self.now();
        if self.policy.next_scan().is_some_and(|due| now >= due) {
            let accessed = std::mem::take(&mut self.accessed).into_iter();
            let accessed: Vec<Access> = accessed.map(Access::read).collect();
            self.policy.scanned(&accessed, now, &mut self.plan);
        }
        for page in self.plan.hints.drain(..) {
            self.marked.insert(page, now);
        }
    }

    /// Moves pages as the policy has asked: first those that make room.
    fn carry_out(&mut self) {
        let mut targets = BTreeMap::new();
        for it in self.plan.moves.drain(..) {
            targets.insert(it.page, it.to);
        }
        targets.retain(|page, to| {
            self.numbers.location(*page).is_some() && self.sides[page.index()] != *to
        });
        if targets.is_empty() {
            return;
        }
        let to = |side| {
            let pages = targets.iter().filter(move |(_, to)| **to == side);
            pages.map(|(page, _)| *page).collect::<Vec<_>>()
        };
        self.go(&to(Side::Slow), Side::Slow);
        let promotions = to(Side::Fast);
        for pages in promotions.chunks(BATCH) {
            let room = self.capacity.saturating_sub(self.fast);
            // What a placement puts on the fast node, or a parent has left to its child there, is
            // not counted here.
            let room = room.min(self.dram.saturating_sub(self.on_fast().pages()));
            let fits = pages.len().min(room as usize);
            self.go(&pages[..fits], Side::Fast);
            pages[fits..]
                .iter()
                .for_each(|page| self.policy.stays(*page, Side::Slow));
        }
    }

    /// Moves pages to a side, and tells the policy of those that stay.
    fn go(&mut self, pages: &[PageId], to: Side) {
        let mut moved = 0;
        for (page, node) in self.relocate(pages, Some(to)) {
            if self.side_of(node) == Some(to) {
                self.lies(page, to);
                moved += 1;
                continue;
            }
            self.policy.stays(page, self.sides[page.index()]);
            lock(&self.figures).fail(-node.min(0), 1);
        }
        let mut figures = lock(&self.figures);
        match to {
            Side::Fast => figures.promoted += moved,
            Side::Slow => figures.demoted += moved,
        }
    }

    /// Moves pages to a side, or looks where they lie; returns the node of each, or a negative
    /// error.
    fn relocate(&self, pages: &[PageId], to: Option<Side>) -> Vec<(PageId, i32)> {
        let node = to.map(|side| match side {
            Side::Fast => self.nodes.fast,
            Side::Slow => self.nodes.slow,
        });
        let mut by_space: BTreeMap<u32, Vec<(PageId, u64)>> = BTreeMap::new();
        for page in pages {
            if let Some(at) = self.numbers.location(*page) {
                by_space
                    .entry(at.space.0)
                    .or_default()
                    .push((*page, at.page.0));
            }
        }
        let mut found = Vec::new();
        let mut status = Vec::new();
        for (space, pages) in by_space {
            for batch in pages.chunks(BATCH) {
                if self.stops() {
                    return found;
                }
                let addresses: Vec<u64> = batch.iter().map(|(_, address)| *address).collect();
                // To look takes no mark away, which is to show the next access.
                let relocate = match node {
                    Some(_) => find_marked,
                    None => move_pages,
                };
                if let Err(error) = relocate(Space(space), &addresses, node, &mut status) {
                    status.fill(-error.raw_os_error().unwrap_or(libc::EIO));
                }
                let numbers = batch.iter().map(|(page, _)| *page);
                found.extend(numbers.zip(status.iter().copied()));
            }
        }
        found
    }

    /// Returns what the program has on the fast node by the kernel's count.
    fn on_fast(&self) -> Bytes {
        self.counter.on(self.nodes.fast)
    }

    /// Moves pages away that are too many on the fast node, as of a program that binds its memory
    /// by itself.
    fn keep_within(&mut self) {
        let beyond = self.fast.saturating_sub(self.capacity) as usize;
        if beyond == 0 {
            return;
        }
        let known = (0..self.numbers.end() as u32).map(PageId);
        let fast = known.filter(|page| {
            self.numbers.location(*page).is_some() && self.sides[page.index()] == Side::Fast
        });
        let mut fast: Vec<PageId> = fast.collect();
        fast.sort_by_key(|page| self.accessed.contains(page));
        fast.truncate(beyond);
        self.go(&fast, Side::Slow);
        for page in fast {
            self.policy.stays(page, self.sides[page.index()]);
        }
    }

    /// Notes how much lies on each node.
    fn note(&mut self) {
        let moment = Moment {
            elapsed: self.now(),
            fast: self.on_fast(),
            slow: self.counter.on(self.nodes.slow),
        };
        self.timeline.keep(moment);
        let mut figures = lock(&self.figures);
        figures.peak_fast = figures.peak_fast.max(moment.fast);
    }

    fn finish(self) {
        let mut figures = lock(&self.figures);
        figures.timeline = self.timeline.moments().to_vec();
        let time = clock_gettime(ClockId::ThreadCPUTime);
        figures.cpu = Duration::new(time.tv_sec as u64, time.tv_nsec as u32);
    }
}
