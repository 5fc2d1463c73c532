//! Outputs that cannot be written, and readers that have gone away.

use crate::case::{Case, Output, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";
const MANY: &str = "trace gen gups --footprint 1M --accesses 200000 -q -o";

/// Commands that print results.
const PRINTING: [(&str, &str); 7] = [
    ("info", "trace info -q a.parquet"),
    ("info_json", "trace info -q --json=- a.parquet"),
    ("pages", "sim pages -q --dram 25% a.parquet"),
    ("pages_json", "sim pages -q --dram 25% --json=- a.parquet"),
    ("llc", "sim llc -q a.parquet"),
    ("llc_json", "sim llc -q --json - a.parquet"),
    ("bench", "bench --list"),
];

/// Commands whose results have every form.
const RESULTS: [(&str, &str); 7] = [
    ("info", "trace info -q a.parquet"),
    (
        "pages",
        "sim pages -q --dram 25% --prefetch off,stream a.parquet",
    ),
    ("llc", "sim llc -q --policy lru,nhm --epoch 9 a.parquet"),
    ("mix", "sim mix -q --warmup 0 --time 1ms a.parquet"),
    ("list", "list predictors"),
    ("explain", "explain stream"),
    ("doctor", "doctor"),
];

/// Names of outputs, by format.
const FORMATS: [&str; 6] = [
    "b.parquet",
    "b.csv",
    "b.csv.gz",
    "b.champsim.xz",
    "b.oracleGeneral",
    "b.oracleGeneral.zst",
];

pub fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, line) in PRINTING {
        all.push(
            case(format!("{name}_full"), line)
                .after(GEN)
                .output(Output::Full)
                .failure("cannot write standard output: there is no room"),
        );
        all.push(
            case(format!("{name}_unread"), line)
                .after(GEN)
                .output(Output::Broken),
        );
    }
    for name in FORMATS {
        all.push(
            case(format!("small_files_{name}"), &format!("{MANY} {name}"))
                .limit(libc::RLIMIT_FSIZE, 4096)
                .failure("ulimit -f"),
        );
        all.push(
            case(format!("small_disk_{name}"), &format!("{MANY} full/{name}"))
                .small_disk(16384)
                .failure("there is no room"),
        );
    }
    for (name, line) in RESULTS {
        let has_plots = !["list", "explain", "doctor"].contains(&name);
        let forms = ["json", "csv", "parquet", "html", "svg"].into_iter();
        for form in forms.filter(|form| *form != "svg" || has_plots) {
            let to = |what: &str, file: &str| {
                case(format!("{name}_{form}_{what}"), line)
                    .and(&format!("--{form} {file}"))
                    .after(GEN)
            };
            all.push(to("device", "/dev/full").failure("cannot write `/dev/full`"));
            all.push(
                to("printed", "-")
                    .output(Output::Full)
                    .failure("cannot write standard output"),
            );
            // The others are smaller than the smallest disk.
            if ["html", "svg"].contains(&form) || name == "list" {
                let disk = to("disk", "full/out").small_disk(4096);
                all.push(disk.failure("there is no room"));
            }
        }
    }
    for (name, format) in [
        ("csv", "csv"),
        ("native", "native"),
        ("champsim", "champsim"),
        ("oracle", "oracle-general"),
    ] {
        let line = format!("trace convert -q a.parquet /dev/full --to {format}");
        all.push(
            case(format!("device_{name}"), &line)
                .after(GEN)
                .failure("cannot write `/dev/full`"),
        );
    }
    all.extend([
        case(
            "timeline",
            "sim pages -q --dram 25% --timeline /dev/full a.parquet",
        )
        .after(GEN)
        .failure("cannot write `/dev/full`"),
        case("json", "sim llc -q --json /dev/full a.parquet")
            .after(GEN)
            .failure("cannot write `/dev/full`"),
        // Room for what is finished, and not for the tables.
        case("sweep_tables", "sweep -q --dram 25% a.parquet -o full/out")
            .after(GEN)
            .small_disk(65536)
            .leaves("full/out.results")
            .failure("what is finished stays in `full/out.results`, and the same sweep goes on"),
        // Room for some of what is finished.
        case(
            "sweep_some",
            "sweep -q --dram 25% a.parquet b.parquet -o full/out",
        )
        .after(GEN)
        .after("trace gen gups --accesses 9 -o b.parquet")
        .small_disk(65536)
        .leaves("full/out.results")
        .failure("cannot write `full/out.results/")
        .says("what is finished stays in"),
        case("sweep_nothing", "sweep -q --dram 25% a.parquet -o out")
            .after(GEN)
            .limit(libc::RLIMIT_FSIZE, 100)
            .failure("cannot write `out.results/"),
        case("null", "sim llc -q --json /dev/null a.parquet").after(GEN),
        case("no_directory", "sim llc --json no/out a.parquet")
            .after(GEN)
            .usage("there is no directory"),
        case("directory", "sim llc --json {dir} a.parquet")
            .after(GEN)
            .usage("is not a regular file"),
        case("not_allowed", "trace gen gups --accesses 9 -o closed/a.csv")
            .directory("closed")
            .mode("closed", 0o555)
            .root()
            .nobody()
            .usage("cannot write"),
        case("replaced_whole", "trace gen gups --accesses 9 -q -o a.csv")
            .file("a.csv", "old")
            .changes("a.csv"),
        case("kept_where_it_fails", &format!("{MANY} a.csv"))
            .file("a.csv", "old")
            .limit(libc::RLIMIT_FSIZE, 4096)
            .failure("ulimit -f"),
    ]);
    all
}
