//! Takes pages of processes out of DRAM by trials, and fetches them back.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::block::swaps::active;
use terrace_base::{Bytes, Context, Result};
use terrace_policy::{PAGE_BYTES, Page, Space};

use super::chunk::Chunk;
use super::frames::Frames;
use super::heat::Heat;
use super::set::{PAGES, Set};
use crate::fetch::advice::Advisor;
use crate::fetch::touch;
use crate::tier::is_memory;
use crate::watch::pagemap::{is_anonymous, is_own_alone, place_of, private};
use crate::watch::slots::Slots;

/// Time after which a chunk is looked at again in which there was nothing to take.
const EMPTY: Duration = Duration::from_secs(10);
/// Chunks that a step looks at, at most: 2 GiB, which takes some 20 ms. The next step goes on.
const LOOKED_AT: usize = 1024;

/// A chunk: an address space, and the number of the chunk in it.
type Place = (Space, u64);

/// Pages that were passed over, as far as chunks were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Memory that several processes share.
    pub shared: Bytes,
    /// Memory that stayed when it was to leave: locked, pinned, or in use just then.
    pub stayed: Bytes,
}

/// What happened to pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Pages that left DRAM, or came back.
    pub pages: u64,
    /// Pages that a trial began for.
    pub tried: u64,
}

/// The pages of a service.
pub(super) struct Pages {
    frames: Frames,
    chunks: FxHashMap<Place, Chunk>,
    tables: FxHashMap<Space, File>,
    spaces: Vec<(Space, u64)>,
    advisor: Advisor,
    chance: Xoshiro256PlusPlus,
    /// Which swap areas are compressed memory, by type.
    compressed: Vec<bool>,
    /// How many times pages have left.
    left: u64,
}

/// The pages of a chunk, by its entries in the page table.
#[derive(Clone, Copy, Debug, Default)]
struct Entries {
    /// In memory, and of this process alone.
    own: Set,
    /// In memory, and shared.
    shared: Set,
    /// Out of the page table, with a place in the tier.
    out: Set,
    /// Those of them whose place is in compressed memory: they are not in DRAM as well.
    compressed: Set,
}

impl Pages {
    pub fn new() -> Self {
        Self {
            frames: Frames::open(),
            chunks: FxHashMap::default(),
            tables: FxHashMap::default(),
            spaces: Vec::new(),
            advisor: Advisor::default(),
            chance: Xoshiro256PlusPlus::seed_from_u64(u64::from(std::process::id())),
            compressed: Vec::new(),
            left: 0,
        }
    }

    /// Notes the processes that run, by number and start time.
    pub fn of(&mut self, processes: impl Iterator<Item = (u32, u64)>) {
        // The kernel lists areas by type.
        self.compressed = active().iter().map(|area| is_memory(&area.path)).collect();
        let spaces: Vec<_> = processes
            .map(|(pid, started)| (Space(pid), started))
            .collect();
        if spaces == self.spaces {
            return;
        }
        // A process of the same number may be another one.
        let same: FxHashSet<_> = self
            .spaces
            .iter()
            .filter(|it| spaces.contains(it))
            .map(|(space, _)| *space)
            .collect();
        self.chunks.retain(|(space, _), _| same.contains(space));
        self.tables.retain(|space, _| same.contains(space));
        self.spaces = spaces;
    }

    /// Takes about so many pages: those whose trial has ended leave DRAM, and a trial of as many
    /// others begins.
    ///
    /// # Errors
    /// A failure if the kernel refuses.
    pub fn take(&mut self, pages: u64, now: Duration) -> Result<Moved> {
        let left = self.end_trials(pages, now)?;
        let (tried, gone) = self.begin_trials(pages, now)?;
        Ok(Moved {
            pages: left + gone,
            tried,
        })
    }

    /// Fetches so many pages back, those that left last first.
    ///
    /// # Errors
    /// A failure if the kernel refuses.
    pub fn give_back(&mut self, pages: u64, now: Duration) -> Result<u64> {
        let mut away: Vec<_> = self
            .chunks
            .iter()
            .filter(|(_, chunk)| !chunk.away().is_empty())
            .map(|(place, chunk)| (chunk.left(), *place))
            .collect();
        away.sort_unstable_by(|a, b| b.cmp(a));
        let mut came = 0;
        for (_, place) in away {
            if came >= pages {
                return Ok(came);
            }
            let Some(entries) = self.read(place) else {
                self.chunks.remove(&place);
                continue;
            };
            let chunk = self.chunks.entry(place).or_default();
            chunk.observe(&entries.out, now);
            let away = chunk.away();
            came += self.fetch(place, &away, pages - came, now)?;
        }
        // What the kernel moved by itself.
        for place in self.mapped() {
            if came >= pages {
                break;
            }
            let Some(entries) = self.read(place) else {
                continue;
            };
            let on_trial = self.chunks.get(&place).map(Chunk::trial);
            let others = entries.out.without(&on_trial.unwrap_or_default());
            came += self.fetch(place, &others, pages - came, now)?;
        }
        Ok(came)
    }

