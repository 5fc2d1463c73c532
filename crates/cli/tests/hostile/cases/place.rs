//! Placements of what cannot be placed.

use crate::case::{Case, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";

pub fn cases() -> Vec<Case> {
    vec![
        case("no_trace", "place none.parquet").failure("cannot read the trace `none.parquet`"),
        case("no_allocations", "place a.parquet")
            .after(GEN)
            .usage("says nothing of allocations; record it with terrace record --allocations"),
        case("no_parquet", "place a.csv")
            .file(
                "a.csv",
                b"instruction,address,ip,process,thread,size,write\n0,0,0,0,0,8,0\n",
            )
            .usage("says nothing of allocations"),
        case("no_amount", "place a.parquet --fast 0%").usage("is no amount of fast memory"),
        case("negative_amount", "place a.parquet --fast -5%").usage("is no amount of fast memory"),
        case("no_memory", "place a.parquet --memory brain").usage("no technology `brain`"),
        case("memory_without_pages", "place a.parquet --memory ml-dram")
            .usage("how long `ml-dram` takes for a page"),
        case("no_cache", "place a.parquet --llc 1000").usage("set"),
        case("no_search", "place a.parquet --search magic").usage("--search"),
        case("no_placement", "place a.parquet --try a.toml")
            .failure("cannot read the placement file `a.toml`"),
        case("empty_placement", "place a.parquet --try a.toml")
            .file("a.toml", b"")
            .usage("`a.toml` is no placement file"),
        case("zeros_as_placement", "place a.parquet --try a.toml")
            .file("a.toml", [0; 4096])
            .usage("`a.toml` is no placement file: line 1"),
        case("binary_placement", "place a.parquet --try a.toml")
            .file("a.toml", [0xff; 64])
            .usage("`a.toml` is no placement file: it is no text"),
        case("output_is_the_trace", "place a.parquet -o a.parquet")
            .after(GEN)
            .usage("--output"),
        case(
            "allocations_with_contents",
            "record --allocations --contents -o a.parquet -- true",
        )
        .usage("--allocations and --contents cannot be recorded together"),
        case(
            "allocations_of_nothing",
            "record --allocations=0 -o a.parquet -- true",
        )
        .usage("--allocations"),
    ]
}
