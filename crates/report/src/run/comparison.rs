//! The table of a program that was run several ways.

use terrace_live::machine::zswap::Served;
use terrace_live::measure::compare::{Results, Runs};
use terrace_live::nodes::Figures;
use terrace_live::run::Way;
use terrace_live::tier::Moved;
use terrace_policy::prefetch::LifeStory;

use super::reference::median;
use super::{
    Reference, brief, failure, imbalances, left_group, lifetime, others, phase, seconds, settings,
    typical,
};
use crate::waits::{self, Waits};
use terrace_results::lifetime::Endurance;
use terrace_results::number::{count, ratio, share};
use terrace_results::table::table;
use terrace_results::text::Text;

/// Returns the table of a program that was run several ways, with at most 100 characters a line
/// unless it is `wide`.
pub fn comparison(results: &Results, endurance: Option<Endurance>, wide: bool) -> Text {
    let reference = Reference {
        nodes: results.effective.migration.is_some(),
        ..Reference::among(&results.runs)
    };
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
        .prose(failures(results))
        .prose(settings(results))
        .prose(explained(&reference))
        .prose(phase(results, endurance))
        .prose(others(results))
        .prose(left_group(results))
        .prose(imbalances(results))
        .text(waits(results))
}

/// Returns a sentence for each way that failed.
fn failures(results: &Results) -> String {
    let failed = results.runs.iter().filter_map(|runs| {
        let why = failure(runs)?;
        Some(format!(
            "{} failed, so it is not compared: {why}.\n",
            name(&runs.way)
        ))
    });
    failed.collect()
}

/// Returns the waits at faults of the ways that did not fail.
fn waits(results: &Results) -> Text {
    let measured = results.runs.iter().filter(|runs| median(runs).is_some());
    let ways: Vec<_> = measured
        .filter_map(|runs| {
            let waits = typical(runs).waits.as_ref()?;
            Some((name(&runs.way), Waits::from(waits)))
        })
        .collect();
    waits::by_way(&ways)
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
    let story = |of: fn(&LifeStory) -> u64| {
        let story = outcome.prefetch.as_ref();
        story.map_or(String::new(), |story| share(of(story), story.issued))
    };
    let issued = outcome.prefetch.map(|story| count(story.issued));
    let let_go = outcome.prefetch.map(|_| count(outcome.let_go));
    let let_go = let_go.unwrap_or_default();
    let all_dram = ratio(reference.vs_all_dram(runs));
    let kernel = ratio(reference.vs_kernel(runs));
    let won_back = reference.won_back(runs);
    let won_back = won_back.map_or(String::new(), |share| format!("{:.0} %", share * 100.0));
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
        (swaps, "won back", won_back),
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
    let has_failed = runs.failure().is_some();
    let marked = |name: &str, value: String| match name {
        "way" => value,
        "wall s" if has_failed => "failed".to_owned(),
        _ if has_failed => String::new(),
        _ => value,
    };
    shown
        .map(|(_, name, value)| (name, marked(name, value)))
        .collect()
}

/// Returns the name of a way, with its migration policy.
pub(super) fn name(way: &Way) -> String {
    match way {
        Way::Migration(spec) => format!("{} {}", way.name(), spec.entry().name),
        _ => way.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_base::{Bytes, Exit};
    use terrace_live::run::{Outcome, Way};

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

    /// The same runs, but the last failed.
    fn failed(runs: &Runs) -> Runs {
        let mut failed = runs.clone();
        failed.outcomes.last_mut().unwrap().exit = Exit::Code(3);
        failed
    }

    #[test]
    fn a_way_that_failed_is_compared_with_nothing() {
        let all = runs(Way::AllDram, &[1000, 1000]);
        let kernel = runs(Way::Kernel, &[2000, 2000]);
        let cpf = failed(&runs(Way::KernelCpf, &[10, 10]));
        let reference = Reference::among(&[all.clone(), kernel.clone(), cpf.clone()]);
        assert_eq!(
            reference.kernel,
            Some(2.0),
            "one that failed is no reference"
        );
        assert_eq!(reference.vs_all_dram(&kernel), Some(2.0));
        assert_eq!(
            (reference.vs_all_dram(&cpf), reference.vs_kernel(&cpf)),
            (None, None)
        );
        let why = "in 1 of 2 runs the program ended with code 3";
        assert_eq!(failure(&cpf).as_deref(), Some(why));
        assert_eq!(failure(&kernel), None);
        let reference = Reference::among(&[failed(&all), kernel.clone()]);
        assert_eq!(reference.vs_all_dram(&kernel), None);

        let mut killed = all.clone();
        killed.outcomes[0].oom_kills = 2;
        let why = failure(&killed).unwrap();
        assert!(
            why.contains("killed 2 of its processes for want of memory"),
            "{why}"
        );
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
            ..Reference::default()
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
        let cells = row(&failed(&runs[1]), &reference, endurance, true);
        let filled: Vec<_> = cells
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .collect();
        assert_eq!(
            filled,
            [
                &("way", "kernel-cpf".to_owned()),
                &("wall s", "failed".to_owned())
            ]
        );
        assert_eq!(brief(&runs[0]), "100.00 ±10%");
        assert_eq!(seconds(&runs[0]), "100.00 (90.00 to 110.00)");
    }
}
