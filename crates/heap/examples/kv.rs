//! A key-value store that keeps what it is told:
//!
//! ```sh
//! cargo run -p terrace-heap --example kv -- words.pool set hello world
//! cargo run -p terrace-heap --example kv -- words.pool get hello
//! ```

use std::io::Write;

use terrace_heap::containers::BTreeMap;
use terrace_heap::{Heap, Result};

/// Carries out one command on the store in a file, and writes what it finds.
pub fn carry_out(words: &[&str], out: &mut impl Write) -> Result<bool> {
    let [pool, command @ ..] = words else {
        return Ok(false);
    };
    let heap = Heap::open_or_create(pool, 16 << 20)?;
    let store = BTreeMap::<str, str>::open(&heap, "words")?;
    match command {
        ["set", key, value] => drop(store.insert(key, value)?),
        ["remove", key] => drop(store.remove(key)?),
        ["get", key] => drop(writeln!(out, "{}", store.get(key)?.unwrap_or_default())),
        ["list"] => {
            for entry in store.iter() {
                let (key, value) = entry?;
                let _ = writeln!(out, "{key} = {value}");
            }
        }
        _ => return Ok(false),
    }
    heap.close().map(|()| true)
}

#[allow(dead_code, reason = "the test of the examples calls `carry_out`")]
fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if !carry_out(&words, &mut std::io::stdout())? {
        eprintln!("usage: kv POOL set KEY VALUE | get KEY | remove KEY | list");
    }
    Ok(())
}
