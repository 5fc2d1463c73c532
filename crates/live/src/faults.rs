//! The fault stream of a whole cgroup, read without a wake-up a fault.
//!
//! One perf ring a CPU, filtered by cgroup, so that every process is seen, forks included.
//! The event is the *major* fault: first-touch faults, and touches of pages that were fetched
//! ahead, then cost the program nothing more than without us (a sample costs it about 0.6 us,
//! a first touch in all 1.5 us). What a major-fault stream cannot show, the first use of
//! fetched pages, is read from the page table instead ([`crate::pagemap`]).

use std::fs::File;
use std::path::Path;

use perf_event::data::Record;
use perf_event::events::Software;
use perf_event::{Builder, SampleFlag, Sampler};
use terrace_policy::{Fault, Location, PAGE_BYTES, Page, Space, Thread};

use terrace_base::{Context, Error, Result};

/// Bytes of one CPU's ring: room for 6500 samples, a tenth of a second of the densest faulting.
const RING_BYTES: usize = 256 * 1024;

/// The major faults of a cgroup.
pub struct FaultStream {
    rings: Vec<Sampler>,
    lost: u64,
}

impl FaultStream {
    /// Opens the stream of the cgroup at `directory` (of the hierarchy that has `perf_event`).
    ///
    /// # Errors
    /// A failure where the kernel has no such events or the privilege is missing.
    pub fn open(directory: &Path) -> Result<Self> {
        let cgroup = File::open(directory)
            .or_fail(|| format!("cannot open the cgroup {}", directory.display()))?;
        let rings = online_cpus()?
            .into_iter()
            .map(|cpu| ring(&cgroup, cpu))
            .collect::<std::io::Result<_>>()
            .map_err(|e| {
                Error::failure(format!(
                    "cannot watch page faults through perf events: {e}; \
                     run as root or with CAP_PERFMON, or use --prefetch off"
                ))
            })?;
        Ok(Self { rings, lost: 0 })
    }

    /// Delivers what has happened since the last call, per CPU in the order in which it
    /// happened; returns how many faults that were.
    pub fn drain(&mut self, mut deliver: impl FnMut(Fault)) -> usize {
        let mut count = 0;
        for ring in &mut self.rings {
            while let Some(record) = ring.next_record() {
                match record.parse_record() {
                    Ok(Record::Sample(sample)) => {
                        if let Some(fault) = fault_of(&sample) {
                            count += 1;
                            deliver(fault);
                        }
                    }
                    Ok(Record::Lost(lost)) => self.lost += lost.lost,
                    _ => {}
                }
            }
        }
        count
    }

    /// Watches, or does not: then nothing is seen, and the program's faults cost what they do without
    /// us. A stream of a cgroup that is open seems to cost some 4 us a fault: 62,000 faults of a
    /// random walk took 0.25 s more, in single series; perhaps at the switches between tasks.
    pub fn watch(&mut self, on: bool) {
        for ring in &mut self.rings {
            // What cannot be switched goes on as it is.
            let _ = if on { ring.enable() } else { ring.disable() };
        }
    }

    /// Faults that found the ring full.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

fn ring(cgroup: &File, cpu: usize) -> std::io::Result<Sampler> {
    Builder::new(Software::PAGE_FAULTS_MAJ)
        .sample_period(1)
        .sample(SampleFlag::TID | SampleFlag::ADDR)
        .include_kernel()
        .observe_cgroup(cgroup)
        .one_cpu(cpu)
        .wakeup_watermark(RING_BYTES / 2)
        .build()?
        .sampled(RING_BYTES)
        .map(|mut sampler| sampler.enable().map(|()| sampler))?
}

fn fault_of(sample: &perf_event::data::Sample) -> Option<Fault> {
    let address = sample.addr()?;
    Some(Fault {
        thread: Thread(sample.tid()?),
        at: Location::new(Space(sample.pid()?), Page(address / PAGE_BYTES)),
        offset: (address % PAGE_BYTES) as u16,
    })
}

/// The CPUs that run now, from the kernel's list (`0-3,6`).
fn online_cpus() -> Result<Vec<usize>> {
    let path = "/sys/devices/system/cpu/online";
    let text = std::fs::read_to_string(path).or_fail(|| format!("cannot read {path}"))?;
    parse_cpus(text.trim()).ok_or_else(|| Error::failure(format!("{path} reads `{text}`")))
}

fn parse_cpus(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists() {
        assert_eq!(parse_cpus("0"), Some(vec![0]));
        assert_eq!(parse_cpus("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(parse_cpus(""), None);
    }
}
