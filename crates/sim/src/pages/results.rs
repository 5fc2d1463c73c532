//! Results of a simulated machine: their names, units and meanings, declared once.
//!
//! To add one: a count in `count.rs`, or an entry here.

use std::iter;

use terrace_base::schema::{Field, Unit, fields, object};
use terrace_policy::prefetch::{Constituent, LifeStory};

use super::control::{Controlled, Look};
use super::count::{Counts, Times};
use super::dram::Dram;
use super::options::effective;
use super::outcome::{Outcome, ProgramTime};
use super::settings::PageMachine;
use super::writes::{Rank, SchemeOutcome};

/// A machine and its results. All figures are virtual, and leave the warm-up out.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// DRAM as it was asked for.
    pub dram: Dram,
    /// The machine.
    pub machine: PageMachine,
    /// Results.
    pub outcome: Outcome,
}

/// Returns the fields of a run in the document `terrace.sim.pages/1`.
pub fn run() -> Vec<Field<Simulated>> {
    let settings = effective().into_iter().map(|field| {
        let field = field.under("settings", "effective settings");
        field.of(|one: &Simulated| &one.machine)
    });
    let results = results().into_iter();
    let results = results.map(|field| field.of(|one: &Simulated| &one.outcome));
    let warning = fields! { Simulated;
        /// why the figures are not those of a steady state; null where they may be
        "warning" None |one| one.warning();
    };
    settings.chain(results).chain(warning).collect()
}

/// Returns the fields of an outcome, in the order of JSON.
pub fn results() -> Vec<Field<Outcome>> {
    let counts = Counts::fields().into_iter().flat_map(|field| {
        let derived = derived(&field.name);
        let field = match &*field.name {
            "shootdowns" => field.behind("device_latency_ns"),
            _ => field,
        };
        iter::once(field.of(|outcome: &Outcome| &outcome.counts)).chain(derived)
    });
    counts
        .chain(times())
        .chain(tier())
        .chain(control())
        .chain(schemes())
        .collect()
}

/// Returns the figures derived from counts, which follow this count.
fn derived(count: &str) -> Vec<Field<Outcome>> {
    match count {
        "writes" => fields! { Outcome;
            /// touches of pages not in DRAM: the sum of the next four
            "misses" None |o| o.counts.misses();
        },
        "rescues" => fields! { Outcome;
            /// misses an access, 0 to 1
            "miss_ratio" Ratio |one| one.miss_ratio();
        },
        "reads" => prefetching(),
        _ => Vec::new(),
    }
}

/// Returns the fields of a life story (Fedorov 2016, figures 5.12 and 5.13).
fn life_story() -> impl Iterator<Item = Field<LifeStory>> {
    LifeStory::COUNTS.iter().map(|count| {
        let column = match count.name {
            "predicted" => "predictions".to_owned(),
            "issued" => "prefetches".to_owned(),
            end @ ("used" | "late" | "reissued" | "wasted") => format!("prefetches_{end}"),
            end => format!("predictions_{end}"),
        };
        let help = count.help.trim_ascii();
        Field::new(column, Unit::None, help, count.get).json(count.name)
    })
}

/// Returns the fates of predictions, in total and by the constituents of a combination.
fn prefetching() -> Vec<Field<Outcome>> {
    let story = life_story().map(|field| field.of(|outcome: &Outcome| &outcome.story));
    let further = fields! { Outcome;
        /// pages in DRAM, or on their way, and not touched at the end
        "untouched" None |o| o.untouched, column "prefetches_untouched";
        /// share of the fetched pages with a known end that were touched
        "accuracy" Share |o| o.story.accuracy();
        /// share of the full misses without prefetching that were predicted
        "coverage" Share |o| o.story.coverage(o.counts.full_misses);
        /// share of the touched pages that had arrived by then
        "timeliness" Share |o| o.story.timeliness();
        /// the same by the constituents of a combination that named the pages
        "constituents": [constituent()] => |o| &o.constituents, column "", json "constituents?";
    };
    let below = |field: Field<_>| field.under("prefetch", "what became of predictions");
    story.chain(further).map(below).collect()
}

