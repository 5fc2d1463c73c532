//! Emulated flash: contents in DRAM, slowed down (Koob 2010, «Emulated flash»).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Bytes, Nanos, lock};
use terrace_device::Timing;

use super::Medium;

/// How transfers are slowed down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slowdown {
    /// Times of a read and of a write of a page, as multiples of the time in which DRAM copies one.
    Factors(f64, f64),
    /// The latencies, the channels and the bandwidth of a technology, for each page.
    Technology(Timing),
}

/// Emulated flash.
pub struct Emulated {
    extents: Vec<RwLock<Box<[u8]>>>,
    bytes: u64,
    slowdown: Slowdown,
    /// In which DRAM copies a page.
    copy: Duration,
    began: Instant,
    channels: Mutex<Channels>,
}

/// Bytes that are locked at once.
const EXTENT: usize = 1 << 20;

/// Extents whose pages are copied to find out how long that takes.
const MEASURED: usize = 16;

/// Waits shorter than this are spun: the kernel wakes threads some 50 us late.
const SHORT: Duration = Duration::from_micros(100);

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
}

impl Emulated {
    /// Makes a flash of zeros.
    pub fn new(size: Bytes, slowdown: Slowdown) -> Self {
        let extents = size.0.div_ceil(EXTENT as u64);
        let channels = match slowdown {
            Slowdown::Factors(..) => 1,
            Slowdown::Technology(timing) => timing.channels.max(1),
        };
        let extents = (0..extents).map(|_| RwLock::new(vec![0; EXTENT].into()));
        let extents: Vec<_> = extents.collect();
        Self {
            copy: page_copy(&extents),
            extents,
            bytes: size.0,
            slowdown,
            began: Instant::now(),
            channels: Mutex::new(Channels::new(channels)),
        }
    }

    /// Copies each part of a transfer that lies in one extent, and waits for as long as the flash
    /// would take.
    fn transfer(
        &self,
        kind: Kind,
        offset: u64,
        bytes: usize,
        mut copy: impl FnMut(&RwLock<Box<[u8]>>, Range<usize>, Range<usize>),
    ) -> io::Result<()> {
        if offset + bytes as u64 > self.bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let began = Instant::now();
        let mut done = 0;
        while done < bytes {
            let at = offset as usize + done;
            let within = at % EXTENT;
            let step = (EXTENT - within).min(bytes - done);
            copy(
                &self.extents[at / EXTENT],
                within..within + step,
                done..done + step,
            );
            done += step;
        }
        pause(began + self.takes(kind, bytes as u64));
        Ok(())
    }

    /// Returns how long a transfer takes that begins now.
    fn takes(&self, kind: Kind, bytes: u64) -> Duration {
        let copy = self.copy.mul_f64(bytes as f64 / PAGE_BYTES as f64);
        match (self.slowdown, kind) {
            (Slowdown::Factors(read, _), Kind::Read) => copy.mul_f64(read),
            (Slowdown::Factors(_, write), Kind::Write) => copy.mul_f64(write),
            (Slowdown::Technology(timing), kind) => {
                let latency = match kind {
                    Kind::Read => timing.read,
                    Kind::Write => timing.write,
                };
                let now = self.began.elapsed().as_nanos() as u64;
                let mut channels = lock(&self.channels);
                let ends = (0..bytes / PAGE_BYTES)
                    .map(|_| channels.serve(now, latency, timing.transfer(PAGE_BYTES)));
                let last = ends.max().unwrap_or(now);
                Duration::from_nanos(last - now)
            }
        }
    }
}

