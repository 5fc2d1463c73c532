//! Options of what is counted, measured and told while a program runs, and the sizes of a tier: odd
//! values in each of them, outputs that take nothing, and programs that end at the wrong time.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::case::{Case, Input, Output, case};

/// A run that ends at once, and says only what is wrong.
const RUN: &str = "run -q --dram 64M --footprint 64M";

pub fn cases() -> Vec<Case> {
    let mut all = sizes();
    all.extend(times());
    all.extend(endurances());
    all.extend(interval_files());
    all.extend(recordings());
    all.extend(programs());
    all.extend(limits());
    all.extend(attached());
    all
}

/// What is no size, or no share, of a tier and of memory.
fn sizes() -> Vec<Case> {
    let mut all = Vec::new();
    for (option, value, says) in [
        ("--tier-size", "0", "it is zero"),
        ("--tier-size", "64", "a tier of 64 B is too small"),
        ("--tier-size", "1e3", "is too small"),
        ("--tier-size", "50%", "is not a size"),
        ("--tier-size", "16X", "unknown unit"),
        ("--tier-size", "inf", "is not a size"),
        ("--tier-size", "99999999999999999999G", "it is too large"),
        ("--tier-size", "", "is not a size"),
        ("--footprint", "25%", "is not a size"),
        ("--footprint", "-64M", "it is negative"),
        ("--footprint", "1", "1M?"),
        ("--footprint", "1048575", "1048575M?"),
    ] {
        all.push(
            case(format!("size_{option}_{value}"), "run --dram 64M")
                .argument(option)
                .argument(value)
                .and("-- true")
                .usage(says),
        );
    }
    all.extend([case(
        "size_of_node_0",
        "run --dram 64M --tier node:0 --tier-size 64M -- true",
    )
    .usage("--tier-size is of swap")]);
    for (command, rest) in [
        ("run", "-- true"),
        ("bench live", ""),
        ("validate", "-- true"),
        ("extend", "-- true"),
        ("sim pages", "{dir}/none"),
    ] {
        for (value, says) in [
            ("100", "100%?"),
            ("101", "101M?"),
            ("0%", "`0%` is no share of the footprint"),
            ("nan%", "`nan%` is no share of the footprint"),
        ] {
            all.push(
                case(format!("dram_{command}_{value}"), command)
                    .and("--dram")
                    .argument(value)
                    .and(rest)
                    .usage(says),
            );
        }
    }
    all
}

/// What is no time, where one is asked for.
fn times() -> Vec<Case> {
    let mut all = Vec::new();
    for (line, rest) in [
        ("run --dram 64M --after", "-- true"),
        ("run --dram 50% --measure", "-- true"),
        ("run --dram 64M --interval", "-- true"),
        ("attach 1 --interval", ""),
        ("attach 1 --for", ""),
    ] {
        for value in ["0m", "99999999999d", "1e300h", "infs", "1s2"] {
            all.push(
                case(format!("{line} {value}"), line)
                    .argument(value)
                    .and(rest)
                    .usage("no time to wait"),
            );
        }
    }
    all.extend([
        case(
            "latency_with_a_value",
            "run --dram 64M --latency=1s -- true",
        )
        .usage("--latency"),
        case(
            "see_limit_with_a_value",
            "run --dram 64M --see-limit=no -- true",
        )
        .usage("--see-limit"),
        case(
            "see_limit_twice",
            "run --dram 64M --see-limit --see-limit -- true",
        )
        .usage("--see-limit"),
        // Centuries: more than the clock of the machine holds.
        case("interval_of_centuries", RUN)
            .and("--interval 5000000h --interval-to {dir}/lines -- true")
            .leaves("lines")
            .live(),
        case("after_centuries", RUN)
            .and("--after 5000000h --json=- -- true")
            .prints("terrace.run/1")
            .live(),
        case(
            "measure_for_centuries",
            "run -q --dram 50% --measure 5000000h -- sh -c",
        )
        .argument("exit 6")
        .code(6)
        .live(),
    ]);
    all
}

fn endurances() -> Vec<Case> {
    let mut all = Vec::new();
    for (line, rest) in [
        ("run --dram 64M --endurance", "-- true"),
        ("attach 1 --endurance", ""),
    ] {
        for value in ["0TBW", "-1TBW", "nanTBW", "1e400TBW"] {
            all.push(
                case(format!("{line} {value}"), line)
                    .argument(value)
                    .and(rest)
                    .usage("is no endurance"),
            );
        }
    }
    all
}

