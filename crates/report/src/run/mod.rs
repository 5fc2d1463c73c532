//! The tables at the end of `terrace run`.

mod comparison;
pub(crate) mod reference;
mod remarks;
mod typical;

use std::fmt::Write;

use terrace_base::{Bytes, median};
use terrace_live::machine::pool::Pool;
use terrace_live::machine::zswap::Served;
use terrace_live::measure::compare::{Results, Runs};
use terrace_live::nodes::Figures;
use terrace_live::run::Outcome;
use terrace_live::tier::balance::Balance;
use terrace_policy::prefetch::LifeStory;

use crate::waits::{self, Waits};
use crate::writes::Writes;
use terrace_results::lifetime::{self, Endurance, in_words};
use terrace_results::number::{count, share};
use terrace_results::table::table;
use terrace_results::text::Text;

pub use comparison::comparison;
pub(crate) use reference::Reference;
pub(crate) use remarks::failure;
pub use remarks::{interruption, remarks};
pub(crate) use typical::{names, typical};

/// Returns the table of a program that was run one way.
pub fn single(results: &Results, endurance: Option<Endurance>) -> Text {
    let Some(runs) = results.runs.first().filter(|r| !r.outcomes.is_empty()) else {
        return Text::default();
    };
    let outcome = typical(runs);
    let (user, system) = (outcome.user.as_secs_f64(), outcome.system.as_secs_f64());
    let resident = |peak| format!("{peak} of {}", results.effective.dram);
    let of_issued = |part: fn(&LifeStory) -> u64| {
        let story = outcome.prefetch.as_ref()?;
        Some(share(part(story), story.issued))
    };
    let issued = outcome.prefetch.map(|story| count(story.issued));
    let zswap = |figure: fn(&Served) -> String| outcome.zswap.as_ref().map(figure);
    let compressed = outcome.compressed;
    let nodes = outcome.nodes.as_ref();
    let writes = Writes::of(outcome);
    let waits = outcome.waits.as_ref().map(Waits::from);
    let of_looked_at = |part: fn(&Writes) -> u64| {
        let writes = writes.as_ref()?;
        Some(share(part(writes), writes.looked_at))
    };
    let moved = compressed.and_then(|it| it.moved);
    let swapped = |figure: String| Some(figure).filter(|_| outcome.nodes.is_none());
    let rows = [
        ("wall time", Some(seconds(runs))),
        ("user + system", Some(format!("{user:.2} + {system:.2} s"))),
        ("- counted", counted(outcome)),
        ("major faults", Some(count(outcome.major_faults))),
        ("- not seen by steering", unseen(outcome)),
        ("minor faults", Some(count(outcome.minor_faults))),
        ("prefetches issued", issued),
        ("- used in time", of_issued(|story| story.used)),
        ("- late", of_issued(|story| story.late)),
        ("- reissued", of_issued(|story| story.reissued)),
        ("- wasted", of_issued(|story| story.wasted)),
        (
            "let go early",
            Some(outcome.let_go).filter(|let_go| *let_go > 0).map(count),
        ),
        ("tier read", swapped(outcome.tier_read.to_string())),
        ("tier written", swapped(outcome.tier_written.to_string())),
        (
            "- zeros, not written",
            Some(outcome.tier_zeros)
                .filter(|zeros| *zeros > 0)
                .map(pages),
        ),
        (
            "writes looked at",
            writes.map(|it| format!("{} of {}", count(it.looked_at), pages(it.of))),
        ),
        ("- zeros", of_looked_at(|it| it.zeros)),
        ("- one word repeated", of_looked_at(|it| it.same_filled)),
        (
            "- unchanged, of those seen before",
            writes.map(|it| format!("{} of {}", share(it.unchanged, it.again), count(it.again))),
        ),
        (
            "- cost of looking",
            writes.map(|it| {
                format!(
                    "{:.2} s of a processor, {} read",
                    it.cpu_s,
                    Bytes(it.read_bytes)
                )
            }),
        ),
        ("stored in zswap", zswap(|it| pages(it.stores))),
        ("- served by it", zswap(|it| pages(it.loads))),
        ("- written back", zswap(|it| pages(it.written_back))),
        ("zswap pool, peak", zswap(pool)),
        ("zram pool, peak", compressed.map(|it| packed(it.peak))),
        ("- demoted to disk", moved.map(|it| pages(it.demoted))),
        ("- read back", moved.map(|it| pages(it.read_back))),
        (
            "peak resident",
            outcome.peak_resident.map(resident).and_then(swapped),
        ),
        ("footprint", Some(footprint(outcome))),
        (
            "most on the fast node",
            nodes.map(|it| format!("{} of {}", it.peak_fast, results.effective.dram)),
        ),
        ("pages to it", nodes.map(|it| count(it.promoted))),
        ("pages to the slow node", nodes.map(|it| count(it.demoted))),
        ("- not moved", outcome.nodes.as_ref().and_then(not_moved)),
        ("accesses seen", nodes.map(|it| count(it.seen))),
        (
            "- faults not seen",
            nodes
                .map(|it| it.unseen)
                .filter(|unseen| *unseen > 0)
                .map(count),
        ),
        (
            "- cost of looking and moving",
            nodes.map(|it| format!("{:.2} s of a processor", it.cpu.as_secs_f64())),
        ),
        ("device lifetime at this rate", lifetime(outcome, endurance)),
    ];
    let mut table = table(&["terrace run", ""]);
    for (name, value) in rows {
        table.add_rows(value.map(|value| [name.to_owned(), value]));
    }
    table.add_rows(
        waits
            .iter()
            .flat_map(Waits::rows)
            .map(|(name, value)| [name.to_owned(), value]),
    );
    let explained = waits::explained(&waits);
    Text::default()
        .table(table)
        .prose(settings(results))
        .prose(phase(results, endurance))
        .prose(others(results))
        .prose(left_group(results))
        .prose(explained)
        .prose(imbalances(results))
}

