//! Results of `terrace place`: a ranked table of allocation sites, and the JSON of schema
//! `terrace.place/1`.
//!
//! All times are simulated.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::{Bytes, Nanos};
use terrace_policy::placement::Found;
use terrace_sim::llc::LlcMachine;
use terrace_sim::place::{Amount, Memories, Memory, Placed, Profile, Share};

use crate::document::Document;
use crate::html::{Axis, Page, Plot, Unit};
use crate::number::count;
use crate::rows::Rows;
use crate::table::table;
use crate::text::Text;

/// The most rows of the table.
const ROWS: usize = 25;
/// Picoseconds of a nanosecond.
const PICOS: u64 = 1000;

/// The JSON of `terrace place --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlaceDocument {
    /// `terrace.place/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// Effective settings.
    pub settings: PlaceSettings,
    /// The program.
    pub program: ProgramFigures,
    /// The times of the program, all simulated.
    pub times: TimeFigures,
    /// The searches; the first is the one whose placement the sites show.
    pub searches: Vec<SearchFigures>,
    /// The sites: first those in fast memory, in the order of their choice, then those that gain
    /// most for their size.
    pub sites: Vec<SiteFigures>,
    /// What a placement file that was tried does; null without one.
    pub tried: Option<TriedFigures>,
}

/// Effective settings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PlaceSettings {
    /// The trace.
    pub trace: String,
    /// Fast memory as it was asked for.
    pub fast: String,
    /// Fast memory, in bytes.
    pub fast_bytes: u64,
    /// The fast memory.
    pub fast_memory: MemoryFigures,
    /// The slow memory.
    pub slow_memory: MemoryFigures,
    /// The private caches.
    pub private: String,
    /// The last-level cache, in bytes.
    pub llc_bytes: u64,
    /// Its ways.
    pub llc_ways: usize,
    /// The version of terrace.
    pub terrace: &'static str,
}

/// A memory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MemoryFigures {
    /// The name.
    pub name: String,
    /// The time of a line by itself.
    pub line_ns: f64,
    /// The time of each further line that is requested together with it.
    pub next_line_ns: f64,
}

/// The program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProgramFigures {
    /// The name of its file.
    pub name: String,
    /// The most bytes that recorded objects had at a time, and bytes of the pages with anything
    /// else.
    pub footprint_bytes: u64,
    /// Rows of the trace.
    pub accesses: u64,
    /// Instructions.
    pub instructions: u64,
    /// Lines that the last-level cache reads from memory.
    pub llc_misses: u64,
    /// Of them those of recorded objects.
    pub llc_misses_of_sites: u64,
    /// Different groups of requests to memory that overlap: what the time of a placement is summed
    /// up from.
    pub groups: usize,
}

/// Times of the program.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimeFigures {
    /// With all memory slow.
    pub all_slow_ns: u64,
    /// With all memory fast.
    pub all_fast_ns: u64,
    /// Time with all memory slow, relative to that with all memory fast.
    pub all_fast_speedup: f64,
}

/// A search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SearchFigures {
    /// `climb`, `runs`, `knapsack` or `exhaustive`.
    pub name: &'static str,
    /// The time of the program as it is placed.
    pub time_ns: u64,
    /// Time with all memory slow, relative to this one.
    pub speedup: f64,
    /// Sites in fast memory.
    pub sites: usize,
    /// How often the time of a placement was asked for.
    pub evaluations: u64,
    /// Wall time of the search, without what all searches share; null where it was not taken.
    pub seconds: Option<f64>,
}

/// A site.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SiteFigures {
    /// The name: function, file and line.
    pub name: String,
    /// The calls that lead to it, the innermost first.
    pub calls: Vec<String>,
    /// Its place in the order in which sites are put into fast memory, from 1; null for one in slow
    /// memory.
    pub rank: Option<usize>,
    /// Objects that it allocated.
    pub objects: u64,
    /// The most bytes that they had at a time.
    pub bytes: u64,
    /// Accesses to them in the trace.
    pub accesses: u64,
    /// Lines of them that the last-level cache read from memory.
    pub llc_misses: u64,
    /// Lines of them that it wrote back.
    pub llc_writebacks: u64,
    /// The time that the program gains where it is chosen; null for one in slow memory.
    pub gain_ns: Option<u64>,
    /// The time that the program gains by this site alone in fast memory.
    pub alone_gain_ns: u64,
}

/// A placement file that was tried.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TriedFigures {
    /// The program for which it was made.
    pub made_for: String,
    /// Sites of it that this trace has.
    pub found: usize,
    /// Sites of it that this trace does not have.
    pub missing: usize,
    /// Bytes of the sites that it has, in this trace.
    pub bytes: u64,
    /// The time of the program so placed.
    pub time_ns: u64,
    /// Time with all memory slow, relative to this one.
    pub speedup: f64,
}

