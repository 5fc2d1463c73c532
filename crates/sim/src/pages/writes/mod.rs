//! What write schemes write of real page contents, and how that wears the slow memory out.
//!
//! The machine tells of each touch, with what it changed in the page ([`Writes::touch`]), and of
//! each page that leaves DRAM ([`Writes::leave`]), or is written and stays
//! ([`Writes::write_back`]). Each scheme of [`terrace_policy::write`] is then asked what it writes
//! at the place that the page goes to; so all schemes see the same evictions, in one pass. The
//! machine itself takes the time of writing whole pages, whatever the schemes save.
//!
//! - [`contents`]: what pages hold in DRAM;
//! - [`placement`]: the place of a page in the slow memory: its own (`pin`), or the one that was
//!   free for longest;
//! - [`account`]: the counts of a scheme, and its wear under each levelling
//!   ([`terrace_device::Wear`]), which moves lines below the places. A movement programs what the
//!   device programs: all cells, or those that change if the scheme compares cells.
//!
//! What lies where nothing was written yet is a setting ([`Unwritten`]). Memory is bounded:
//! contents are kept once for DRAM and for all schemes that leave pages as they are, until a page
//! changes; schemes that look at nothing but the page keep none.

mod account;
mod contents;
mod outcome;
mod placement;

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Bytes, Error, Result};
use terrace_device::Wear;
use terrace_policy::replacement::PageId;
use terrace_policy::write::{self, Depends, LINES, Place, Scheme};
use terrace_trace::changes::Change;

use self::account::Account;
use self::contents::Pages;
use self::placement::Placement;
use super::levelling::{self, Make, Plan};

pub(super) use account::lines;
pub use contents::Unwritten;
pub use outcome::{Rank, SchemeOutcome};

/// The write schemes that a machine is asked about.
#[derive(Clone, Debug, Default)]
pub struct Writing {
    /// The schemes.
    pub schemes: Vec<write::Spec>,
    /// The wear levellings; each is simulated for each scheme.
    pub levellings: Vec<levelling::Spec>,
    /// Pages of the slow memory; more pages than that are not told apart.
    pub pages: u64,
    /// What the slow memory holds at first.
    pub unwritten: Unwritten,
}

impl Writing {
    /// Returns whether contents of pages are needed.
    pub fn is_asked(&self) -> bool {
        !self.schemes.is_empty()
    }

    /// Returns the most memory that the wear of the slow memory takes.
    ///
    /// # Errors
    /// A usage error if a setting has a wrong value.
    pub(super) fn memory_of_wear(&self) -> Result<Bytes> {
        self.wear_memory(self.pages).map(Bytes)
    }

    /// Returns the most memory that wear and contents take, beside DRAM of so many pages.
    ///
    /// # Errors
    /// A usage error if a setting has a wrong value.
    pub(super) fn memory_of_contents(&self, dram_pages: usize) -> Result<Bytes> {
        let mut pages = self.pages + self.pages.min(dram_pages as u64);
        let mut bytes = 0_u64;
        for scheme in self.schemes()? {
            let places = Placement::places(scheme.pinned, self.pages);
            let own = scheme.coder.depends() != Depends::OnPage && !scheme.coder.is_plain();
            pages += if own { places } else { places - self.pages };
            bytes = bytes.saturating_add(self.wear_memory(places)?);
        }
        Ok(Bytes(
            bytes.saturating_add(pages.saturating_mul(PAGE_BYTES)),
        ))
    }

    /// Returns the bytes that the wear of this number of places takes under all levellings, whose
    /// results are calculated one after the other.
    fn wear_memory(&self, places: u64) -> Result<u64> {
        let lines = places.saturating_mul(LINES as u64);
        let (mut bytes, mut calculating) = (0_u64, 0);
        for spec in &self.levellings {
            let Plan { levelling, .. } = Make::of(spec).map_err(Error::usage)?;
            bytes = bytes.saturating_add(Wear::memory(levelling, lines).0);
            calculating = Wear::calculating(levelling, lines).0.max(calculating);
        }
        Ok(bytes.saturating_add(calculating))
    }

    fn schemes(&self) -> Result<Vec<Scheme>> {
        let schemes = self.schemes.iter().map(write::Spec::scheme);
        schemes
            .collect::<std::result::Result<_, _>>()
            .map_err(Error::usage)
    }
}

