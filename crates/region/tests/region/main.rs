//! Regions on the kernel's userfaultfd: no byte is ever wrong.

mod alone;
mod faulty;
mod filled;
mod forks;
mod mappings;
#[path = "../common/oracle.rs"]
mod oracle;
mod sampled;
mod swapped;

use std::path::Path;

use terrace_base::Bytes;
use terrace_device::Catalogue;
use terrace_policy::{prefetch, replacement, write};
use terrace_region::slow::Slow;
use terrace_region::slow::disk::Disk;
use terrace_region::slow::emulated::Emulated;
use terrace_region::{Extension, Settings};

use faulty::{Fault, Faulty};
use oracle::exercise;

fn emulated(technology: &str) -> Box<Emulated> {
    let catalogue = Catalogue::builtin();
    let timing = catalogue.get(technology).unwrap().timing().unwrap();
    Box::new(Emulated::new(timing))
}

fn settings(dram: u64, technology: &str) -> Settings {
    Settings::new(Bytes::of_pages(dram), emulated(technology))
}

/// Four threads over a region ten times as large as DRAM.
#[test]
#[ignore = "needs root: userfaultfd"]
fn four_threads_at_a_tenth_of_dram() {
    let extension = Extension::start(settings(400, "pcm")).unwrap();
    let mut region = extension.map(Bytes::of_pages(4000)).unwrap();
    exercise(&mut region, 4, 20_000, 1);
    let figures = extension.figures();
    assert!(figures.fetches > 10_000, "{figures:?}");
    assert!(figures.evicted_dirty > 10_000, "{figures:?}");
    assert!(
        figures.returns > 0 && figures.evicted_clean > 0,
        "{figures:?}"
    );
    assert_eq!(figures.peak_footprint, 4000);
    assert!(figures.peak_dram <= 400, "{figures:?}");
    assert_eq!(figures.kept, 0, "{figures:?}");
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn with_every_write_scheme_and_every_place() {
    for entry in write::REGISTRY {
        for pin in ["on", "off"] {
            let spec = format!("{}:pin={pin}", entry.name);
            let settings = Settings {
                write: write::Spec::parse(&spec).unwrap(),
                judge: true,
                ..settings(64, "pcm")
            };
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(300)).unwrap();
            exercise(&mut region, 2, 3000, 2);
            assert!(extension.figures().pages_written > 500, "{spec}");
        }
    }
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn with_every_replacement_policy_and_the_least_dram() {
    for entry in replacement::REGISTRY
        .iter()
        .filter(|entry| !entry.knows_future())
    {
        for dram in [Settings::LEAST_DRAM, 60] {
            let settings = Settings {
                replacement: replacement::Spec::parse(entry.name).unwrap(),
                ..settings(dram, "pcm")
            };
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(200)).unwrap();
            exercise(&mut region, 4, 1500, 3);
            assert!(extension.figures().peak_dram <= dram, "{}", entry.name);
        }
    }
}

/// A pass goes on past a page that cannot be prefetched; only who touches the page is told.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_page_that_cannot_be_prefetched() {
    let memory = Faulty::new(*emulated("pcm"), Fault::ReadsOf(203));
    let settings = Settings::new(Bytes::of_pages(100), Box::new(memory));
    let extension = Extension::start(settings).unwrap();
    let mut region = extension.map(Bytes::of_pages(400)).unwrap();
    for page in 0..400 {
        region.as_mut_slice()[page * 4096] = page as u8;
    }
    for page in (0..400).filter(|page| *page != 203) {
        assert_eq!(region.as_slice()[page * 4096], page as u8);
    }
    extension.finish();
    let figures = extension.figures();
    assert!(figures.prefetched_used > 200, "{figures:?}");
    assert!(figures.prefetched_wasted > 0, "{figures:?}");
    assert_eq!(figures.read_errors, 0, "{figures:?}");
    let (_reader, mut writer) = std::io::pipe().unwrap();
    let page = &region.as_slice()[203 * 4096..][..4096];
    let error = std::io::Write::write(&mut writer, page).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(14), "{error}");
    extension.finish();
    assert_eq!(extension.figures().read_errors, 1);
}

/// Predictions may be wrong, the contents never.
#[test]
#[ignore = "needs root: userfaultfd"]
fn with_every_predictor_and_the_least_dram() {
    let entries = prefetch::REGISTRY.iter();
    let predictors: Vec<_> = entries.filter(|entry| !entry.knows_future()).collect();
    for entry in predictors {
        for dram in [Settings::LEAST_DRAM, 100] {
            for policy in ["fifo", "lru", "lfu"] {
                let settings = Settings {
                    prefetch: Some(prefetch::Spec::parse(entry.name).unwrap()),
                    replacement: replacement::Spec::parse(policy).unwrap(),
                    ..settings(dram, "pcm")
                };
                let extension = Extension::start(settings).unwrap();
                let mut region = extension.map(Bytes::of_pages(400)).unwrap();
                exercise(&mut region, 4, 800, 6);
                pass(&mut region);
                let figures = extension.figures();
                assert!(figures.peak_dram <= dram, "{}: {figures:?}", entry.name);
                let ended = figures.prefetched_used + figures.prefetched_late;
                let ended = ended + figures.prefetched_wasted;
                assert!(ended <= figures.prefetched, "{}: {figures:?}", entry.name);
            }
        }
    }
}

