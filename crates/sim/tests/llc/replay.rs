//! Traces and sinks in memory, hierarchies of odd sizes, and how to run one on the other.

use proptest::prelude::*;
use terrace_base::{Bytes, Result};
use terrace_device::Catalogue;
use terrace_policy::llc::Spec;
use terrace_sim::llc::{
    Backing, Chips, Flushes, Inclusion, Llc, LlcMachine, MARK, Mix, Open, Pass, Placement,
    Prefetching, Sinks, Size, Warmup, WriteBack, run,
};
use terrace_trace::order::Order;
use terrace_trace::{Access, Block, Meta, Sink, Source};

/// A trace in memory, in blocks of some length.
#[derive(Clone, Debug)]
pub struct Replay {
    pub meta: Meta,
    pub accesses: Vec<Access>,
    /// What orders threads, by the row in the whole trace.
    pub orders: Vec<Order>,
    /// How many instructions before each access the load was from which its address comes; empty
    /// where nothing says.
    pub depends: Vec<u8>,
    pub block: usize,
    next: usize,
}

impl Replay {
    pub fn new(accesses: Vec<Access>, block: usize) -> Self {
        let meta = Meta {
            counts_instructions: true,
            accesses: Some(accesses.len() as u64),
            ..Meta::default()
        };
        Self {
            meta,
            accesses,
            orders: Vec::new(),
            depends: Vec::new(),
            block,
            next: 0,
        }
    }

    /// As it is named and opened.
    pub fn open(&self) -> (String, Open<'_>) {
        let open = || -> Result<Box<dyn Source>> { Ok(Box::new(self.clone())) };
        ("replay".to_owned(), Box::new(open))
    }
}

impl Source for Replay {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let end = self.accesses.len().min(self.next + self.block);
        self.accesses[self.next..end]
            .iter()
            .for_each(|access| block.push(*access));
        let depends = self.depends.iter().take(end).skip(self.next);
        block.depends.extend(depends);
        let rows = self.next as u64..end as u64;
        let own = self.orders.iter().filter(|order| rows.contains(&order.row));
        block.orders.extend(own.map(|order| Order {
            row: order.row - rows.start,
            ..*order
        }));
        self.next = end;
        Ok(())
    }
}

/// Everything that is written.
#[derive(Default)]
pub struct Kept(pub Vec<Access>);

impl Sink for Kept {
    fn write(&mut self, block: &Block) -> Result<()> {
        self.0.extend(block.iter());
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// What a pass found, what was asked of the last level, and of memory.
pub struct Ran {
    pub pass: Pass,
    pub requests: Vec<Access>,
    pub traffic: Vec<Access>,
}

impl Ran {
    /// Simulates what was asked of the last level, in lines of 64 bytes, once more and without
    /// private levels; none where nothing was asked.
    pub fn again(&self, llc: (usize, usize), policies: &[&str], cores: usize) -> Option<Ran> {
        let mut kept = Replay::new(self.requests.clone(), 10);
        kept.meta.about = vec![(MARK.to_owned(), "64".to_owned())];
        let settings = settings(64, [None, None], llc, policies);
        let asked = !self.requests.is_empty();
        asked.then(|| simulate(&settings, &[&kept], cores))
    }
}

pub fn simulate(settings: &LlcMachine, traces: &[&Replay], cores: usize) -> Ran {
    let mix = Mix::new(
        traces.iter().map(|trace| trace.open()).collect(),
        Some(cores),
        None,
    )
    .unwrap();
    let (mut requests, mut traffic) = (Kept::default(), Kept::default());
    let sinks = Sinks {
        // Those to an exclusive last level are no rows of a trace.
        requests: match settings.inclusion {
            Inclusion::Exclusive => None,
            _ => Some(&mut requests),
        },
        traffic: settings.traffic.then_some(&mut traffic as &mut dyn Sink),
    };
    let pass = run(settings, mix, sinks, |_| ()).unwrap();
    Ran {
        pass,
        requests: requests.0,
        traffic: traffic.0,
    }
}

/// A cache of so many sets and ways.
pub fn size(line: u64, (sets, ways): (usize, usize)) -> Size {
    Size {
        bytes: Bytes(line * (sets * ways) as u64),
        ways,
    }
}

/// A hierarchy of these shapes under policies, before PCM.
pub fn settings(
    line: u64,
    private: [Option<(usize, usize)>; 2],
    llc: (usize, usize),
    policies: &[&str],
) -> LlcMachine {
    let of = |policy: &&str| Llc {
        size: size(line, llc),
        policy: Spec::parse(policy).unwrap(),
    };
    LlcMachine {
        line,
        private: private.map(|level| level.map(|shape| size(line, shape))),
        prefetching: Prefetching::Off,
        inclusion: Inclusion::NonInclusive,
        write_back: WriteBack::Demand,
        llcs: policies.iter().map(of).collect(),
        memories: vec![
            memory("pcm-row", None),
            memory("pcm-row", Some(Bytes(line * 64))),
        ],
        warmup: Warmup::Requests(0),
        epoch: None,
        seed: 1,
        traffic: policies.len() == 1,
        placement: Placement::Virtual,
        flushes: Flushes::default(),
    }
}

/// A memory of 1 GiB, with a DRAM cache before it or not.
pub fn memory(name: &str, cache: Option<Bytes>) -> Backing {
    let catalogue = Catalogue::builtin();
    let chips = |name, capacity| Chips {
        technology: catalogue.get(name).unwrap().clone(),
        capacity,
        write_buffer: 4,
    };
    Backing {
        name: name.to_owned(),
        memory: chips(name, Bytes(1 << 30)),
        cache: cache.map(|capacity| chips("dram", capacity)),
    }
}

/// Accesses of four threads in two processes to few lines, some of them to several at once.
pub fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let access = (
        0..4_u16,
        0..40_u64,
        0..64_u64,
        0..100_u32,
        any::<bool>(),
        1..9_u64,
    );
    prop::collection::vec(access, 1..400).prop_map(|drawn| {
        let mut instructions = [0; 4];
        let access =
            |(thread, line, offset, size, write, step): (u16, u64, u64, u32, bool, u64)| {
                instructions[usize::from(thread)] += step;
                Access {
                    instruction: instructions[usize::from(thread)],
                    address: 0x7fff_0000_0000 + line * 64 + offset,
                    ip: 0x400 + line % 5,
                    process: thread / 2,
                    thread,
                    size,
                    write,
                }
            };
        drawn.into_iter().map(access).collect()
    })
}

/// Sets and ways.
pub fn shape() -> impl Strategy<Value = (usize, usize)> {
    (1..6_usize, 1..6_usize)
}
