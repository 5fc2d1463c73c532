//! Programs of several threads, and loads that wait for each other, recorded and simulated. Needs
//! `qemu-x86_64` and `cc`.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use terrace_base::Nanos;
use terrace_device::{Order, Timing};
use terrace_policy::replacement;
use terrace_sim::llc::model::{CYCLE, LOOKUP};
use terrace_sim::pages::{FaultCost, Outcome, PageMachine, ThreadOrder, Tier, run};
use terrace_sim::workload::Workload;
use terrace_trace::order::Event;
use terrace_trace::{Access, Block, Columns, Source};

mod common;
use common::command::{number, simulate, terrace, text};
use common::needs;

/// Threads that pass over slices of their own: their number, and pages and passes of each.
const SLICES: &str = r#"
#include <pthread.h>
#include <stdlib.h>
static volatile char *all;
static long pages, passes;
static void *work(void *me) {
    volatile char *slice = all + (long)me * pages * 4096;
    for (long pass = 0; pass < passes; pass++)
        for (long byte = 0; byte < pages * 4096; byte += 1024) {
            slice[byte] += 1;
            // Much longer than the program takes to start.
            for (int i = 0; i < 300; i++) asm volatile("");
        }
    return 0;
}
int main(int argc, char **argv) {
    int threads = atoi(argv[1]);
    pthread_t ids[64];
    pages = atol(argv[2]);
    passes = atol(argv[3]);
    all = aligned_alloc(4096, threads * pages * 4096);
    for (long i = 0; i < threads; i++) pthread_create(&ids[i], 0, work, (void *)i);
    for (int i = 0; i < threads; i++) pthread_join(ids[i], 0);
    return 0;
}
"#;

/// A list of nodes of a line in some order, followed from end to end: their number, and the passes.
const CHASE: &str = r"
#include <stdlib.h>
struct node { struct node *next; char rest[56]; };
int main(int argc, char **argv) {
    long count = atol(argv[1]), passes = atol(argv[2]);
    struct node *nodes = aligned_alloc(4096, count * sizeof(struct node));
    // A step that shares no factor with a power of two visits all.
    for (long i = 0, at = 0; i < count; i++) {
        long next = (at + 40503) % count;
        nodes[at].next = &nodes[next];
        at = next;
    }
    struct node *node = nodes;
    for (long i = 0; i < count * passes; i++) node = node->next;
    return node != nodes;
}
";

/// Compiles a program and records it.
fn record(directory: &TempDir, source: &str, options: &[&str], arguments: &[&str]) -> PathBuf {
    for program in ["qemu-x86_64", "cc"] {
        needs(program);
    }
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("program.c"), source).unwrap();
    let cc = Command::new("cc")
        .args(["-O1", "-w", "-pthread", "-o"])
        .args([path("program"), path("program.c")])
        .output()
        .unwrap();
    assert!(cc.status.success(), "{}", text(&cc.stderr));
    let (trace, program) = (path("trace.parquet"), path("program"));
    let words = ["record", "-q", "-o", trace.to_str().unwrap()];
    let program = ["--", program.to_str().unwrap()];
    let output = terrace(&[&words[..], options, &program, arguments].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    trace
}

/// A machine on which a fault takes ten microseconds.
fn machine(dram_pages: usize, thread_order: ThreadOrder) -> PageMachine {
    PageMachine {
        dram_pages,
        tier: Tier {
            timing: Timing {
                read: Nanos(10_000),
                write: Nanos(10_000),
                channels: 1,
                bandwidth: None,
                order: Order::Plain,
            },
            devices: 1,
            ..Tier::default()
        },
        replacement: replacement::Spec::parse("lru").unwrap(),
        fault: FaultCost::default(),
        instruction_ps: 500,
        access: Nanos(100),
        seed: 1,
        thread_order,
        ..PageMachine::default()
    }
}

fn outcome(source: Box<dyn Source>, machine: PageMachine) -> Outcome {
    let workload = Workload::new(vec![source], None).unwrap();
    run(workload, vec![machine], None, |_| ())
        .unwrap()
        .remove(0)
}

/// A trace in memory.
struct Rows(terrace_trace::Meta, Vec<Access>);

impl Source for Rows {
    fn meta(&self) -> &terrace_trace::Meta {
        &self.0
    }
    fn read(&mut self, block: &mut Block) -> terrace_base::Result<()> {
        block.clear();
        let some = self.1.len().min(1 << 14);
        self.1.drain(..some).for_each(|access| block.push(access));
        Ok(())
    }
}

