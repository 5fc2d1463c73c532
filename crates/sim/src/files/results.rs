//! Results of simulations of files: their names, units and meanings, declared once.
//!
//! To add one: an entry here, or a count in `count.rs`. All times are virtual: a simple model
//! predicts them. Figures exclude the warm-up.

use terrace_base::Bytes;
use terrace_base::schema::{Field, fields};

use super::count;
use super::options::effective;
use super::outcome::{Run, Simulated};
use super::timeline::Point;

/// A machine and the first one of all, with which it is compared.
#[derive(Clone, Copy)]
pub struct Compared<'a> {
    /// The machine.
    pub run: &'a Run,
    /// The first machine.
    pub base: &'a Run,
}

/// Returns the fields of a simulation in the document `terrace.sim.files/1`, in the order of JSON.
pub fn simulation() -> Vec<Field<Simulated>> {
    fields! { Simulated;
        /// settings and results of each machine
        "runs": [run()] => |one| compared(one);
    }
}

/// Returns the machines, each with the first.
pub fn compared(simulated: &Simulated) -> impl Iterator<Item = Compared<'_>> {
    let base = &simulated.runs[0];
    simulated.runs.iter().map(move |run| Compared { run, base })
}

/// Returns the fields of a machine.
pub fn run<'a>() -> Vec<Field<Compared<'a>>> {
    let settings = effective().into_iter();
    let settings = settings.map(|field| {
        let field = field.of(|compared: &Compared<'a>| &compared.run.machine);
        field.under("settings", "effective settings")
    });
    let counts = count::fields().into_iter();
    let counts = counts.map(|field| field.of(|of: &Compared<'a>| &of.run.outcome.counts));
    settings
        .chain(rates())
        .chain(counts)
        .chain(wear())
        .collect()
}

/// Fields of times and hit rates.
fn rates<'a>() -> Vec<Field<Compared<'a>>> {
    fields! { Compared<'a>;
        /// virtual time
        "time_ns" Nanos |of| of.run.outcome.time;
        /// that time as a multiple of the first machine's
        "time_against" Ratio |of| of.run.time_against(of.base);
        /// bytes read in a second
        "read_rate" Rate |of| of.run.outcome.read_rate();
        /// bytes written in a second
        "write_rate" Rate |of| of.run.outcome.write_rate();
        /// share of the pages read that DRAM or flash had
        "hit_rate" Share |of| of.run.outcome.counts.hit_rate();
        /// share of the pages read that DRAM had
        "dram_hit_rate" Share |of| of.run.outcome.counts.dram_hit_rate();
        /// share of the pages read that DRAM did not have, and flash had
        "flash_hit_rate" Share |of| of.run.outcome.counts.flash_hit_rate();
        /// share of the pages read ahead that left DRAM, or were written, before they were read
        "unused_rate" Share |of| of.run.outcome.counts.unused_rate();
        /// different pages that were asked for
        "footprint_pages" Pages |of| of.run.outcome.footprint;
    }
}

/// Fields of what is written to flash, and of the course of time.
fn wear<'a>() -> Vec<Field<Compared<'a>>> {
    fields! { Compared<'a>;
        /// refused pages by the policy that refused them
        "refused_by": [refused()] => |of| of.run.outcome.refused.iter().copied();
        /// bytes written to flash
        "flash_written_bytes" Bytes |of| of.run.outcome.counts.flash_written();
        /// bytes written to flash within the busiest day, or in all of a shorter time; null without
        /// flash
        "busiest_day_bytes" Bytes |of| of.run.outcome.busiest_day;
        /// writes of a page of flash, on average
        "wear_mean" None |of| of.run.outcome.worn.as_ref().map(|worn| worn.mean());
        /// writes of the page of flash that was written most
        "wear_most" None |of| of.run.outcome.worn.as_ref().map(|worn| worn.most());
        /// years until flash wears out, if it wore evenly
        "lifetime_years" Years |of| of.run.lifetime();
        /// years until the first page of flash wears out for which there is no spare, if the run is
        /// repeated and the levelling goes on
        "first_failure_years" Years |of| of.run.first_failure();
        /// counts of equal parts of the simulation, in requests
        "timeline": [epoch()] => |of| epochs(&of.run.outcome.points);
    }
}

/// Returns the fields of a policy that refused pages.
fn refused() -> Vec<Field<(&'static str, u64)>> {
    fields! { (&'static str, u64);
        /// policy
        "policy" None |of| of.0.to_owned();
        /// pages
        "pages" None |of| of.1;
    }
}

/// A part of a simulation: its end, and what was counted in it.
#[derive(Clone, Copy)]
pub struct Epoch {
    /// The end.
    pub end: Point,
    /// What was counted since the one before.
    pub counts: super::Counts,
}

/// Returns the parts of a simulation.
pub fn epochs(points: &[Point]) -> impl Iterator<Item = Epoch> + '_ {
    let starts = [Point::default()].into_iter().chain(points.iter().copied());
    starts.zip(points).map(|(start, end)| Epoch {
        end: *end,
        counts: end.counts - start.counts,
    })
}

/// Returns the fields of a part.
fn epoch() -> Vec<Field<Epoch>> {
    fields! { Epoch;
        /// requests from the beginning to the end of the part
        "requests" None |epoch| epoch.end.counts.requests;
        /// virtual time from the beginning to the end of the part
        "time_ns" Nanos |epoch| epoch.end.time;
        /// pages read in the part
        "reads" None |epoch| epoch.counts.reads;
        /// share of the pages read in the part that DRAM did not have; null where none was read
        "dram_miss_rate" Share |epoch| epoch.counts.dram_hit_rate().map(|rate| 1.0 - rate);
        /// share of the pages that DRAM did not have, and flash neither
        "flash_miss_rate" Share |epoch| epoch.counts.flash_hit_rate().map(|rate| 1.0 - rate);
        /// bytes written to flash in the part
        "flash_written_bytes" Bytes |epoch| Bytes::of_pages(epoch.counts.flash_writes);
    }
}
