//! `sched`: mixes of nothing, turns of no length, and processes that are none, or another's.

use crate::case::{Case, case};

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case("run_nothing", "sched run").usage("missing"),
        case("run_no_program", "sched run -- true -- -- true").usage("a program is missing"),
        case("run_no_such_program", "sched run -- /no/such/program").usage("does not exist"),
        case(
            "run_turns_to_compare",
            "sched run --slice 15ms,30ms -- true",
        )
        .usage("with --compare"),
        case("cpus_are_none", "sched run --cpus x -- true").usage("no list of CPUs"),
        case("cpus_go_down", "sched run --cpus 5-1 -- true").usage("no list of CPUs"),
        case(
            "cpus_are_offline",
            "sched run --slice off --cpus 1023 -- true",
        )
        .usage("not online"),
        case("cache_of_nothing", "sched run --llc 0 -- true").usage("not a size"),
        case("file_is_missing", "sched run --file no/such").usage("cannot read"),
        case("file_is_a_directory", "sched run --file {dir}").usage("cannot read"),
        case("file_is_empty", "sched run --file mix.toml")
            .file("mix.toml", "")
            .usage("names no programs"),
        case("file_is_no_text", "sched run --file mix.toml")
            .file("mix.toml", [0xff, 0, 0xfe])
            .usage("is no text"),
        case("validate_no_program", "validate mix -- true -- -- true")
            .usage("a program is missing"),
        case(
            "validate_no_such_program",
            "validate mix -- /no/such/program",
        )
        .usage("does not exist"),
        case("validate_no_rows", "validate mix --rows 0 -- true").usage("--rows"),
        case("validate_both", "validate --dram 1M mix -- true").usage("mix"),
        case("validate_unevenly", "validate mix --cpus 1023 -- true").usage("none of the CPUs"),
        case("attach_to_nothing", "sched attach").usage("missing"),
        case("no_such_process", "sched attach 2147483647").usage("there is no process"),
        case("kernel_thread", "sched attach 2").usage("belongs to the kernel"),
        case("no_such_group", "sched attach --cgroup no/such").usage("there is no cgroup"),
        case("no_time", "sched attach 1 --for 0s").usage("no time to wait"),
        // All processes of the machine, terrace's own parents among them.
        case("first_process", "sched attach 1 1 -q --slice off --for 1s").prints("off"),
        case("process_of_another_user", "sched attach 1 --for 1s")
            .nobody()
            .root()
            .usage("belongs to root"),
        case("guard_of_another", "guard 1 {dir}").usage("terrace itself starts this command"),
    ];
    for slice in [
        "0",
        "0ms",
        "-1ms",
        "static:turn=0",
        "refill:most=0",
        "longer",
        "",
        "30",
    ] {
        all.push(
            case(format!("slice_{slice}"), "sched run --slice")
                .argument(slice)
                .and("-- true")
                .usage("--slice"),
        );
    }
    for pid in ["0", "-1", "x", "2147483648", "1.5"] {
        all.push(
            case(format!("pid_{pid}"), "sched attach")
                .argument(pid)
                .usage("is no whole number"),
        );
    }
    all
}
