//! Results of `terrace attach`: tables, and the JSON of schema `terrace.attach/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::Bytes;
use terrace_base::kernel;
use terrace_live::run::Faults;
use terrace_live::run::attach::{End, Results};
use terrace_live::system::dram;

use crate::constituent::Constituent;
use crate::faults::over_time_and_address;
use crate::process::Process;
use crate::schema::Prefetch;
use crate::waits::{self, Waits};
use terrace_results::document::Document;
use terrace_results::html::{Page, life_story};
use terrace_results::lifetime::{self, Endurance, in_words};
use terrace_results::number::{count, share};
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// Processes in the table: those with the most faults and fetches.
const SHOWN: usize = 16;

/// The JSON of `terrace attach --json`. All figures are of the time that it was attached.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttachDocument {
    /// `terrace.attach/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The program that it was attached to, described for people.
    pub target: String,
    /// Effective settings.
    pub settings: AttachSettings,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// Why it ended: `program` (all processes had), `signal` or `time`.
    pub end: String,
    /// Processes that were listed, from time to time.
    pub processes_listed: u64,
    /// Bytes of them that were in swap when it began.
    pub swapped_at_start_bytes: u64,
    /// Major faults by the kernel's count, as far as it was read before a process ended.
    pub major_faults: u64,
    /// Major faults that steering saw; it does not watch while watching does not pay
    /// (`prefetch.watched_share`).
    pub faults_seen: u64,
    /// Life story of the predictions.
    pub prefetch: Prefetch,
    /// Bytes read from swap areas by the whole machine.
    pub tier_read_bytes: u64,
    /// Bytes written to swap areas by the whole machine.
    pub tier_written_bytes: u64,
    /// Waits at faults (`--latency`); missing if nothing measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Lifetime of the device in years at the mean rate of writing over `wall_s`, the time that it
    /// was attached; null without an endurance or without writes, and in older results. All writes
    /// of the machine to swap areas count; what the device writes by itself (write amplification)
    /// is not in it.
    #[serde(default)]
    pub lifetime_years: Option<f64>,
    /// Sample of the major faults, for the page alone.
    #[serde(skip)]
    pub faults: Option<Faults>,
}

/// Effective settings and machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AttachSettings {
    /// The program's DRAM in bytes, as its groups limit it; the machine's if they do not.
    pub dram_bytes: u64,
    /// Directory of the cgroup whose limit it is; null without one.
    pub limited_by: Option<String>,
    /// Swap areas of the machine.
    pub tier: String,
    /// The predictor with its settings.
    pub prefetch: String,
    /// `vm.page-cluster` as found.
    pub page_cluster: String,
    /// The device's endurance in bytes; null if it was not given, and in older results.
    #[serde(default)]
    pub endurance_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM in bytes.
    pub machine_memory_bytes: u64,
    /// The version of terrace.
    pub terrace: String,
}

impl AttachDocument {
    /// Returns the document of results.
    pub fn of(results: &Results, endurance: Option<Endurance>) -> Self {
        let foreseen = &results.foreseen;
        let parts = &foreseen.parts;
        let limit = results.limit.as_ref();
        let machine = dram::total();
        Self {
            schema: "terrace.attach/1".to_owned(),
            target: results.target.clone(),
            settings: AttachSettings {
                dram_bytes: limit.map_or(machine, |limit| limit.bytes).0,
                limited_by: limit.map(|limit| limit.group.display().to_string()),
                tier: results.tier.clone(),
                prefetch: results.prefetch.clone(),
                page_cluster: results.page_cluster.clone(),
                endurance_bytes: endurance.map(|endurance| endurance.bytes().0),
                kernel: kernel::release(),
                machine_memory_bytes: machine.0,
                terrace: env!("CARGO_PKG_VERSION").to_owned(),
            },
            wall_s: results.wall.as_secs_f64(),
            end: end(results.end).to_owned(),
            processes_listed: results.processes,
            swapped_at_start_bytes: results.swapped.0,
            major_faults: results.major_faults,
            faults_seen: foreseen.faults.seen,
            prefetch: Prefetch {
                story: foreseen.progress.story,
                unseen_faults: Some(results.major_faults.saturating_sub(foreseen.faults.seen)),
                redundant: Some(foreseen.progress.redundant),
                rested_s: Some(foreseen.progress.rested.as_secs_f64()),
                kernel_readahead: Some(results.swap.readahead),
                watched_share: Some(foreseen.faults.watched.share()),
                unaccounted_share: None,
                constituents: parts.constituents.iter().map(Constituent::from).collect(),
                processes: parts.processes.iter().map(Process::from).collect(),
            },
            tier_read_bytes: Bytes::of_pages(results.swap.read).0,
            tier_written_bytes: Bytes::of_pages(results.swap.written).0,
            waits: results.waits.as_ref().map(Waits::from),
            lifetime_years: endurance
                .and_then(|it| it.years(Bytes::of_pages(results.swap.written), results.wall)),
            faults: Some(foreseen.faults.clone()),
        }
    }
}