fn open(trace: &Path) -> Box<dyn Source> {
    terrace_trace::open(trace, Columns::ALL).unwrap()
}

/// The rows of a trace by the instructions of their threads.
fn merged(trace: &Path) -> Box<dyn Source> {
    let mut source = open(trace);
    let (mut block, mut rows) = (Block::default(), Vec::new());
    while source.next_block(&mut block).unwrap() {
        rows.extend(block.iter());
    }
    rows.sort_by_key(|row| row.instruction);
    Box::new(Rows(source.meta().clone(), rows))
}

#[test]
fn threads_over_slices_of_their_own_are_as_if_merged_by_instructions() {
    for threads in [2, 4, 8] {
        let directory = tempfile::tempdir().unwrap();
        let trace = record(
            &directory,
            SLICES,
            &[],
            &[&threads.to_string(), "40", "100"],
        );
        let dram = 20 * threads;
        let slowdown = |source, order| outcome(source, machine(dram, order)).slowdown();
        let merged = slowdown(merged(&trace), ThreadOrder::Recorded);
        let recorded = slowdown(open(&trace), ThreadOrder::Recorded);
        println!("{threads} threads: {recorded:.2} as recorded, {merged:.2} merged");
        assert!(
            (recorded / merged - 1.0).abs() < 0.05,
            "{threads} threads: {recorded} and {merged}"
        );
    }
}

#[test]
fn a_recording_says_what_orders_threads() {
    let directory = tempfile::tempdir().unwrap();
    let trace = record(&directory, SLICES, &[], &["3", "2", "2"]);
    let mut source = open(&trace);
    let (mut block, mut orders) = (Block::default(), Vec::new());
    let mut rows = 0;
    while source.next_block(&mut block).unwrap() {
        orders.extend(block.orders.iter().map(|order| (rows + order.row, *order)));
        rows += block.len() as u64;
    }
    // Each thread begins after its creation by the first.
    for thread in 1..=3 {
        let begun = orders
            .iter()
            .find(|(_, order)| order.thread == thread)
            .unwrap();
        let Event::Acquire(point) = begun.1.event else {
            panic!("{begun:?}")
        };
        let released = Event::Release(point);
        let creation = orders
            .iter()
            .find(|(_, order)| order.event == released)
            .unwrap();
        assert_eq!(creation.1.thread, 0);
        assert!(point.is_creation());
        assert!(creation.0 <= begun.0);
        // The first comes after its end, by a join or at the end of the program.
        let mut ends = orders.iter().filter(|(_, order)| order.thread == thread);
        let Event::Release(end) = ends.next_back().unwrap().1.event else {
            panic!("it ends with a release")
        };
        let joined =
            |order: &&(u64, terrace_trace::order::Order)| order.1.event == Event::Acquire(end);
        // At the end of the program no row may follow.
        assert!(
            orders
                .iter()
                .filter(joined)
                .all(|(_, order)| order.thread == 0)
        );
    }
}

#[test]
fn a_recorded_pointer_chase_takes_the_latency_of_memory() {
    let directory = tempfile::tempdir().unwrap();
    // Time and misses of the passes alone, without those of the beginning.
    let totals = |dependences: bool, passes: &str| {
        let options: &[&str] = if dependences { &["--dependences"] } else { &[] };
        let trace = record(&directory, CHASE, options, &["65536", passes]);
        let machine = "-q --policy lru --l1 32K:8 --l2 256K:8 --llc 1M --memory pcm-row";
        let mut arguments: Vec<_> = machine.split(' ').collect();
        arguments.push(trace.to_str().unwrap());
        let run = &simulate("llc", &arguments)["runs"][0];
        (
            number(&run["memories"][0], "time_ns"),
            number(run, "misses"),
        )
    };
    let each = |dependences| {
        let (few, many) = (totals(dependences, "2"), totals(dependences, "6"));
        (many.0 - few.0) / (many.1 - few.1)
    };
    let (with, without) = (each(true), each(false));
    let latency = 28.0 + (LOOKUP * CYCLE) as f64 / 1000.0;
    println!("{with:.2} ns a miss, without dependences {without:.2}, alone {latency}");
    assert!(
        (with / latency - 1.0).abs() < 0.1,
        "{with} ns a miss, not {latency}"
    );
    assert!(without < 0.6 * latency, "{without}");
}