/// Reads one byte of each page in order, three times.
fn pass(region: &mut terrace_region::Region) {
    for _ in 0..3 {
        let bytes = region.as_slice().iter().step_by(4096);
        std::hint::black_box(bytes.fold(0_u8, |sum, byte| sum.wrapping_add(*byte)));
    }
}

/// A pass in order faults for few of its pages, and what was prefetched is used.
#[test]
#[ignore = "needs root: userfaultfd"]
fn passes_are_foreseen() {
    let mut faults = Vec::new();
    for predictor in [None, Some("stream")] {
        let settings = Settings {
            prefetch: predictor.map(|name| prefetch::Spec::parse(name).unwrap()),
            judge: true,
            ..settings(1000, "pcm")
        };
        let extension = Extension::start(settings).unwrap();
        let mut region = extension.map(Bytes::of_pages(4000)).unwrap();
        for page in region.as_mut_slice().chunks_mut(4096) {
            page[0] = 1;
        }
        pass(&mut region);
        extension.finish();
        let figures = extension.figures();
        faults.push(figures.fetches);
        assert_eq!(figures.evicted_dirty, 4000, "{figures:?}");
        assert_eq!(figures.pages_written, 4000, "{figures:?}");
        if predictor.is_some() {
            assert!(figures.prefetched > 9000, "{figures:?}");
            assert!(figures.prefetched_wasted < 500, "{figures:?}");
        }
    }
    assert!(faults[1] * 10 < faults[0], "{faults:?}");
}

/// In a pass that writes every page most writes are no faults, and one that reads has nothing
/// written.
#[test]
#[ignore = "needs root: userfaultfd"]
fn passes_that_write_are_foreseen() {
    let extension = Extension::start(settings(1000, "pcm")).unwrap();
    let mut region = extension.map(Bytes::of_pages(4000)).unwrap();
    let (pages, _) = region.as_mut_slice().as_chunks_mut::<4096>();
    for turn in 0..4_u8 {
        for (at, page) in pages.iter_mut().enumerate() {
            page[8] = (turn + 1).wrapping_add(at as u8);
        }
    }
    let written = extension.figures();
    // Each of three passes would have 4,000. How many there are depends on how soon a busy machine
    // foresees them.
    assert!(written.first_writes < 3 * 4000 / 2, "{written:?}");
    for _ in 0..2 {
        let before = extension.figures();
        for (at, page) in pages.iter().enumerate() {
            assert_eq!(page[8], 4_u8.wrapping_add(at as u8));
        }
        let after = extension.figures();
        assert!(
            after.evicted_dirty - before.evicted_dirty < 1100,
            "{after:?}"
        );
    }
    let before = extension.figures();
    assert!(pages.iter().all(|page| page[9] == 0));
    assert_eq!(extension.figures().evicted_dirty, before.evicted_dirty);
}

fn disk() -> Disk {
    Disk::in_directory(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap()
}

/// Schemes that compare read the place before they write it.
#[test]
#[ignore = "needs root: userfaultfd"]
fn on_a_disk() {
    for spec in [
        "inclusive",
        "sectors",
        "mfwr",
        "mfwr+dcw",
        "dcw:pin=off",
        "page",
    ] {
        let settings = Settings {
            write: write::Spec::parse(spec).unwrap(),
            ..Settings::new(Bytes::of_pages(200), Box::new(disk()))
        };
        let extension = Extension::start(settings).unwrap();
        let mut region = extension.map(Bytes::of_pages(2000)).unwrap();
        exercise(&mut region, 4, 2500, 4);
        assert!(extension.figures().fetches > 1000, "{spec}");
    }
}

/// Pages that cannot be written stay in DRAM, and no byte is wrong.
#[test]
#[ignore = "needs root: userfaultfd"]
fn writes_that_fail_and_a_full_disk() {
    for fault in [Fault::Writes(7), Fault::Full(100), Fault::Full(0)] {
        for on_disk in [true, false] {
            let slow: Box<dyn Slow> = match on_disk {
                true => Box::new(Faulty::new(disk(), fault)),
                false => Box::new(Faulty::new(*emulated("pcm"), fault)),
            };
            let settings = Settings::new(Bytes::of_pages(40), slow);
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(400)).unwrap();
            exercise(&mut region, 4, 1500, 5);
            let figures = extension.figures();
            assert!(figures.write_errors > 0 && figures.kept > 0, "{figures:?}");
            assert!(figures.peak_dram <= 40 + figures.kept, "{figures:?}");
        }
    }
}

/// A thread that touches a page which cannot be read ends with SIGBUS; it sees nothing else.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_page_that_cannot_be_read() {
    let memory = Faulty::new(*emulated("pcm"), Fault::ReadsOf(3));
    let settings = Settings::new(Bytes::of_pages(16), Box::new(memory));
    let extension = Extension::start(settings).unwrap();
    let mut region = extension.map(Bytes::of_pages(100)).unwrap();
    for page in 0..100 {
        region.as_mut_slice()[page * 4096] = page as u8 + 1;
    }
    for page in (0..100).filter(|page| *page != 3) {
        assert_eq!(region.as_slice()[page * 4096], page as u8 + 1);
    }
    // A system call that touches the page is told so; a thread would get the signal.
    let (reader, mut writer) = std::io::pipe().unwrap();
    let page = &region.as_slice()[3 * 4096..][..4096];
    let error = std::io::Write::write(&mut writer, page).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(14), "{error}");
    drop(reader);
    extension.finish();
    assert_eq!(extension.figures().read_errors, 1);
}
