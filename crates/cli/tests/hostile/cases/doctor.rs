//! `doctor`, which only looks, and what other users are told.

use crate::case::{Case, Output, case};

pub fn cases() -> Vec<Case> {
    vec![
        case("words_behind", "doctor everything").usage("everything"),
        case("unknown_option", "doctor --repair").usage("--repair"),
        case("clean_twice", "doctor --clean --clean").usage("--clean"),
        case("quiet", "doctor -q").nobody().code(1).prints("kernel"),
        case("full_disk", "doctor --json")
            .nobody()
            .output(Output::Full)
            .code(1),
        looks("what_for").prints("CAP_SYS_NICE to have the program's pages fetched"),
        looks("line_to_type").prints("run as root: sudo"),
        looks("readahead").prints("vm.page-cluster"),
        looks("as_json").and("--json").prints("\"ready\": false"),
        looks("open_directory")
            .directory("state")
            .mode("state", 0o777)
            .prints("may be written by other users"),
        looks("directory_in_an_open_one")
            .variable("TERRACE_STATE_DIR", "{dir}/open/state")
            .directory("open/state")
            .mode("open", 0o777)
            .prints("everybody may replace it"),
        looks("no_journal")
            .directory("state")
            .mode("state", 0o755)
            .file("state/run-1.json", "{")
            .mode("state/run-1.json", 0o644)
            .prints("is no journal of this version of terrace"),
        looks("fifo")
            .directory("state")
            .mode("state", 0o755)
            .fifo("state/run-1.json")
            .prints("is no regular file"),
        // Process 1 runs, and is older than the file.
        looks("journal_of_a_live_run_of_root")
            .directory("state")
            .mode("state", 0o755)
            .file("state/run-1.json", "{")
            .root_s("state/run-1.json")
            .prints("nothing left behind"),
        looks("journal_of_a_killed_run_of_root")
            .directory("state")
            .mode("state", 0o755)
            .file("state/run-4194305.json", "{")
            .root_s("state/run-4194305.json")
            .prints("to see and undo what it left, run: sudo"),
        looks("other_files")
            .directory("state")
            .mode("state", 0o755)
            .file("state/package.json", "{")
            .prints("nothing left behind"),
        case("run_without_rights", "run --dram 64M -- true")
            .nobody()
            .failure("this needs root; run: sudo"),
        case("calibrate_without_rights", "calibrate")
            .nobody()
            .failure("this needs root; run: sudo"),
        case("bench_without_rights", "bench live")
            .nobody()
            .failure("this needs root; run: sudo"),
    ]
}

/// Looks as a user who may do nothing, so that it never finds all well.
fn looks(name: &str) -> Case {
    case(name, "doctor")
        .variable("TERRACE_STATE_DIR", "{dir}/state")
        .nobody()
        .code(1)
}
