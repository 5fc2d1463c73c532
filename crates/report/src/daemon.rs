//! Results of `terrace status`: tables, and the JSON of schema `terrace.status/1`; and what
//! `terrace reload` says.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::Bytes;
use terrace_daemon::configuration::Percent;
use terrace_daemon::protocol::{Budget, Event, Reloaded, State, Status, Target, Tier};

use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace status --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatusDocument {
    /// `terrace.status/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// How the targets fare.
    pub status: Status,
    /// What has happened last, the oldest first.
    pub events: Vec<Event>,
}

impl StatusDocument {
    /// Returns the document of what a daemon has answered.
    pub fn of(status: Status, events: Vec<Event>) -> Self {
        Self {
            schema: "terrace.status/1",
            status,
            events,
        }
    }

    /// Returns a table of the targets, a sentence on the tier, and what has happened.
    pub fn text(&self) -> Text {
        let mut rows = table(&["target", "DRAM", "tier", "stalls", "limit", "doing"]);
        for target in &self.status.targets {
            rows.add_row(row(target));
        }
        let text = match self.status.targets.is_empty() {
            true => Text::default().prose("There are no targets.\n"),
            false => Text::default().table(rows),
        };
        text.prose(tier(&self.status.tier)).prose(self.happened())
    }

    fn happened(&self) -> String {
        let now = self.status.time_ms;
        let line = |event: &Event| {
            let seconds = now.saturating_sub(event.time_ms) / 1000;
            let target = event.target.as_deref().unwrap_or("terraced");
            format!("{seconds:>6} s ago  {target}: {}\n", event.text)
        };
        self.events.iter().map(line).collect()
    }
}

impl Document for StatusDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.status.targets)
    }

    fn page(&self) -> Page {
        Page::new("terrace status")
    }
}

fn row(target: &Target) -> [String; 6] {
    let instances = || target.instances.iter();
    let most = instances().map(|it| it.stalled).fold(0.0, f64::max);
    let doing = match (&target.trouble, target.state, &*target.instances) {
        (Some(why), ..) => why.clone(),
        (None, State::Waiting, _) => "is not there".to_owned(),
        (None, _, [one]) => one.doing.clone(),
        (None, _, several) => format!("{} groups", several.len()),
    };
    let limit = target.limit.map(|limit| Percent(limit).to_string());
    [
        target.name.clone(),
        Bytes(instances().map(|it| it.resident).sum()).to_string(),
        Bytes(instances().map(|it| it.swapped).sum()).to_string(),
        Percent(most).to_string(),
        limit.unwrap_or_default(),
        doing,
    ]
}

fn tier(tier: &Tier) -> String {
    let Tier { used, size, .. } = tier;
    let fill = format!(
        "{} of {} in the tier are in use.",
        Bytes(*used),
        Bytes(*size)
    );
    match &tier.budget {
        None => format!("{fill} What is written to it is not bounded.\n"),
        Some(budget) => format!("{fill} {}\n", writes(budget)),
    }
}

fn writes(budget: &Budget) -> String {
    let a_day = format!("It may be written {} a day.", Bytes(budget.a_day));
    match budget.life_days {
        None => a_day,
        Some(days) => format!(
            "{a_day} A new drive would last {:.1} years as it is written now.",
            days / 365.25
        ),
    }
}

/// Returns what a new configuration has changed.
pub fn reloaded(changes: &Reloaded) -> String {
    let mut said = format!("The configuration holds: {} targets go on.\n", changes.kept);
    for (names, what) in [
        (&changes.added, "new"),
        (&changes.changed, "changed, which begin anew"),
        (&changes.removed, "gone"),
    ] {
        if !names.is_empty() {
            said += &format!("Targets that are {what}: {}.\n", names.join(", "));
        }
    }
    said
}
