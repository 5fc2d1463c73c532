//! What holds of any command.

use crate::case::{Case, Input, Output, case};

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case("version", "--version").prints("terrace "),
        case("help", "--help").prints("terrace"),
        case("no_program", "run --dram 64M").usage("no program was given"),
        case("no_program_after_dashes", "run --dram 64M --").usage("no program was given"),
        case("missing_program", "run --dram 64M -- /no/such/program").usage("does not exist"),
        case("program_on_no_path", "run --dram 64M -- no-such-program").usage("does not exist"),
        case("program_is_directory", "run --dram 64M -- {dir}").usage("is a directory"),
        case("program_is_no_program", "run --dram 64M -- {dir}/text")
            .file("text", "text")
            .mode("text", 0o644)
            .usage("may not be run"),
        case(
            "tier_missing",
            "run --dram 64M --tier /no/such/place -- true",
        )
        .usage("does not exist"),
        case("tier_is_file", "run --dram 64M --tier {dir}/file -- true")
            .file("file", "of others")
            .usage("neither a directory nor a block device"),
        case(
            "calibration_without_readings",
            "validate --calibration file -- true",
        )
        .file("file", "[package]\nname = \"x\"\n")
        .usage("has no readings"),
        case(
            "machine_without_description",
            "sim pages --machine file --dram 1M trace",
        )
        .file("file", "[package]\nname = \"x\"\n")
        .usage("describes no machine"),
        case("probe_by_hand", "probe 64 1").usage("for terrace calibrate"),
        case("doctor_without_rights", "doctor")
            .nobody()
            .code(1)
            .prints("privileges"),
        case("doctor_closed_input", "doctor")
            .nobody()
            .input(Input::Closed)
            .code(1)
            .prints("kernel"),
        case("doctor_without_reader", "doctor")
            .nobody()
            .output(Output::Broken)
            .code(1),
        case("input_that_is_no_trace", "trace info -")
            .input(Input::Bytes(b"0,0,r,64".to_vec()))
            .usage("the format of the trace `-` shows neither in it nor in its name"),
        case("help_to_a_full_disk", "--help")
            .output(Output::Full)
            .failure("cannot write"),
        case("help_without_output", "--help").output(Output::Closed),
        case("small_disk", "trace info full/a.csv")
            .small_disk(16384)
            .failure("full/a.csv"),
        case("small_files", "trace info a.csv")
            .limit(libc::RLIMIT_FSIZE, 4096)
            .failure("a.csv"),
        case("trace_missing", "trace info none.csv").failure("none.csv"),
        case("trace_is_directory", "trace info {dir}").failure("directory"),
        case("trace_empty", "trace info empty.csv")
            .file("empty.csv", "")
            .failure("empty.csv"),
        case("pool_missing", "heap info none.pool").usage("none.pool"),
        case("pool_is_directory", "heap info {dir}").usage("is not a regular file"),
        case("pool_empty", "heap info empty.pool")
            .file("empty.pool", "")
            .failure("empty.pool"),
        case("suite_missing", "bench no-such-suite").usage("no-such-suite"),
    ];
    for (name, size, why) in [
        ("zero", "0", "it is zero"),
        ("negative", "-4G", "it is negative"),
        ("word", "much", "unknown unit"),
        ("huge", "8000P", "larger than this machine's"),
        ("no_percent", "0%", "no share of the footprint"),
        ("percent", "120%", "no share of the footprint"),
    ] {
        all.push(
            case(format!("dram_{name}"), "run --dram")
                .argument(size)
                .and("-- true")
                .usage(why),
        );
    }
    all
}
