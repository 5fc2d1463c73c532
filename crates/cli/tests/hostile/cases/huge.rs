//! What would take more memory than there is, and is refused before.

use crate::case::{Case, case};

const GEN: &str = "trace gen gups --footprint 1M --accesses 2000 -q -o a.parquet";

/// So many seeds.
fn seeds(count: u32) -> String {
    let seeds: Vec<_> = (1..=count).map(|seed| seed.to_string()).collect();
    seeds.join(",")
}

pub fn cases() -> Vec<Case> {
    let many = format!(
        "--dram 25% --seed {0} --warmup {0} --eviction-buffer {0} --devices {0}",
        seeds(200)
    );
    let mut all = vec![
        case("machines", &format!("sim pages {many} a.parquet"))
            .after(GEN)
            .failure("1600000000 machines would take"),
        case(
            "machines_of_a_sweep",
            &format!("sweep {many} a.parquet -o out"),
        )
        .after(GEN)
        .failure("1600000000 machines would take"),
        case("dram", "sim pages --dram 1E a.parquet")
            .after(GEN)
            .usage("too large to be simulated"),
        case("pages_of_dram", "sim pages --dram 4294967295p a.parquet")
            .after(GEN)
            .usage("up to 4294967294 pages"),
        case("cache", "sim llc --llc 1T a.parquet")
            .after(GEN)
            .usage("too large"),
        case("cache_of_a_mix", "sim mix --llc 1T a.parquet")
            .after(GEN)
            .usage("too large"),
    ];
    for (name, placement) in [("jit", "jit:memory=1E"), ("caa", "caa:memory=1E")] {
        all.push(
            case(
                format!("frames_{name}"),
                &format!("sim llc --pages {placement} a.parquet"),
            )
            .after(GEN)
            .failure("the free frames of --pages would take"),
        );
    }
    for kind in ["join", "bfs"] {
        let line = format!("trace gen {kind} --footprint 100T -o b.parquet");
        all.push(case(format!("gen_{kind}"), &line).usage("too large"));
    }
    all
}
