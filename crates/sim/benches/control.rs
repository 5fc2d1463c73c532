//! What control policies make of services: DRAM held, stalls and writes, on loads made by chance.
//! All figures are simulated; those of the guide `control.md` come from here.
//!
//! `cargo bench -p terrace-sim --bench control [-- POLICY ...]` runs `slowdown`, or these, on seven
//! loads with the seeds that policies are judged by, even ones. They are tuned with odd ones.

use std::sync::Arc;

use terrace_base::bytes::PAGE_BYTES;
use terrace_base::{Nanos, Result};
use terrace_policy::control;
use terrace_policy::replacement;
use terrace_sim::pages::{FaultCost, Outcome, PageMachine, Tier, run};
use terrace_sim::workload::Workload;
use terrace_trace::{Access, Block, Meta, Source};

/// Seeds to judge by.
const SEEDS: [u64; 6] = [2, 4, 6, 8, 10, 12];
/// Tiers: names, times of a read and of a write, and channels.
const TIERS: [(&str, Nanos, Nanos, u32); 2] = [
    ("3 ms", Nanos(3_000_000), Nanos(200_000), 64),
    ("80 us", Nanos(80_000), Nanos(20_000), 8),
];
/// A second, in nanoseconds; a load takes a quarter of an hour.
const SECOND: u64 = 1_000_000_000;
const END: u64 = 900 * SECOND;

/// Numbers by chance, which are the same everywhere (Marsaglia, Xorshift RNGs, 2003).
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        let mut chance = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // The first numbers of small seeds are alike.
        for _ in 0..10 {
            chance.next();
        }
        chance
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A touch: time in nanoseconds, page, and whether it writes.
type Touch = (u64, u64, bool);

/// A load as it is made: of 3000 to 6000 pages, each touched once at first.
struct Load {
    seed: u64,
    chance: Chance,
    touches: Vec<Touch>,
    pages: u64,
    now: u64,
    /// Time between two touches, on average.
    pause: u64,
}

impl Load {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::of(seed);
        let pages = 3000 + chance.below(3000);
        let pause = SECOND / (800 + chance.below(800));
        let mut load = Self {
            seed,
            chance,
            touches: Vec::new(),
            pages,
            now: 0,
            pause,
        };
        load.all_at_once(100_000);
        load
    }

    fn touch(&mut self, page: u64) {
        let writes = self.chance.below(10) < 3;
        self.touches.push((self.now, page, writes));
        self.now += self.pause / 2 + self.chance.below(self.pause + 1);
    }

    fn all_at_once(&mut self, pause: u64) {
        let pause = std::mem::replace(&mut self.pause, pause);
        (0..self.pages).for_each(|page| self.touch(page));
        self.pause = pause;
    }

    fn until_end(&mut self, mut page: impl FnMut(&mut Self) -> u64) {
        while self.now < END {
            let page = page(self);
            self.touch(page);
        }
    }
}

/// A part is hot, and moves.
fn moving(load: &mut Load) {
    let part = load.pages / (3 + load.chance.below(3));
    let phase = (120 + load.chance.below(180)) * SECOND;
    load.until_end(|load| {
        let at = load.now / phase * part % (load.pages - part);
        at + load.chance.below(part)
    });
}

/// All pages in turn, again and again.
fn in_turn(load: &mut Load) {
    let lap = 3 + load.chance.below(60);
    load.pause = lap * SECOND / load.pages;
    let mut next = 0;
    load.until_end(|load| {
        next += 1;
        (next - 1) % load.pages
    });
}

/// A part is hot, and now and then all pages are touched at once.
fn bursts(load: &mut Load) {
    let part = load.pages / (3 + load.chance.below(3));
    let gap = (100 + load.chance.below(150)) * SECOND;
    let mut next = load.now + gap;
    load.until_end(|load| {
        if load.now > next {
            load.all_at_once(2_000);
            next = load.now + gap;
        }
        load.chance.below(part)
    });
}

/// It grows, and uses what is new.
fn growing(load: &mut Load) {
    let (first, begin) = (load.pages / 4, load.now);
    let grows = (END - begin) / (2 * load.pages - first);
    load.until_end(|load| {
        let pages = first + (load.now - begin) / grows;
        load.pages + pages - 1 - load.chance.below(first)
    });
}

/// Pages of all heats.
fn heats(load: &mut Load) {
    let exponent = 0.8 + 0.4 * load.chance.unit();
    load.until_end(|load| {
        let (chance, pages) = (load.chance.unit(), load.pages as f64);
        let rest = 1.0 - exponent;
        let rank = match rest.abs() < 1e-3 {
            true => pages.powf(chance),
            false => ((pages.powf(rest) - 1.0) * chance + 1.0).powf(1.0 / rest),
        };
        (rank as u64 - 1).min(load.pages - 1) * 2_654_435_761 % load.pages
    });
}