/// Returns the life story of the pages that some constituents named (Fedorov 2016, figure 5.10).
fn constituent() -> Vec<Field<Constituent>> {
    let mut fields = fields! { Constituent;
        /// constituents
        "names" None |c| c.names.clone();
        /// accuracy
        "accuracy" Share |c| c.story.accuracy();
    };
    let story = life_story().map(|field| field.of(|c: &Constituent| &c.story));
    fields.splice(1..1, story);
    fields
}

/// Returns latencies, run times, and time by cause, which a machine without a clock does not have.
fn times() -> Vec<Field<Outcome>> {
    let mut times = fields! { Outcome;
        /// mean time from the touch of a page in the tier to its being mapped
        "fault_latency_ns" Nanos |o| o.latencies.fault();
        /// mean time of a read of the device, waiting included
        "device_latency_ns" Nanos |o| o.latencies.device();
        /// virtual run time
        "time_ns" Nanos |one| one.time();
        /// virtual run time with DRAM for everything
        "all_dram_ns" Nanos |one| one.all_dram();
        /// time_ns divided by all_dram_ns
        "slowdown" Ratio |one| one.slowdown();
        /// run time of each program
        "programs": [program()] => |o| &o.programs, column "";
        /// threads of the programs; the next twelve add up their time
        "program_threads" None |o| o.programs.iter().map(|one| u64::from(one.threads)).sum::<u64>(), json "";
    };
    times.extend(Times::fields().into_iter().map(|field| {
        let column = match &*field.name {
            waiting @ ("read" | "evict") => format!("wait_{waiting}_ns"),
            part => format!("{part}_ns"),
        };
        let field = field.column(column);
        let field = field.under("times_ns", "time of all threads by cause");
        field.of(|outcome: &Outcome| &outcome.times)
    }));
    times.extend(fields! { Outcome;
        /// bytes a second that accesses and moves drew from DRAM; null: without --fast-bandwidth
        "fast_drawn" Rate |o| o.rate(o.drawn.fast);
        /// bytes a second that accesses and moves drew from slow memory; null: without a limit of
        /// it, or without --migration
        "slow_drawn" Rate |o| o.rate(o.drawn.slow);
    });
    let timed = times.into_iter().map(|field| match &*field.name {
        "program_threads" => field,
        _ => field.only_where(|outcome| outcome.timed),
    });
    timed.collect()
}

/// Returns the run times of a program.
fn program() -> Vec<Field<ProgramTime>> {
    fields! { ProgramTime;
        /// with the simulated memory
        "time_ns" Nanos |program| program.time_ns;
        /// with DRAM for everything
        "all_dram_ns" Nanos |program| program.all_dram_ns;
        /// the one divided by the other
        "slowdown" Ratio |program| program.slowdown;
        /// threads
        "threads" None |program| program.threads;
    }
}

/// Returns lifetime, energy and pages of the tier.
fn tier() -> Vec<Field<Outcome>> {
    let mut fields = fields! { Outcome;
        /// until the tier wears out, if it wore evenly (Awad 2016, figures 2 and 9); null: nothing
        /// written, or no endurance known
        "lifetime_years" Years |o| o.lifetime.even;
        /// until the page written most wears out, or the line under --migration, without levelling
        "lifetime_unlevelled_years" Years |o| o.lifetime.unlevelled, json "lifetime.unlevelled";
        /// energy of reads; null: no powers known
        "energy_read_j" Joules |o| o.energy.map(|energy| energy.read_j), json "energy?.read_j";
        /// energy of writes
        "energy_write_j" Joules |o| o.energy.map(|energy| energy.write_j), json "energy?.write_j";
        /// energy of standing by
        "energy_standby_j" Joules |o| o.energy.map(|energy| energy.standby_j), json "energy?.standby_j";
        /// energy of refreshing
        "energy_refresh_j" Joules |o| o.energy.map(|energy| energy.refresh_j), json "energy?.refresh_j";
        /// most pages at once that were touched and not given back
        "footprint_pages" Pages |o| o.footprint_pages;
        /// pages of the tier that were in use
        "tier_pages_used" Pages |o| o.tier_pages_used;
        /// access at which the first page had to leave DRAM; null: all fitted
        "dram_full_at" None |o| o.full_at;
    };
    let even = fields[0].clone().column("").json("lifetime.even");
    fields.insert(1, even);
    fields
}