/// A search and what it found.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The name of the search.
    pub name: &'static str,
    /// What it found.
    pub found: Found,
    /// Its wall time, if it was taken.
    pub seconds: Option<f64>,
}

/// What a document is made of.
pub struct Asked<'a> {
    /// The trace.
    pub trace: &'a str,
    /// Fast memory.
    pub fast: Amount,
    /// The caches.
    pub caches: &'a LlcMachine,
    /// The memories.
    pub memories: &'a Memories,
}

impl PlaceDocument {
    /// Returns the document of a placement; `searches` begins with the one that is shown.
    pub fn of(asked: &Asked, profile: &Profile, placed: &Placed, searches: &[Searched]) -> Self {
        let slow = placed.times.all_slow;
        let llc = asked.caches.llcs.first();
        let search = |searched: &Searched| SearchFigures {
            name: searched.name,
            time_ns: searched.found.time / PICOS,
            speedup: ratio(slow, searched.found.time),
            sites: searched.found.chosen.len(),
            evaluations: searched.found.evaluations,
            seconds: searched.seconds,
        };
        let of_sites: u64 = profile.sites.iter().map(|site| site.reads).sum();
        Self {
            schema: "terrace.place/1",
            settings: PlaceSettings {
                trace: asked.trace.to_owned(),
                fast: asked.fast.to_string(),
                fast_bytes: placed.room.fast,
                fast_memory: MemoryFigures::of(&asked.memories.fast),
                slow_memory: MemoryFigures::of(&asked.memories.slow),
                private: asked.caches.hierarchy(),
                llc_bytes: llc.map_or(0, |llc| llc.size.bytes.0),
                llc_ways: llc.map_or(0, |llc| llc.size.ways),
                terrace: env!("CARGO_PKG_VERSION"),
            },
            program: ProgramFigures {
                name: profile.program.clone(),
                footprint_bytes: profile.footprint,
                accesses: profile.accesses,
                instructions: profile.instructions,
                llc_misses: profile.reads(),
                llc_misses_of_sites: of_sites,
                groups: profile.groups().0,
            },
            times: TimeFigures {
                all_slow_ns: slow / PICOS,
                all_fast_ns: placed.times.all_fast / PICOS,
                all_fast_speedup: ratio(slow, placed.times.all_fast),
            },
            searches: searches.iter().map(search).collect(),
            sites: (placed.shares.iter())
                .map(|share| SiteFigures::of(profile, placed, share))
                .collect(),
            tried: None,
        }
    }

    /// Returns the text for people.
    pub fn to_text(&self) -> Text {
        let Self {
            settings,
            program,
            times,
            ..
        } = self;
        let mut text = Text::default().table(self.sites_table());
        if self.sites.len() > ROWS {
            let left = self.sites.len() - ROWS;
            text = text.prose(format!("… and {left} more: --json has them all\n"));
        }
        let text = text.prose(format!(
            "\n{}: {} of memory, {} of it fast ({}); {} beside {}; last-level cache {}\n\n",
            program.name,
            Bytes(program.footprint_bytes),
            Bytes(settings.fast_bytes),
            settings.fast,
            settings.fast_memory.name,
            settings.slow_memory.name,
            Bytes(settings.llc_bytes),
        ));
        let mut rows = table(&["placement, simulated", "time", "speed-up", "sites"]);
        let mut row = |name: String, ns: u64, speedup: f64, sites: String| {
            rows.add_row([name, Nanos(ns).to_string(), format!("{speedup:.3}"), sites]);
        };
        row("all slow".into(), times.all_slow_ns, 1.0, "0".into());
        for search in &self.searches {
            let name = format!("static, by {}", search.name);
            row(
                name,
                search.time_ns,
                search.speedup,
                search.sites.to_string(),
            );
        }
        if let Some(tried) = &self.tried {
            row(
                "static, by the file".into(),
                tried.time_ns,
                tried.speedup,
                tried.found.to_string(),
            );
        }
        let fast = times.all_fast_speedup;
        row("all fast".into(), times.all_fast_ns, fast, "all".into());
        text.table(rows)
    }

