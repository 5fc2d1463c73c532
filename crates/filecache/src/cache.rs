//! The levels above a source: a store on flash, and in exact mode DRAM of a given size.

use std::io;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Bytes, lock};
use terrace_policy::admission::rules::Rule;
use terrace_policy::admission::{Admission, Answer, Request};

use crate::dram::Dram;
use crate::file::{Identity, Version};
use crate::page::{PAGE_SIZE, Page, zeroed};
use crate::store::{Put, Reading, Store};

/// A file of the source.
pub trait Source {
    /// Returns its version now.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn version(&self) -> io::Result<Version>;

    /// Reads from `offset` on, and returns the number of bytes, which is short at the end of the
    /// file alone.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Whether it is of this version now with nothing being changed, and every change from now on
    /// makes another one. What is read from now on, while it is of this version, is what this
    /// version holds.
    fn is_settled(&self, version: &Version) -> bool;

    /// Returns what the rules of people say of it, if it is of so many bytes.
    fn rule(&self, _bytes: u64) -> Rule {
        Rule::Policy
    }

    /// Looks out for changes of others from now on, until the answer is dropped. The answer says
    /// whether there may have been one.
    fn hold(&self) -> Hold<'_>;
}

/// Says whether nobody else can have changed a file since it was given.
pub type Hold<'a> = Box<dyn Fn() -> bool + 'a>;

/// The levels above a source.
pub struct Cache {
    store: Store,
    /// In exact mode.
    dram: Option<Dram>,
    admission: Mutex<Box<dyn Admission>>,
    /// Whether anything is put into the store.
    has_flash: bool,
    began: Instant,
    times: Times,
}

/// Bytes and nanoseconds of reads by level.
#[derive(Default)]
struct Times {
    flash: AtomicU64,
    source: AtomicU64,
    source_reads: AtomicU64,
}

/// Pages that the source was read for, which may be admitted once the reader has them.
pub struct Missed {
    reading: Reading,
    size: u64,
    first: u64,
    pages: Vec<Page>,
    /// Which of them came from the source.
    from_source: Vec<bool>,
}

impl Cache {
    /// Whether anything is put into the store.
    pub fn has_flash(&self) -> bool {
        self.has_flash
    }

    /// Makes a cache of these levels. Without flash the store holds nothing, and knows the versions
    /// of files alone.
    pub fn new(
        store: Store,
        has_flash: bool,
        dram: Option<Dram>,
        admission: Box<dyn Admission>,
    ) -> Self {
        Self {
            store,
            dram,
            admission: Mutex::new(admission),
            has_flash,
            began: Instant::now(),
            times: Times::default(),
        }
    }

    /// Returns the store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the DRAM level, in exact mode.
    pub fn dram(&self) -> Option<&Dram> {
        self.dram.as_ref()
    }

    /// Returns the mean times of a page read from flash and of a read from the source, in
    /// nanoseconds.
    pub fn latencies(&self) -> (Option<f64>, Option<f64>) {
        let mean = |total: &AtomicU64, count: u64| {
            (count > 0).then(|| total.load(Ordering::Relaxed) as f64 / count as f64)
        };
        let source = self.times.source_reads.load(Ordering::Relaxed);
        (
            mean(&self.times.flash, self.store.counts().hits),
            mean(&self.times.source, source),
        )
    }

