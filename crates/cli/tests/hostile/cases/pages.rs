//! Sizes, counts and shares: the same everywhere.

use crate::case::{Case, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";

pub fn cases() -> Vec<Case> {
    let mut all = vec![
        case("share_as_written", "sim pages -q --dram 7% a.parquet")
            .after(GEN)
            .prints("7%"),
        case(
            "pages_of_a_tier",
            "sim pages -q --dram 25% --tier-size 1000p a.parquet",
        )
        .after(GEN),
        case(
            "limit_with_a_unit",
            "sim pages -q --dram 25% --limit 1k a.parquet",
        )
        .after(GEN)
        .prints("1000 accesses"),
        case(
            "schemes_without_contents",
            "sim pages -q --dram 25% --write dcw a.parquet",
        )
        .after(GEN)
        .usage("record it with `terrace record --contents`"),
        case(
            "unknown_scheme",
            "sim pages -q --dram 25% --write magic a.parquet",
        )
        .after(GEN)
        .usage("there is no write scheme `magic`"),
        case(
            "unknown_levelling",
            "sim pages -q --dram 25% --levelling magic a.parquet",
        )
        .after(GEN)
        .usage("there is no wear levelling `magic`"),
        case("limit_of_a_cache", "sim llc -q --limit 1k a.parquet")
            .after(GEN)
            .prints("1000 accesses"),
        case("columns_by_name", "sim llc -q --policy lru,nru a.parquet")
            .after(GEN)
            .prints("by misses"),
    ];
    for (name, size) in [
        ("nothing", "0p"),
        ("negative", "-1p"),
        ("word", "p"),
        ("unknown", "4Q"),
    ] {
        for (option, line) in [
            ("dram", "sim pages a.parquet --dram"),
            ("tier", "sim pages a.parquet --dram 25% --tier-size"),
            ("footprint", "trace gen gups -o b.parquet --footprint"),
        ] {
            all.push(
                case(format!("{option}_{name}"), line)
                    .argument(size)
                    .after(GEN)
                    .usage(size),
            );
        }
    }
    all
}
