//! Transfers between accounts that survive a crash, each wholly or not at all:
//!
//! ```sh
//! cargo run -p terrace-heap --example accounts -- bank.pool anna bert 30
//! ```
//!
//! A new account begins with 100.

use std::error::Error;
use std::path::Path;

use terrace_heap::Heap;
use terrace_heap::containers::{BTreeMap, Queue};

/// What a new account holds.
pub const BEGINNING: u64 = 100;

/// Opens the bank in a file, or makes one there.
pub fn bank(pool: &Path) -> terrace_heap::Result<Heap> {
    Heap::open_or_create(pool, 16 << 20)
}

/// Moves `amount` from one account to another, and notes it in the log.
pub fn transfer(heap: &Heap, from: &str, to: &str, amount: u64) -> Result<(), Box<dyn Error>> {
    let accounts = BTreeMap::<str, u64>::open(heap, "accounts")?;
    let log = Queue::<str>::open(heap, "log")?;
    heap.transaction(|tx| {
        let accounts = tx.open(&accounts)?;
        let has = accounts.get(from)?.unwrap_or(BEGINNING);
        // A transaction that returns an error has changed nothing.
        let left = has.checked_sub(amount).ok_or(format!("{from} has {has}"))?;
        accounts.insert(from, &left)?;
        let had = accounts.get(to)?.unwrap_or(BEGINNING);
        accounts.insert(to, &(had + amount))?;
        tx.open(&log)?
            .push(&format!("{amount} from {from} to {to}"))?;
        Ok(())
    })
}

/// Returns all accounts, by name.
pub fn balances(heap: &Heap) -> terrace_heap::Result<Vec<(String, u64)>> {
    BTreeMap::<str, u64>::open(heap, "accounts")?
        .iter()
        .collect()
}

#[allow(dead_code, reason = "the test of the examples calls the functions")]
fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [pool, from, to, amount] = &words[..] else {
        return Err("usage: accounts POOL FROM TO AMOUNT".into());
    };
    let heap = bank(pool.as_ref())?;
    transfer(&heap, from, to, amount.parse()?)?;
    for (name, balance) in balances(&heap)? {
        println!("{name}: {balance}");
    }
    Ok(heap.close()?)
}