    /// Returns the pages that have left DRAM, as far as is known.
    pub fn away(&self) -> u64 {
        self.chunks.values().map(|chunk| chunk.away().count()).sum()
    }

    /// Returns the pages on trial, as far as is known.
    pub fn tried(&self) -> u64 {
        self.chunks
            .values()
            .map(|chunk| chunk.trial().count())
            .sum()
    }

    /// Returns the memory that is out of page tables, and in DRAM.
    pub fn on_trial(&mut self) -> Bytes {
        let places = self.chunks.iter().filter(|(_, chunk)| chunk.is_on_trial());
        let places: Vec<_> = places
            .map(|(place, chunk)| (*place, chunk.trial()))
            .collect();
        let on_trial = places.into_iter().map(|(place, trial)| {
            let entries = self.read(place).unwrap_or_default();
            trial.and(&entries.out).without(&entries.compressed).count()
        });
        Bytes::of_pages(on_trial.sum())
    }

    /// Returns what is known of the pages, by address, in at most so many parts.
    pub fn heat(&self, most: usize) -> Heat {
        let chunks = self.chunks.iter();
        let known = chunks.map(|(place, chunk)| (*place, chunk.touched(), chunk.away().count()));
        Heat::of(known.collect(), most)
    }

    /// Returns what was passed over, as far as chunks were looked at.
    pub fn passed(&self) -> Passed {
        let sum = |of: fn(&Chunk) -> u32| {
            Bytes::of_pages(self.chunks.values().map(|it| u64::from(of(it))).sum())
        };
        Passed {
            shared: sum(|chunk| chunk.shared),
            stayed: sum(|chunk| chunk.stayed),
        }
    }

    /// Has pages leave DRAM whose trial has ended, the oldest trials first.
    fn end_trials(&mut self, pages: u64, now: Duration) -> Result<u64> {
        let due = self.chunks.iter().filter(|(_, chunk)| chunk.is_due(now));
        let mut due: Vec<_> = due.map(|(place, chunk)| (chunk.since(), *place)).collect();
        due.sort_unstable();
        let mut left = 0;
        for (_, place) in due {
            if left >= pages {
                break;
            }
            let Some(entries) = self.read(place) else {
                self.chunks.remove(&place);
                continue;
            };
            let chunk = self.chunks.entry(place).or_default();
            chunk.observe(&entries.out, now);
            let cold = chunk.trial();
            if cold.is_empty() {
                continue;
            }
            // Those that are fetched from compressed memory have left the tier with that.
            let cached = cold.without(&entries.compressed);
            touch::read(place.0, &numbers(place, &cached))
                .or_fail(|| format!("cannot read memory of process {}", place.0.0))?;
            left += self.page_out(place, &cold)?.leave(self, place, &cold);
        }
        Ok(left)
    }

    /// Begins trials of so many pages, of the coldest chunks first; returns how many there are, and
    /// how many of them have left DRAM at once.
    fn begin_trials(&mut self, pages: u64, now: Duration) -> Result<(u64, u64)> {
        let (mut tried, mut gone) = (0, 0);
        for place in self.in_order(now).into_iter().take(LOOKED_AT) {
            if tried >= pages {
                break;
            }
            let Some(entries) = self.read(place) else {
                self.chunks.remove(&place);
                continue;
            };
            let chance = &mut self.chance;
            let chunk = self.chunks.entry(place).or_default();
            chunk.seen = now;
            chunk.shared = entries.shared.count() as u32;
            chunk.observe(&entries.out, now);
            let free = chunk.candidates(&entries.own, now, |pages| shuffle(pages, chance));
            if free.is_empty() {
                chunk.again = now + EMPTY;
                continue;
            }
            let chosen: Set = free.pages().take((pages - tried) as usize).collect();
            chunk.again = now + super::chunk::TRIAL;
            let before = self.table(place).unwrap_or_default();
            let after = self.page_out(place, &chosen)?;
            let taken = chosen.and(&after.out);
            // One whose copy in the tier is still the same leaves as well, as if it were cold.
            let left = self.frames.left(&before, &taken).or(&after.compressed);
            let left = left.and(&taken);
            let chunk = self.chunks.entry(place).or_default();
            chunk.stayed = chosen.without(&after.out).count() as u32;
            chunk.try_out(&taken, now);
            tried += chosen.count();
            if !left.is_empty() {
                gone += after.leave(self, place, &left);
            }
        }
        Ok((tried, gone))
    }

    /// Returns the chunks that may be tried now: the coldest first, and of those that are equally
    /// cold the one that was seen longest ago.
    fn in_order(&self, now: Duration) -> Vec<Place> {
        let mut places: Vec<_> = self
            .mapped()
            .into_iter()
            .filter_map(|place| match self.chunks.get(&place) {
                Some(chunk) if chunk.is_on_trial() || chunk.again > now => None,
                Some(chunk) => Some((chunk.heat(), chunk.seen, place)),
                None => Some((Chunk::default().heat(), Duration::ZERO, place)),
            })
            .collect();
        places.sort_unstable();
        places.into_iter().map(|(.., place)| place).collect()
    }

