//! Loads of files over a DRAM and a flash that are both LRU: what policies write, and what hits.

use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::admission::{Admission, Answer, Chain, Machine, Request};
use terrace_policy::replacement::{self, PageId, Replacement, Touch};

const DAY: u64 = 86_400;

/// A DRAM in front of a flash that is filled when a page is read (as behind the kernel's page
/// cache).
struct Levels {
    dram: Box<dyn Replacement>,
    flash: Box<dyn Replacement>,
    admission: Box<dyn Admission>,
    reads: u64,
    hits: u64,
    /// Seconds at which pages were written.
    written: Vec<u64>,
}

impl Levels {
    fn new(admission: &str, machine: Machine) -> Self {
        let lru = |pages: u64| {
            let lru = replacement::Spec::parse("lru").unwrap();
            lru.policy(pages as usize, 1, None).unwrap()
        };
        Self {
            dram: lru(machine.dram),
            flash: lru(machine.flash),
            admission: Chain::parse(admission).unwrap().policy(&machine).unwrap(),
            reads: 0,
            hits: 0,
            written: Vec::new(),
        }
    }

    fn read(&mut self, page: u32, seconds: u64) {
        self.reads += 1;
        let touch = Touch {
            page: PageId(page),
            write: false,
        };
        if self.dram.touch(touch) == replacement::Answer::Hit {
            self.hits += 1;
            return;
        }
        let time = Duration::from_secs(seconds);
        let request = Request {
            page: page.into(),
            size: 0,
            time,
        };
        if self.flash.contains(touch.page) {
            self.hits += 1;
            self.flash.touch(touch);
            self.admission.hit(&request);
            return;
        }
        self.admission.missed(&request);
        if self.admission.wants(&request) == Answer::Admit {
            self.flash.touch(touch);
            self.admission.admitted(&request);
            self.admission.wrote(4096, time);
            self.written.push(seconds);
        }
    }

    fn hit_rate(&self) -> f64 {
        self.hits as f64 / self.reads as f64
    }

    /// The most pages that any day has seen.
    fn busiest_day(&self) -> usize {
        let from = |at: usize| {
            self.written[at..]
                .iter()
                .take_while(move |end| **end < self.written[at] + DAY)
        };
        (0..self.written.len())
            .step_by(97)
            .map(|at| from(at).count())
            .max()
            .unwrap_or(0)
    }
}

/// Draws of pages whose frequencies fall as 1/rank.
struct Zipf {
    sums: Vec<f64>,
    random: Xoshiro256PlusPlus,
}

impl Zipf {
    fn new(pages: u32) -> Self {
        let mut sum = 0.0;
        let sums = (1..=pages).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self {
            sums: sums.collect(),
            random: Xoshiro256PlusPlus::seed_from_u64(1),
        }
    }

    fn draw(&mut self) -> u32 {
        let at = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let wanted = at * self.sums[self.sums.len() - 1];
        self.sums.partition_point(|sum| *sum < wanted) as u32
    }
}

/// Ten days of a Zipf load over 20,000 pages, with a tenth of them in DRAM and three tenths on
/// flash.
fn zipf(admission: &str) -> Levels {
    let (pages, reads_a_day) = (20_000, 100_000);
    let machine = Machine {
        flash: u64::from(pages) * 3 / 10,
        dram: u64::from(pages) / 10,
    };
    let mut levels = Levels::new(admission, machine);
    let mut draws = Zipf::new(pages);
    for read in 0..10 * reads_a_day {
        levels.read(draws.draw(), read * DAY / reads_a_day);
    }
    levels
}

/// The bar of the endurance budget: a fifth and a twentieth of what is written without one.
#[test]
fn a_budget_costs_few_hits() {
    let unbounded = zipf("all");
    let a_day = unbounded.written.len() as u64 / 10;
    for part in [5, 20] {
        let budget = a_day / part;
        for filter in ["", "second-read+", "sketch+"] {
            let text = format!("{filter}write-budget:bytes-per-day={}", budget * 4096);
            let bounded = zipf(&text);
            let share = bounded.hit_rate() / unbounded.hit_rate();
            assert!(share >= 0.9, "{text}: {share} of {}", unbounded.hit_rate());
            let day = bounded.busiest_day() as f64 / budget as f64;
            assert!(day <= 1.05, "{text}: {day} of the budget");
        }
    }
}

/// The bar of the one-pass scan, in files of 1000 pages that do not follow each other, and in one
/// file.
#[test]
fn a_scan_writes_little() {
    let machine = Machine {
        flash: 100_000,
        dram: 1000,
    };
    for policy in [
        "second-read",
        "sketch",
        "sketch:reads=3",
        "second-read+write-budget",
    ] {
        for gap in [0, 7] {
            let mut levels = Levels::new(policy, machine);
            for page in 0..10 * machine.flash as u32 {
                levels.read(page + page / 1000 * gap, u64::from(page) / 100);
            }
            let written = levels.written.len() as f64 / machine.flash as f64;
            assert!(written < 0.01, "{policy}: {written} of the flash");
        }
    }
    let mut levels = Levels::new("sequential:pages=64", machine);
    (0..1_000_000).for_each(|page| levels.read(page, 0));
    assert_eq!(levels.written.len(), 64);
}