    /// Reads from a file, and calls `reply` with the bytes, which are short at its end alone, and
    /// the version that they are of for certain, if there is one. What is worth it is put into the
    /// levels.
    ///
    /// # Errors
    /// Returns the error of the source; `reply` is not called then.
    pub fn read(
        &self,
        file: Identity,
        source: &dyn Source,
        offset: u64,
        bytes: usize,
        reply: impl FnOnce(&[u8], Option<Version>),
    ) -> io::Result<()> {
        let Some(mut reading) = self.store.reading(file, || source.version())? else {
            return self.read_source(source, offset, bytes, reply);
        };
        let version = reading.version();
        reading.set_rule(source.rule(version.size));
        let end = version.size.min(offset + bytes as u64);
        if end <= offset {
            reply(&[], Some(version));
            return Ok(());
        }
        let first = offset / PAGE_BYTES;
        let mut pages = zeroed((end.div_ceil(PAGE_BYTES) - first) as usize);
        let mut found = self.find(&reading, first, &mut pages);
        // Pages of the levels were read when the file was settled.
        if found.contains(&false) && !source.is_settled(&version) {
            reading.unsettle();
        }
        for row in rows(&found) {
            let at = (first + row.start as u64) * PAGE_BYTES;
            let wanted = (version.size - at).min((row.len() * PAGE_SIZE) as u64) as usize;
            let into: &mut [u8] = bytemuck::cast_slice_mut(&mut pages[row]);
            // What a page of the store had left that did not check.
            into[wanted..].fill(0);
            if self.timed_read(source, at, &mut into[..wanted])? < wanted {
                // It has been truncated meanwhile.
                return self.read_source(source, offset, bytes, reply);
            }
        }
        found.iter_mut().for_each(|found| *found = !*found);
        let missed = Missed {
            reading,
            size: version.size,
            first,
            pages,
            from_source: found,
        };
        let all: &[u8] = bytemuck::cast_slice(&missed.pages);
        let start = (offset - first * PAGE_BYTES) as usize;
        let wanted = &all[start..start + (end - offset) as usize];
        let certain = reading.is_settled().then_some(version);
        // In exact mode the next request finds the levels as a simulation has them; otherwise the
        // reader comes first.
        match self.dram {
            Some(_) => {
                self.keep(&missed);
                reply(wanted, certain);
            }
            None => {
                reply(wanted, certain);
                self.keep(&missed);
            }
        }
        Ok(())
    }

    /// Changes bytes of a file by `act`, which the source has done when it returns.
    pub fn change<T>(
        &self,
        file: Identity,
        bytes: Range<u64>,
        source: &dyn Source,
        act: impl FnOnce() -> T,
    ) -> T {
        let pages = bytes.start / PAGE_BYTES..bytes.end.div_ceil(PAGE_BYTES);
        // Of a file that is not known nothing is kept.
        let is_known = self.store.stamp(file).is_some();
        let held = is_known.then(|| source.hold());
        self.store.change(
            file,
            pages.clone(),
            || {
                let version = source.version()?;
                let is_alone = held.as_ref().is_some_and(|held| held());
                Ok(is_alone.then_some(version))
            },
            || {
                // Pages of a file that is met from here on are forgotten with it.
                if let (Some(dram), Some(stamp)) = (&self.dram, self.store.stamp(file)) {
                    dram.drop_pages(stamp, pages);
                }
                act()
            },
        )
    }

    /// Forgets a file that is gone, whose pages are of no use in DRAM either.
    pub fn forget(&self, file: Identity) {
        let known = self.store.forget(file);
        if let (Some(dram), Some((stamp, bytes))) = (&self.dram, known) {
            dram.drop_pages(stamp, 0..bytes.div_ceil(PAGE_BYTES));
        }
    }

    /// Writes what the store has not written yet.
    pub fn flush(&self) {
        if self.has_flash {
            self.store.flush();
        }
    }

    /// Fills the pages that DRAM or flash has, and returns which ones these are.
    fn find(&self, reading: &Reading, first: u64, pages: &mut [Page]) -> Vec<bool> {
        let mut found = match &self.dram {
            Some(dram) => dram.get(reading.stamp(), first, pages),
            None => vec![false; pages.len()],
        };
        if !self.has_flash {
            return found;
        }
        for row in rows(&found) {
            let began = Instant::now();
            let start = row.start;
            let from_flash = self
                .store
                .get(reading, first + start as u64, &mut pages[row]);
            if from_flash.contains(&true) {
                add(&self.times.flash, began.elapsed());
            }
            for (at, from_flash) in (start..).zip(from_flash) {
                found[at] = from_flash;
                let request = self.request(reading, first + at as u64, 0);
                if from_flash {
                    lock(&self.admission).hit(&request);
                    if let Some(dram) = &self.dram {
                        self.settle(dram, reading, first + at as u64, &pages[at]);
                    }
                }
            }
        }
        found
    }

    /// Puts pages that came from the source into the level below the reader.
    fn keep(&self, missed: &Missed) {
        let came = missed.pages.iter().zip(&missed.from_source);
        let came = (missed.first..).zip(came).filter(|(_, (_, came))| **came);
        for (page, (contents, _)) in came {
            let request = self.request(&missed.reading, page, missed.size);
            lock(&self.admission).missed(&request);
            match &self.dram {
                Some(dram) => self.settle(dram, &missed.reading, page, contents),
                None => self.admit(&missed.reading, &request, page, contents),
            }
        }
    }

