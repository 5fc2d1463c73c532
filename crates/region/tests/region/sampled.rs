//! Sampled references: the policy is told of touches of pages that lie aside, and of no others, and
//! no byte is wrong for it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLockWriteGuard};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Bytes;
use terrace_policy::replacement::{self, Answer, PageId, Replacement, Touch};
use terrace_region::{Extension, Figures, Region, Settings, Shares};

use crate::oracle::{PAGE, exercise};
use crate::{forks, settings};

/// Less than that of which pages are filled ahead: each touch of a page without contents is seen.
const DRAM: u64 = 60;
const PAGES: u32 = 150;

fn sampling(dram: u64, policy: &str, share: f64) -> Settings {
    Settings {
        replacement: replacement::Spec::parse(policy).unwrap(),
        references: Some(share),
        prefetch: None,
        ..settings(dram, "pcm")
    }
}

/// Keeps pages from being shared by a fork, which would not be sampled.
fn no_fork() -> RwLockWriteGuard<'static, ()> {
    forks::FORKING
        .write()
        .unwrap_or_else(PoisonError::into_inner)
}

/// What a touch is to the pager.
#[derive(Debug, Default, PartialEq)]
struct Told {
    references: u64,
    /// Faults by which a page comes in that the policy has not.
    misses: u64,
}

impl Told {
    fn of(figures: &Figures) -> Self {
        Self {
            references: figures.references,
            misses: figures.first_touches + figures.fetches + figures.returns,
        }
    }
}

/// The slow twin: which pages lie aside, from the order of their arrivals, and what the policy does
/// that is told of the touches that no page at its address hides.
struct Twin {
    policy: Box<dyn Replacement>,
    pages: usize,
    slots: usize,
    /// Pages at their addresses that the policy has, the first to come first, and the numbers of
    /// their arrivals.
    active: Vec<(u32, usize)>,
    arrived: usize,
    aside: BTreeSet<u32>,
    sampled: u64,
    told: Told,
}

impl Twin {
    fn new(policy: &str, share: f64) -> Self {
        let pages = Shares::of(DRAM as usize).policy;
        let spec = replacement::Spec::parse(policy).unwrap();
        Self {
            policy: spec.policy(pages, 0, None).unwrap(),
            pages,
            slots: (pages as f64 * share) as usize,
            active: Vec::new(),
            arrived: 0,
            aside: BTreeSet::new(),
            sampled: 0,
            told: Told::default(),
        }
    }

    /// A thread touches a page that is not at its address.
    fn fault(&mut self, page: u32, write: bool) {
        let touch = Touch {
            page: PageId(page),
            write,
        };
        match self.policy.touch(touch) {
            Answer::Hit => {
                assert!(self.aside.remove(&page), "page {page} is not aside");
                self.told.references += 1;
            }
            Answer::Miss { evicted } => {
                self.told.misses += 1;
                if let Some(PageId(evicted)) = evicted {
                    self.active.retain(|(page, _)| *page != evicted);
                    self.aside.remove(&evicted);
                }
            }
        }
        self.arrived += 1;
        self.active.push((page, self.arrived));
        self.sample();
    }

    fn sample(&mut self) {
        while self.policy.resident() == self.pages
            && self.aside.len() < self.slots
            && let Some(&(page, number)) = self.active.first()
            && self.arrived - number >= self.pages - self.slots
        {
            self.active.remove(0);
            self.aside.insert(page);
            self.sampled += 1;
        }
    }
}

/// Returns whether each page of a region is at its address.
fn present(region: &Region) -> Vec<bool> {
    let mut present = vec![0; PAGES as usize];
    let (start, bytes) = (region.as_ptr().cast(), region.bytes().0 as usize);
    // SAFETY: the kernel writes a byte for each page.
    let asked = unsafe { libc::mincore(start, bytes, present.as_mut_ptr()) };
    assert_eq!(asked, 0);
    present.into_iter().map(|byte| byte & 1 == 1).collect()
}

fn figures(extension: &Extension) -> Figures {
    extension.finish();
    extension.figures()
}

/// Waits until the pager has sampled so many pages, which follows a fault: what it does beyond that
/// shows at the next one.
fn sampled(extension: &Extension, pages: u64) -> Figures {
    let begin = Instant::now();
    loop {
        let figures = figures(extension);
        if figures.sampled >= pages || begin.elapsed() > Duration::from_secs(10) {
            return figures;
        }
    }
}

