//! Results as one page of HTML that needs nothing else: tables, plots, settings and the machine.
//!
//! The page's own content security policy forbids it to load anything, so it reads the same
//! everywhere and sends nothing. Plots are drawn by Chart.js (`chart.js`, MIT, unchanged but for
//! its last line, which named a file for debuggers).

mod plot;
mod setting;
mod simulated;

pub use plot::{Axis, Band, HeatRow, Look, Plot, Unit};
use setting::Setting;

use comfy_table::{Cell, Row, Table};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::Value;
use terrace_base::Result;
use terrace_base::kernel;
use terrace_base::memory;
use terrace_base::schema::{Field, Tree};
use terrace_policy::prefetch::{Count, LifeStory};

use crate::flat::plain;
use crate::json_schema;
use crate::text::{Part, Text};

const STYLE: &str = include_str!("page.css");
const CHARTS: &str = include_str!("chart.js");
const SCRIPT: &str = include_str!("page.js");

/// Nothing is loaded from anywhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

/// Title, plots and settings of a page, beside the text of the results.
#[derive(Debug, Default)]
pub struct Page {
    title: String,
    plots: Vec<Plot>,
    remarks: Vec<String>,
    settings: Vec<(String, Vec<Setting>)>,
}

impl Page {
    /// Makes a page with a title.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a plot, unless all its values are zero.
    pub fn plot(mut self, plot: Plot) -> Self {
        if plot.shows_something() {
            self.plots.push(plot);
        }
        self
    }

    /// Adds a plot before all others.
    pub fn first(mut self, plot: Plot) -> Self {
        self.plots.insert(0, plot);
        self
    }

    /// Adds a sentence below the plots.
    pub fn remark(mut self, remark: &str) -> Self {
        self.remarks.push(remark.to_owned());
        self
    }

    /// Adds effective settings of the run with this name, or of all runs if it is empty.
    pub fn settings<T: Serialize + JsonSchema>(self, of: &str, settings: &T) -> Self {
        self.described(of, &json_schema::of::<T>(), settings)
    }

    /// Adds effective settings that these fields show, likewise.
    pub fn settings_of<R>(self, of: &str, fields: &[Field<R>], record: &R) -> Self {
        let schema = json_schema::of_fields(fields);
        self.described(of, &schema, &Tree::of(fields, record))
    }

    fn described(mut self, of: &str, schema: &Schema, settings: &impl Serialize) -> Self {
        let settings = Setting::all(schema, settings);
        self.settings.push((of.to_owned(), settings));
        self
    }

    /// Returns the page; `command` is the command line that made the results.
    pub fn html(&self, text: &Text, command: &str) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    header {
                        h1 { (self.title) }
                        pre.command { (command) }
                    }
                    section { (told(text)) }
                    @if !self.plots.is_empty() { (self.figures()) }
                    section { h2 { "Settings" } (self.effective()) }
                    section { h2 { "Machine" } (pairs(&machine())) }
                    @if !self.plots.is_empty() { (self.scripts()) }
                }
            }
        };
        page.into_string()
    }

    /// Returns the plots as vectors, one below the other.
    ///
    /// # Errors
    /// A failure if there is no plot, or a label is of no series.
    pub fn svg(&self, look: &Look) -> Result<String> {
        plot::draw(&self.plots, look)
    }

    fn figures(&self) -> Markup {
        html! {
            section.plots {
                h2 { "Plots" }
                noscript { p { "Plots are drawn by the page's own script, which is off." } }
                @for (index, plot) in self.plots.iter().enumerate() {
                    figure.whole[plot.is_wide()] {
                        figcaption { strong { (plot.title()) } " " (plot.sentence()) }
                        div.plot { canvas id=(format!("plot{index}")) role="img" aria-label=(plot.title()) {} }
                    }
                }
                @for remark in &self.remarks { p.whole { (remark) } }
            }
        }
    }

    fn scripts(&self) -> Markup {
        let plots = serde_json::to_string(&self.plots).expect("plain data serializes");
        // Within a script element only `<` could end it.
        let plots = plots.replace('<', "\\u003c");
        html! {
            script id="plots" type="application/json" { (PreEscaped(plots)) }
            script { (PreEscaped(CHARTS)) }
            script { (PreEscaped(SCRIPT)) }
        }
    }

    /// Returns the settings that all runs share, and a table of the others with a row for each run.
    fn effective(&self) -> Markup {
        let Some((_, first)) = self.settings.first() else {
            return html! { p { "None but those of the command line." } };
        };
        let same = |own: &Setting| {
            let mut others = self.settings.iter();
            others.all(|(_, other)| own.is_same(own.among(other)))
        };
        let (shared, own): (Vec<_>, Vec<_>) = first.iter().cloned().partition(same);
        html! {
            dl { @for one in &shared { div { dt { (one.name()) } dd { (one.value()) } } } }
            @if !own.is_empty() {
                div.wide { table {
                    thead { tr { th { "run" } @for one in &own { th { (one.name()) } } } }
                    tbody { @for (of, settings) in &self.settings {
                        tr { td { (of) } @for one in &own { td { @if let Some(one) = one.among(settings) { (one.value()) } } } }
                    } }
                } }
            }
        }
    }
}

