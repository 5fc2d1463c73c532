//! One machine in virtual time: page cache, flash and disk.

use std::time::Duration;

use terrace_base::{Error, Nanos, Result};
use terrace_policy::admission;
use terrace_policy::readahead::Window;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::ahead::{Brought, ReadAhead};
use super::count::Counts;
use super::disk::Disk;
use super::extent::Ends;
use super::flash::Flash;
use super::outcome::Outcome;
use super::requests::{Event, Request};
use super::settings::{FilesMachine, Organisation, Writes};
use super::timeline::Timeline;

/// What is known of a page.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Its place on the disk.
    place: u64,
    /// Bytes of the request that asked for it last; 0 where none did.
    size: u32,
    /// Whether the disk has an older content.
    dirty: bool,
}

/// A machine.
pub(super) struct Hierarchy {
    organisation: Organisation,
    writes: Writes,
    copy: Nanos,
    interval: Nanos,
    /// Requests until figures are taken.
    warmup: u64,
    dram: Box<dyn Replacement>,
    ahead: Option<Box<ReadAhead>>,
    flash: Option<Flash>,
    disk: Disk,
    pages: Vec<Known>,
    now: Nanos,
    /// When figures began to be taken.
    begin: Nanos,
    counts: Counts,
    timeline: Timeline,
}

impl Hierarchy {
    /// Makes an empty machine above files that end there, which matters for read-ahead alone.
    ///
    /// # Errors
    /// A usage error where a part cannot be made.
    pub(super) fn new(machine: &FilesMachine, ends: &Ends) -> Result<Self> {
        let dram = machine
            .replacement
            .policy(machine.dram_pages, machine.seed, None);
        Ok(Self {
            organisation: machine.organisation,
            writes: machine.writes,
            copy: machine.copy,
            interval: machine.interval,
            warmup: machine.warmup,
            dram: dram.map_err(Error::usage)?,
            ahead: match machine.readahead_pages {
                0 => None,
                most => Some(Box::new(ReadAhead::new(most, ends.clone()))),
            },
            flash: Flash::new(machine)?,
            disk: Disk::new(machine),
            pages: Vec::new(),
            now: Nanos::ZERO,
            begin: Nanos::ZERO,
            counts: Counts::default(),
            timeline: Timeline::default(),
        })
    }

    /// Serves what happens in a trace, which is number `trace` of all.
    ///
    /// # Errors
    /// A failure where there are more pages than can be simulated.
    pub(super) fn serve(&mut self, trace: usize, event: Event) -> Result<()> {
        match event {
            Event::Request(mut request) => self.request(&mut request),
            Event::GivenBack(layout, discard) => {
                if let Some(ahead) = &mut self.ahead {
                    ahead.give_back(trace, layout, discard);
                }
                Ok(())
            }
        }
    }

    fn request(&mut self, request: &mut Request) -> Result<()> {
        let begin = self.now;
        if let Some(ahead) = &mut self.ahead {
            ahead.begin(request);
        }
        let first = request.place(request.span.first.0);
        for (at, place) in (first..).take(request.pages.len()).enumerate() {
            let page = request.pages[at];
            let known = self.know(page);
            (known.place, known.size) = (place, request.span.bytes);
            match request.span.write {
                true => self.write(page),
                false => self.read(at, request)?,
            }
        }
        if let Some(ahead) = self.ahead.as_mut().filter(|_| !request.span.write) {
            ahead.end(request);
        }
        self.counts.requests += 1;
        self.now = self.now.max(begin + self.interval);
        match self.warmup {
            0 => self.timeline.note(self.counts(), self.now - self.begin),
            1 => self.begin_figures(),
            _ => self.warmup -= 1,
        }
        Ok(())
    }

    /// Reads the page at `at` of a request.
    fn read(&mut self, at: usize, request: &mut Request) -> Result<()> {
        let page = request.pages[at];
        self.counts.reads += 1;
        match self.is_held_back(page) || !self.touch(page, false) {
            true => self.fetch(at, request)?,
            false => self.find(at, request)?,
        }
        self.now += self.copy;
        Ok(())
    }

    /// Whether a page is read where it is, on flash: in multilevel main memory, if there is a
    /// budget of writes: its way back from DRAM would take one of them.
    fn is_held_back(&self, page: PageId) -> bool {
        let on_flash = self.flash.as_ref().filter(|flash| flash.holds(page));
        self.organisation == Organisation::Memory
            && on_flash.is_some_and(|flash| !flash.affords(&self.asked(page)))
    }

