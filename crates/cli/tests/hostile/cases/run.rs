//! `run` and what else runs programs: whom it runs as, what it runs, and that `-q` is quiet.

use crate::case::{Case, case};

/// A run that ends at once.
const RUN: &str = "run --dram 64M --footprint 64M";

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case("repeat_none", "run --dram 64M --repeat 0 -- true").usage("--repeat"),
        case("repeat_too_often", "run --dram 64M --repeat 1001 -- true").usage("--repeat"),
        case("repeat_no_number", "run --dram 64M --repeat often -- true").usage("--repeat"),
        case("wide_alone", "run --dram 64M --wide -- true").usage("--compare"),
        case("zswap_unknown", "run --dram 64M --zswap LZ4 -- true").usage("there is no `LZ4`"),
        case("zswap_empty", "run --dram 64M --zswap= -- true").usage("there is no ``"),
        case(
            "zswap_off_with_settings",
            "run --dram 64M --zswap off:pool=3 -- true",
        )
        .usage("`off` has no settings"),
        case(
            "zswap_pool_none",
            "run --dram 64M --zswap auto:pool=0 -- true",
        )
        .usage("from 1 to 100"),
        case(
            "zswap_pool_huge",
            "run --dram 64M --zswap lzo:pool=99999999999999999999 -- true",
        )
        .usage("from 1 to 100"),
        case(
            "zswap_pool_twice",
            "run --dram 64M --zswap lzo:pool=1,pool=2 -- true",
        )
        .usage("`pool` is set twice"),
        case(
            "zswap_before_zram",
            "run --dram 64M --tier zram --zswap auto -- true",
        )
        .usage("compressed memory already"),
        case(
            "zswap_before_two_levels",
            "run --dram 64M --tier zram+{dir} --zswap auto -- true",
        )
        .usage("compressed memory already"),
        case("name_is_empty", "run --dram 64M --")
            .argument("")
            .usage("no program was given"),
        case("name_is_long", "run --dram 64M --")
            .argument("x".repeat(5000))
            .usage("does not exist"),
        case("program_is_dangling_link", "run --dram 64M -- {dir}/link")
            .link("link", "/no/such/program")
            .usage("does not exist"),
        case("program_is_link_to_itself", "run --dram 64M -- {dir}/link")
            .link("link", "link")
            .usage("does not exist"),
        case("program_is_fifo", "run --dram 64M -- {dir}/fifo")
            .fifo("fifo")
            .usage("may not be run"),
        script("script_for_a_shell", "touch by-a-shell\n").usage("needs a #! line"),
        script("script_is_empty", "").usage("needs a #! line"),
        script("interpreter_is_missing", "#!/no/such/interpreter\n").usage("cannot run"),
        script("code_is_the_program_s", "#!/bin/sh\nexit 7\n").code(7),
        case("file_size_limit", "run --dram 8M --tier {dir} -- true")
            .limit(libc::RLIMIT_FSIZE, 100 << 10)
            .usage("the limit of the size of a file is 100 KiB: ulimit -f")
            .live(),
        case("quiet", RUN).and("-q -- true").live(),
        case("quiet_comparison", RUN)
            .and("-q --compare --repeat 2 --prefetch off -- true")
            .live(),
    ];
    all.extend(users());
    all.extend(figures());
    all
}

