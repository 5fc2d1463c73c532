//! Rates, sizes and samples of `terrace sim curve`.

use crate::case::{Case, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";

pub fn cases() -> Vec<Case> {
    let refused = [
        ("rate_zero", "--rate 0", "no share of the pages"),
        ("rate_above_one", "--rate 1.01", "no share of the pages"),
        ("rate_negative", "--rate -0.5", "no share of the pages"),
        ("rate_nan", "--rate nan", "no share of the pages"),
        ("rate_infinite", "--rate inf", "no share of the pages"),
        ("rate_text", "--rate much", "no share of the pages"),
        ("rate_tiny", "--rate 1e-300", "give a higher --rate"),
        (
            "sample_without_pages",
            "--replacement arc --rate 0.1 --samples 900",
            "give a higher --rate",
        ),
        ("no_samples", "--samples 0", "0"),
        (
            "all_of_a_policy",
            "--dram all --replacement lru,arc",
            "arc would be simulated at every size",
        ),
        ("dram_zero", "--dram 0%", "is no share of the footprint"),
        ("dram_empty", "--dram 25%,", "is not a size"),
        (
            "dram_negative",
            "--dram -5%",
            "is no share of the footprint",
        ),
        (
            "unknown_policy",
            "--replacement magic",
            "there is no replacement policy `magic`",
        ),
        (
            "no_policy",
            "--replacement=",
            "there is no replacement policy",
        ),
        ("setting_of_a_policy", "--replacement arc:magic=1", "magic"),
    ];
    let refused = refused.map(|(name, options, says)| {
        let line = format!("sim curve -q {options} a.parquet");
        case(name, &line).after(GEN).usage(says)
    });
    let mut all = Vec::from(refused);
    all.extend([
        case(
            "more_dram_than_there_is",
            "sim curve -q --dram 100000T --replacement lru,arc --rate 1 a.parquet",
        )
        .after(GEN)
        .prints("%"),
        case(
            "one_sample",
            "sim curve -q --replacement fifo --rate 0.5 --samples 1 a.parquet",
        )
        .after(GEN)
        .prints("unknown with one sample"),
        case(
            "rough",
            "sim curve -q --replacement fifo --rate 0.1 a.parquet",
        )
        .after(GEN)
        .prints("rough at the smallest size"),
        case("no_access", "sim curve -q empty.csv")
            .file("empty.csv", "thread,address\n")
            .fails(),
        case("addresses_at_the_end", "sim curve -q top.csv")
            .file("top.csv", "thread,address,size\n0,18446744073709551615,8\n")
            .prints("100.00 %"),
    ]);
    all
}