    /// Reads a page that DRAM has.
    fn find(&mut self, at: usize, request: &mut Request) -> Result<()> {
        let Some(ahead) = &mut self.ahead else {
            self.counts.dram_hits += 1;
            return Ok(());
        };
        let page = request.pages[at];
        let brought = ahead.take(page);
        self.follow(at, request)?;
        let Some(Brought { arrives, ahead }) = brought else {
            self.counts.dram_hits += 1;
            return Ok(());
        };
        if ahead {
            self.counts.dram_hits += 1;
            self.counts.ahead_used += 1;
            self.counts.ahead_late += u64::from(arrives > self.now);
        }
        self.now = self.now.max(arrives);
        let asked = self.asked(page);
        self.delivered(page, &asked);
        Ok(())
    }

    /// Brings a page that was read from flash or from the disk.
    fn fetch(&mut self, at: usize, request: &mut Request) -> Result<()> {
        let page = request.pages[at];
        let asked = self.asked(page);
        let on_flash = self.flash.as_mut().filter(|flash| flash.holds(page));
        if let Some(flash) = on_flash {
            self.counts.flash_hits += 1;
            self.now = flash.read(self.now, page, &asked);
            if self.organisation == Organisation::Memory && flash.affords(&asked) {
                flash.drop(page);
            }
            return Ok(());
        }
        match &mut self.ahead {
            None => self.now = self.read_disk(self.pages[page.index()].place, 1),
            Some(ahead) => {
                let holds = |page| self.dram.contains(page);
                let window = ahead.missed(at, request, holds);
                self.bring(&window, Some(page), request)?;
                self.follow(at, request)?;
            }
        }
        self.delivered(page, &asked);
        Ok(())
    }

    /// Reads ahead what the mark of a page leads to, if it has one.
    fn follow(&mut self, at: usize, request: &mut Request) -> Result<()> {
        let Some(ahead) = &mut self.ahead else {
            return Ok(());
        };
        let holds = |page| self.dram.contains(page);
        let window = ahead.found(at, request, holds);
        self.bring(&window, None, request)
    }

    /// Has the disk read what no level has of a window. The page that a reader waits for, which has
    /// its place in DRAM already, is part of the first row of pages.
    fn bring(
        &mut self,
        window: &Window,
        awaited: Option<PageId>,
        request: &mut Request,
    ) -> Result<()> {
        let numbers = request.numbers(window.pages.clone())?;
        let mut missing: Vec<(u64, PageId)> = window.pages.clone().zip(numbers).collect();
        missing.retain(|(_, page)| {
            awaited == Some(*page) || !holds(&*self.dram, self.flash.as_ref(), *page)
        });
        let asked = request.span.first.0..=request.span.last.0;
        for row in missing.chunk_by(|one, next| one.0 + 1 == next.0) {
            let arrives = self.read_disk(request.place(row[0].0), row.len() as u64);
            if awaited.is_some_and(|page| row[0].1 == page) {
                self.now = arrives;
            }
            for &(at, page) in row {
                self.know(page).place = request.place(at);
                if awaited != Some(page) {
                    let ahead = !asked.contains(&at);
                    self.counts.ahead += u64::from(ahead);
                    self.note_brought(page, Brought { arrives, ahead });
                }
                if window.mark == Some(at)
                    && let Some(ahead) = &mut self.ahead
                {
                    ahead.mark(page);
                }
            }
        }
        Ok(())
    }

    fn note_brought(&mut self, page: PageId, brought: Brought) {
        if let Some(evicted) = self.dram.prefetch(page) {
            self.evicted(evicted);
        }
        if let Some(ahead) = &mut self.ahead {
            ahead.bring(page, brought);
        }
    }

    /// Has the disk read pages in a row, and returns the end.
    fn read_disk(&mut self, place: u64, pages: u64) -> Nanos {
        self.counts.disk_reads += pages;
        self.counts.disk_requests += 1;
        self.disk.read(self.now, place, pages)
    }

    /// Has a page that a reader has from the disk go on to flash.
    fn delivered(&mut self, page: PageId, asked: &admission::Request) {
        if let Some(flash) = &mut self.flash {
            flash.missed(asked);
        }
        if self.organisation == Organisation::Multilevel {
            self.offer(page);
        }
    }

