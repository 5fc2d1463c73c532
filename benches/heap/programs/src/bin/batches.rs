//! Puts of numbers into one container of a heap in memory, one by one or in transactions.
//!
//! Usage: batches CONTAINER BATCH PUTS, with tree, map, queue or vector, and 0 for puts that are no
//! transaction. Run it under `valgrind --tool=callgrind` to count instructions.

use std::error::Error;
use std::process::ExitCode;

use terrace_heap::containers::{BTreeMap, Container, HashMap, Queue, Vector};
use terrace_heap::{Heap, Mapped, Result};

/// Bytes of the heap.
const HEAP_BYTES: u64 = 64 << 20;
/// An odd constant that spreads numbers over all keys.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// How many puts there are, and how many are a transaction; none if 0.
#[derive(Clone, Copy)]
struct Work {
    batch: u64,
    puts: u64,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("batches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> std::result::Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [container, batch, puts] = &words[..] else {
        return Err("the words are a container, the puts of a batch, and the puts".into());
    };
    let work = Work {
        batch: number(batch)?,
        puts: number(puts)?,
    };
    let heap = Heap::anonymous(HEAP_BYTES)?;
    match container.as_str() {
        "tree" => {
            let tree = BTreeMap::<u64, u64>::open(&heap, "tree")?;
            let single = |i| tree.insert(&key(i), &i).map(drop);
            put(&heap, &tree, work, single, |tree, i| {
                tree.insert(&key(i), &i).map(drop)
            })?;
        }
        "map" => {
            let map = HashMap::<u64, u64>::open(&heap, "map")?;
            let single = |i| map.insert(&key(i), &i).map(drop);
            put(&heap, &map, work, single, |map, i| {
                map.insert(&key(i), &i).map(drop)
            })?;
        }
        "queue" => {
            let queue = Queue::<u64>::open(&heap, "queue")?;
            put(
                &heap,
                &queue,
                work,
                |i| queue.push(&i),
                |queue, i| queue.push(&i),
            )?;
        }
        "vector" => {
            let vector = Vector::<u64>::open(&heap, "vector")?;
            put(
                &heap,
                &vector,
                work,
                |i| vector.push(&i),
                |vector, i| vector.push(&i),
            )?;
        }
        other => return Err(format!("{other} is no container: tree, map, queue, vector").into()),
    }
    Ok(())
}

fn number(word: &str) -> std::result::Result<u64, String> {
    let number = word.parse();
    number.map_err(|_| format!("{word} is no number of puts"))
}

/// Puts by `single`, or in transactions by `within`.
fn put<C: Container<Mapped>>(
    heap: &Heap,
    container: &C,
    work: Work,
    single: impl Fn(u64) -> Result<()>,
    within: impl Fn(&C::Opened<'_>, u64) -> Result<()>,
) -> Result<()> {
    if work.batch == 0 {
        return (0..work.puts).try_for_each(single);
    }
    for first in (0..work.puts).step_by(work.batch as usize) {
        let end = (first + work.batch).min(work.puts);
        heap.transaction(|tx| {
            let opened = tx.open(container)?;
            (first..end).try_for_each(|i| within(&opened, i))
        })?;
    }
    Ok(())
}

/// Returns a key of all keys in no order.
fn key(number: u64) -> u64 {
    number.wrapping_mul(FACTOR) >> 16
}
