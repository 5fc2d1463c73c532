//! The probe of a calibration: a program that runs under a budget, touches memory in a known order
//! and reports how long that took.
//!
//! It has four times the pages that fit into its DRAM, so that it writes more than the cache of a
//! device holds, and reads without readahead, so that every touch of a missing page is one fault of
//! one page.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Context, Error, Result, median};
use terrace_policy::{PAGE_BYTES, Page, Space};

use crate::fetch::advice::Advisor;
use crate::system::memory::Mapping;

/// Measurements of a probe, in nanoseconds a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("unit" = "ns"))]
pub struct Readings {
    /// First touch of a page while there is room.
    pub first_touch: f64,
    /// First touch of a page that evicts dirty pages, with their writes as far as the program waits
    /// for them.
    pub first_touch_evicting: f64,
    /// Major fault, one page read, while there is room.
    pub fault: f64,
    /// Major fault, one page read, that evicts clean pages.
    pub fault_evicting: f64,
    /// Major fault, one page read and changed, that evicts changed pages in random order.
    pub fault_evicting_dirty: f64,
    /// Touch of a page that lies in the swap cache.
    pub cached_touch: f64,
    /// `process_madvise(MADV_WILLNEED)`, the call alone, in batches of scattered pages.
    pub advice: f64,
    /// Time from the call until a page of the batch can be touched, divided by the pages of the
    /// batch.
    pub fetch: f64,
}

/// Pages of memory for each page of DRAM.
const TIMES: usize = 4;
/// Pages of a batch of advice, as in steering.
const BATCH: usize = 64;
/// Number of batches.
const BATCHES: usize = 12;
/// Time by which a batch has arrived.
const ARRIVED: Duration = Duration::from_millis(10);

/// Measures with `dram` pages of DRAM and `TIMES` times as many of memory.
///
/// # Errors
/// A failure if the kernel refuses the memory or the advice.
pub fn measure(dram: usize) -> Result<Readings> {
    let pages = TIMES * dram;
    let mut memory = Memory::new(pages).or_fail(|| "cannot map the probe's memory".into())?;
    let mut readings = Readings::default();
    let roomy = dram / 2;
    let early: Vec<f64> = (0..roomy).map(|page| memory.fill(page)).collect();
    readings.first_touch = mean(&early[roomy / 4..]);
    let late: Vec<f64> = (roomy..pages).map(|page| memory.fill(page)).collect();
    // The first of them still had room.
    readings.first_touch_evicting = mean(&late[dram..]);

    // More pages were read than fit: from here all pages in DRAM are clean.
    for page in 0..2 * dram {
        memory.touch(page, Access::Read);
    }
    let mut order = shuffled(pages);
    let evicting = memory.faults(&mut order, dram / 2, Access::Read);
    readings.fault_evicting = mean(&evicting);

    let (given, rest) = order.split_at(order.len() / 2);
    let mut rest = rest.to_vec();
    memory
        .give_up(given)
        .or_fail(|| "cannot give pages back".into())?;
    let roomy = memory.faults(&mut rest, dram / 4, Access::Read);
    readings.fault = mean(&roomy);

    let mut advisor = Advisor::default();
    let (mut advice, mut cached, mut fetch) = (Vec::new(), Vec::new(), Vec::new());
    for batch in 0..2 * BATCHES {
        let pages = memory.absent(&mut rest, BATCH);
        let begun = Instant::now();
        memory
            .foretell(&mut advisor, &pages)
            .or_fail(|| "cannot advise on memory (MADV_WILLNEED)".into())?;
        advice.push(nanos(begun) / pages.len() as f64);
        if batch % 2 == 0 {
            std::thread::sleep(ARRIVED);
            cached.extend(pages.iter().map(|&page| memory.touch(page, Access::Read)));
        } else {
            for &page in &pages {
                memory.touch(page, Access::Read);
            }
            fetch.push(nanos(begun) / pages.len() as f64);
        }
    }
    readings.advice = median(advice);
    readings.cached_touch = median(cached);
    readings.fetch = median(fetch);

    // Until all pages in DRAM have been changed, and then as long again.
    let changing: Vec<f64> = (0..2)
        .flat_map(|_| memory.faults(&mut shuffled(pages), dram, Access::Write))
        .collect();
    readings.fault_evicting_dirty = mean(&changing[changing.len() / 2..]);
    Ok(readings)
}

/// Measures, and writes the result as one line of JSON.
///
/// # Errors
/// See [`measure`]; a failure if the line cannot be written.
pub fn tell(dram: usize, to: &mut dyn Write) -> Result<()> {
    let readings = measure(dram)?;
    serde_json::to_writer(to, &readings)
        .map_err(|error| Error::failure(format!("cannot tell the readings: {error}")))
}

/// Kind of a touch.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

/// Memory in single pages.
struct Memory {
    mapping: Mapping,
    noise: SplitMix64,
}

