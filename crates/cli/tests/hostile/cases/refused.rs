//! What `run` and its like refuse before anything begins: budgets, lessons, pipes that nobody
//! reads, tiers that are none; and limits of this process that they meet.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::case::{Case, case};

/// A run that ends at once, and says only what is wrong.
const RUN: &str = "run -q --dram 64M --footprint 64M";

pub fn cases() -> Vec<Case> {
    let mut all = budgets();
    all.extend(lessons());
    all.extend(pipes());
    all.extend(tiers());
    all.extend(limits());
    all.extend(figures());
    all
}

fn budgets() -> Vec<Case> {
    let mut all = Vec::new();
    for (command, rest) in [
        ("run", "-- true"),
        ("run --compare", "-- true"),
        ("validate", "-- true"),
        ("bench live", ""),
    ] {
        all.push(
            case(format!("{command}_in_a_page"), command)
                .and("--dram 4k")
                .and(rest)
                .usage("are too few for any program to run in; give --dram 1.00 MiB or more"),
        );
    }
    for command in ["run", "validate", "extend", "sim pages"] {
        all.push(
            case(format!("{command}_in_nothing"), command)
                .and("--dram 0% -- {dir}/none")
                .usage("`0%` is no share of the footprint; name one above 0% and up to "),
        );
    }
    // The least that is not refused.
    all.push(
        case(
            "run_in_a_mebibyte",
            "run -q --dram 1M --footprint 1M -- true",
        )
        .live(),
    );
    all
}

/// `--learn` of files that no run has left.
fn lessons() -> Vec<Case> {
    let learn = |name: &str| {
        case(format!("learn_from_{name}"), RUN)
            .and("--prefetch replay --learn {dir}/lesson -- true")
    };
    let foreign = "was not written by a run with --learn: ";
    vec![
        learn("an_empty_file")
            .file("lesson", "")
            .usage(&format!("{foreign}it is empty")),
        learn("garbage")
            .file("lesson", [0xff; 99])
            .usage(&format!("{foreign}its first line")),
        learn("a_line")
            .file("lesson", "garbage")
            .usage(&format!("{foreign}its first line")),
        learn("a_head")
            .file("lesson", "process,walk,page\n")
            .usage("it holds no misses"),
        learn("a_directory")
            .directory("lesson")
            .usage(&format!("{foreign}it is no regular file")),
        case("learn_without_a_directory", RUN)
            .and("--learn {dir}/none/lesson -- true")
            .usage("there is no directory for"),
        case("learn_from_an_empty_file_in_all_ways", RUN)
            .and("--compare --learn {dir}/lesson -- true")
            .file("lesson", "")
            .usage(&format!("{foreign}it is empty")),
    ]
}

/// Outputs to pipes with a name.
fn pipes() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, options) in [
        ("interval", "--interval 1s --interval-to {dir}/pipe"),
        ("json", "--json {dir}/pipe"),
        ("html", "--html {dir}/pipe"),
    ] {
        all.push(
            case(format!("{name}_to_a_pipe_that_nobody_reads"), RUN)
                .and(options)
                .and("-- true")
                .fifo("pipe")
                .usage("nobody reads the pipe"),
        );
        all.push(
            case(format!("{name}_to_a_pipe_with_a_reader"), RUN)
                .and(options)
                .and("-- true")
                .fifo("pipe")
                .prepared(read_pipe)
                .live(),
        );
    }
    all.push(
        case(
            "list_to_a_pipe_that_nobody_reads",
            "list predictors --json {dir}/pipe",
        )
        .fifo("pipe")
        .usage("nobody reads the pipe"),
    );
    all
}

/// Starts a reader of the pipe, which ends when it has read something.
fn read_pipe(place: &Path) {
    let started = Command::new("sh")
        .args(["-c", "exec 3<>pipe; timeout 600 head -c 1 <&3 &"])
        .current_dir(place)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(started.expect("a reader").success());
}

/// A memory node as the tier of a command that swaps.
fn tiers() -> Vec<Case> {
    let swaps = |name: &str, line: &str| {
        case(format!("{name}_on_a_node"), line)
            .usage("a memory node is no swap area; --tier node:N is for terrace run alone")
    };
    vec![
        swaps("bench", "bench live --tier node:1"),
        swaps("validate", "validate --dram 64M --tier node:1 -- true"),
        swaps("calibrate", "calibrate --tier node:1"),
    ]
}

/// Limits of this process.
fn limits() -> Vec<Case> {
    let mut all = Vec::new();
    for kibibytes in [128, 256, 512] {
        let stack = |name: &str, line: &str| {
            case(format!("{name}_with_a_stack_of_{kibibytes}K"), line)
                .limit(libc::RLIMIT_STACK, kibibytes << 10)
        };
        all.extend([
            stack("version", "--version").prints("terrace "),
            stack("list", "list predictors").prints("stream"),
            stack("wrong_usage", "run --dram 0% -- true").usage("no share"),
            stack("run", RUN)
                .and("-- sh -c")
                .argument("ulimit -s; exit 7")
                .prints(&format!("{kibibytes}\n"))
                .code(7)
                .live(),
        ]);
    }
    // Of descriptors none are left for what these read first, each in another place.
    for files in [4, 5] {
        for (name, line) in [
            ("run", "run --dram 64M --footprint 64M -- true"),
            ("calibrate", "calibrate"),
            ("attach", "attach 1 --for 1s"),
        ] {
            all.push(
                case(format!("{name}_with_{files}_descriptors"), line)
                    .limit(libc::RLIMIT_NOFILE, files)
                    .failure(&format!("the limit of open files is {files}: ulimit -n"))
                    .live(),
            );
        }
    }
    all
}

/// What is measured and told.
fn figures() -> Vec<Case> {
    let short = "is too short: the shortest interval is 0.1 s";
    let leaves = "for group in /sys/fs/cgroup/memory /sys/fs/cgroup; do
        test -e $group/cgroup.procs && echo $$ > $group/cgroup.procs && break; done; exec sleep 0.5";
    vec![
        case(
            "interval_of_a_millisecond",
            "run --dram 64M --interval 1ms -- true",
        )
        .usage(short),
        case("interval_of_99_milliseconds", "attach 1 --interval 0.099s").usage(short),
        case("interval_of_100_milliseconds", RUN)
            .and("--interval 100ms --interval-to {dir}/lines -- true")
            .leaves("lines")
            .live(),
        case("program_that_leaves_its_group", RUN)
            .and("--json=- -- sh -c")
            .argument(leaves)
            .prints("\"left_group\": 1")
            .live(),
        case("child_that_leaves_the_group", RUN)
            .and("--json=- -- sh -c")
            .argument(format!("sh -c '{leaves}'; exit 0"))
            .prints("\"left_group\": 1")
            .live(),
        case("program_that_stays_in_its_group", RUN)
            .and("--json=- -- sh -c")
            .argument("sleep 0.2 & sleep 0.1; wait")
            .prints("\"left_group\": 0")
            .live(),
        case(
            "a_tight_tier_is_no_word_for_the_quiet",
            "run -q --dram 64M --footprint 256M",
        )
        .and("--tier-size 200M -- true")
        .silent()
        .live(),
    ]
}
