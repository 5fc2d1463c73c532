//! Wrong use of every command and option. Long: a list of cases.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::case::{Case, Output, case};

pub fn cases() -> Vec<Case> {
    let mut all = commands();
    all.extend(numbers());
    all.extend(sizes());
    all.extend(names());
    all.extend(twice());
    all.extend(no_values());
    all.extend(exclusions());
    all.extend(no_text());
    all.extend(live_only());
    all.extend(lists());
    all
}

/// What stands behind a command so that all but the tried option is right. Nothing of it is ever
/// done.
const RIGHT: [(&str, &str, &str); 10] = [
    ("run", "run --dram 64M", "-- true"),
    ("bench", "bench", "--list"),
    ("record", "record -o out/none.parquet", "-- true"),
    ("pages", "sim pages --dram 1M", "none.csv"),
    ("llc", "sim llc", "none.csv"),
    ("mix", "sim mix", "none.csv"),
    ("sweep", "sweep --dram 1M -o out/none", "none.csv"),
    ("convert", "trace convert", "none.csv none.parquet"),
    ("gen", "trace gen zipf -o out/none.parquet", ""),
    ("validate", "validate", "-- true"),
];

fn right(command: &str) -> (&'static str, &'static str) {
    let found = RIGHT.iter().find(|(name, ..)| *name == command);
    let (_, before, behind) = found.expect("a command");
    (before, behind)
}

/// Each command without arguments, with one that it does not know, and with one too many.
fn commands() -> Vec<Case> {
    let mut all = vec![
        case("nothing", "").usage("no command was given behind `terrace`"),
        case("unknown_command", "fly").usage("`fly` is no command of `terrace`"),
        case("misspelled_command", "recor").usage("do you mean record?"),
        case("empty_command", "")
            .argument("")
            .usage("`` is no command"),
        case("option_before_command", "--quiet run").usage("--quiet is no option of `terrace`"),
        case("bad_probe", "probe x y").usage("no whole number"),
    ];
    for (line, words) in [
        ("run", "--dram SIZE is missing"),
        ("bench", "SUITE is missing"),
        ("record", "a program behind -- is missing"),
        (
            "trace",
            "no command was given behind `terrace trace`; there are info, convert, gen",
        ),
        ("trace info", "FILE is missing"),
        ("trace convert", "IN and OUT are missing"),
        ("trace gen", "there are sequential, strided"),
        ("trace gen zipf", "--output FILE is missing"),
        ("sim", "there are pages, llc, mix"),
        ("sim pages", "--dram SIZE and TRACE are missing"),
        ("sim mix", "TRACE is missing"),
        ("sim llc", "TRACE, or a program behind -- is missing"),
        ("place", "TRACE is missing"),
        ("sweep", "--output NAME"),
        ("validate", "a program behind -- is missing"),
        ("validate mix", "a program behind -- is missing"),
        ("heap", "there are info, check, dump, compact"),
        ("heap info", "FILE is missing"),
        ("heap check", "FILE is missing"),
        ("heap dump", "FILE is missing"),
        ("heap compact", "FILE is missing"),
        ("explain", "NAME is missing"),
    ] {
        let name = line.replace(' ', "_");
        all.push(case(format!("{name}_alone"), line).usage(words));
    }
    for line in [
        "run",
        "bench",
        "record",
        "trace info",
        "trace convert",
        "trace gen bfs",
        "sim pages",
        "sim llc",
        "sim mix",
        "place",
        "sweep",
        "calibrate",
        "validate",
        "validate mix",
        "heap info",
        "heap check",
        "heap dump",
        "heap compact",
        "doctor",
        "list",
        "explain",
        "schema",
    ] {
        let name = line.replace(' ', "_");
        let words = format!("--no-such is no option of `terrace {line}`");
        all.push(
            case(format!("{name}_unknown_option"), line)
                .argument("--no-such")
                .usage(&words),
        );
        let words = "-Z is no option of";
        all.push(
            case(format!("{name}_unknown_letter"), line)
                .argument("-Z")
                .usage(words),
        );
    }
    for line in [
        "trace info a b",
        "trace convert a b c",
        "heap info a b",
        "heap check a b",
        "heap dump a b",
        "heap compact a b",
        "doctor a",
        "calibrate a",
        "list policies a",
        "explain lru a",
        "schema run a",
        "bench live a",
        "trace gen gups -o a b",
    ] {
        let name = line.replace(' ', "_");
        all.push(case(format!("{name}_too_many"), line).usage("is one argument too many"));
    }
    for line in [
        "run --dram 1M true",
        "validate true",
        "validate mix true",
        "record true",
    ] {
        let name = line.replace(' ', "_");
        all.push(
            case(format!("{name}_without_dashes"), line)
                .usage("write the program and its arguments behind --"),
        );
    }
    all
}

