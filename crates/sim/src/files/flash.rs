//! The flash level: which pages it holds, where, and how worn their places are.

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{LINE_CELLS, Wear, Worn};
use terrace_policy::PAGE_BYTES;
use terrace_policy::admission::{Admission, Answer, Request};
use terrace_policy::replacement::{self, PageId, Replacement, Touch};

use super::day::Days;
use super::settings::FilesMachine;
use super::station::Station;
use crate::pages::levelling;

/// A flash level.
pub(super) struct Flash {
    replacement: Box<dyn Replacement>,
    admission: Box<dyn Admission>,
    station: Station,
    read: Nanos,
    write: Nanos,
    /// Places of pages, by page.
    places: Vec<u32>,
    /// Places that are free.
    free: Vec<u32>,
    /// Places that were ever used.
    used: u32,
    /// Wear of the places, each taken as a line.
    wear: Wear,
    /// Pages in spare.
    spares: u64,
    /// Writes that a cell endures.
    endurance: Option<f64>,
    days: Days,
    /// Refused pages by policy.
    refused: Vec<(&'static str, u64)>,
}

impl Flash {
    /// Makes the flash of a machine; `None` where it has none.
    ///
    /// # Errors
    /// A usage error where a part cannot be made.
    pub(super) fn new(machine: &FilesMachine) -> Result<Option<Self>> {
        let pages = machine.flash_pages;
        if pages == 0 {
            return Ok(None);
        }
        let replacement = machine.flash_replacement.policy(pages, machine.seed, None);
        let admission = machine.chain()?.policy(&machine.known());
        let plan = levelling::Make::of(&machine.levelling).map_err(Error::usage)?;
        let technology = &machine.technology;
        let slower = |time: Nanos, factor: f64| Nanos((time.0 as f64 * factor).round() as u64);
        let write = slower(technology.write, machine.slow_down.write);
        let buffer = Nanos(write.0.saturating_mul(machine.write_buffer));
        Ok(Some(Self {
            replacement: replacement.map_err(Error::usage)?,
            admission: admission.map_err(Error::usage)?,
            station: Station::new(technology.channels, buffer),
            read: slower(technology.read, machine.slow_down.read),
            write,
            places: Vec::new(),
            free: Vec::new(),
            used: 0,
            wear: Wear::new(plan.levelling, pages as u64, machine.seed)?,
            spares: plan.spares,
            endurance: technology.endurance,
            days: Days::default(),
            refused: Vec::new(),
        }))
    }

    pub(super) fn holds(&self, page: PageId) -> bool {
        self.replacement.contains(page)
    }

    /// Whether a page may leave for DRAM: no budget bounds what it costs to write it again.
    pub(super) fn affords(&self, request: &Request) -> bool {
        self.admission.affords(request)
    }

    /// Reads a page that is there, and returns the end.
    pub(super) fn read(&mut self, now: Nanos, page: PageId, request: &Request) -> Nanos {
        self.admission.hit(request);
        self.replacement.touch(Touch { page, write: false });
        self.station.read(now, self.read)
    }

    /// Handles a read that the disk serves.
    pub(super) fn missed(&mut self, request: &Request) {
        self.admission.missed(request);
    }

    /// Offers a page that is not there. Returns when the writer goes on, `None` where the page is
    /// refused.
    pub(super) fn offer(&mut self, now: Nanos, page: PageId, request: &Request) -> Option<Nanos> {
        if let Answer::Refuse(policy) = self.admission.wants(request) {
            self.note_refused(policy);
            return None;
        }
        let touch = Touch { page, write: true };
        if let replacement::Answer::Miss {
            evicted: Some(evicted),
        } = self.replacement.touch(touch)
        {
            self.leave(evicted);
        }
        let place = self.enter(page);
        self.wear.write(place.into(), LINE_CELLS);
        self.wear.settle(|_| LINE_CELLS);
        self.days.note(now, PAGE_BYTES);
        self.admission.admitted(request);
        self.admission.wrote(PAGE_BYTES, request.time);
        Some(self.station.write(now, self.write))
    }

    /// Drops a page; returns whether it was there.
    pub(super) fn drop(&mut self, page: PageId) -> bool {
        let was_there = self.holds(page);
        // Ghosts of policies go as well: what they knew of is another page now.
        self.replacement.remove(page);
        if was_there {
            self.leave(page);
        }
        was_there
    }

    /// Forgets all counts until now.
    pub(super) fn renew(&mut self) {
        self.wear.renew();
        self.days = Days::default();
        self.refused.clear();
    }

    pub(super) fn worn(&self) -> Worn {
        self.wear.worn()
    }

    /// Returns how often this run can be repeated until flash fails.
    pub(super) fn runs(&self) -> Option<f64> {
        self.wear.runs(self.endurance?, self.spares)
    }

    pub(super) fn busiest_day(&self) -> Bytes {
        self.days.busiest()
    }

    pub(super) fn refused(&self) -> &[(&'static str, u64)] {
        &self.refused
    }

    fn note_refused(&mut self, policy: &'static str) {
        match self.refused.iter_mut().find(|(name, _)| *name == policy) {
            Some((_, pages)) => *pages += 1,
            None => self.refused.push((policy, 1)),
        }
    }

    /// Gives a page a place.
    fn enter(&mut self, page: PageId) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.used += 1;
            self.used - 1
        });
        if self.places.len() <= page.index() {
            self.places.resize(page.index() + 1, 0);
        }
        self.places[page.index()] = place;
        place
    }

    /// Frees a page's place.
    fn leave(&mut self, page: PageId) {
        self.free.push(self.places[page.index()]);
    }
}
