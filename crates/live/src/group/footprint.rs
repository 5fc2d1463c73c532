//! The footprint of a program: the peak of its memory in DRAM and tier together.
//!
//! The kernel keeps the peak of all memory charged to a group: memory, swapped memory, the page
//! cache of files that the program reads, and kernel memory, mostly page tables. Files and kernel
//! memory are no part of a footprint, and have no peak at the same moment; they are read whenever
//! the peak has grown, and subtracted from it.
//!
//! Version 1 has one peak of memory and swap together (`memory.memsw.max_usage_in_bytes`). Version
//! 2 has a peak of each (`memory.peak` since Linux 5.19, `memory.swap.peak` since 6.5), which may
//! be those of two moments; pages that are in both are subtracted as well. Without a peak the
//! footprint is the largest sample, which misses memory that comes and goes between two samples.

use terrace_base::Bytes;

/// Memory charged to a group: the peak so far, and its present parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charges {
    /// The kernel's peak of memory and swap; `None` if it keeps none.
    pub peak: Option<Bytes>,
    /// Anonymous and shared memory, in DRAM and tier together.
    pub own: Bytes,
    /// The page cache of files.
    pub files: Bytes,
    /// Kernel memory.
    pub kernel: Bytes,
    /// Pages in DRAM and tier, which are charged twice.
    pub twice: Bytes,
}

/// Footprint so far, from samples while the program runs and one after its end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Footprint {
    /// Largest sample.
    sampled: Bytes,
    /// The kernel's peak at the last sample.
    peak: Option<Bytes>,
    /// The peak less files and kernel memory at the sample that found it grown.
    own: Bytes,
    /// The last sample.
    last: Charges,
}

/// A footprint, and whether it was only sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Anonymous and shared memory, in DRAM and tier together.
    pub bytes: Bytes,
    /// Whether this is only the largest sample.
    pub sampled: bool,
}

impl Footprint {
    /// Adds a sample.
    pub fn look(&mut self, now: Charges) {
        self.sampled = self.sampled.max(now.own);
        if now.peak > self.peak {
            self.peak = now.peak;
            let peak = now.peak.unwrap_or_default().0;
            let beside = now.files.0 + now.kernel.0 + now.twice.0;
            self.own = self.own.max(Bytes(peak.saturating_sub(beside)));
        }
        self.last = now;
    }

    /// Adds a sample taken after the end of the program, and returns the footprint. By then only
    /// files are left beside the program's memory; kernel memory is taken from the last sample
    /// before. (Its peak would be too much: shells that start the program have more of it for a
    /// moment, as they fork, than the program itself.)
    pub fn finish(mut self, now: Charges) -> Measured {
        self.look(Charges {
            kernel: self.last.kernel,
            twice: self.last.twice,
            ..now
        });
        Measured {
            bytes: self.sampled.max(self.own),
            sampled: self.peak.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: u64 = 2;

    fn charges(peak: u64, files: u64, own: u64) -> Charges {
        Charges {
            peak: Some(Bytes(peak)),
            files: Bytes(files),
            own: Bytes(own),
            kernel: Bytes(KERNEL),
            twice: Bytes(0),
        }
    }

    fn measured(looks: &[Charges], last: Charges) -> Measured {
        let mut footprint = Footprint::default();
        looks.iter().for_each(|&now| footprint.look(now));
        footprint.finish(last)
    }

    fn exactly(bytes: u64) -> Measured {
        Measured {
            bytes: Bytes(bytes),
            sampled: false,
        }
    }

    #[test]
    fn what_comes_and_goes_between_two_looks_is_in_the_peak() {
        let ended = Charges {
            kernel: Bytes(0),
            ..charges(130, 12, 0)
        };
        assert_eq!(measured(&[charges(32, 10, 20)], ended), exactly(116));
        assert_eq!(measured(&[], ended), exactly(118));
    }

    #[test]
    fn the_kernel_s_memory_is_that_of_when_the_peak_grew() {
        // A shell forks and becomes the program, which has grown since the last look.
        let fork = Charges {
            kernel: Bytes(20),
            ..charges(30, 0, 10)
        };
        let looks = [fork, charges(42, 0, 40)];
        let ended = Charges {
            kernel: Bytes(0),
            ..charges(102, 0, 0)
        };
        assert_eq!(measured(&looks, ended), exactly(100));
    }

    #[test]
    fn files_are_those_of_when_the_peak_grew() {
        // A file of 100 is read and removed, then 40 are allocated.
        let looks = [charges(112, 105, 5), charges(112, 5, 45)];
        assert_eq!(measured(&looks, charges(112, 5, 0)), exactly(45));
        // One is read after the program's own peak, and stays when it has ended.
        let looks = [charges(52, 10, 40), charges(122, 115, 5)];
        assert_eq!(measured(&looks, charges(122, 115, 0)), exactly(40));
    }

    #[test]
    fn what_is_charged_for_dram_and_tier_counts_once() {
        let look = Charges {
            twice: Bytes(30),
            ..charges(132, 0, 95)
        };
        assert_eq!(measured(&[look], charges(132, 0, 0)), exactly(100));
        // Between that look and the end it became no less, as far as is known.
        assert_eq!(measured(&[look], charges(142, 0, 0)), exactly(110));
    }

    #[test]
    fn without_a_peak_it_is_sampled() {
        let look = Charges {
            peak: None,
            ..charges(0, 7, 20)
        };
        let only = Measured {
            bytes: Bytes(20),
            sampled: true,
        };
        assert_eq!(
            measured(
                &[look],
                Charges {
                    own: Bytes(0),
                    ..look
                }
            ),
            only
        );
    }
}
