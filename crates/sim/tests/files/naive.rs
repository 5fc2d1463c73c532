//! The simulation once more, slow and obviously right: lists of pages, and times that are added up.

use std::collections::BTreeMap;
use std::ops::Range;

use terrace_policy::readahead::{Cached, Stream, Window};
use terrace_sim::files::{Counts, FilesMachine, Organisation, Writes};

use crate::replay::{Load, Request};

/// A machine with LRU in DRAM and on flash, which admits all, or what is read a second time.
/// Writers wait.
pub struct Naive {
    machine: FilesMachine,
    second_read: bool,
    /// Pages, the one used last at the end, and whether each is newer than on the disk.
    dram: Vec<(u64, bool)>,
    flash: Vec<u64>,
    /// Pages that were read from the disk and are not on flash, and whether each was when it was
    /// known already.
    ghosts: Vec<(u64, bool)>,
    ends: [Option<u64>; 2],
    /// When the disk has read what it was asked for.
    free: u64,
    /// Pages from one file to the next, and the pages of each file by its first page.
    room: u64,
    files: BTreeMap<u64, u64>,
    streams: BTreeMap<u64, Stream>,
    /// Pages in DRAM that windows brought, when each arrives, and whether nobody had asked for it.
    brought: Vec<(u64, u64, bool)>,
    marks: Vec<u64>,
    pub counts: Counts,
    pub time: u64,
}

/// A file that begins there, above what DRAM and flash hold.
struct File {
    begin: u64,
    pages: u64,
    held: Vec<u64>,
}

impl Cached for File {
    fn pages(&self) -> u64 {
        self.pages
    }

    fn holds(&self, page: u64) -> bool {
        self.held.contains(&(self.begin + page))
    }
}

/// Everything is one file.
const DISK: u64 = 1 << 40;

/// Ends files before pages that were given back.
fn give_back(files: &mut BTreeMap<u64, u64>, gone: Range<u64>) {
    for (begin, pages) in files {
        let stays = |page: &u64| !gone.contains(&(begin + page - 1));
        *pages = (1..=*pages).rev().find(stays).unwrap_or(0);
    }
}

impl Naive {
    /// Serves all requests.
    pub fn serve_all(machine: &FilesMachine, second_read: bool, load: &Load) -> Self {
        let mut naive = Self::new(machine, second_read);
        naive.room = load.room.unwrap_or(DISK);
        // What is read and was not written before was there from the beginning.
        let mut now = BTreeMap::new();
        for step in 0..2 {
            for (at, request) in load.requests.iter().enumerate() {
                let (first, pages, write) = *request;
                let given_back = load.given_back.iter().filter(|(before, ..)| *before == at);
                let known = if step == 0 {
                    &mut now
                } else {
                    &mut naive.files
                };
                for (_, page, pages) in given_back {
                    give_back(known, *page..page + pages);
                }
                let begin = first / naive.room * naive.room;
                let end = known.entry(begin).or_default();
                let is_new = first + pages > begin + *end;
                *end = (first + pages - begin).max(*end);
                if step == 1 {
                    naive.serve(*request);
                } else if is_new && !write {
                    let initial = naive.files.entry(begin).or_default();
                    *initial = (first + pages - begin).max(*initial);
                }
            }
        }
        naive
    }

    fn new(machine: &FilesMachine, second_read: bool) -> Self {
        Self {
            machine: machine.clone(),
            second_read,
            dram: Vec::new(),
            flash: Vec::new(),
            ghosts: Vec::new(),
            ends: [None; 2],
            free: 0,
            room: DISK,
            files: BTreeMap::new(),
            streams: BTreeMap::new(),
            brought: Vec::new(),
            marks: Vec::new(),
            counts: Counts::default(),
            time: 0,
        }
    }

