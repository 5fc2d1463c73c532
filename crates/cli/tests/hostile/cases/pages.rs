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
        case(
            "staging_of_all_dram",
            "sim pages -q --dram 64p --staging 64 a.parquet",
        )
        .after(GEN)
        .usage("make them smaller"),
        case(
            "staging_of_all_dram_but_a_page",
            "sim pages -q --dram 64p --staging 63 a.parquet",
        )
        .after(GEN)
        .prints("kernel"),
        case("limit_of_a_cache", "sim llc -q --limit 1k a.parquet")
            .after(GEN)
            .prints("1000 accesses"),
        case("columns_by_name", "sim llc -q --policy lru,nru a.parquet")
            .after(GEN)
            .prints("by misses"),
    ];
    for (name, pages) in [
        ("negative", "-1"),
        ("word", "some"),
        ("part", "1.5"),
        ("unit", "8p"),
        ("too_many", "65537"),
        ("huge", "99999999999999999999"),
        ("empty", ""),
    ] {
        all.push(
            case(
                format!("staging_{name}"),
                "sim pages -q a.parquet --dram 25% --staging",
            )
            .argument(pages)
            .after(GEN)
            .usage("whole number from 0 to 65536"),
        );
    }
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