fn expect_as_twin(policy: &str, share: f64, touches: &[(u32, bool)]) {
    let _alone = no_fork();
    let extension = Extension::start(sampling(DRAM, policy, share)).unwrap();
    let mut region = extension.map(Bytes::of_pages(PAGES.into())).unwrap();
    let mut twin = Twin::new(policy, share);
    for (at, &(page, write)) in touches.iter().enumerate() {
        if !present(&region)[page as usize] {
            twin.fault(page, write);
        }
        let byte = &mut region.as_mut_slice()[page as usize * PAGE];
        match write {
            true => *byte = at as u8,
            false => drop(std::hint::black_box(*byte)),
        }
        let figures = sampled(&extension, twin.sampled);
        // The kernel moves a page that something else has hold of at another time, or not at all.
        if figures.unsampled > 0 {
            return;
        }
        assert_eq!(
            Told::of(&figures),
            twin.told,
            "at {at} of {policy}, {share}"
        );
        assert_eq!(
            figures.sampled, twin.sampled,
            "at {at} of {policy}, {share}"
        );
        let present = present(&region);
        for page in (0..PAGES).filter(|page| twin.policy.contains(PageId(*page))) {
            let aside = twin.aside.contains(&page);
            assert_eq!(
                present[page as usize], !aside,
                "page {page} at {at} of {policy}, {share}"
            );
        }
        assert!(figures.peak_dram <= DRAM, "{figures:?}");
    }
}

const POLICIES: &[&str] = &["fifo", "clock", "age", "lru", "sieve", "lfu"];
const SHARES: &[f64] = &[0.1, 0.5, Settings::MOST_REFERENCES];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Some pages are touched more often than others.
    #[test]
    #[ignore = "needs root: userfaultfd"]
    fn the_policy_is_told_what_a_slow_twin_is_told(
        policy in prop::sample::select(POLICIES),
        share in prop::sample::select(SHARES),
        touches in prop::collection::vec((0..PAGES, any::<bool>(), any::<bool>()), 100..600),
    ) {
        let hot = touches.into_iter().map(|(page, hot, write)| (if hot { page % 20 } else { page }, write));
        expect_as_twin(policy, share, &hot.collect::<Vec<_>>());
    }
}

/// Touches the hot pages in turn with all others; returns the faults that the hot ones took from
/// the slow memory or the staging range.
fn faults_of_hot_pages(policy: &str, share: Option<f64>) -> u64 {
    let settings = Settings {
        references: share,
        ..sampling(DRAM, policy, 0.5)
    };
    let extension = Extension::start(settings).unwrap();
    let mut region = extension.map(Bytes::of_pages(400)).unwrap();
    let (pages, _) = region.as_mut_slice().as_chunks_mut::<PAGE>();
    let mut faults = 0;
    let (hot, cold) = pages.split_at_mut(20);
    for page in cold {
        page[0] = 1;
        for page in &mut *hot {
            let before = figures(&extension);
            page[0] = page[0].wrapping_add(1);
            let after = figures(&extension);
            faults += after.fetches + after.returns - before.fetches - before.returns;
        }
    }
    faults
}

/// What reference bits are for: pages that are touched often stay, where the policy hears of it.
#[test]
#[ignore = "needs root: userfaultfd"]
fn clock_keeps_what_is_touched_often_if_it_hears_of_it() {
    let _alone = no_fork();
    let hears = faults_of_hot_pages("clock", Some(0.5));
    let blind = faults_of_hot_pages("clock", None);
    // The kernel refuses a move now and then.
    assert!(blind > 50 && hears * 5 < blind, "{hears} of {blind}");
    let told = faults_of_hot_pages("fifo", Some(0.5));
    assert!(told > 50, "fifo does not use what it is told: {told}");
}

/// Memory that fits into DRAM is left alone.
#[test]
#[ignore = "needs root: userfaultfd"]
fn nothing_is_sampled_while_dram_has_room() {
    let extension = Extension::start(sampling(200, "clock", 0.5)).unwrap();
    let mut region = extension.map(Bytes::of_pages(180)).unwrap();
    exercise(&mut region, 2, 3000, 8);
    assert_eq!(figures(&extension).sampled, 0);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn with_every_policy_and_the_least_dram() {
    let _alone = no_fork();
    for entry in replacement::REGISTRY
        .iter()
        .filter(|entry| !entry.knows_future())
    {
        for (dram, share) in [(Settings::LEAST_DRAM, 0.5), (60, 0.5), (130, 0.9)] {
            let settings = Settings {
                prefetch: settings(dram, "pcm").prefetch,
                ..sampling(dram, entry.name, share)
            };
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(400)).unwrap();
            exercise(&mut region, 4, 2000, 9);
            let figures = extension.figures();
            assert!(figures.peak_dram <= dram, "{}: {figures:?}", entry.name);
            assert!(figures.sampled > 0, "{}: {figures:?}", entry.name);
            assert_eq!(figures.kept, 0, "{figures:?}");
            let refused = figures.unsampled as f64 / figures.sampled as f64;
            assert!(refused < 0.05, "{}: {figures:?}", entry.name);
        }
    }
}

/// What lies aside is let go with its memory.
#[test]
#[ignore = "needs root: userfaultfd"]
fn slots_of_unmapped_memory_are_used_again() {
    let extension = Extension::start(sampling(DRAM, "clock", 0.5)).unwrap();
    for _ in 0..5 {
        let before = figures(&extension).sampled;
        let mut region = extension.map(Bytes::of_pages(PAGES.into())).unwrap();
        exercise(&mut region, 1, 1000, 8);
        let sampled = figures(&extension).sampled - before;
        assert!(sampled > 100, "{sampled}");
    }
}