/// All pages, at random.
fn at_random(load: &mut Load) {
    load.pause = SECOND / (300 + load.chance.below(2000));
    load.until_end(|load| load.chance.below(load.pages));
}

/// The trace of the guide: 4 pages in 16 are hot, others later, and once all.
fn guide(load: &mut Load) {
    load.touches.clear();
    let (mut number, mut now) = (load.seed, 0);
    for at in 0..1_500_000_u64 {
        number = number * 16_807 % 2_147_483_647;
        let is_burst = (1_250_000..1_254_000).contains(&at);
        let page = match at {
            _ if at < 4000 => at,
            _ if is_burst => at % 4000,
            _ => number % 1000 + if at < 1_000_000 { 0 } else { 2000 },
        };
        now += if is_burst { 1_000 } else { 400_000 };
        load.touches.push((now, page, number % 10 < 3));
    }
}

/// Makes a load.
type Make = fn(&mut Load);

const LOADS: [(&str, Make); 7] = [
    ("moving", moving),
    ("in turn", in_turn),
    ("bursts", bursts),
    ("growing", growing),
    ("all heats", heats),
    ("at random", at_random),
    ("guide", guide),
];

/// A load as a trace.
struct Trace {
    meta: Meta,
    touches: Arc<Vec<Touch>>,
    next: usize,
}

impl Source for Trace {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let end = (self.next + 4096).min(self.touches.len());
        for (now, page, write) in &self.touches[self.next..end] {
            block.push(Access {
                instruction: now - self.touches[0].0,
                address: page * PAGE_BYTES,
                size: 8,
                write: *write,
                ..Access::default()
            });
        }
        self.next = end;
        Ok(())
    }
}

fn machine(policy: &str, (name, read, write, channels): (&str, Nanos, Nanos, u32)) -> PageMachine {
    let mut machine = PageMachine {
        dram_pages: 16_384,
        control: Some(control::Spec::parse(policy).unwrap_or_else(|why| panic!("{why}"))),
        eviction_buffer: 64,
        tier: Tier {
            name: name.into(),
            devices: 1,
            ..Tier::default()
        },
        replacement: replacement::Spec::parse("lru").expect("it is known"),
        fault: FaultCost::parse("linux").expect("it is known"),
        instruction_ps: 1000,
        seed: 1,
        access: Nanos(50),
        ..PageMachine::default()
    };
    machine.tier.timing.read = read;
    machine.tier.timing.write = write;
    machine.tier.timing.channels = channels;
    machine
}

/// What a policy made of a load: share of the DRAM in percent, of the time that stalled, and MiB.
fn figures(outcome: &Outcome) -> [f64; 3] {
    let control = outcome.control.as_ref().expect("it was controlled");
    let all = (outcome.footprint_pages * PAGE_BYTES) as f64;
    [
        control.dram_mean.0 as f64 / all * 100.0,
        control.stalls * 100.0,
        outcome.counts.writebacks as f64 / 256.0,
    ]
}

fn show(tier: &str, load: &str, policy: &str, runs: &[[f64; 3]]) {
    let mean = |at: usize| runs.iter().map(|run| run[at]).sum::<f64>() / runs.len() as f64;
    let most = runs.iter().map(|run| run[1]).fold(0.0, f64::max);
    println!(
        "{tier:5} {load:9} {policy:24} DRAM {:5.1} %, stalls {:.3} % (most {most:.3} %), written {:.1} MiB",
        mean(0),
        mean(1),
        mean(2)
    );
}

fn main() {
    let asked = std::env::args().skip(1);
    let mut policies: Vec<String> = asked.filter(|it| !it.starts_with("--")).collect();
    if policies.is_empty() {
        policies.push("slowdown".into());
    }
    for tier in TIERS {
        let mut all = vec![Vec::new(); policies.len()];
        for (name, make) in LOADS {
            let mut runs = vec![Vec::new(); policies.len()];
            for seed in SEEDS {
                let mut load = Load::new(seed);
                make(&mut load);
                let trace = Trace {
                    meta: Meta {
                        counts_instructions: true,
                        ..Meta::default()
                    },
                    touches: Arc::new(load.touches),
                    next: 0,
                };
                let workload = Workload::new(vec![Box::new(trace)], None).expect("one program");
                let machines = policies.iter().map(|policy| machine(policy, tier));
                let outcomes = run(workload, machines.collect(), None, |_| {}).expect("it runs");
                let found = runs.iter_mut().zip(&outcomes);
                found.for_each(|(runs, outcome)| runs.push(figures(outcome)));
            }
            for ((policy, runs), all) in policies.iter().zip(runs).zip(&mut all) {
                show(tier.0, name, policy, &runs);
                all.extend(runs);
            }
        }
        for (policy, all) in policies.iter().zip(all) {
            show(tier.0, "mean", policy, &all);
        }
    }
}