fn end(end: End) -> &'static str {
    match end {
        End::Program => "program",
        End::Signal => "signal",
        End::Time => "time",
    }
}

impl Document for AttachDocument {
    /// A row a process.
    fn rows(&self) -> Rows {
        Rows::flat(&self.prefetch.processes)
    }

    fn page(&self) -> Page {
        let story = (self.settings.prefetch.clone(), self.prefetch.story);
        let page = Page::new(format!("terrace attach: {}", self.target))
            .plot(life_story([story].into_iter()))
            .settings("", &self.settings);
        let waits = self
            .waits
            .as_ref()
            .map(|waits| (self.settings.prefetch.clone(), waits));
        let plots = waits.map_or(Vec::new(), |waits| waits::plots(&[waits]));
        let page = plots.into_iter().fold(page, Page::plot);
        let faults = self.faults.as_ref();
        match faults.filter(|faults| !faults.sample.is_empty()) {
            Some(faults) => page.plot(over_time_and_address(
                "Faults over time and address",
                faults,
            )),
            None => page.remark("Steering saw no major fault."),
        }
    }
}

/// Returns the tables: all together, and by process.
pub fn text(document: &AttachDocument) -> Text {
    let story = &document.prefetch.story;
    let rows = [
        ("time attached", format!("{:.2} s", document.wall_s)),
        ("processes", count(document.processes_listed)),
        ("major faults", count(document.major_faults)),
        ("- seen by steering", seen(document)),
        ("prefetches issued", count(story.issued)),
        ("- used in time", share(story.used, story.issued)),
        ("- late", share(story.late, story.issued)),
        ("- reissued", share(story.reissued, story.issued)),
        ("- wasted", share(story.wasted, story.issued)),
        ("tier read", Bytes(document.tier_read_bytes).to_string()),
        (
            "tier written",
            Bytes(document.tier_written_bytes).to_string(),
        ),
    ];
    let lifetime = document.settings.endurance_bytes.map(|_| {
        let lifetime = document.lifetime_years.map_or("no writes".into(), in_words);
        ("device lifetime at this rate", lifetime)
    });
    let waits = document.waits.as_ref();
    let rows = rows
        .into_iter()
        .chain(lifetime)
        .chain(waits.into_iter().flat_map(Waits::rows));
    let mut all = table(&["terrace attach", ""]);
    all.add_rows(rows.map(|(name, value)| [name.to_owned(), value]));
    let basis = lifetime::basis(None, "over the time attached");
    let text = Text::default()
        .table(all)
        .prose(if document.settings.endurance_bytes.is_some() {
            &basis
        } else {
            ""
        })
        .prose(waits::explained(waits));
    let text = match document.prefetch.processes.as_slice() {
        [] => text,
        processes => by_process(text.prose("\n"), processes),
    };
    text.prose(settings(document))
}

/// Returns how many faults steering saw, and for which share of the time it watched.
fn seen(document: &AttachDocument) -> String {
    let seen = count(document.faults_seen);
    match document.prefetch.watched_share {
        Some(share) if share < 0.995 => {
            format!("{seen}; it watched {:.0} % of the time", share * 100.0)
        }
        _ => seen,
    }
}