/// Options that take a number, with what is none.
fn numbers() -> Vec<Case> {
    let mut all = Vec::new();
    for (command, option) in [
        ("run", "--repeat"),
        ("bench", "--repeat"),
        ("validate", "--repeat"),
        ("record", "--limit"),
        ("pages", "--page-cluster"),
        ("pages", "--prefetch-cache"),
        ("pages", "--eviction-buffer"),
        ("pages", "--threads"),
        ("pages", "--channels"),
        ("pages", "--devices"),
        ("pages", "--warmup"),
        ("pages", "--seed"),
        ("pages", "--limit"),
        ("llc", "--limit"),
        ("llc", "--seed"),
        ("llc", "--cores"),
        ("llc", "--ways"),
        ("llc", "--line"),
        ("llc", "--write-buffer"),
        ("mix", "--cores"),
        ("mix", "--tasks-per-core"),
        ("mix", "--time"),
        ("mix", "--slice"),
        ("sweep", "--limit"),
        ("convert", "--thread"),
        ("convert", "--skip"),
        ("convert", "--limit"),
        ("gen", "--accesses"),
        ("gen", "--seed"),
        ("gen", "--writes"),
        ("gen", "--exponent"),
    ] {
        all.extend(wrong_values(
            command,
            option,
            &[
                ("empty", ""),
                ("negative", "-1"),
                ("word", "many"),
                ("huge", "99999999999999999999999"),
                ("nan", "NaN"),
                ("hex", "0x10"),
            ],
        ));
    }
    all
}

/// An option with each of some values that it does not take.
fn wrong_values(command: &str, option: &str, values: &[(&str, &str)]) -> Vec<Case> {
    let (before, behind) = right(command);
    // An exponent may be any number, and says by itself which make no sense.
    let wrong = |kind: &str| option != "--exponent" || matches!(kind, "empty" | "word" | "hex");
    let wrong = values.iter().filter(|(kind, _)| wrong(kind));
    let cases = wrong.map(|(kind, value)| {
        let name = format!("{command}{}_{kind}", option.replace('-', "_"));
        case(name, before)
            .argument(option)
            .argument(value)
            .and(behind)
            .usage(option)
    });
    cases.collect()
}

/// Options that take a size, with what is none.
fn sizes() -> Vec<Case> {
    let mut all = Vec::new();
    for (command, option) in [
        ("run", "--footprint"),
        ("bench", "--dram"),
        ("validate", "--dram"),
        ("llc", "--llc"),
        ("llc", "--memory-size"),
        ("llc", "--dram-cache"),
        ("llc", "--l1"),
        ("mix", "--llc"),
        ("pages", "--tier-size"),
        ("gen", "--footprint"),
        ("gen", "--item"),
    ] {
        all.extend(wrong_values(
            command,
            option,
            &[
                ("empty", ""),
                ("negative", "-1"),
                ("word", "much"),
                ("zero", "0"),
                ("nan", "NaN"),
                ("unit", "4Q"),
            ],
        ));
    }
    all
}

