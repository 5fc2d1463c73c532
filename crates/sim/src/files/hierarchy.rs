//! One machine in virtual time: page cache, flash and disk.

use std::time::Duration;

use terrace_base::{Error, Nanos, Result};
use terrace_policy::admission;
use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

use super::count::Counts;
use super::disk::Disk;
use super::flash::Flash;
use super::outcome::Outcome;
use super::requests::Request;
use super::settings::{FilesMachine, Organisation, Writes};
use super::timeline::Timeline;

/// What is known of a page.
#[derive(Clone, Copy, Default)]
struct Known {
    /// Its place on the disk.
    place: u64,
    /// Bytes of the request that asked for it last.
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
    /// Makes an empty machine.
    ///
    /// # Errors
    /// A usage error where a part cannot be made.
    pub(super) fn new(machine: &FilesMachine) -> Result<Self> {
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
            flash: Flash::new(machine)?,
            disk: Disk::new(machine),
            pages: Vec::new(),
            now: Nanos::ZERO,
            begin: Nanos::ZERO,
            counts: Counts::default(),
            timeline: Timeline::default(),
        })
    }

    /// Serves a request.
    pub(super) fn serve(&mut self, request: &Request) {
        let begin = self.now;
        for (page, place) in request.pages.iter().zip(request.place..) {
            let known = self.know(*page);
            (known.place, known.size) = (place, request.bytes);
            match request.write {
                true => self.write(*page),
                false => self.read(*page),
            }
        }
        self.counts.requests += 1;
        self.now = self.now.max(begin + self.interval);
        match self.warmup {
            0 => self.timeline.note(self.counts(), self.now - self.begin),
            1 => self.begin_figures(),
            _ => self.warmup -= 1,
        }
    }

    fn read(&mut self, page: PageId) {
        self.counts.reads += 1;
        if self.is_held_back(page) || !self.touch(page, false) {
            self.fetch(page);
        } else {
            self.counts.dram_hits += 1;
        }
        self.now += self.copy;
    }

    /// Whether a page is read where it is, on flash: in multilevel main memory, if there is a
    /// budget of writes: its way back from DRAM would take one of them.
    fn is_held_back(&self, page: PageId) -> bool {
        let on_flash = self.flash.as_ref().filter(|flash| flash.holds(page));
        self.organisation == Organisation::Memory
            && on_flash.is_some_and(|flash| !flash.affords(&self.asked(page)))
    }

    /// Brings a page that was read from flash or from the disk.
    fn fetch(&mut self, page: PageId) {
        let request = self.asked(page);
        let on_flash = self.flash.as_mut().filter(|flash| flash.holds(page));
        if let Some(flash) = on_flash {
            self.counts.flash_hits += 1;
            self.now = flash.read(self.now, page, &request);
            if self.organisation == Organisation::Memory && flash.affords(&request) {
                flash.drop(page);
            }
            return;
        }
        self.counts.disk_reads += 1;
        self.now = self.disk.read(self.now, self.pages[page.index()].place);
        if let Some(flash) = &mut self.flash {
            flash.missed(&request);
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
        match self.writes {
            Writes::Around => self.dram.remove(page),
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
        let known = &mut self.pages[page.index()];
        if std::mem::take(&mut known.dirty) {
            self.counts.disk_writes += 1;
            self.now = self.disk.write_back(self.now, known.place);
        }
        if self.organisation != Organisation::Multilevel {
            self.offer(page);
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
            footprint: self.pages.len() as u64,
            refused: flash.map_or_else(Vec::new, |flash| flash.refused().to_vec()),
            busiest_day: flash.map(Flash::busiest_day),
            worn: flash.map(Flash::worn),
            runs: flash.and_then(Flash::runs),
            points: self.timeline.points(counts, time),
        }
    }
}
