//! Read-ahead of files against the kernel's own loop, written out slowly, and against the kernel of
//! this machine.

mod kernel;
mod machine;

use std::collections::BTreeSet;
use std::fs::File;

use kernel::Kernel;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use terrace_policy::readahead::{Cached, Stream, Window};

/// A cache of a file, page by page, that reads what the policy says.
struct Cache {
    pages: u64,
    held: BTreeSet<u64>,
    marked: BTreeSet<u64>,
}

impl Cached for Cache {
    fn pages(&self) -> u64 {
        self.pages
    }

    fn holds(&self, page: u64) -> bool {
        self.held.contains(&page)
    }
}

impl Cache {
    /// Reads bytes through a stream; returns the pages that came for it, in their order.
    fn read(&mut self, stream: &mut Stream, begin: u64, bytes: u64, most: u64) -> Vec<u64> {
        let end = (begin + bytes).min(4096 * self.pages);
        let mut came = Vec::new();
        for page in begin / 4096..end.div_ceil(4096) {
            // The kernel does not look at the end of the file for it.
            let wanted = (begin + bytes).div_ceil(4096) - page;
            if !self.held.contains(&page) {
                let window = stream.missed(page, wanted, most, self);
                self.bring(window, &mut came);
            }
            if self.marked.remove(&page) {
                let window = stream.marked(page, wanted, most, self);
                self.bring(window, &mut came);
            }
        }
        if begin < end {
            stream.ended(end);
        }
        came
    }

    fn bring(&mut self, window: Window, came: &mut Vec<u64>) {
        assert!(window.pages.end <= self.pages || window.pages.is_empty());
        for page in window.pages {
            if self.held.insert(page) {
                came.push(page);
                if window.mark == Some(page) {
                    self.marked.insert(page);
                }
            }
        }
    }

    fn evict(&mut self, page: u64) {
        self.held.remove(&page);
        self.marked.remove(&page);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Reads so many bytes, from there on where the last read ended or from a byte of the file.
    Read {
        stream: usize,
        from: Option<u64>,
        bytes: u64,
    },
    /// Evicts pages in a row.
    Evict(u64, u64),
    /// Opens the file once more.
    Open(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let begin = prop_oneof![(0..300_u64).prop_map(|page| 4096 * page), 0..1_200_000_u64];
    let from = prop_oneof![3 => Just(None), 1 => begin.prop_map(Some)];
    let bytes = prop_oneof![Just(4096), Just(16384), Just(131_072), 1..300_000_u64];
    let read = (0..2_usize, from, bytes);
    let read = read.prop_map(|(stream, from, bytes)| Step::Read {
        stream,
        from,
        bytes,
    });
    let step = prop_oneof![
        20 => read,
        3 => (0..300_u64, 1..40_u64).prop_map(|(page, pages)| Step::Evict(page, pages)),
        1 => (0..2_usize).prop_map(Step::Open),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn windows_are_the_kernels(
        steps in steps(), pages in 1..300_u64,
        most in prop_oneof![Just(32), Just(8), 1..100_u64],
    ) {
        let mut cache = Cache { pages, held: BTreeSet::new(), marked: BTreeSet::new() };
        let mut kernel = Kernel::new(pages);
        let (mut streams, mut files) = ([Stream::default(); 2], [kernel::File::new(most); 2]);
        let mut ends = [0; 2];
        for step in steps {
            match step {
                Step::Read { stream, from, bytes } => {
                    let begin = from.unwrap_or(ends[stream]);
                    let came = cache.read(&mut streams[stream], begin, bytes, most);
                    let expected = kernel.read(&mut files[stream], begin, bytes);
                    prop_assert_eq!(came, expected, "{} bytes from {}", bytes, begin);
                    ends[stream] = begin + bytes;
                }
                Step::Evict(page, pages) => {
                    for page in page..page + pages {
                        cache.evict(page);
                        kernel.evict(page);
                    }
                }
                Step::Open(stream) => {
                    streams[stream] = Stream::default();
                    files[stream] = kernel::File::new(most);
                }
            }
        }
    }
}

/// Streams, mixed streams, reads elsewhere and pages that are evicted between them, on a file
/// system whose pages have no large folios.
#[test]
#[ignore = "needs root, loop devices and Linux 6.18; run by make test-root"]
fn windows_are_those_of_this_kernel() {
    const PAGES: u64 = 300;
    for (seed, most) in [(0, 32), (1, 32), (2, 8), (3, 4), (4, 1), (5, 64)] {
        let disk = machine::Disk::with_file(PAGES, 4 * most);
        let look = machine::Look::at(&disk.file(), PAGES);
        let open = || File::open(disk.file()).unwrap();
        let mut runner = TestRunner::deterministic();
        (0..seed).for_each(|_| drop(runner.new_rng()));
        for _ in 0..20 {
            look.evict(0, PAGES);
            assert!(look.held().is_empty(), "a file that nobody else reads");
            let mut cache = Cache {
                pages: PAGES,
                held: BTreeSet::new(),
                marked: BTreeSet::new(),
            };
            let (mut streams, mut files) = ([Stream::default(); 2], [open(), open()]);
            let mut ends = [0; 2];
            let steps = steps().new_tree(&mut runner).unwrap().current();
            for (at, step) in steps.iter().enumerate() {
                match *step {
                    Step::Read {
                        stream,
                        from,
                        bytes,
                    } => {
                        let begin = from.unwrap_or(ends[stream]);
                        let came = cache.read(&mut streams[stream], begin, bytes, most);
                        machine::read(&files[stream], begin, bytes);
                        ends[stream] = begin + bytes;
                        let held = look.wait_for(&cache.held);
                        assert_eq!(held, cache.held, "{came:?} at {at} of {steps:?}");
                    }
                    Step::Evict(page, pages) => {
                        look.evict(page, pages);
                        (page..page + pages).for_each(|page| cache.evict(page));
                    }
                    Step::Open(stream) => {
                        streams[stream] = Stream::default();
                        files[stream] = open();
                    }
                }
            }
        }
    }
}
