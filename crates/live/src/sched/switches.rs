//! What runs when: the switches between tasks on some CPUs, by perf.
//!
//! The kernel writes a record into the ring of a CPU at each switch
//! (`PERF_RECORD_SWITCH_CPU_WIDE`), some hundred nanoseconds of its time. It needs no tracefs, and
//! tells of switches to all tasks, ours or not.

use std::time::Duration;

use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use crate::system::clock;
use crate::system::cpus::Cpus;

/// Bytes of the ring of a CPU: room for 5000 switches, more than a second of them.
const RING_BYTES: usize = 256 * 1024;
/// The type of the records, and the mark of those about the task that leaves (linux/perf_event.h).
const SWITCH_CPU_WIDE: u32 = 15;
const OUT: u16 = 1 << 13;

/// A switch to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Switch {
    /// Time, by [`clock::now`].
    pub at: Duration,
    /// The CPU.
    pub cpu: usize,
    /// The thread that begins to run; 0 if none wants to.
    pub to: u32,
}

/// The stream of switches.
pub(crate) struct Switches {
    rings: Vec<(usize, Sampler)>,
}

impl Switches {
    /// Opens the stream of these CPUs; `None` if the kernel does not let this process have it.
    pub fn open(cpus: &Cpus) -> Option<Self> {
        let ring = |cpu| Some((cpu, ring(cpu)?));
        let rings = cpus.iter().map(ring).collect::<Option<Vec<_>>>()?;
        Some(Self { rings })
    }

    /// Returns the switches since the last call, in the order of time for each CPU.
    pub fn drain(&mut self) -> Vec<Switch> {
        let mut all = Vec::new();
        for (cpu, ring) in &mut self.rings {
            while let Some(record) = ring.next_record() {
                if record.ty() == SWITCH_CPU_WIDE && record.misc() & OUT == 0 {
                    all.extend(parse(&record.to_contiguous(), *cpu));
                }
            }
        }
        all
    }
}

/// Parses the body of a record: the other task's process and thread, then this one's, and the time.
fn parse(body: &[u8], cpu: usize) -> Option<Switch> {
    let (_others, own) = body.split_at_checked(8)?;
    let (_process, own) = own.split_at_checked(4)?;
    let (thread, own) = own.split_at_checked(4)?;
    let (time, _) = own.split_at_checked(8)?;
    Some(Switch {
        at: Duration::from_nanos(u64::from_ne_bytes(time.try_into().ok()?)),
        cpu,
        to: u32::from_ne_bytes(thread.try_into().ok()?),
    })
}

fn ring(cpu: usize) -> Option<Sampler> {
    let built = Builder::new(Software::DUMMY)
        .context_switch(true)
        .sample_id_all(true)
        .clockid(Clock::new(clock::KERNEL_ID))
        .sample(SampleFlag::TID | SampleFlag::TIME)
        .include_kernel()
        .any_pid()
        .one_cpu(cpu)
        .wakeup_watermark(RING_BYTES / 2)
        .build();
    let mut sampler = built.ok()?.sampled(RING_BYTES).ok()?;
    sampler.enable().ok()?;
    Some(sampler)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_of_a_record() {
        let numbers = [1u32, 2, 3, 4].map(u32::to_ne_bytes).concat();
        let body = [numbers, 5_000u64.to_ne_bytes().to_vec()].concat();
        let switch = Switch {
            at: Duration::from_micros(5),
            cpu: 7,
            to: 4,
        };
        assert_eq!(parse(&body, 7), Some(switch));
        assert_eq!(parse(&body[..23], 7), None);
        assert_eq!(parse(&[], 7), None);
    }
}