/// Files of `--interval-to`.
fn interval_files() -> Vec<Case> {
    let to = |name: &str, file: &str| {
        case(name, RUN)
            .and("--interval 1s --interval-to")
            .argument(file)
    };
    let full = "1 line of --interval could not be written to /dev/full: No space left on device";
    vec![
        case("interval_file_alone", "attach 1 --interval-to {dir}/lines").usage("--interval"),
        to("interval_file_is_the_program", "{dir}/program")
            .and("-- {dir}/program")
            .file("program", "#!/bin/sh\n")
            .mode("program", 0o755)
            .usage("would overwrite"),
        to("interval_and_results_to_standard_output", "-")
            .and("--json=- -- true")
            .usage("--interval-to and --json cannot both be written to standard output"),
        to("interval_and_table_to_standard_output", "-")
            .and("--csv - -- true")
            .usage("--interval-to and --csv cannot both be written to standard output"),
        to("interval_file_without_a_directory", "{dir}/none/lines")
            .and("-- true")
            .usage("there is no directory for it"),
        to("interval_file_is_there", "{dir}/lines")
            .and("-- true")
            .file("lines", "of an earlier run")
            .changes("lines")
            .live(),
        to("interval_file_is_full", "/dev/full")
            .and("-- true")
            .failure(full)
            .live(),
        to("interval_file_is_full_at_a_failure", "/dev/full")
            .and("-- false")
            .failure(full)
            .live(),
        to("interval_to_standard_output", "-")
            .and("-- true")
            .prints("terrace.interval/1")
            .live(),
        to("interval_to_full_standard_output", "-")
            .and("-- true")
            .output(Output::Full)
            .failure("could not be written to standard output: No space left on device")
            .live(),
        to("interval_to_a_reader_that_has_gone", "-")
            .and("-- true")
            .output(Output::Broken)
            .live(),
        to("interval_to_closed_standard_output", "-")
            .and("-- true")
            .output(Output::Closed)
            .live(),
    ]
}

/// `record` with a limit of memory, of open files, and of programs that it cannot record.
fn recordings() -> Vec<Case> {
    let mut all = Vec::new();
    for (value, says) in [
        ("0", "it is zero"),
        ("64", "64M?"),
        ("25%", "is not a size"),
        ("-1G", "it is negative"),
        ("much", "is not a size"),
        ("99999999999999999999G", "it is too large"),
    ] {
        all.push(
            case(format!("record_memory_{value}"), "record --memory-limit")
                .argument(value)
                .and("-- true")
                .usage(says),
        );
    }
    // Beside the command that was built, and not beside the copy that the cases run.
    let plugin =
        Path::new(env!("CARGO_BIN_EXE_terrace")).with_file_name("libterrace_recorder_plugin.so");
    let record = |name: &str, line: &str| {
        case(name, "record -q -o {dir}/a.parquet")
            .and(line)
            .variable("TERRACE_RECORDER", plugin.to_str().expect("UTF-8"))
    };
    for (sanitizer, says) in [
        ("address", "AddressSanitizer"),
        ("thread", "ThreadSanitizer"),
    ] {
        all.push(
            record(
                &format!("record_with_a_{sanitizer}_sanitizer"),
                "-- {dir}/program",
            )
            .prepared(move |place| sanitized(place, sanitizer))
            .usage(says),
        );
    }
    all.extend([
        record("record_in_no_memory", "--memory-limit 1M -- true")
            .failure("more than the 1.00 MiB that it might")
            .leaves("a.parquet"),
        record(
            "record_in_more_than_the_machine_has",
            "--memory-limit 4P -- true",
        )
        .leaves("a.parquet"),
        record("record_the_code_of_a_program", "-- sh -c")
            .argument("exit 9")
            .code(9)
            .leaves("a.parquet"),
        record("record_with_8_open_files", "-- true")
            .limit(libc::RLIMIT_NOFILE, 8)
            .failure("the limit of open files is 8: ulimit -n"),
        record("record_with_5_open_files", "-- true")
            .limit(libc::RLIMIT_NOFILE, 5)
            .failure("the limit of open files is 5: ulimit -n"),
    ]);
    all
}

/// Compiles a program with a sanitizer.
fn sanitized(place: &Path, sanitizer: &str) {
    fs::write(place.join("program.c"), "int main(void) { return 0; }\n").expect("its source");
    let made = Command::new("cc")
        .args(["program.c", "-o", "program"])
        .arg(format!("-fsanitize={sanitizer}"))
        .current_dir(place)
        .output()
        .expect("cc");
    assert!(made.status.success(), "{made:?}");
}