    fn serve(&mut self, (first, pages, write): Request) {
        self.counts.requests += 1;
        for page in first..first + pages {
            match write {
                true => self.write(page),
                false => {
                    self.read(page, first + pages);
                    self.time += self.machine.copy.0;
                }
            }
        }
        if !write {
            let begin = first / self.room * self.room;
            let stream = self.streams.entry(begin).or_default();
            stream.ended(4096 * (first + pages - begin));
        }
    }

    /// Reads a page of a request that ends there.
    fn read(&mut self, page: u64, end: u64) {
        self.counts.reads += 1;
        if let Some(at) = self.dram.iter().position(|(other, _)| *other == page) {
            let known = self.dram.remove(at);
            self.dram.push(known);
            let brought = self.take(page);
            self.follow(page, end);
            match brought {
                None => self.counts.dram_hits += 1,
                Some((arrives, ahead)) => {
                    self.counts.dram_hits += u64::from(ahead);
                    self.counts.ahead_used += u64::from(ahead);
                    self.counts.ahead_late += u64::from(ahead && arrives > self.time);
                    self.time = self.time.max(arrives);
                    self.delivered(page);
                }
            }
            return;
        }
        self.bring(page, false);
        if let Some(at) = self.flash.iter().position(|other| *other == page) {
            self.flash.remove(at);
            if self.machine.organisation != Organisation::Memory {
                self.flash.push(page);
            }
            self.counts.flash_hits += 1;
            let factor = self.machine.slow_down.read;
            self.time += (self.machine.technology.read.0 as f64 * factor).round() as u64;
            return;
        }
        if self.machine.readahead_pages == 0 {
            self.counts.disk_reads += 1;
            self.counts.disk_requests += 1;
            self.disk(page, 0);
        } else {
            let window = self.ask(page, end, Stream::missed);
            self.window(window, Some(page), page..end);
            self.follow(page, end);
        }
        self.delivered(page);
    }

    fn follow(&mut self, page: u64, end: u64) {
        if self.marks.contains(&page) {
            self.marks.retain(|other| *other != page);
            let window = self.ask(page, end, Stream::marked);
            self.window(window, None, page..end);
        }
    }

    /// Returns the window that a page of a request leads to, which ends there.
    fn ask(
        &mut self,
        page: u64,
        end: u64,
        how: impl Fn(&mut Stream, u64, u64, u64, &File) -> Window,
    ) -> Window {
        let begin = page / self.room * self.room;
        let in_dram = self.dram.iter().map(|(page, _)| *page);
        let file = File {
            begin,
            pages: self.files[&begin],
            held: in_dram.collect(),
        };
        let stream = self.streams.entry(begin).or_default();
        let most = self.machine.readahead_pages;
        let Window { pages, mark } = how(stream, page - begin, end - page, most, &file);
        Window {
            pages: begin + pages.start..begin + pages.end,
            mark: mark.map(|mark| begin + mark),
        }
    }

    /// Reads what is missing of a window, in rows; the reader waits for the row of one page.
    fn window(&mut self, window: Window, awaited: Option<u64>, asked: Range<u64>) {
        let missing = |page: &u64| {
            let in_dram = self.dram.iter().any(|(other, _)| other == page);
            awaited == Some(*page) || !(in_dram || self.flash.contains(page))
        };
        let missing: Vec<u64> = window.pages.filter(missing).collect();
        let mut rest = &missing[..];
        while let Some(&first) = rest.first() {
            let long = rest
                .iter()
                .zip(first..)
                .take_while(|(page, next)| *page == next);
            let row;
            (row, rest) = rest.split_at(long.count());
            self.counts.disk_requests += 1;
            self.counts.disk_reads += row.len() as u64;
            let now = self.time;
            row.iter().for_each(|page| self.disk(*page, 0));
            let arrives = self.time;
            if awaited != Some(first) {
                self.time = now;
            }
            for &page in row {
                if awaited != Some(page) {
                    let ahead = !asked.contains(&page);
                    self.counts.ahead += u64::from(ahead);
                    self.bring(page, false);
                    self.brought.push((page, arrives, ahead));
                }
                if window.mark == Some(page) {
                    self.marks.push(page);
                }
            }
        }
    }