    /// A write covers its pages: nothing is read for it.
    fn write(&mut self, page: PageId) {
        self.counts.writes += 1;
        let stale = self.flash.as_mut().is_some_and(|flash| flash.drop(page));
        self.counts.stale += u64::from(stale);
        self.waste(page);
        match self.writes {
            Writes::Around => {
                self.dram.remove(page);
                self.unmark(page);
            }
            Writes::Back | Writes::Through => {
                self.touch(page, true);
            }
        }
        self.now += self.copy;
        match self.writes {
            Writes::Back => self.pages[page.index()].dirty = true,
            Writes::Through | Writes::Around => {
                self.counts.disk_writes += 1;
                let place = self.pages[page.index()].place;
                self.now = self.disk.write_through(self.now, place);
            }
        }
        if self.organisation == Organisation::Multilevel && self.writes != Writes::Around {
            self.offer(page);
        }
    }

    /// Touches a page in DRAM, which has it afterwards; returns whether it had it before.
    fn touch(&mut self, page: PageId, write: bool) -> bool {
        let answer = self.dram.touch(Touch { page, write });
        if let Answer::Miss {
            evicted: Some(evicted),
        } = answer
        {
            self.evicted(evicted);
        }
        answer == Answer::Hit
    }

    fn evicted(&mut self, page: PageId) {
        self.unmark(page);
        if self.waste(page) {
            return;
        }
        let known = &mut self.pages[page.index()];
        if std::mem::take(&mut known.dirty) {
            self.counts.disk_writes += 1;
            self.now = self.disk.write_back(self.now, known.place);
        }
        if self.organisation != Organisation::Multilevel {
            self.offer(page);
        }
    }

    /// Notes that a page leaves DRAM, or is written; returns whether it had been brought and not
    /// read since.
    fn waste(&mut self, page: PageId) -> bool {
        let brought = self.ahead.as_mut().and_then(|ahead| ahead.take(page));
        let Some(brought) = brought else { return false };
        // A page that its own request loses is read again, so that it was read ahead for nothing.
        self.counts.ahead += u64::from(!brought.ahead);
        self.counts.ahead_wasted += 1;
        true
    }

    fn unmark(&mut self, page: PageId) {
        if let Some(ahead) = &mut self.ahead {
            ahead.unmark(page);
        }
    }

    /// Offers a page to flash, unless it has it.
    fn offer(&mut self, page: PageId) {
        let request = self.asked(page);
        let Some(flash) = self.flash.as_mut().filter(|flash| !flash.holds(page)) else {
            return;
        };
        match flash.offer(self.now, page, &request) {
            Some(end) => {
                self.counts.flash_writes += 1;
                self.now = end;
            }
            None => self.counts.refused += 1,
        }
    }

    /// Returns what admission policies know of a page now.
    fn asked(&self, page: PageId) -> admission::Request {
        let Known { place, size, .. } = self.pages[page.index()];
        admission::Request {
            page: place,
            size: size.into(),
            time: Duration::from_nanos(self.now.0),
        }
    }

    fn know(&mut self, page: PageId) -> &mut Known {
        if self.pages.len() <= page.index() {
            self.pages.resize(page.index() + 1, Known::default());
        }
        &mut self.pages[page.index()]
    }

    fn counts(&self) -> Counts {
        Counts {
            seeks: self.disk.seeks,
            ..self.counts
        }
    }

    /// Begins to take figures: what was counted in the warm-up is forgotten.
    fn begin_figures(&mut self) {
        self.warmup = 0;
        self.begin = self.now;
        self.counts = Counts::default();
        self.disk.seeks = 0;
        if let Some(flash) = &mut self.flash {
            flash.renew();
        }
    }

    /// Returns the results.
    pub(super) fn outcome(self) -> Outcome {
        let counts = self.counts();
        let time = self.now - self.begin;
        let flash = self.flash.as_ref();
        Outcome {
            counts,
            time,
            footprint: self.pages.iter().filter(|page| page.size > 0).count() as u64,
            refused: flash.map_or_else(Vec::new, |flash| flash.refused().to_vec()),
            busiest_day: flash.map(Flash::busiest_day),
            worn: flash.map(Flash::worn),
            runs: flash.and_then(Flash::runs),
            points: self.timeline.points(counts, time),
        }
    }
}

/// Whether DRAM or flash has a page.
fn holds(dram: &dyn Replacement, flash: Option<&Flash>, page: PageId) -> bool {
    dram.contains(page) || flash.is_some_and(|flash| flash.holds(page))
}