    fn sites_table(&self) -> comfy_table::Table {
        let heads = [
            "allocated by",
            "fast",
            "objects",
            "bytes",
            "accesses",
            "LLC misses",
            "gain",
            "alone",
        ];
        let mut rows = table(&heads);
        let slow = self.times.all_slow_ns;
        let shown: Vec<String> = self
            .sites
            .iter()
            .map(|site| shortened(&site.name))
            .collect();
        let share = |gain: u64| format!("{:.1} %", 100.0 * gain as f64 / slow.max(1) as f64);
        for site in self.sites.iter().take(ROWS) {
            rows.add_row([
                self.told_apart(&shown, site),
                site.rank.map_or("-".into(), |rank| rank.to_string()),
                count(site.objects),
                Bytes(site.bytes).to_string(),
                count(site.accesses),
                count(site.llc_misses),
                site.gain_ns.map_or("-".into(), share),
                share(site.alone_gain_ns),
            ]);
        }
        rows
    }
}

impl PlaceDocument {
    /// Returns the name of a site, with its caller where another site is shown under the same name.
    fn told_apart(&self, shown: &[String], site: &SiteFigures) -> String {
        let name = shortened(&site.name);
        let callers = site
            .calls
            .iter()
            .map(|call| call.split_once('!').map_or(&**call, |(_, name)| name));
        let caller = callers.skip_while(|call| **call != *site.name).nth(1);
        match (shown.iter().filter(|other| **other == name).count(), caller) {
            (0..=1, _) | (_, None) => name,
            (_, Some(caller)) => format!("{name} by {}", shortened(caller)),
        }
    }
}

/// Returns a name that leaves room for the columns beside it: without the parameters of functions,
/// and cut in the middle where it is still long.
fn shortened(name: &str) -> String {
    const MOST: usize = 44;
    let (function, place) = match name.rsplit_once(" (") {
        Some((function, place)) => (function, format!(" ({place}")),
        None => (name, String::new()),
    };
    let function = function.split('(').next().unwrap_or(function);
    let letters: Vec<char> = function.chars().collect();
    let room = MOST.saturating_sub(place.chars().count()).max(8);
    match letters.len() > room {
        false => format!("{function}{place}"),
        true => {
            let end: String = letters[letters.len() - (room - 1)..].iter().collect();
            format!("…{end}{place}")
        }
    }
}

fn ratio(slow: u64, time: u64) -> f64 {
    slow as f64 / time.max(1) as f64
}

impl MemoryFigures {
    fn of(memory: &Memory) -> Self {
        let nanos = |picos: u64| picos as f64 / PICOS as f64;
        Self {
            name: memory.name.clone(),
            line_ns: nanos(memory.latency),
            next_line_ns: nanos(memory.transfer),
        }
    }
}

impl SiteFigures {
    fn of(profile: &Profile, placed: &Placed, share: &Share) -> Self {
        let site = &profile.sites[share.site];
        let chosen = &placed.shown;
        Self {
            name: site.site.to_string(),
            calls: site.site.names(),
            rank: chosen
                .iter()
                .position(|of| *of == share.site)
                .map(|at| at + 1),
            objects: site.objects,
            bytes: site.bytes,
            accesses: site.accesses,
            llc_misses: site.reads,
            llc_writebacks: site.writes,
            gain_ns: share.gain.map(|gain| gain / PICOS),
            alone_gain_ns: share.alone / PICOS,
        }
    }
}

impl TriedFigures {
    /// Returns what a file does: the sites that were found, the number of others, and the time of
    /// the program.
    pub fn of(
        made_for: &str,
        bytes: u64,
        found: usize,
        missing: usize,
        time: u64,
        slow: u64,
    ) -> Self {
        Self {
            made_for: made_for.to_owned(),
            found,
            missing,
            bytes,
            time_ns: time / PICOS,
            speedup: ratio(slow, time),
        }
    }
}

impl Document for PlaceDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.sites)
    }

    fn page(&self) -> Page {
        let names = self.searches.iter().map(|search| search.name);
        let names = ["all slow"].into_iter().chain(names).chain(["all fast"]);
        let speedups = self.searches.iter().map(|search| search.speedup);
        let speedups = [1.0]
            .into_iter()
            .chain(speedups)
            .chain([self.times.all_fast_speedup]);
        let plot = Plot::bars(
            "Speed-up over slow memory alone",
            Axis::names("placement", names),
            Axis::new("speed-up", Unit::Count),
        )
        .note("Simulated.")
        .values("", speedups);
        Page::new("terrace place")
            .settings("", &self.settings)
            .plot(plot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_leaves_room() {
        assert_eq!(shortened("main (lulesh.cc:27)"), "main (lulesh.cc:27)");
        assert_eq!(
            shortened("A::f(int, std::pair<int, int>) (a.cc:7)"),
            "A::f (a.cc:7)"
        );
        let long = shortened(&format!("{} (a.cc:7)", "x".repeat(90)));
        assert_eq!(long.chars().count(), 44, "{long}");
        assert!(long.ends_with("x (a.cc:7)"));
        assert_eq!(shortened("p+0x10"), "p+0x10");
    }
}