/// Returns the median time in which a page of the first extents is copied. It is taken once: a
/// factor of the time of each copy would multiply what a page fault or another program takes as
/// well.
fn page_copy(extents: &[RwLock<Box<[u8]>>]) -> Duration {
    let mut page = [0; PAGE_BYTES as usize];
    let mut times = Vec::new();
    for extent in extents.iter().take(MEASURED) {
        let mut extent = extent.write().unwrap_or_else(PoisonError::into_inner);
        // So that the system gives it memory of its own.
        extent.fill(0);
        for from in extent.chunks_exact(page.len()) {
            let began = Instant::now();
            page.copy_from_slice(std::hint::black_box(from));
            std::hint::black_box(&page);
            times.push(began.elapsed());
        }
    }
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Channels that serve pages first come, first served, over one bus.
struct Channels {
    /// When each is free, in nanoseconds since the beginning.
    free: BinaryHeap<Reverse<u64>>,
    bus_free: u64,
}

impl Channels {
    fn new(channels: u32) -> Self {
        Self {
            free: (0..channels).map(|_| Reverse(0)).collect(),
            bus_free: 0,
        }
    }

    /// Serves a page that is asked for now, and returns when that ends.
    fn serve(&mut self, now: u64, latency: Nanos, transfer: Nanos) -> u64 {
        let free = self.free.pop().map_or(0, |channel| channel.0);
        let start = free.max(now);
        self.bus_free = self.bus_free.max(start) + transfer.0;
        let end = (start + latency.0).max(self.bus_free);
        self.free.push(Reverse(end));
        end
    }
}

fn pause(until: Instant) {
    let left = until.saturating_duration_since(Instant::now());
    if left > SHORT {
        std::thread::sleep(left - SHORT);
    }
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

impl Medium for Emulated {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.transfer(Kind::Read, offset, into.len(), |extent, within, part| {
            let extent = extent.read().unwrap_or_else(PoisonError::into_inner);
            into[part].copy_from_slice(&extent[within]);
        })
    }

    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        self.transfer(Kind::Write, offset, from.len(), |extent, within, part| {
            let mut extent = extent.write().unwrap_or_else(PoisonError::into_inner);
            extent[within].copy_from_slice(&from[part]);
        })
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_kept_across_extents() {
        let flash = Emulated::new(Bytes(3 << 20), Slowdown::Factors(1.0, 1.0));
        let pages: Vec<u8> = (0..8192).map(|i| i as u8).collect();
        flash.write((1 << 20) - 4096, &pages).unwrap();
        let mut read = vec![0; 8192];
        flash.read((1 << 20) - 4096, &mut read).unwrap();
        assert_eq!(read, pages);
        assert!(flash.write(3 << 20, &pages).is_err());
    }

    #[test]
    fn factors_are_of_the_time_of_a_page() {
        let slow = Emulated::new(Bytes(1 << 20), Slowdown::Factors(2000.0, 500.0));
        let page = slow.copy.as_secs_f64();
        assert!(page > 0.0);
        let read = slow.takes(Kind::Read, 3 * PAGE_BYTES).as_secs_f64();
        let write = slow.takes(Kind::Write, PAGE_BYTES).as_secs_f64();
        assert!((read / page / 6000.0 - 1.0).abs() < 1e-3, "{read} {page}");
        assert!((write / page / 500.0 - 1.0).abs() < 1e-3, "{write} {page}");
        let began = Instant::now();
        slow.read(0, &mut [0; 3 * PAGE_BYTES as usize]).unwrap();
        assert!(began.elapsed().as_secs_f64() >= read);
    }

    #[test]
    fn pages_wait_for_a_channel_and_the_bus() {
        let (latency, transfer) = (Nanos(100), Nanos(30));
        let mut two = Channels::new(2);
        let ends: Vec<u64> = (0..4).map(|_| two.serve(0, latency, transfer)).collect();
        assert_eq!(ends, [100, 100, 200, 200]);
        let mut many = Channels::new(8);
        let ends: Vec<u64> = (0..5).map(|_| many.serve(0, latency, transfer)).collect();
        assert_eq!(ends, [100, 100, 100, 120, 150]);
    }

    #[test]
    fn a_technology_takes_its_latency() {
        let timing = Timing {
            read: Nanos(2_000_000),
            write: Nanos(4_000_000),
            channels: 1,
            ..Timing::default()
        };
        let flash = Emulated::new(Bytes(1 << 20), Slowdown::Technology(timing));
        let began = Instant::now();
        flash.read(0, &mut [0; 8192]).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(4));
    }
}
