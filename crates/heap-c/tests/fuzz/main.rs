//! The target of fuzzing the C API, on what it has found worth keeping: `make fuzz` looks for more.

mod api;
mod calls;
#[path = "../../../heap/tests/fuzz/input.rs"]
mod input;
#[path = "../../../heap/tests/fuzz/replay.rs"]
mod replay;

include!("library.rs");

use std::path::Path;

#[test]
fn calls_in_any_order_do_not_panic() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../heap/fuzz/corpus/c_calls");
    replay::replay(&corpus, 150, calls::calls);
}