/// Options that take one of several names, with another.
fn names() -> Vec<Case> {
    let mut all = Vec::new();
    for (command, option, words) in [
        ("run", "--prefetch", "there are: off, "),
        ("bench", "--prefetch", "no predictor"),
        ("record", "--level", "is none of accesses, lines, pages"),
        ("record", "--filter", "is none of none, l1l2"),
        ("pages", "--replacement", "there are"),
        ("pages", "--prefetch-work", "is none of"),
        ("pages", "--inclusion", "is none of"),
        ("pages", "--shootdown", "is none of"),
        ("pages", "--order", "--order"),
        ("pages", "--fault-cost", "--fault-cost"),
        ("pages", "--format", "there are native"),
        ("pages", "--columns", "there are libcachesim, msr"),
        ("llc", "--columns", "there are libcachesim, msr"),
        ("mix", "--columns", "there are libcachesim, msr"),
        ("convert", "--columns", "there are libcachesim, msr"),
        ("llc", "--format", "there are native"),
        ("llc", "--flush", "is none of clflush, clwb"),
        ("llc", "--pages", "there are: virtual"),
        ("mix", "--partition", "is no partition"),
        ("mix", "--private", "is none of keep, flush"),
        ("convert", "--from", "there are native"),
        ("convert", "--to", "there are native"),
        ("convert", "--level", "there are accesses"),
        ("gen", "--to", "there are native"),
    ] {
        let (before, behind) = right(command);
        let name = format!("{command}{}", option.replace('-', "_"));
        all.push(
            case(format!("{name}_magic"), before)
                .and(&format!("{option} magic"))
                .and(behind)
                .usage(words),
        );
        all.push(
            case(format!("{name}_none"), before)
                .argument(option)
                .argument("")
                .and(behind)
                .code(2)
                .says(option),
        );
    }
    all
}

/// What may be given once, given twice.
fn twice() -> Vec<Case> {
    let mut all = Vec::new();
    for (command, option, value) in [
        ("run", "--dram", "64M"),
        ("run", "--footprint", "1G"),
        ("run", "--repeat", "2"),
        ("run", "--prefetch", "off"),
        ("run", "--json", "a.json"),
        ("run", "--compare", ""),
        ("run", "--quiet", ""),
        ("record", "--output", "a"),
        ("record", "--limit", "5"),
        ("pages", "--limit", "5"),
        ("pages", "--machine", "a"),
        ("llc", "--cores", "2"),
        ("llc", "--json", "a.json"),
        ("convert", "--thread", "1"),
        ("convert", "--to", "csv"),
        ("gen", "--seed", "1"),
        ("validate", "--dram", "64M"),
        ("validate", "--trace", "a"),
        ("sweep", "--quiet", ""),
    ] {
        let (before, behind) = right(command);
        let once = format!("{option} {value}");
        let name = format!("{command}{}_twice", option.replace('-', "_"));
        let words = format!("{option} is given twice");
        all.push(
            case(name, before)
                .and(&once)
                .and(&once)
                .and(behind)
                .usage(&words),
        );
    }
    all
}

/// Options without their values, and values for options that take none.
fn no_values() -> Vec<Case> {
    let mut all = Vec::new();
    for line in [
        "run --dram",
        "run --tier",
        "run --html",
        "doctor --csv",
        "bench --only",
        "bench --table",
        "record --output",
        "record -o",
        "sim pages --dram",
        "sim pages --timeline",
        "sim llc --requests",
        "sweep -o",
        "trace info --format",
        "trace gen gups -o",
        "heap dump --object",
        "calibrate --machine",
        "validate --trace",
    ] {
        let option = line.rsplit(' ').next().unwrap();
        let name = line.replace([' ', '-'], "_");
        let words = if option == "-o" { "--output" } else { option };
        all.push(case(name, line).code(2).says(words).says("needs a value"));
    }
    for line in [
        "doctor --clean=yes",
        "run --compare=all --dram 1M -- true",
        "bench --list=1",
    ] {
        let name = line.split('=').next().unwrap().replace([' ', '-'], "_");
        all.push(case(format!("{name}_valued"), line).usage("takes no value"));
    }
    all
}

/// Options that exclude each other, or need each other.
fn exclusions() -> Vec<Case> {
    vec![
        case(
            "machine_and_memory",
            "sim pages --dram 1M --machine a --memory pcm b",
        )
        .usage("exclude each other"),
        case(
            "machine_and_fault_cost",
            "sim pages --dram 1M --machine a --fault-cost awad b",
        )
        .usage("exclude each other"),
        case(
            "machine_and_memories",
            "sweep --dram 1M -o x --machine a --memories c b",
        )
        .usage("exclude each other"),
        case("trace_and_program", "sim llc a.csv -- true").usage("exclude each other"),
        case("table_with_others", "bench --table a live").usage("exclude each other"),
        case(
            "epoch_without_timeline",
            "sim pages --dram 1M --timeline-epoch 5 a",
        )
        .usage("--timeline FILE is missing"),
        case("epoch_without_json", "sim llc --epoch 5 a").usage("--json [FILE], or --csv FILE"),
        case("force_without_tier", "run --dram 1M --force -- true").usage("--tier TIER is missing"),
        case("object_of_many", "heap dump --object x a").usage("is no offset"),
    ]
}

