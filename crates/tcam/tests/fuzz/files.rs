//! Any bytes as a file: they are a table, updates, both, or refused with a sentence that says where
//! they are wrong.

use std::fs;
use std::sync::LazyLock;

use tempfile::TempDir;
use terrace_tcam::input::{self, Ports};

/// In memory where there is such a place: a target is called thousands of times a second.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new());
    folder.expect("a folder")
});

/// Reads bytes both ways. Of a thread there is one file.
pub fn judge(bytes: &[u8]) {
    let name = format!("{:?}", std::thread::current().id());
    let path = FOLDER.path().join(name);
    fs::write(&path, bytes).expect("room for a file");
    let table = input::table(&path, None, &mut Ports::default()).map(drop);
    let updates = input::updates(&path, None, &mut Ports::default()).map(drop);
    for error in [table, updates].into_iter().filter_map(Result::err) {
        let error = error.to_string();
        assert!(says_where(&error), "{error}");
    }
}

/// Tells whether an error is one sentence that names a place, or what is wrong with all of the
/// file.
fn says_where(error: &str) -> bool {
    const OF_ALL: [&str; 5] = [
        "is empty",
        "has no route",
        "does not show in it",
        "is a routing table",
        "without a column",
    ];
    let is_located = ["at offset ", "in line "]
        .iter()
        .any(|place| error.contains(place));
    let is_of_all = OF_ALL.iter().any(|what| error.contains(what));
    (is_located || is_of_all) && !error.contains('\n')
}