/// What the write schemes of one machine have written.
pub(super) struct Writes {
    pages: Pages,
    placements: Vec<Placement>,
    accounts: Vec<Account>,
    /// Pages that left DRAM.
    left: u64,
    /// Room for a place.
    scratch: Box<Place>,
}

impl Writes {
    /// Opens the accounts of a machine with this seed; `None` if it is not asked about any scheme.
    ///
    /// # Errors
    /// A usage error if a setting has a wrong value, or the memory is too large.
    pub(super) fn new(writing: &Writing, seed: u64) -> Result<Option<Self>> {
        if !writing.is_asked() {
            return Ok(None);
        }
        let capacity = u32::try_from(writing.pages.max(1)).map_err(|_| too_large(writing.pages))?;
        let mut placements: Vec<Placement> = Vec::new();
        let mut accounts = Vec::new();
        for (spec, scheme) in writing.schemes.iter().zip(writing.schemes()?) {
            let same = |one: &Placement| {
                (one.inclusive, one.is_pinned()) == (scheme.inclusive, scheme.pinned)
            };
            let placement = placements.iter().position(same).unwrap_or_else(|| {
                placements.push(Placement::new(scheme.inclusive, scheme.pinned, capacity));
                placements.len() - 1
            });
            let places = Placement::places(scheme.pinned, capacity.into());
            if scheme.coder.is_plain() && scheme.coder.depends() != Depends::OnPage {
                let copies = &mut placements[placement].copies;
                copies.get_or_insert_with(|| vec![None; places as usize]);
            }
            accounts.push(Account::new(
                spec, scheme, placement, places, writing, seed,
            )?);
        }
        Ok(Some(Self {
            pages: Pages::default(),
            placements,
            accounts,
            left: 0,
            scratch: Box::new(Place::holding(writing.unwritten.place(0))),
        }))
    }

    /// Makes room for pages numbered below `count`.
    pub(super) fn cover(&mut self, count: usize) {
        self.pages.cover(count);
    }

    /// Changes a page as a touch of it did.
    pub(super) fn touch(&mut self, page: PageId, change: Change<'_>) {
        self.pages.change(page, change);
    }

    /// Writes a page that leaves DRAM, by each scheme. `dirty` tells whether a store has changed it
    /// since it last left, or a machine has dropped the copy that it left behind. A page that
    /// something else has changed, such as a system call, is dirty as well. A page that was never
    /// changed is zeros and needs no copy.
    pub(super) fn leave(&mut self, page: PageId, dirty: bool) {
        self.left += 1;
        self.write(page, dirty, true);
    }

    /// Writes a page that was changed and stays in DRAM, by each scheme whose tier has pages of
    /// DRAM as well.
    pub(super) fn write_back(&mut self, page: PageId) {
        self.write(page, true, false);
    }

    fn write(&mut self, page: PageId, dirty: bool, leaves: bool) {
        let dirty = self.pages.take_changed(page) || dirty;
        for (index, placement) in self.placements.iter_mut().enumerate() {
            let is_due = match placement.inclusive {
                true => dirty,
                false => leaves,
            };
            if !is_due {
                continue;
            }
            let place = placement.place(page);
            let page_contents = self.pages.contents(page);
            let copies = placement.copies.as_ref();
            let copy = copies.and_then(|copies| copies[place as usize].clone());
            let accounts = self
                .accounts
                .iter_mut()
                .filter(|account| account.placement == index);
            let mut accounts: Vec<&mut Account> = accounts.collect();
            for account in &mut accounts {
                account.write(page_contents, place, copy.as_ref(), &mut self.scratch);
            }
            if let Some(copies) = &mut placement.copies {
                copies[place as usize] = Some(self.pages.share(page));
            }
            for account in accounts {
                account.settle(placement.copies.as_deref());
            }
        }
    }

    /// Frees the places of a page that was given back. What lies there stays until another page is
    /// written to them.
    pub(super) fn discard(&mut self, page: PageId) {
        self.pages.discard(page);
        self.placements
            .iter_mut()
            .for_each(|placement| placement.discard(page));
    }

    /// Resets the counters, keeps the placement.
    pub(super) fn renew(&mut self) {
        self.left = 0;
        self.accounts.iter_mut().for_each(Account::renew);
    }
}

fn too_large(pages: u64) -> Error {
    Error::usage(format!(
        "a memory of {pages} pages is larger than one whose wear can be simulated; give a smaller ‘tier-size’"
    ))
}
