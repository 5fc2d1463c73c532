//! No output is an input, or another output, by whatever name; and sweeps belong to their options.

use crate::case::{Case, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";

/// Commands that would write where `NAME` is, which they read as `a.parquet`.
const OVERWRITING: [(&str, &str); 7] = [
    ("convert", "trace convert a.parquet NAME --to csv"),
    ("timeline", "sim pages --dram 25% --timeline NAME a.parquet"),
    ("llc_json", "sim llc --json NAME a.parquet"),
    ("llc_requests", "sim llc --requests NAME a.parquet"),
    ("mix_json", "sim mix --json NAME a.parquet"),
    ("llc_traffic", "sim llc --traffic NAME a.parquet"),
    ("validate", "validate --trace a.parquet --json NAME -- true"),
];

/// What else `a.parquet` is called.
const NAMES: [(&str, &str); 4] = [
    ("itself", "a.parquet"),
    ("dot", "./a.parquet"),
    ("absolute", "{dir}/a.parquet"),
    ("link", "link.parquet"),
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (what, line) in OVERWRITING {
        for (how, name) in NAMES {
            all.push(
                case(format!("{what}_{how}"), &line.replace("NAME", name))
                    .after(GEN)
                    .link("link.parquet", "a.parquet")
                    .usage("would overwrite"),
            );
        }
    }
    all.extend([
        case("two_outputs", "sim llc --json out --requests out a.parquet")
            .after(GEN)
            .usage("which"),
        case("two_outputs_to_be", "calibrate --machine out --json ./out").usage("would overwrite"),
        case(
            "machine_file",
            "sim pages --machine m.toml --dram 1M --timeline m.toml a.parquet",
        )
        .file("m.toml", "")
        .code(2),
        case(
            "memories_file",
            "sim llc --memories m.toml --json m.toml a.parquet",
        )
        .file("m.toml", "")
        .usage("would overwrite"),
        case(
            "run_program",
            "run --dram 64M --json {dir}/program -- {dir}/program",
        )
        .file("program", "#!/bin/sh\n")
        .mode("program", 0o755)
        .usage("would overwrite"),
        case(
            "record_program",
            "record -o program.csv -- {dir}/program.csv",
        )
        .file("program.csv", "#!/bin/sh\n")
        .mode("program.csv", 0o755)
        .usage("would overwrite"),
        case("sweep_trace", "sweep --dram 25% a.parquet -o a")
            .after(GEN)
            .usage("would overwrite"),
        case(
            "sweep_trace_by_ending",
            "sweep --dram 25% a.parquet -o a.csv",
        )
        .after(GEN)
        .usage("would overwrite"),
        case("sweep_device", "sweep --dram 25% a.parquet -o /dev/null")
            .after(GEN)
            .usage("is neither a directory"),
        case("sweep_foreign_table", "sweep --dram 25% a.parquet -o mine")
            .after(GEN)
            .file("mine.csv", "mine")
            .usage("`mine.csv` is there"),
        case(
            "sweep_foreign_results",
            "sweep --dram 25% a.parquet -o mine",
        )
        .after(GEN)
        .file("mine.results", "notes\n")
        .usage("`mine.results` is not a directory"),
    ]);
    for (name, options) in [
        ("dram", "--dram 50%"),
        ("limit", "--dram 25% --limit 10"),
        ("memory", "--dram 25% --memory flash"),
        ("seed", "--dram 25% --seed 2"),
        ("policy", "--dram 25% --replacement fifo"),
    ] {
        all.push(
            case(
                format!("sweep_other_{name}"),
                &format!("sweep -q {options} a.parquet -o out"),
            )
            .after(GEN)
            .after("sweep -q --dram 25% a.parquet -o out")
            .usage("is not the result of a sweep with these options"),
        );
    }
    all
}