    /// Puts a page into DRAM, and what DRAM evicts for it into the store.
    fn settle(&self, dram: &Dram, reading: &Reading, page: u64, contents: &Page) {
        let evicted = dram.insert(reading, page, contents, &self.store);
        if let Some((reading, page, contents)) = evicted {
            let request = self.request(&reading, page, reading.version().size);
            self.admit(&reading, &request, page, &contents);
        }
    }

    fn admit(&self, reading: &Reading, request: &Request, page: u64, contents: &Page) {
        let is_wanted = || lock(&self.admission).wants(request) == Answer::Admit;
        let is_admitted = match reading.rule() {
            Rule::Pinned => true,
            Rule::Excluded => false,
            Rule::Policy => is_wanted(),
        };
        if !(self.has_flash && is_admitted) {
            return;
        }
        self.put(reading, request, page, contents);
    }

    /// Puts a page into the store and tells the admission so.
    pub(crate) fn put(
        &self,
        reading: &Reading,
        request: &Request,
        page: u64,
        contents: &Page,
    ) -> Put {
        let put = self.store.put(reading, page, contents);
        let mut admission = lock(&self.admission);
        if put.admitted {
            admission.admitted(request);
        }
        if put.wrote > Bytes(0) {
            admission.wrote(put.wrote.0, request.time);
        }
        put
    }

    pub(crate) fn request(&self, reading: &Reading, page: u64, size: u64) -> Request {
        Request {
            page: reading.stamp() << 32 | page,
            size,
            time: self.began.elapsed(),
        }
    }

    fn read_source(
        &self,
        source: &dyn Source,
        offset: u64,
        bytes: usize,
        reply: impl FnOnce(&[u8], Option<Version>),
    ) -> io::Result<()> {
        let mut into = vec![0; bytes];
        let read = self.timed_read(source, offset, &mut into)?;
        reply(&into[..read], None);
        Ok(())
    }

    pub(crate) fn timed_read(
        &self,
        source: &dyn Source,
        offset: u64,
        into: &mut [u8],
    ) -> io::Result<usize> {
        let began = Instant::now();
        let read = source.read(offset, into);
        add(&self.times.source, began.elapsed());
        self.times.source_reads.fetch_add(1, Ordering::Relaxed);
        read
    }
}

fn add(total: &AtomicU64, took: Duration) {
    total.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
}

/// Returns the rows of pages that were not found.
fn rows(found: &[bool]) -> Vec<Range<usize>> {
    let mut rows: Vec<Range<usize>> = Vec::new();
    for at in (0..found.len()).filter(|at| !found[*at]) {
        match rows.last_mut() {
            Some(row) if row.end == at => row.end += 1,
            _ => rows.push(at..at + 1),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use terrace_policy::admission::Chain;
    use terrace_policy::{admission, replacement};

    use super::*;
    use crate::medium::{Emulated, Slowdown};

    /// Zeros, of one page.
    struct Zeros;

    impl Source for Zeros {
        fn version(&self) -> io::Result<Version> {
            Ok(Version {
                size: PAGE_BYTES,
                ..Version::default()
            })
        }

        fn read(&self, _: u64, into: &mut [u8]) -> io::Result<usize> {
            into.fill(0);
            Ok(into.len())
        }

        fn is_settled(&self, _: &Version) -> bool {
            true
        }

        fn hold(&self) -> Hold<'_> {
            Box::new(|| true)
        }
    }

    /// Returns a cache in exact mode with so many pages in DRAM.
    fn exact(pages: u64) -> Cache {
        let medium = Emulated::new(Bytes(Store::LEAST), Slowdown::Factors(0.0, 0.0));
        let store = Store::open(Box::new(medium), None).unwrap();
        let lru = replacement::Spec::parse("lru").unwrap();
        let dram = Dram::new(Bytes::of_pages(pages), &lru).unwrap();
        let machine = admission::Machine::default();
        let admission = Chain::parse("all").unwrap().policy(&machine).unwrap();
        Cache::new(store, true, Some(dram), admission)
    }

    #[test]
    fn a_file_that_is_gone_leaves_its_place_in_dram() {
        let cache = exact(2);
        let file = |inode| Identity {
            file_system: 1,
            inode,
        };
        let read = |inode| cache.read(file(inode), &Zeros, 0, 4096, |_, _| ()).unwrap();
        [1, 2].into_iter().for_each(read);
        cache.forget(file(2));
        [3, 1].into_iter().for_each(read);
        assert_eq!(cache.dram().unwrap().counts(), (1, 3));
    }
}