impl Memory {
    fn new(pages: usize) -> io::Result<Self> {
        let bytes = pages * PAGE_BYTES as usize;
        let mapping = Mapping::new(bytes, libc::MAP_PRIVATE | libc::MAP_NORESERVE)?;
        // SAFETY: advice on the mapping just made. A kernel without huge pages refuses, and has
        // none then.
        unsafe {
            libc::madvise(
                mapping.start().as_ptr().cast(),
                bytes,
                libc::MADV_NOHUGEPAGE,
            )
        };
        Ok(Self {
            mapping,
            noise: SplitMix64::seed_from_u64(1),
        })
    }

    fn at(&self, page: usize) -> *mut u64 {
        let offset = page * PAGE_BYTES as usize;
        assert!(offset < self.mapping.bytes());
        // SAFETY: the page is within the mapping.
        unsafe { self.mapping.start().as_ptr().add(offset).cast() }
    }

    /// Touches a page for the first time and returns the time it took; then fills the page with
    /// noise, so that no tier can compress it.
    fn fill(&mut self, page: usize) -> f64 {
        let at = self.at(page);
        let begun = Instant::now();
        // SAFETY: the word is in the mapping and nobody else uses it.
        unsafe { at.write_volatile(1) };
        let took = nanos(begun);
        for word in 1..PAGE_BYTES as usize / 8 {
            // SAFETY: as above; the words of a page are within it.
            unsafe { at.add(word).write(self.noise.next_u64()) };
        }
        took
    }

    /// Reads or changes a word of a page; returns the time it took.
    fn touch(&self, page: usize, access: Access) -> f64 {
        let at = self.at(page);
        let begun = Instant::now();
        // SAFETY: the word is in the mapping and nobody else uses it.
        unsafe {
            match access {
                Access::Read => {
                    at.read_volatile();
                }
                Access::Write => at.write_volatile(2),
            }
        }
        nanos(begun)
    }

    /// Takes pages from the end of `order` and touches them until `count` were major faults;
    /// returns the times of those.
    fn faults(&self, order: &mut Vec<usize>, count: usize, access: Access) -> Vec<f64> {
        let mut times = Vec::with_capacity(count);
        while times.len() < count
            && let Some(page) = order.pop()
        {
            let before = major_faults();
            let took = self.touch(page, access);
            if major_faults() > before {
                times.push(took);
            }
        }
        times
    }

    /// Takes the next `count` pages that are not in memory from the end of `order`.
    fn absent(&self, order: &mut Vec<usize>, count: usize) -> Vec<usize> {
        let mut pages = Vec::with_capacity(count);
        while pages.len() < count
            && let Some(page) = order.pop()
        {
            let mut present = 0u8;
            // SAFETY: asks for one page of the mapping, and has a byte for the answer.
            let asked = unsafe {
                libc::mincore(self.at(page).cast(), PAGE_BYTES as usize, &raw mut present)
            };
            if asked == 0 && present & 1 == 0 {
                pages.push(page);
            }
        }
        pages
    }

    fn give_up(&self, pages: &[usize]) -> io::Result<()> {
        for &page in pages {
            // SAFETY: a page of the mapping, whose content is not needed any more.
            let advised = unsafe {
                libc::madvise(
                    self.at(page).cast(),
                    PAGE_BYTES as usize,
                    libc::MADV_DONTNEED,
                )
            };
            if advised != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    fn foretell(&self, advisor: &mut Advisor, pages: &[usize]) -> io::Result<()> {
        let mut pages: Vec<Page> = pages
            .iter()
            .map(|&page| Page::of(self.at(page) as u64))
            .collect();
        advisor.will_need(Space(std::process::id()), &mut pages)
    }
}

/// Returns the major faults of this process so far.
fn major_faults() -> i64 {
    // SAFETY: an all-zero rusage is a valid value of it.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a value of ours.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    usage.ru_majflt
}

/// Returns the numbers below `count` in a random order, the same each time.
pub(crate) fn shuffled(count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut random = SplitMix64::seed_from_u64(2);
    for last in (1..count).rev() {
        order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}

fn nanos(since: Instant) -> f64 {
    since.elapsed().as_nanos() as f64
}

/// Returns the mean. Reclaim works in batches and writes sometimes wait for the device, so the cost
/// of a page includes rare large parts.
fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_touched_and_given_up() {
        let mut memory = Memory::new(8).unwrap();
        assert_eq!(memory.absent(&mut shuffled(8), 8).len(), 8);
        assert!((0..8).all(|page| memory.fill(page) > 0.0));
        assert_eq!(memory.absent(&mut shuffled(8), 8).len(), 0);
        memory.give_up(&[3, 5]).unwrap();
        let mut absent = memory.absent(&mut shuffled(8), 8);
        absent.sort_unstable();
        assert_eq!(absent, [3, 5]);
    }

    #[test]
    fn a_shuffle_keeps_every_number() {
        let mut order = shuffled(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn means() {
        assert_eq!(mean(&[1.0, 3.0]), 2.0);
        assert_eq!(mean(&[]), 0.0);
    }
}
