//! The target of fuzzing, on what it has found worth keeping: `make fuzz` looks for more.

mod files;
#[path = "../../../heap/tests/fuzz/replay.rs"]
mod replay;

use std::path::Path;

#[test]
fn files_of_any_bytes_are_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/files");
    replay::replay(&corpus, 400, files::judge);
}
