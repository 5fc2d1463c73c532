//! Traces in memory, and machines that are easy to calculate with.

use terrace_base::{Nanos, Result};
use terrace_device::{Order, Timing};
use terrace_policy::{prefetch, replacement};
use terrace_sim::pages::{
    Around, FaultCost, Foresight, Outcome, PageMachine, Prefetch, Survey, Tier, run,
};
use terrace_sim::workload::Workload;
use terrace_trace::discard::Discard;
use terrace_trace::order::Order as ThreadOrder;
use terrace_trace::{Access, Block, Meta, Source};

/// A trace in memory, read in blocks of a few accesses.
pub struct Trace {
    meta: Meta,
    accesses: Vec<Access>,
    /// Rows count from the next access.
    discards: Vec<Discard>,
    orders: Vec<ThreadOrder>,
    /// Whether each access leaves zeros; empty if the trace does not say.
    zeros: Vec<bool>,
    block: usize,
}

impl Source for Trace {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        let some = self.block.min(self.accesses.len());
        self.accesses
            .drain(..some)
            .for_each(|access| block.push(access));
        let told = some.min(self.zeros.len());
        block.zeros.extend(self.zeros.drain(..told));
        let some = some as u64;
        let due = self.discards.extract_if(.., |discard| discard.row < some);
        block.discards.extend(due);
        self.discards
            .iter_mut()
            .for_each(|discard| discard.row -= some);
        let due = self.orders.extract_if(.., |order| order.row < some);
        block.orders.extend(due);
        self.orders.iter_mut().for_each(|order| order.row -= some);
        Ok(())
    }
}

/// A trace that counts instructions, in blocks of `block` accesses.
pub fn trace(accesses: &[Access], block: usize) -> Box<dyn Source> {
    trace_with(accesses, &[], block)
}

/// The same, with pages that are given back before some of the accesses.
pub fn trace_with(accesses: &[Access], discards: &[Discard], block: usize) -> Box<dyn Source> {
    Box::new(recording(accesses, discards, &[], block))
}

/// The same, where each access leaves zeros or does not.
pub fn leaving_zeros(
    accesses: &[Access],
    discards: &[Discard],
    zeros: &[bool],
    block: usize,
) -> Box<dyn Source> {
    let mut trace = recording(accesses, discards, &[], block);
    trace.meta.tells_zeros = true;
    trace.zeros = zeros.to_vec();
    Box::new(trace)
}

/// The same, with what orders threads.
pub fn ordered(accesses: &[Access], orders: &[ThreadOrder], block: usize) -> Box<dyn Source> {
    Box::new(recording(accesses, &[], orders, block))
}

/// A trace of requests to memory: rows that write are lines that caches write back, and reads of no
/// bytes are of stores.
pub fn requests(accesses: &[Access], block: usize) -> Box<dyn Source> {
    let mut trace = recording(accesses, &[], &[], block);
    let mark = (terrace_sim::llc::MARK.to_owned(), "64".to_owned());
    trace.meta.about.push(mark);
    Box::new(trace)
}

fn recording(
    accesses: &[Access],
    discards: &[Discard],
    orders: &[ThreadOrder],
    block: usize,
) -> Trace {
    Trace {
        meta: Meta {
            counts_instructions: true,
            ..Meta::default()
        },
        accesses: accesses.to_vec(),
        discards: discards.to_vec(),
        orders: orders.to_vec(),
        zeros: Vec::new(),
        block,
    }
}

/// A touch of a page after so many instructions of the thread.
pub fn touch(thread: u16, instruction: u64, page: u64, write: bool) -> Access {
    Access {
        thread,
        instruction,
        address: page * 4096,
        size: 8,
        write,
        ..Access::default()
    }
}

/// Touches of one thread, 10 instructions apart.
pub fn touches(pages: &[(u64, bool)]) -> Vec<Access> {
    let touch = |(index, &(page, write)): (usize, &(u64, bool))| {
        touch(0, 10 * (index as u64 + 1), page, write)
    };
    pages.iter().enumerate().map(touch).collect()
}

/// LRU over `dram` pages; a read takes 100 ns, a write 1000; an instruction 1 ns; a trap 1 ns, the
/// kernel 2, a copy 4, a map 8, an unmap 16.
pub fn settings(dram: usize) -> PageMachine {
    PageMachine {
        dram_pages: dram,
        tier: Tier {
            name: "test".to_owned(),
            timing: Timing {
                read: Nanos(100),
                write: Nanos(1000),
                channels: 1,
                bandwidth: None,
                order: Order::Plain,
            },
            devices: 1,
            endurance: Some(1e7),
            ..Tier::default()
        },
        replacement: replacement::Spec::parse("lru").expect("LRU is there"),
        fault: FaultCost {
            name: "test".to_owned(),
            trap: Nanos(1),
            kernel: Nanos(2),
            copy: Nanos(4),
            map: Nanos(8),
            unmap: Nanos(16),
            ..FaultCost::default()
        },
        instruction_ps: 1000,
        access: Nanos(50),
        seed: 1,
        ..PageMachine::default()
    }
}

/// The kernel's readahead.
pub fn readahead(around: Around, cluster: u32) -> Prefetch {
    Prefetch::Readahead { around, cluster }
}

/// A predictor with its settings.
pub fn predictor(text: &str) -> Prefetch {
    let spec = prefetch::Spec::parse(text).unwrap_or_else(|problem| panic!("{problem}"));
    Prefetch::Predictor(spec)
}

/// The predictor that the live system uses.
pub fn stream() -> Prefetch {
    predictor("stream")
}

/// Simulates one machine.
pub fn simulate(settings: PageMachine, programs: &[Vec<Access>], block: usize) -> Outcome {
    let sources = programs.iter().map(|accesses| trace(accesses, block));
    simulate_traces(settings, sources.collect())
}

/// Simulates one machine that runs these traces.
pub fn simulate_traces(settings: PageMachine, traces: Vec<Box<dyn Source>>) -> Outcome {
    let workload = Workload::new(traces, None).expect("there are programs");
    let outcomes = run(workload, vec![settings], None, |_| {}).expect("traces in memory are right");
    outcomes
        .into_iter()
        .next()
        .expect("one machine, one outcome")
}

/// Simulates one machine of which a policy knows the future.
pub fn simulate_knowing(settings: PageMachine, program: &[Access]) -> Outcome {
    let workload = || Workload::new(vec![trace(program, 99)], None).expect("there is a program");
    let survey = Survey::of(workload(), Foresight::Threads, |_| {}).expect("it is one program");
    let outcomes = run(workload(), vec![settings], survey.future.as_ref(), |_| {});
    outcomes.expect("traces in memory are right").remove(0)
}
