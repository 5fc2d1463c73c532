//! The table of a program that was run several ways.

use terrace_live::compare::{Results, Runs};
use terrace_live::nodes::Figures;
use terrace_live::run::{Outcome, Way};
use terrace_live::tier::Moved;
use terrace_live::zswap::Served;
use terrace_policy::prefetch::LifeStory;

use super::{brief, count, imbalances, lifetime, ratio, seconds, settings, share, wall};
use crate::lifetime::Endurance;
use crate::schema::typical;
use crate::table::table;
use crate::text::Text;

/// Returns the table of a program that was run several ways, with at most 100 characters a line
/// unless it is `wide`.
pub fn comparison(results: &Results, endurance: Option<Endurance>, wide: bool) -> Text {
    let reference = Reference::of(results);
    let measured = results.runs.iter().filter(|r| !r.outcomes.is_empty());
    let mut rows = measured.map(|runs| row(runs, &reference, endurance, wide));
    let Some(first) = rows.next() else {
        return Text::default();
    };
    let mut table = table(&first.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for row in [first].into_iter().chain(rows) {
        table.add_row(row.into_iter().map(|(_, value)| value));
    }
    Text::default()
        .table(table)
        .prose(settings(results))
        .prose(explained(&reference))
        .prose(imbalances(results))
}

/// Explains the columns.
fn explained(reference: &Reference) -> &'static str {
    match reference.nodes {
        true => {
            "vs all-dram: how many times the wall time.\n\
             kernel-tiering knows no budget: it may have the whole node with DRAM.\n"
        }
        false => {
            "vs all-dram: how many times the wall time.\n\
             vs kernel: speed-up against the better of the two kernel ways.\n\
             won back: share of the time lost by the better kernel way against all-dram.\n"
        }
    }
}

/// Returns the cells of a way with the names of their columns.
fn row(
    runs: &Runs,
    reference: &Reference,
    endurance: Option<Endurance>,
    wide: bool,
) -> Vec<(&'static str, String)> {
    let outcome = typical(runs);
    let wall = wall(runs);
    let story = |of: fn(&LifeStory) -> u64| {
        let story = outcome.prefetch.as_ref();
        story.map_or(String::new(), |story| share(of(story), story.issued))
    };
    let issued = outcome.prefetch.map(|story| count(story.issued));
    let let_go = outcome.prefetch.map(|_| count(outcome.let_go));
    let let_go = let_go.unwrap_or_default();
    let all_dram = ratio(reference.all_dram.map(|base| wall / base));
    let kernel = ratio(reference.kernel.map(|base| base / wall));
    let has_room = wide || endurance.is_none();
    let zswap = wide && reference.zswap;
    let served = |figure: fn(&Served) -> String| {
        let served = outcome.zswap.as_ref();
        served.map_or(String::new(), figure)
    };
    let zram = wide && reference.zram;
    let packed = outcome.compressed.map(|it| it.peak.taken.to_string());
    let packed = packed.unwrap_or_default();
    let moved = |figure: fn(Moved) -> u64| {
        let moved = outcome.compressed.and_then(|it| it.moved);
        moved.map_or(String::new(), |moved| count(figure(moved)))
    };
    let swaps = !reference.nodes;
    let moved_pages = |figure: fn(&Figures) -> String| {
        let nodes = outcome.nodes.as_ref();
        nodes.map_or(String::new(), figure)
    };
    let lasts = lifetime(outcome, endurance);
    let cells = [
        (true, "way", name(&runs.way)),
        (
            true,
            "wall s",
            if wide { seconds(runs) } else { brief(runs) },
        ),
        (true, "vs all-dram", all_dram),
        (swaps, "vs kernel", kernel),
        (swaps, "won back", reference.won_back(runs)),
        (swaps, "major faults", count(outcome.major_faults)),
        (
            !swaps,
            "most on the fast node",
            moved_pages(|it| it.peak_fast.to_string()),
        ),
        (!swaps, "pages to it", moved_pages(|it| count(it.promoted))),
        (!swaps, "and back", moved_pages(|it| count(it.demoted))),
        (!swaps, "accesses seen", moved_pages(|it| count(it.seen))),
        (wide, "prefetched", issued.unwrap_or_default()),
        (has_room && swaps, "used", story(|story| story.used)),
        (wide, "late", story(|story| story.late)),
        (wide, "reissued", story(|story| story.reissued)),
        (wide, "wasted", story(|story| story.wasted)),
        (zswap, "zswap loads", served(|it| count(it.loads))),
        (zswap, "pool", served(|it| it.peak.taken.to_string())),
        (zram, "zram pool", packed),
        (zram, "demoted", moved(|it| it.demoted)),
        (zram, "read back", moved(|it| it.read_back)),
        (wide, "let go", let_go),
        (
            has_room && swaps,
            "tier read",
            outcome.tier_read.to_string(),
        ),
        (wide, "tier written", outcome.tier_written.to_string()),
        (endurance.is_some(), "lifetime", lasts.unwrap_or_default()),
    ];
    let shown = cells.into_iter().filter(|(shown, ..)| *shown);
    shown.map(|(_, name, value)| (name, value)).collect()
}