/// Returns whose processor time is counted, if not that of all processes.
fn counted(outcome: &Outcome) -> Option<String> {
    (!outcome.has_all_cpu).then(|| "the program and children it waited for".to_owned())
}

/// Returns how many major faults steering did not see, and for which share of the time it watched;
/// `None` if it saw all.
fn unseen(outcome: &Outcome) -> Option<String> {
    let faults = outcome
        .faults
        .as_ref()
        .filter(|_| outcome.unseen_faults > 0)?;
    let watched = faults.watched.share() * 100.0;
    let unseen = outcome.unseen_faults;
    Some(format!(
        "{} ({}); it watched {watched:.0} % of the time",
        count(unseen),
        share(unseen, outcome.major_faults)
    ))
}

/// Says which part of the run the counts are of, and what a lifetime is reckoned from.
pub(crate) fn phase(results: &Results, endurance: Option<Endurance>) -> String {
    let outcomes = results.runs.iter().flat_map(|runs| &runs.outcomes);
    let from = outcomes.filter_map(|outcome| outcome.phase.from).min();
    let counts = from.map_or(String::new(), |from| {
        format!(
            "Faults, prefetches, the tier's traffic and waits are counted from {} s after the start on;\n\
             times, peaks and the footprint are of the whole run.\n",
            from.as_secs_f64().round()
        )
    });
    let lifetime = endurance.map_or(String::new(), |_| {
        lifetime::basis(
            from,
            "of the whole run, its start included (--after leaves it out)",
        )
    });
    counts + &lifetime
}

/// Returns how many pages were not moved, for which errors; `None` if all were.
fn not_moved(nodes: &Figures) -> Option<String> {
    let failed = nodes.failed.iter();
    let failed: Vec<_> = failed
        .map(|(error, pages)| format!("{} for {error}", count(*pages)))
        .collect();
    (!failed.is_empty()).then(|| failed.join(", "))
}

fn wall(runs: &Runs) -> f64 {
    median(runs.outcomes.iter().map(|o| o.wall.as_secs_f64()))
}

/// Returns the shortest and the longest wall time in seconds; `None` of a single run.
fn range(runs: &Runs) -> Option<(f64, f64)> {
    let walls = || runs.outcomes.iter().map(|o| o.wall);
    let (least, most) = (walls().min()?, walls().max()?);
    (runs.outcomes.len() > 1).then_some((least.as_secs_f64(), most.as_secs_f64()))
}

/// Returns the median wall time, with the range if there are several runs.
fn seconds(runs: &Runs) -> String {
    let middle = wall(runs);
    match range(runs) {
        Some((least, most)) => format!("{middle:.2} ({least:.2} to {most:.2})"),
        None => format!("{middle:.2} s"),
    }
}

/// Returns the footprint and how it was found. Page cache is not part of it: the kernel can drop
/// it.
fn footprint(outcome: &Outcome) -> String {
    let known = match outcome.footprint_sampled {
        true => "sampled",
        false => "peak",
    };
    format!("{} ({known}, without files)", outcome.footprint)
}

/// Returns the median wall time, with half of the range in percent if there are several runs.
fn brief(runs: &Runs) -> String {
    let middle = wall(runs);
    let digits = if middle < 1000.0 { 2 } else { 0 };
    match range(runs) {
        Some((least, most)) => {
            let spread = (most - least) / 2.0 / middle * 100.0;
            format!("{middle:.digits$} ±{spread:.0}%")
        }
        None => format!("{middle:.digits$}"),
    }
}

fn pages(number: u64) -> String {
    format!("{} pages", count(number))
}

/// Returns the largest pool of zswap, and what of it was beyond the budget.
fn pool(served: &Served) -> String {
    let beyond = match served.beyond {
        Bytes(0) => String::new(),
        beyond => format!("; at most {beyond} beyond the budget"),
    };
    format!("{}{beyond}", packed(served.peak))
}