/// Programs that fail, ignore signals, or go on when they have ended.
fn programs() -> Vec<Case> {
    let shell = |name: &str, script: &str| case(name, RUN).and("-- sh -c").argument(script).live();
    vec![
        shell("ignores_chld", "trap '' CHLD; /bin/true & wait; exit 5").code(5),
        shell("ignores_pipe", "trap '' PIPE; kill -PIPE $$; exit 6").code(6),
        shell(
            "forks_twice",
            "(setsid sh -c 'sleep 0.3; echo late' &); exit 4",
        )
        .code(4)
        .prints("late"),
        shell(
            "forks_twice_and_closes_all",
            "(setsid sleep 0.3 <&- >&- 2>&- &)",
        ),
        shell("closes_all", "exec <&- >&- 2>&-; exit 8").code(8),
        shell("reads_nothing", "read line; test -z \"$line\"").input(Input::Closed),
        shell("reads_what_is_there", "cat")
            .input(Input::Bytes(b"words".to_vec()))
            .prints("words"),
        shell(
            "full_output_is_the_program_s",
            "echo x 2>/dev/null || exit 3",
        )
        .output(Output::Full)
        .code(3),
        case("locks_more_than_its_budget", "run -q --dram 8M --footprint 64M -- sh -c")
            .argument(
                "exec 2>/dev/null; python3 -c 'import ctypes; ctypes.CDLL(None).mlockall(3); a = bytearray(50 << 20)'; exit $?",
            )
            .code(137)
            .says("full of memory that it has locked (mlock)")
            .live(),
        case("waits_are_measured", RUN)
            .and("--latency --json=- -- true")
            .prints("terrace.run/1")
            .live(),
        case("sees_the_limit_as_another", RUN)
            .and("--see-limit --user nobody -- id -u")
            .prints("65534\n")
            .live(),
        case("fails_in_all_ways", RUN)
            .and("--compare --prefetch off --json=- -- sh -c")
            .argument("exit 3")
            .code(3)
            .prints("\"failed\": \"the program ended with code 3\"")
            .live(),
        // The first of the ways is the only one that does not find the file.
        case("fails_in_all_ways_but_one", RUN)
            .and("--compare --prefetch off --json=- -- sh -c")
            .argument("test -e once && exit 3; echo >once")
            .code(3)
            .prints("\"failed\": \"the program ended with code 3\"")
            .leaves("once")
            .live(),
        case(
            "ends_before_it_is_measured",
            "run -q --dram 50% --measure 1h -- sh -c",
        )
        .argument("exit 7")
        .code(7)
        .live(),
    ]
}

/// A run with few open files goes on, or names the limit.
fn limits() -> Vec<Case> {
    let mut all = Vec::new();
    for files in [5, 8, 12] {
        all.push(
            case(format!("run_with_{files}_open_files"), RUN)
                .and("-- true")
                .limit(libc::RLIMIT_NOFILE, files)
                .failure(&format!("the limit of open files is {files}: ulimit -n"))
                .live(),
        );
    }
    all.push(
        case("run_without_core_files", RUN)
            .and("-- sh -c")
            .argument("ulimit -c")
            .limit(libc::RLIMIT_CORE, 0)
            .prints("0\n")
            .live(),
    );
    all.push(
        case("run_without_locked_memory", RUN)
            .and("-- sh -c")
            .argument("ulimit -l")
            .limit(libc::RLIMIT_MEMLOCK, 0)
            .prints("0\n")
            .live(),
    );
    all
}

/// `attach` and `doctor --clean` by and to what is not there any more.
fn attached() -> Vec<Case> {
    // Terrace, as the parent of the shell, attaches to a program that ends after a moment. It has a
    // limit, in the group of the run.
    let ends = |name: &str, options: &str| {
        let script = "sleep 0.5 <&- >&- 2>&- & exec /proc/$PPID/exe attach $! -q";
        case(name, RUN)
            .and("--see-limit -- sh -c")
            .argument(format!("{script} {options}"))
            .live()
    };
    vec![
        ends("program_ends_meanwhile", "--endurance 600TBW --json=-").prints("terrace.attach/1"),
        ends(
            "program_ends_before_the_time",
            "--endurance 1.2PBW --latency --for 9h --json=-",
        )
        .prints("terrace.attach/1"),
        ends(
            "program_ends_and_its_lines_are_lost",
            "--interval 1h --interval-to /dev/full --csv lives",
        )
        .leaves("lives")
        .failure("1 line of --interval could not be written to /dev/full"),
        case("attach_with_5_open_files", "attach 1 -q --for 1s")
            .limit(libc::RLIMIT_NOFILE, 5)
            .root()
            .failure("the limit of open files is 5: ulimit -n"),
        case(
            "attach_for_a_life_to_nobody",
            "attach 2147483647 --endurance 600TBW",
        )
        .usage("there is no process"),
        case(
            "attach_with_waits_to_nobody",
            "attach 2147483647 --latency --interval 1s",
        )
        .usage("there is no process"),
        case("clean_as_a_user", "doctor --clean")
            .variable("TERRACE_STATE_DIR", "{dir}/state")
            .directory("state")
            .mode("state", 0o755)
            .file("state/run-4194305.json", "{")
            .root_s("state/run-4194305.json")
            .nobody()
            .fails(),
    ]
}