    /// Returns the chunks of the private writable mappings of all processes.
    fn mapped(&self) -> Vec<Place> {
        let spaces = self.spaces.iter().map(|(space, _)| *space);
        let mut places: Vec<Place> = spaces
            .flat_map(|space| {
                let chunks = private(space)
                    .into_iter()
                    .flat_map(|range| range.start / PAGES as u64..range.end.div_ceil(PAGES as u64));
                chunks.map(move |chunk| (space, chunk))
            })
            .collect();
        places.dedup();
        places
    }

    /// Fetches at most so many of the pages; returns how many there were.
    fn fetch(&mut self, place: Place, pages: &Set, most: u64, now: Duration) -> Result<u64> {
        let pages: Set = pages.pages().take(most as usize).collect();
        if pages.is_empty() {
            return Ok(0);
        }
        let advised = self.advisor.will_need(place.0, &mut numbers(place, &pages));
        unless_gone(advised, place)?;
        let chunk = self.chunks.entry(place).or_default();
        chunk.fetch(&pages, now);
        Ok(pages.count())
    }

    /// Pages out pages, and returns the entries of their chunk afterwards.
    fn page_out(&mut self, place: Place, pages: &Set) -> Result<Entries> {
        let advised = self.advisor.page_out(place.0, &mut numbers(place, pages));
        unless_gone(advised, place)?;
        Ok(self.read(place).unwrap_or_default())
    }

    /// Returns the entries of a chunk as the kernel has them; `None` if the process has ended.
    fn table(&mut self, (space, chunk): Place) -> Option<Vec<u64>> {
        let tables = match self.tables.get(&space) {
            Some(tables) => tables,
            None => {
                let tables = File::open(format!("/proc/{}/pagemap", space.0)).ok()?;
                self.tables.entry(space).or_insert(tables)
            }
        };
        let mut bytes = [0; PAGES * 8];
        let read = tables.read_at(&mut bytes, chunk * (PAGES as u64 * 8));
        let read = read.ok().filter(|read| *read > 0);
        let Some(read) = read else {
            // The tables are those of a program that the process was before an exec.
            self.tables.remove(&space);
            return None;
        };
        let entries = bytes[..read].chunks_exact(8);
        let entries = entries.map(|entry| u64::from_ne_bytes(entry.try_into().expect("8 bytes")));
        Some(entries.collect())
    }

    /// Reads the entries of a chunk; `None` if the process has ended.
    fn read(&mut self, place: Place) -> Option<Entries> {
        let entries = self.table(place)?;
        let mut found = Entries::default();
        for (page, entry) in entries.into_iter().enumerate() {
            match place_of(entry) {
                Some(slot) => {
                    found.out.add(page);
                    let (kind, _) = Slots::parts(slot);
                    if self.compressed.get(kind as usize) == Some(&true) {
                        found.compressed.add(page);
                    }
                }
                None if is_own_alone(entry) => found.own.add(page),
                None if is_anonymous(entry) => found.shared.add(page),
                None => {}
            }
        }
        Some(found)
    }
}

impl Entries {
    /// Notes that those of the pages that are out have left DRAM, and returns their number.
    fn leave(&self, pages: &mut Pages, place: Place, leaving: &Set) -> u64 {
        let gone = leaving.and(&self.out);
        pages.left += 1;
        let left = pages.left;
        let chunk = pages.chunks.entry(place).or_default();
        chunk.leave(&gone, left);
        gone.count()
    }
}

/// Returns the numbers of pages of a chunk in their address space.
fn numbers((_, chunk): Place, pages: &Set) -> Vec<Page> {
    let first = chunk * PAGES as u64;
    pages
        .pages()
        .map(|page| Page(first + page as u64))
        .collect()
}

/// A process that has ended has no pages.
fn unless_gone(advised: io::Result<()>, (space, _): Place) -> Result<()> {
    match advised {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        other => other.or_fail(|| format!("cannot move memory of process {}", space.0)),
    }
}

/// Puts pages in an order of chance.
fn shuffle(pages: &mut [usize], chance: &mut Xoshiro256PlusPlus) {
    for at in (1..pages.len()).rev() {
        pages.swap(at, (chance.next_u64() % (at as u64 + 1)) as usize);
    }
}

/// Returns the bytes of a process that are locked (`VmLck`, mlock(2)).
pub(super) fn locked(pid: u32) -> Bytes {
    field(pid, "VmLck:")
}

/// Returns a figure of `/proc/PID/status`, which is in KiB there; 0 if there is none.
pub(super) fn field(pid: u32, name: &str) -> Bytes {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let kilobytes = lines.find_map(|line| line.strip_prefix(name)?.strip_suffix("kB"));
    let kilobytes = kilobytes.and_then(|number| number.trim().parse::<u64>().ok());
    Bytes(kilobytes.unwrap_or(0) * 1024)
}

const _: () = assert!(PAGES as u64 * PAGE_BYTES == 2 << 20, "a page table of x86");
