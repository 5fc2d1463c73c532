//! The targets of fuzzing, on what it has found worth keeping: `make fuzz` looks for more.

#[allow(dead_code, reason = "repairs need little of it")]
#[path = "../../src/checksum.rs"]
mod checksum;
#[path = "../common/mod.rs"]
mod common;
mod damage;
mod input;
mod look;
mod model;
mod operations;
mod pool_bytes;
mod replay;

use std::path::Path;

fn replay(name: &str, made: usize, target: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    replay::replay(&corpus.join(name), made, target);
}

#[test]
fn pools_of_any_bytes_are_looked_at() {
    replay("pool_bytes", 300, pool_bytes::pool_bytes);
}

#[test]
fn operations_are_those_of_the_standard_library() {
    replay("operations", 150, operations::operations);
}