fn by_process(text: Text, processes: &[Process]) -> Text {
    let columns = [
        "process",
        "pid",
        "faults seen",
        "fetched",
        "used",
        "late",
        "reissued",
        "wasted",
    ];
    let mut table = table(&columns);
    for process in processes.iter().take(SHOWN) {
        let part = |part| share(part, process.fetched);
        table.add_row([
            process.name.clone(),
            process.pid.to_string(),
            count(process.faults_seen),
            count(process.fetched),
            part(process.used),
            part(process.late),
            part(process.reissued),
            part(process.wasted),
        ]);
    }
    let text = text.table(table);
    match processes.len().saturating_sub(SHOWN) {
        0 => text,
        more => text.prose(format!("and {more} processes with fewer; --json has all\n")),
    }
}

fn settings(document: &AttachDocument) -> String {
    let settings = &document.settings;
    let by = match &settings.limited_by {
        Some(group) => format!("limit of {group}"),
        None => "of the machine; no limit".to_owned(),
    };
    format!(
        "{}; DRAM {} ({by}); tier: {}; prefetch: {}; page-cluster {}\n",
        document.target,
        Bytes(settings.dram_bytes),
        settings.tier,
        settings.prefetch,
        settings.page_cluster
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_live::group::counters::SwapCounters;
    use terrace_live::group::limit::Limit;
    use terrace_live::run::attach::Foreseen;
    use terrace_live::steer::{Parts, Progress};
    use terrace_live::watch::tally::ProcessFigures;

    use super::*;

    fn results(processes: u32) -> Results {
        let process = |pid| ProcessFigures {
            pid,
            name: "walk | x".to_owned(),
            faults: 3,
            fetched: 40,
            used: 30,
            wasted: 10,
            ..ProcessFigures::default()
        };
        Results {
            target: "process 7 (walk)".to_owned(),
            limit: Some(Limit {
                bytes: Bytes(64 << 20),
                group: "/sys/fs/cgroup/a".into(),
            }),
            tier: "/swapfile".to_owned(),
            prefetch: "auto".to_owned(),
            page_cluster: "3".to_owned(),
            processes: processes.into(),
            swapped: Bytes(1 << 20),
            wall: Duration::from_millis(1500),
            major_faults: 5,
            foreseen: Foreseen {
                progress: Progress::default(),
                parts: Parts {
                    constituents: Vec::new(),
                    lesson: None,
                    processes: (1..=processes).map(process).collect(),
                },
                faults: Faults {
                    seen: 3,
                    of: 5,
                    ..Faults::default()
                },
            },
            waits: None,
            swap: SwapCounters::default(),
            end: End::Signal,
            left_behind: None,
        }
    }

    #[test]
    fn tables_have_all_together_and_the_first_processes() {
        let told = |processes| text(&AttachDocument::of(&results(processes), None)).to_string();
        let two = told(2);
        assert!(
            two.contains("| walk | x |   2 |           3 |      40 | 75 % |  0 % |"),
            "{two}"
        );
        assert!(
            two.contains("DRAM 64.0 MiB (limit of /sys/fs/cgroup/a)"),
            "{two}"
        );
        assert!(!two.contains("with fewer"), "{two}");
        assert!(told(SHOWN as u32 + 4).contains("and 4 processes with fewer"));
        assert!(!told(0).contains("| pid"), "no table without rows");
        let widest = two
            .lines()
            .filter(|line| line.starts_with('|'))
            .map(str::len)
            .max();
        assert!(widest < Some(100), "{two}");
    }

    #[test]
    fn documents_are_read_as_they_were_written() {
        let document = AttachDocument::of(&results(1), Endurance::parse("600TBW").ok());
        let json = document.to_json();
        let read: AttachDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (read.schema.as_str(), read.end.as_str()),
            ("terrace.attach/1", "signal")
        );
        assert_eq!(read.to_json(), json);
        assert_eq!(document.rows().rows.len(), 1, "a row a process");
        let page = document.page().html(&text(&document), "terrace attach 7");
        assert!(
            page.contains("<h1>terrace attach: process 7 (walk)</h1>"),
            "{page}"
        );
    }
}