/// Arguments that are no text.
fn no_text() -> Vec<Case> {
    let odd = OsStr::from_bytes(b"\xff\xfe");
    let newline = "a\nb.csv";
    vec![
        case("size_no_utf8", "run --dram")
            .argument(odd)
            .and("-- true")
            .usage("not UTF-8"),
        case("name_no_utf8", "run --dram 64M --prefetch")
            .argument(odd)
            .and("-- true")
            .usage("not UTF-8"),
        case("command_no_utf8", "")
            .argument(odd)
            .code(2)
            .says("terrace"),
        case("trace_no_utf8", "trace info")
            .argument(odd)
            .failure("cannot read"),
        case("pool_no_utf8", "heap info")
            .argument(odd)
            .code(2)
            .says("terrace"),
        case("program_no_utf8", "run --dram 64M --")
            .argument(odd)
            .usage("does not exist"),
        case("trace_with_newline", "trace info")
            .argument(newline)
            .code(1)
            .says("cannot read"),
        case("pool_with_newline", "heap check")
            .argument("a\nb.pool")
            .code(2)
            .says("b.pool"),
        case("program_with_newline", "run --dram 64M --")
            .argument("/no/a\nb")
            .usage("does not exist"),
        case("tier_with_newline", "run --dram 64M --tier")
            .argument("/no/a\nb")
            .and("-- true")
            .usage("does not exist"),
    ]
}

/// What works in simulations only.
fn live_only() -> Vec<Case> {
    let words = "knows what is to come, which only simulations do";
    vec![
        case("run_oracle", "run --dram 64M --prefetch oracle -- true").usage(words),
        case(
            "run_oracle_settings",
            "run --dram 64M --prefetch oracle:degree=4 -- true",
        )
        .usage(words),
        case(
            "bench_oracle",
            "bench live --prefetch stream --prefetch oracle",
        )
        .usage(words),
        case(
            "run_readahead",
            "run --dram 64M --prefetch readahead -- true",
        )
        .usage("no predictor `readahead` that runs live; there are: off, auto, combo, corp, leap"),
        case(
            "unknown_setting",
            "run --dram 64M --prefetch stream:depht=4 -- true",
        )
        .usage("no setting `depht`; there are: first=8"),
        case(
            "setting_twice",
            "run --dram 64M --prefetch stream:depth=4,depth=5 -- true",
        )
        .usage("set twice"),
        case(
            "setting_without_value",
            "run --dram 64M --prefetch stream:depth -- true",
        )
        .usage("key=value"),
        case(
            "setting_too_large",
            "run --dram 64M --prefetch stream:depth=99999999 -- true",
        )
        .usage("from 1 to 4096"),
    ]
}

/// `list`, `explain` and `schema`.
fn lists() -> Vec<Case> {
    vec![
        case("list", "list").prints("predictors"),
        case("list_predictors", "list predictors").prints("stride+markov"),
        case("list_unknown", "list magic").usage("there are policies, predictors, memories"),
        case("list_empty", "list")
            .argument("")
            .usage("there are policies"),
        case("list_to_full_disk", "list")
            .output(Output::Full)
            .failure("cannot write"),
        case("list_without_reader", "list").output(Output::Broken),
        case("explain", "explain stream").prints("depth"),
        case("explain_with_settings", "explain stream:depth=4").prints("depth"),
        case("explain_unknown", "explain magic").usage("`terrace list`"),
        case("explain_empty", "explain")
            .argument("")
            .usage("`terrace list`"),
        case("explain_no_utf8", "explain")
            .argument(OsStr::from_bytes(b"\xff"))
            .usage("not UTF-8"),
        case("explain_to_full_disk", "explain lru")
            .output(Output::Full)
            .failure("cannot write"),
        case("schema", "schema").prints("sim.pages"),
        case("schema_of_a_kind", "schema run").prints("terrace.run/1"),
        case("schema_unknown", "schema magic").usage("there are run, interval"),
        case("schema_empty", "schema")
            .argument("")
            .usage("there are run, interval"),
        case("schema_to_full_disk", "schema run")
            .output(Output::Full)
            .failure("cannot write"),
        case("schema_without_reader", "schema run").output(Output::Broken),
    ]
}