/// Returns the DRAM of a pool, and what is in it.
fn packed(pool: Pool) -> String {
    let ratio = pool.ratio().map_or(String::new(), |ratio| {
        format!(" for {} ({ratio:.1}x)", pool.held)
    });
    format!("{}{ratio}", pool.taken)
}

fn lifetime(outcome: &Outcome, endurance: Option<Endurance>) -> Option<String> {
    let endurance = endurance?;
    Some(
        endurance
            .years(outcome.device_written(), outcome.phase.time)
            .map_or("no writes".into(), in_words),
    )
}

fn settings(results: &Results) -> String {
    let effective = &results.effective;
    let mut line = format!("DRAM {}", effective.dram);
    if let Some(footprint) = effective.footprint {
        let share = effective.dram.0 as f64 / footprint.0 as f64 * 100.0;
        let origin = match effective.measured_after {
            Some(time) => format!("its peak in the first {} s", time.as_secs_f64()),
            None if effective.footprint_measured => "measured".to_owned(),
            None => "given".to_owned(),
        };
        let _ = write!(line, ", {share:.0} % of {footprint} ({origin})");
    }
    let _ = write!(line, "; tier: {}", effective.tier);
    if effective.zswap != "off" {
        let _ = write!(line, "; zswap: {}", effective.zswap);
    }
    if let Some(migration) = &effective.migration {
        let _ = writeln!(line, "; migration: {migration}");
        return line;
    }
    let _ = writeln!(
        line,
        "; prefetch: {}; eviction: {}; page-cluster {}",
        names(&effective.prefetch),
        effective.eviction.join(", "),
        effective.page_cluster
    );
    line
}

/// Returns a sentence on what others had in the tier, if they had anything.
fn others(results: &Results) -> String {
    let outcomes = results.runs.iter().flat_map(|runs| &runs.outcomes);
    let most = outcomes.map(|outcome| outcome.tier_others).max();
    match most.unwrap_or_default() {
        Bytes(0) => String::new(),
        most => format!(
            "Other programs had up to {most} in the tier: reads and writes of the tier are theirs as well. It does not \
             grow for them.\n"
        ),
    }
}

/// Returns a sentence on processes that left the group, if any did.
fn left_group(results: &Results) -> String {
    let outcomes = results.runs.iter().flat_map(|runs| &runs.outcomes);
    match outcomes
        .map(|outcome| outcome.left_group)
        .max()
        .unwrap_or(0)
    {
        0 => String::new(),
        left => format!(
            "{} left the control group of the run: no budget limits what left, and no figure above \
             counts it.\n",
            processes(left)
        ),
    }
}

fn processes(number: u64) -> String {
    match number {
        1 => "1 process of the program".to_owned(),
        _ => format!("{} processes of the program", count(number)),
    }
}

/// Returns a sentence for each way in whose typical run pages came from the tier for no known
/// reason, or fewer came than there were reasons.
fn imbalances(results: &Results) -> String {
    let measured = results.runs.iter().filter(|r| !r.outcomes.is_empty());
    let sentences = measured.filter_map(|runs| {
        let outcome = typical(runs);
        let balance = outcome.balance.filter(|balance| !balance.holds())?;
        Some(imbalance(&balance, outcome.unseen_faults))
    });
    sentences.collect()
}

fn imbalance(balance: &Balance, unseen_faults: u64) -> String {
    let off = balance.unaccounted();
    let (pages, came) = (count(off.unsigned_abs()), count(balance.came));
    if off > 0 {
        return format!(
            "{pages} of the {came} pages from the tier came neither by a fetch or a major fault of the program \
             nor by the kernel's readahead: other programs, shared memory or system calls brought them in.\n"
        );
    }
    let cause = match unseen_faults {
        _ if balance.read_ahead >= off.unsigned_abs() => {
            "some fetches found pages that the kernel had read ahead"
        }
        0 => "the program faulted on files as well, or on pages that were being read",
        _ => "some fetches that read nothing count as such that did, because faults were not seen",
    };
    format!(
        "{came} pages came from the tier, {pages} fewer than fetches, major faults and the kernel's \
         readahead amount to: {cause}.\n"
    )
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn a_balance_that_fails_is_told_with_its_cause() {
        let balance = |came| Balance {
            came,
            read_ahead: 1_000,
            fetched: 50_000,
            faulted: 20_000,
        };
        let more = imbalance(&balance(80_000), 0);
        assert!(more.starts_with("9,000 of the 80,000 pages"), "{more}");
        let fewer = imbalance(&balance(60_000), 0);
        assert!(fewer.contains("11,000 fewer"), "{fewer}");
        assert!(fewer.contains("faulted on files"), "{fewer}");
        let both = imbalance(&balance(70_500), 0);
        assert!(both.contains("had read ahead"), "{both}");
        let unseen = imbalance(&balance(60_000), 7);
        assert!(unseen.contains("were not seen"), "{unseen}");
    }
}