/// Returns the name of a way, with its migration policy.
fn name(way: &Way) -> String {
    match way {
        Way::Migration(spec) => format!("{} {}", way.name(), spec.entry().name),
        _ => way.name().to_owned(),
    }
}

/// Median wall times that other ways are compared with, in seconds.
struct Reference {
    all_dram: Option<f64>,
    /// Time of the better kernel way.
    kernel: Option<f64>,
    /// Whether zswap was on in any way.
    zswap: bool,
    /// Whether the tier was zram.
    zram: bool,
    /// Whether the tier was a memory node.
    nodes: bool,
}

impl Reference {
    fn of(results: &Results) -> Self {
        let of = |name: &str| {
            results
                .runs
                .iter()
                .find(|r| r.way.name() == name && !r.outcomes.is_empty())
                .map(wall)
        };
        let outcomes = || results.runs.iter().flat_map(|runs| &runs.outcomes);
        let any = |what: fn(&Outcome) -> bool| outcomes().any(what);
        Self {
            all_dram: of("all-dram"),
            kernel: [of("kernel"), of("kernel-cpf")]
                .into_iter()
                .flatten()
                .min_by(f64::total_cmp),
            zswap: any(|outcome| outcome.zswap.is_some()),
            zram: any(|outcome| outcome.compressed.is_some()),
            nodes: results.effective.migration.is_some(),
        }
    }

    fn won_back(&self, runs: &Runs) -> String {
        let (Some(best), Some(kernel)) = (self.all_dram, self.kernel) else {
            return String::new();
        };
        let lost = kernel - best;
        // Where the kernel loses next to nothing there is nothing to win, only noise.
        if runs.way.name() != "terrace" || lost < kernel * 0.05 {
            return String::new();
        }
        format!("{:.0} %", (kernel - wall(runs)) / lost * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_base::Bytes;
    use terrace_live::run::Way;

    use super::*;

    fn runs(way: Way, walls: &[u64]) -> Runs {
        let outcome = |wall: &u64| Outcome {
            wall: Duration::from_millis(*wall),
            major_faults: 123_456_789,
            prefetch: Some(LifeStory {
                issued: 1_000_000,
                used: 1_000_000,
                ..LifeStory::default()
            }),
            tier_read: Bytes(1023 << 30),
            tier_written: Bytes(1023 << 30),
            footprint: Bytes(1 << 30),
            ..Outcome::default()
        };
        Runs {
            way,
            outcomes: walls.iter().map(outcome).collect(),
        }
    }

    #[test]
    fn a_comparison_fits_100_columns_unless_it_is_to_be_wide() {
        let runs = [
            runs(Way::AllDram, &[90_000, 100_000, 110_000]),
            runs(Way::KernelCpf, &[900_000, 999_990, 1_090_000]),
        ];
        let reference = Reference {
            all_dram: Some(100.0),
            kernel: Some(99_999.0),
            zswap: false,
            zram: false,
            nodes: false,
        };
        let widest = |endurance, wide| {
            let rows: Vec<_> = runs
                .iter()
                .map(|r| row(r, &reference, endurance, wide))
                .collect();
            let mut table = table(&rows[0].iter().map(|(name, _)| *name).collect::<Vec<_>>());
            rows.into_iter().for_each(|row| {
                table.add_row(row.into_iter().map(|(_, value)| value));
            });
            let text = table.to_string();
            text.lines().map(|line| line.chars().count()).max().unwrap()
        };
        let endurance = Endurance::parse("600TBW").ok();
        assert!(endurance.is_some());
        assert!(widest(None, false) <= 100, "{}", widest(None, false));
        assert!(
            widest(endurance, false) <= 100,
            "{}",
            widest(endurance, false)
        );
        assert!(widest(endurance, true) > 100);
        assert_eq!(brief(&runs[0]), "100.00 ±10%");
        assert_eq!(seconds(&runs[0]), "100.00 (90.00 to 110.00)");
    }
}