/// Returns how a control policy went.
fn control() -> Vec<Field<Outcome>> {
    let controlled = fields! { Controlled;
        /// DRAM held on average over time
        "dram_mean" Bytes |c| c.dram_mean.0;
        /// least DRAM held after a look
        "dram_least" Bytes |c| c.dram_least.0;
        /// time that threads lost for memory, as a share of that in which they ran or lost it
        "stalls" Share |c| c.stalls;
        /// the same of the worst second, from one whole second of virtual time to the next; null:
        /// there was none
        "stalls_worst" Share |c| c.stalls_worst;
        /// looks of the policy
        "looks" None |c| c.looks;
        /// looks at which something was reclaimed
        "reclaims" None |c| c.reclaims;
        /// what was reclaimed
        "reclaimed" Bytes |c| c.reclaimed.0;
        /// looks at which something was given back
        "returns" None |c| c.returns;
        /// what was given back
        "given_back" Bytes |c| c.given_back.0;
        /// looks at which something would have been reclaimed, had the budget of writes not been
        /// spent
        "unpaid" None |c| c.unpaid;
    };
    let looks = fields! { Outcome;
        /// the looks of the control policy in their order; where they are many, two, four, and so
        /// on together
        "looks": [look()] => |o| &o.looks, column "", json "looks?";
    };
    let part = |outcome: &Outcome| outcome.control.clone();
    let help = "how the control policy went; null: there was none";
    object("control?", help, controlled, part)
        .chain(looks)
        .collect()
}

/// Returns looks of a control policy, of which the last one tells time, DRAM and reason.
fn look() -> Vec<Field<Look>> {
    fields! { Look;
        /// number of looks
        "looks" None |look| look.looks;
        /// virtual time from the start
        "time_ns" Nanos |look| look.time_ns;
        /// DRAM held, before what was decided
        "dram" Bytes |look| look.dram.0;
        /// share of stalls since the look before; null: no thread ran
        "stalls" Share |look| look.stalls();
        /// written to the tier since the look before
        "written" Bytes |look| look.written.0;
        /// reclaimed
        "reclaimed" Bytes |look| look.reclaimed.0;
        /// given back
        "given_back" Bytes |look| look.given_back.0;
        /// why: quiet (few stalls), stalls (too many), resting (too many a while ago), used (what
        /// leaves comes straight back), saving (few for not long enough), settled (as much DRAM as
        /// it should be), barren (nothing was found that could leave), writes (the budget is spent)
        "reason" None |look| look.reason.clone();
    }
}

/// Returns the figures of write schemes: a list in JSON, and columns of the first scheme, which is
/// the only one in a row ([`Simulated::by_scheme`]).
fn schemes() -> Vec<Field<Outcome>> {
    let list = fields! { Outcome;
        /// what each scheme of --write would write, under each wear levelling
        "schemes": [scheme()] => |o| &o.schemes, column "", json "schemes?";
    };
    let first = |o: &Outcome| o.schemes.first().cloned();
    let columns =
        object("scheme", "", scheme(), first).filter(|field| field.name != "scheme_ranks");
    list.into_iter()
        .chain(columns.map(|field| field.json("")))
        .collect()
}