    fn take(&mut self, page: u64) -> Option<(u64, bool)> {
        let at = self.brought.iter().position(|(other, ..)| *other == page)?;
        let (_, arrives, ahead) = self.brought.remove(at);
        Some((arrives, ahead))
    }

    /// Whether a page that leaves DRAM, or is written, was read ahead and never read.
    fn waste(&mut self, page: u64) -> bool {
        let Some((_, ahead)) = self.take(page) else {
            return false;
        };
        self.counts.ahead += u64::from(!ahead);
        self.counts.ahead_wasted += 1;
        true
    }

    fn delivered(&mut self, page: u64) {
        if self.machine.flash_pages > 0 {
            let again = self.forget(page);
            self.ghosts.push((page, again));
            if self.ghosts.len() > self.machine.flash_pages {
                self.ghosts.remove(0);
            }
            if self.machine.organisation == Organisation::Multilevel {
                self.offer(page);
            }
        }
    }

    fn write(&mut self, page: u64) {
        self.counts.writes += 1;
        if let Some(at) = self.flash.iter().position(|other| *other == page) {
            self.flash.remove(at);
            self.counts.stale += 1;
        }
        self.waste(page);
        if self.machine.writes == Writes::Around {
            self.marks.retain(|other| *other != page);
            self.dram.retain(|(other, _)| *other != page);
            self.time += self.machine.copy.0;
            self.counts.disk_writes += 1;
            return self.disk(page, 1);
        }
        let back = self.machine.writes == Writes::Back;
        match self.dram.iter().position(|(other, _)| *other == page) {
            Some(at) => {
                self.dram.remove(at);
                self.dram.push((page, back));
            }
            None => self.bring(page, back),
        }
        self.time += self.machine.copy.0;
        if !back {
            self.counts.disk_writes += 1;
            self.disk(page, 1);
        }
        if self.machine.organisation == Organisation::Multilevel {
            self.offer(page);
        }
    }

    fn bring(&mut self, page: u64, dirty: bool) {
        if self.dram.len() == self.machine.dram_pages {
            let (evicted, dirty) = self.dram.remove(0);
            self.marks.retain(|other| *other != evicted);
            let wasted = self.waste(evicted);
            if dirty {
                self.counts.disk_writes += 1;
                self.disk(evicted, 1);
            }
            if self.machine.organisation != Organisation::Multilevel && !wasted {
                self.offer(evicted);
            }
        }
        self.dram.push((page, dirty));
    }

    fn offer(&mut self, page: u64) {
        if self.machine.flash_pages == 0 || self.flash.contains(&page) {
            return;
        }
        if self.second_read && !self.ghosts.contains(&(page, true)) {
            self.counts.refused += 1;
            return;
        }
        self.forget(page);
        if self.flash.len() == self.machine.flash_pages {
            self.flash.remove(0);
        }
        self.flash.push(page);
        self.counts.flash_writes += 1;
        let factor = self.machine.slow_down.write;
        self.time += (self.machine.technology.write.0 as f64 * factor).round() as u64;
    }

    fn forget(&mut self, page: u64) -> bool {
        let before = self.ghosts.len();
        self.ghosts.retain(|(other, _)| *other != page);
        self.ghosts.len() < before
    }

    fn disk(&mut self, page: u64, kind: usize) {
        self.time = self.time.max(self.free);
        if self.ends[kind] != Some(page) {
            self.counts.seeks += 1;
            self.time += self.machine.disk_latency.0;
        }
        self.ends[kind] = Some(page + 1);
        self.time += (4096 * 1_000_000_000_u64).div_ceil(self.machine.disk_rate.0);
        self.free = self.time;
    }
}