/// Options of what is measured and told.
fn figures() -> Vec<Case> {
    vec![
        case("dram_without_unit", "run --dram 25 -- true").usage("25%?"),
        case(
            "dram_without_unit_too_large_for_a_share",
            "run --dram 512 -- true",
        )
        .usage("512M?"),
        case(
            "footprint_without_unit",
            "run --dram 8M --footprint 64 -- true",
        )
        .usage("64M?"),
        case("extend_dram_without_unit", "extend --dram 25 -- true").usage("25%?"),
        case("validate_dram_without_unit", "validate --dram 25 -- true").usage("25%?"),
        case(
            "curve_dram_without_unit",
            "sim curve --dram 64M,25 {dir}/none",
        )
        .usage("25%?"),
        case("pages_dram_without_unit", "sim pages --dram 25 {dir}/none").usage("25%?"),
        case("files_dram_without_unit", "sim files --dram 64 {dir}/none").usage("64M?"),
        case("place_fast_without_unit", "place --fast 20 {dir}/none").usage("20%?"),
        case("measure_no_time", "run --dram 50% --measure 30 -- true").usage("no time to wait"),
        case("measure_none", "run --dram 50% --measure 0s -- true").usage("no time to wait"),
        case("measure_for_a_size", "run --dram 64M --measure 1s -- true")
            .usage("a share of the footprint"),
        case(
            "measure_and_footprint",
            "run --dram 50% --measure 1s --footprint 64M -- true",
        )
        .usage("exclude each other"),
        case(
            "measure_and_compare",
            "run --dram 50% --measure 1s --compare -- true",
        )
        .usage("exclude each other"),
        case(
            "measure_on_a_node",
            "run --dram 50% --measure 1s --tier node:1 -- true",
        )
        .usage("--measure"),
        case("after_no_time", "run --dram 64M --after soon -- true").usage("no time to wait"),
        case("after_is_negative", "run --dram 64M --after -1s -- true").usage("no time to wait"),
        case("interval_none", "run --dram 64M --interval 0s -- true").usage("no time to wait"),
        case(
            "interval_file_alone",
            "run --dram 64M --interval-to {dir}/lines -- true",
        )
        .usage("--interval"),
        case(
            "interval_file_is_the_result",
            "run --dram 64M --interval 1s --interval-to {dir}/a --json {dir}/a -- true",
        )
        .usage("would overwrite"),
        case(
            "interval_file_is_a_directory",
            "run --dram 64M --interval 1s --interval-to {dir} -- true",
        )
        .usage("is not a regular file"),
        case("attach_endurance_no_unit", "attach 1 --endurance 600").usage("no endurance"),
        case(
            "pages_endurance_no_unit",
            "sim pages --dram 64M --endurance 600 {dir}/none",
        )
        .usage("no endurance"),
    ]
}

/// Runs a file with this content.
fn script(name: &str, content: &str) -> Case {
    case(name, RUN)
        .and("-q -- {dir}/script")
        .file("script", content)
        .mode("script", 0o755)
        .live()
}

fn users() -> Vec<Case> {
    vec![
        case("user_unknown", "run --dram 64M --user no-such-user -- true")
            .usage("there is no user"),
        case("user_empty", "run --dram 64M --user")
            .argument("")
            .and("-- true")
            .usage("there is no user"),
        case("user_record_unknown", "record --user no-such-user -- true").usage("there is no user"),
        case(
            "user_validate_unknown",
            "validate --user no-such-user -- true",
        )
        .usage("there is no user"),
        case("user_llc_unknown", "sim llc --user no-such-user -- true").usage("there is no user"),
        case("user_without_root", "run --dram 64M --user root -- true")
            .nobody()
            .root()
            .usage("only root can run a program as root"),
        called_by("sudo_by_an_unknown_user", "4000000000", "-- true").usage("is not known"),
        called_by("sudo_by_no_number", "nobody", "-- true").usage("is not known"),
        called_by("sudo_by_a_negative_number", "-1", "-- true").usage("is not known"),
        called_by("sudo_by_root", "0", "-- id -u").prints("0\n"),
        called_by("sudo", "65534", "-- id -u").prints("65534\n"),
        called_by("sudo_with_another_s_name", "65534", "-- id -u")
            .variable("SUDO_USER", "root")
            .prints("65534\n"),
        called_by("sudo_and_root_is_kept", "65534", "--user root -- id -u").prints("0\n"),
        called_by(
            "sudo_and_a_closed_directory",
            "65534",
            "-- {dir}/closed/program",
        )
        .directory("closed")
        .file("closed/program", "#!/bin/sh\n")
        .mode("closed/program", 0o755)
        .mode("closed", 0o700)
        .usage("the user nobody may not run"),
    ]
}

/// A run as sudo starts it for the user with this number.
fn called_by(name: &str, uid: &str, rest: &str) -> Case {
    case(name, RUN)
        .and("-q")
        .and(rest)
        .variable("SUDO_UID", uid)
        .variable("SUDO_GID", uid)
        .live()
}