/// Returns the life stories of predictions as a plot with a bar for each name.
pub fn life_story(stories: impl Iterator<Item = (String, LifeStory)>) -> Plot {
    let (names, stories): (Vec<_>, Vec<_>) = stories.unzip();
    let pages = Axis::new("predicted pages", Unit::Count);
    let plot = Plot::stacked("Life story of predictions", Axis::names("", names), pages).note(
        "A predicted page was used, late, reissued or wasted if it was fetched; else it was found in memory, \
         wiped or filtered (Fedorov 2016, figures 5.12 and 5.13).",
    );
    ends().fold(plot, |plot, count| {
        let counts = stories.iter().map(|story| (count.get)(story) as f64);
        plot.values(count.end, counts)
    })
}

/// Returns the counts of a life story that are ends of predictions.
pub fn ends() -> impl Iterator<Item = &'static Count> {
    let counts = LifeStory::COUNTS.iter();
    counts.filter(|count| !count.end.is_empty())
}

/// Returns the machine that makes the page; it is the measured machine if results are new.
fn machine() -> Vec<(String, Value)> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    [
        ("kernel", format!("Linux {}", kernel::release())),
        ("CPUs", cpus.to_string()),
        ("memory", memory::total().to_string()),
        ("terrace", env!("CARGO_PKG_VERSION").to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value.into()))
    .into()
}

/// Returns the value of a setting as text; empty if there is none of this name.
fn value(settings: &[(String, Value)], name: &str) -> String {
    let found = settings.iter().find(|(key, _)| key == name);
    found.map_or(String::new(), |(_, value)| plain(value))
}

fn pairs(pairs: &[(String, Value)]) -> Markup {
    html! {
        dl { @for (name, value) in pairs { div { dt { (name) } dd { (plain(value)) } } } }
    }
}

fn told(text: &Text) -> Markup {
    html! {
        @for part in text.parts() {
            @match part {
                Part::Table(table) => { (cells(table)) }
                Part::Prose(prose) if prose.trim().is_empty() => {}
                Part::Prose(prose) => { p { (prose.trim()) } }
            }
        }
    }
}

fn cells(table: &Table) -> Markup {
    let row = |row: &Row| Vec::from_iter(row.cell_iter().map(Cell::content));
    let head = table.header().map(row).unwrap_or_default();
    html! {
        div.wide { table {
            thead { tr { @for cell in head { th { (cell) } } } }
            tbody { @for cells in table.row_iter().map(row) { tr { @for cell in cells { td.left[cell.starts_with('#')] { (cell) } } } } }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_text_and_no_markup() {
        let evil = "</script><script>alert(1)</script>";
        let mut table = crate::table::table(&[evil, ""]);
        table.add_row([evil, "2"]);
        let text = Text::default().table(table).prose(evil);
        let plot = Plot::bars(
            evil,
            Axis::names(evil, [evil]),
            Axis::new(evil, Unit::Count),
        );
        let page = Page::new(evil)
            .plot(plot.values(evil, [1.0]))
            .settings(evil, &serde_json::json!({ evil: evil }));
        let html = page.html(&text, evil);
        assert!(!html.contains("<script>alert"), "{html}");
        assert_eq!(html.matches("</script>").count(), 3);
    }

    #[test]
    fn the_page_names_no_other_file() {
        let plot = Plot::bars("t", Axis::names("x", ["a"]), Axis::new("y", Unit::Count));
        let html = Page::new("t")
            .plot(plot.values("s", [1.0]))
            .html(&Text::default(), "terrace");
        for reference in [
            " src=",
            " href=",
            "<link",
            "@import",
            "url(",
            "sourceMappingURL",
        ] {
            assert!(!html.contains(reference), "{reference}");
        }
    }

    #[test]
    fn settings_that_differ_are_told_by_run() {
        let page = Page::new("t")
            .settings("one", &serde_json::json!({ "dram": 1, "seed": 7 }))
            .settings("two", &serde_json::json!({ "dram": 2, "seed": 7 }));
        let html = page.html(&Text::default(), "terrace");
        assert!(
            html.contains("<dt><span>seed</span></dt><dd><span>7</span></dd>"),
            "{html}"
        );
        assert!(
            html.contains("<tr><td>two</td><td><span>2</span></td></tr>"),
            "{html}"
        );
    }
}