/// Returns the figures of a write scheme under a wear levelling.
fn scheme() -> Vec<Field<SchemeOutcome>> {
    let quantile = |name, help, at: usize| {
        Field::new(name, Unit::None, help, move |one: &SchemeOutcome| {
            one.wear_quantiles[at]
        })
    };
    let mut fields = fields! { SchemeOutcome;
        /// write scheme
        "name" None |one| one.scheme.clone();
        /// whether pages went back to their own places
        "pinned" None |one| one.pinned;
        /// wear levelling
        "levelling" None |one| one.levelling.clone();
        /// pages that left DRAM; null under --migration
        "left" Pages |one| one.left;
        /// pages of those with something written
        "pages" Pages |one| one.pages;
        /// bytes that the scheme wrote, in whole units of what it writes
        "bytes" Bytes |one| one.bytes;
        /// these bytes as a share of all pages that left DRAM
        "bytes_share" Share |one| one.bytes_share();
        /// lines of 64 bytes with something written
        "lines" None |one| one.lines;
        /// sectors of 512 bytes with something written
        "sectors" None |one| one.sectors;
        /// cells that it programmed, one a bit
        "cells" None |one| one.cells;
        /// bytes that only say how the others are to be read
        "metadata" Bytes |one| one.metadata;
        /// lines that the levelling wrote
        "moved_lines" None |one| one.moved_lines;
        /// cells that the levelling programmed
        "moved_cells" None |one| one.moved_cells;
        /// cells that both programmed, as a share of those of all pages that left DRAM
        "cells_share" Share |one| one.cells_share();
        /// energy of programming them, without reads to compare or to move; null: no powers known
        "energy_j" Joules |one| one.energy_j;
        /// until the first line wears out for which there is no spare, if the run is repeated and
        /// the levelling goes on; null: nothing written, or no endurance known
        "first_years" Years |one| one.first_years;
        /// until all lines wear out, if they wore evenly (Awad 2016, figure 9)
        "even_years" Years |one| one.even_years;
        /// places of lines in the memory
        "places" None |one| one.places;
        /// places that were written
        "places_written" None |one| one.places_written;
        /// mean writes of a place: cells programmed, by 512
        "wear_mean" None |one| one.wear_mean;
    };
    fields.extend([
        quantile(
            "wear_p50",
            "writes that half of the places do not exceed",
            0,
        ),
        quantile(
            "wear_p90",
            "writes that 90 % of the places do not exceed",
            1,
        ),
        quantile(
            "wear_p99",
            "writes that 99 % of the places do not exceed",
            2,
        ),
        quantile(
            "wear_p99_9",
            "writes that 99.9 % of the places do not exceed",
            3,
        ),
        quantile("wear_most", "writes of the most worn place", 4),
    ]);
    fields.extend(fields! { SchemeOutcome;
        /// writes of the most worn place, of the second, the fourth, and so on, and of the last
        /// that was written
        "ranks": [rank()] => |one| &one.ranks;
    });
    fields
}

/// Returns a place in the order of wear.
fn rank() -> Vec<Field<Rank>> {
    fields! { Rank;
        /// number of the place, the most worn one being the first
        "rank" None |one| one.rank;
        /// writes
        "writes" None |one| one.writes;
    }
}

impl Outcome {
    /// Returns the number of rows that a table has of it, see [`Simulated::by_scheme`].
    pub fn rows(&self) -> usize {
        self.schemes.len().max(1)
    }
}

impl Simulated {
    /// Returns the same machine with the results of each write scheme by themselves, for rows of a
    /// table; the machine as it is if there are none.
    pub fn by_scheme(&self) -> Vec<Self> {
        if self.outcome.rows() == 1 {
            return vec![self.clone()];
        }
        let alone = |scheme: &SchemeOutcome| {
            let mut alone = self.clone();
            alone.outcome.schemes = vec![scheme.clone()];
            alone
        };
        self.outcome.schemes.iter().map(alone).collect()
    }

    /// Returns why the figures are not those of a steady state, or of a machine that can exist.
    pub fn warning(&self) -> Option<String> {
        let (settings, outcome) = (&self.machine, &self.outcome);
        let buffer = settings.eviction_buffer;
        let has_buffer = settings.staging == 0 && !settings.migration.bypasses();
        if let Some(pages) = settings.tier.pages
            && pages < outcome.tier_pages_used
        {
            return Some(format!(
                "the tier is too small: {pages} pages, and {} were in use; figures are as if they fitted",
                outcome.tier_pages_used
            ));
        }
        if let Some(read) = settings.prefetch.most_read()
            && read > settings.dram_pages as u64
        {
            return Some(format!(
                "readahead reads up to {read} pages at once, and DRAM has {}: they push each other out",
                settings.dram_pages
            ));
        }
        if outcome.warmup.is_none() {
            return Some(format!(
                "the warm-up is too long: no access follows its {} accesses, so the figures are of \
                 the whole; give a smaller --warmup",
                settings.warmup
            ));
        }
        match (outcome.is_cold(), outcome.full_at) {
            // What leaves then does not tell when DRAM was full.
            _ if settings.control.is_some() => None,
            (None, _) => Some("DRAM never filled: everything fitted".to_owned()),
            (Some(true), Some(full)) => Some(format!(
                "the warm-up is too short: DRAM was full only after {full} accesses, so the figures are partly of a machine that was filling; give --warmup {full} or more, or a longer trace",
            )),
            _ if has_buffer && buffer * 4 > settings.dram_pages => Some(format!(
                "the eviction buffer is large: {buffer} pages beside {} of DRAM",
                settings.dram_pages
            )),
            _ => None,
        }
    }
}