/// Threads that touch the same pages at the moment at which these are taken away or come back.
#[test]
#[ignore = "needs root: userfaultfd"]
fn threads_count_in_the_same_pages() {
    const STEPS: u64 = 20_000;
    for (dram, pages) in [(Settings::LEAST_DRAM, 12), (60, 80)] {
        let extension = Extension::start(sampling(dram, "clock", 0.9)).unwrap();
        let region = extension.map(Bytes::of_pages(pages)).unwrap();
        let word = |page: u64| {
            // SAFETY: within the region, aligned, and used as an atomic alone.
            unsafe { AtomicU64::from_ptr(region.as_ptr().add(page as usize * PAGE).cast()) }
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let mut random = Xoshiro256PlusPlus::seed_from_u64(thread);
                    for _ in 0..STEPS {
                        let draw = random.next_u64();
                        let word = word(draw % pages);
                        match draw >> 32 & 1 {
                            0 => word.fetch_add(1, Ordering::Relaxed),
                            _ => word.fetch_add(0, Ordering::Relaxed),
                        };
                        // Reads bring pages back protected.
                        std::hint::black_box(word.load(Ordering::Relaxed));
                    }
                });
            }
        });
        let mut counted = 0;
        for thread in 0..4 {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(thread);
            counted += (0..STEPS)
                .filter(|_| random.next_u64() >> 32 & 1 == 0)
                .count() as u64;
        }
        let found: u64 = (0..pages)
            .map(|page| word(page).load(Ordering::Relaxed))
            .sum();
        assert_eq!(found, counted, "{dram}");
        // How many there are depends on how the threads are scheduled.
        let figures = extension.figures();
        assert!(figures.sampled > 0, "{figures:?}");
    }
}

/// Children have the pages that lie aside, and both processes go on sampling.
#[test]
#[ignore = "needs root: userfaultfd"]
fn children_and_grandchildren_go_on() {
    for (threads, dram, share) in [(1, 60, 0.9), (4, 60, 0.5), (2, Settings::LEAST_DRAM, 0.5)] {
        for (name, slow) in forks::slow_memories() {
            let settings = Settings {
                slow,
                ..sampling(dram, "clock", share)
            };
            let extension = Extension::start(settings).unwrap();
            let mut region = extension.map(Bytes::of_pages(600)).unwrap();
            forks::exercise(&mut region, threads, 1000, 3);
            let figures = extension.figures();
            assert_eq!(figures.kept, 0, "{name}: {figures:?}");
            assert!(figures.peak_dram <= dram, "{name}: {figures:?}");
            assert!(figures.sampled > 100, "{name}: {figures:?}");
        }
    }
}

/// Pages that lie aside or have left come back to memory that is read-only or locked by then.
#[test]
#[ignore = "needs root: userfaultfd"]
fn pages_come_back_to_read_only_and_locked_memory() {
    for share in [None, Some(0.5)] {
        let settings = Settings {
            references: share,
            ..sampling(DRAM, "clock", 0.5)
        };
        let extension = Extension::start(settings).unwrap();
        let mut region = extension.map(Bytes::of_pages(PAGES.into())).unwrap();
        let (start, bytes) = (region.as_ptr().cast(), region.bytes().0 as usize);
        for turn in 0..3_u8 {
            for (page, bytes) in region.as_mut_slice().chunks_mut(PAGE).enumerate() {
                bytes[9] = page as u8 ^ turn;
            }
            let expect = |region: &Region| {
                for (page, bytes) in region.as_slice().chunks(PAGE).enumerate().rev() {
                    assert_eq!(bytes[9], page as u8 ^ turn, "page {page}");
                }
            };
            // SAFETY: nobody writes the region before it can be written again.
            assert_eq!(unsafe { libc::mprotect(start, bytes, libc::PROT_READ) }, 0);
            expect(&region);
            // SAFETY: as it was before.
            let writable =
                unsafe { libc::mprotect(start, bytes, libc::PROT_READ | libc::PROT_WRITE) };
            assert_eq!(writable, 0);
            // SAFETY: the contents stay as they are.
            assert_eq!(unsafe { libc::mlock(start, bytes) }, 0);
            expect(&region);
            // SAFETY: as above.
            assert_eq!(unsafe { libc::munlock(start, bytes) }, 0);
        }
    }
}

#[test]
fn a_share_that_leaves_no_page_at_its_address_is_refused() {
    for share in [0.0, -0.1, 0.95, f64::NAN] {
        let error = Settings::check_references(share).unwrap_err();
        assert!(error.to_string().contains("name a share above 0 %"));
    }
    Settings::check_references(Settings::MOST_REFERENCES).unwrap();
}
