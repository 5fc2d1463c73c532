//! The table of `terrace bench`.

use super::{BenchDocument, Row};
use crate::schema::Way;
use terrace_results::table::table;
use terrace_results::text::Text;

const HEAD: [&str; 18] = [
    "program",
    "DRAM",
    "prefetch",
    "all-dram s",
    "kernel s",
    "kernel-cpf s",
    "terrace s",
    "speed-up",
    "won back",
    "terrace min-max",
    "better kernel way min-max",
    "issued",
    "used",
    "late",
    "reissued",
    "wasted",
    "bar",
    "result",
];

const LEGEND: &str = "\
Wall times are medians; pages are of the run with the median. speed-up: terrace against the better
of the two kernel ways. won back: share of the time that this way loses against all-dram. The means
are geometric, over the programs that did not fail, and what is won back is of these means.
";

/// A smaller loss of the kernel against DRAM alone, as a share of its time, is noise.
const LEAST_LOSS: f64 = 0.05;

impl BenchDocument {
    /// Returns a line for each row and predictor, and the means over the programs that did not
    /// fail.
    pub fn table(&self) -> Text {
        let mut table = table(&HEAD);
        for row in &self.rows {
            match row.failure() {
                Some(why) => table.add_row(failed(row, &why)),
                None => table.add_rows(lines(row).map(|line| line.cells())),
            };
        }
        let sound = self.rows.iter().filter(|row| row.failure().is_none());
        let lines: Vec<Line> = sound.flat_map(lines).collect();
        table.add_rows(means(&lines));
        Text::default().table(table).prose(LEGEND)
    }
}

/// The line of a program with one predictor.
struct Line<'a> {
    row: &'a Row,
    terrace: &'a Way,
    /// The better of the two kernel ways.
    kernel: &'a Way,
    times: Times,
}

/// Wall times in seconds.
#[derive(Clone, Copy)]
struct Times {
    all_dram: f64,
    kernel: f64,
    kernel_cpf: f64,
    /// The better of the two kernel ways; in a mean, the better one for each program.
    better: f64,
    terrace: f64,
}

/// Returns a line for each predictor of a row; none if a way is missing.
fn lines(row: &Row) -> impl Iterator<Item = Line<'_>> {
    let way = |name: &str| row.ways().find(|way| way.way == name);
    let others = way("all-dram").zip(way("kernel")).zip(way("kernel-cpf"));
    others
        .into_iter()
        .flat_map(move |((all_dram, kernel), cpf)| {
            let steered = row.ways().filter(|way| way.way == "terrace");
            steered.map(move |terrace| Line {
                row,
                terrace,
                kernel: if wall(cpf) < wall(kernel) {
                    cpf
                } else {
                    kernel
                },
                times: Times {
                    all_dram: wall(all_dram),
                    kernel: wall(kernel),
                    kernel_cpf: wall(cpf),
                    better: wall(kernel).min(wall(cpf)),
                    terrace: wall(terrace),
                },
            })
        })
}

impl Line<'_> {
    fn cells(&self) -> Vec<String> {
        let speed_up = self.times.speed_up();
        let mut cells = vec![
            self.row.name.clone(),
            self.row.dram.clone(),
            self.policies(),
        ];
        cells.extend(self.times.cells());
        cells.push(spread(self.terrace));
        cells.push(format!("{} {}", self.kernel.way, spread(self.kernel)));
        cells.extend(match &self.terrace.prefetch {
            Some(prefetch) => {
                let story = &prefetch.story;
                let ends = [story.used, story.late, story.reissued, story.wasted];
                [story.issued]
                    .into_iter()
                    .chain(ends)
                    .map(|n| n.to_string())
                    .collect()
            }
            None => vec![String::new(); 5],
        });
        cells.push(bar(self.row));
        cells.push(
            self.row
                .bar
                .map_or(String::new(), |bar| verdict(speed_up, bar)),
        );
        cells
    }

    /// Returns the names of the predictor and, unless it is the usual one, of the eviction policy.
    /// In older results only the settings have the predictor.
    fn policies(&self) -> String {
        let settings = self
            .row
            .comparison
            .as_ref()
            .map(|c| c.settings.prefetch.as_str());
        let own = self.terrace.policies();
        match own.is_empty() {
            true => settings.unwrap_or_default().to_owned(),
            false => own,
        }
    }
}

impl Times {
    fn speed_up(self) -> f64 {
        self.better / self.terrace
    }

    /// Returns the share of the better kernel way's loss that was won back; `None` if the loss is
    /// noise.
    fn won_back(self) -> Option<f64> {
        let lost = self.better - self.all_dram;
        (lost >= self.better * LEAST_LOSS).then(|| (self.better - self.terrace) / lost)
    }

    /// Returns the geometric mean of several.
    fn mean(all: &[Self]) -> Self {
        let mean = |figure: fn(&Self) -> f64| {
            let logarithms: f64 = all.iter().map(|times| figure(times).ln()).sum();
            (logarithms / all.len() as f64).exp()
        };
        Self {
            all_dram: mean(|t| t.all_dram),
            kernel: mean(|t| t.kernel),
            kernel_cpf: mean(|t| t.kernel_cpf),
            better: mean(|t| t.better),
            terrace: mean(|t| t.terrace),
        }
    }

    fn cells(self) -> [String; 6] {
        let won_back = self.won_back();
        [
            format!("{:.2}", self.all_dram),
            format!("{:.2}", self.kernel),
            format!("{:.2}", self.kernel_cpf),
            format!("{:.2}", self.terrace),
            format!("{:.2}", self.speed_up()),
            won_back.map_or(String::new(), |share| format!("{:.0} %", 100.0 * share)),
        ]
    }
}

/// Returns the mean of the lines of each DRAM budget and policies that have several.
fn means(lines: &[Line]) -> Vec<Vec<String>> {
    let mut groups: Vec<(&str, String, Vec<Times>)> = Vec::new();
    for line in lines {
        let (dram, policies) = (line.row.dram.as_str(), line.policies());
        match groups.iter_mut().find(|g| (g.0, &g.1) == (dram, &policies)) {
            Some(group) => group.2.push(line.times),
            None => groups.push((dram, policies, vec![line.times])),
        }
    }
    let several = groups.into_iter().filter(|group| group.2.len() > 1);
    let cells = several.map(|(dram, policies, times)| {
        let name = format!("mean of {}", times.len());
        let mut cells = vec![name, dram.to_owned(), policies];
        cells.extend(Times::mean(&times).cells());
        cells.resize(HEAD.len(), String::new());
        cells
    });
    cells.collect()
}

fn failed(row: &Row, why: &str) -> Vec<String> {
    let mut cells = vec![row.name.clone(), row.dram.clone()];
    cells.resize(HEAD.len() - 2, String::new());
    cells.push(bar(row));
    cells.push(format!("FAILED: {why}"));
    cells
}

fn bar(row: &Row) -> String {
    row.bar.map_or(String::new(), |bar| format!("{bar:.2}"))
}

fn verdict(speed_up: f64, bar: f64) -> String {
    match speed_up >= bar {
        true => "ok".to_owned(),
        false => format!("short by {:.1} %", 100.0 * (1.0 - speed_up / bar)),
    }
}

fn wall(way: &Way) -> f64 {
    way.wall().0
}

/// Returns the shortest and the longest wall time.
fn spread(way: &Way) -> String {
    let (_, least, most) = way.wall();
    format!("{least:.2} to {most:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn way(name: &str, predictor: Option<&str>, wall: &[f64], code: i32) -> serde_json::Value {
        json!({
            "way": name, "predictor": predictor, "wall_s": wall, "user_s": 0.0, "system_s": 0.0,
            "major_faults": 1, "minor_faults": 1, "tier_read_bytes": 0, "tier_written_bytes": 0,
            "peak_resident_bytes": null, "footprint_bytes": 1, "lifetime_years": null,
            "oom_kills": 0, "exit": { "code": code },
            "prefetch": predictor.map(|_| json!({
                "predicted": 9, "filtered": 2, "wiped": 0, "in_memory": 1, "issued": 6, "used": 3,
                "late": 1, "reissued": 1, "wasted": 1, "unseen_faults": null,
            })),
        })
    }

    fn row(name: &str, ways: &[serde_json::Value]) -> Row {
        let row = json!({
            "name": name, "expect": null, "bar": 1.0, "dram": "25%", "error": null,
            "comparison": {
                "schema": "terrace.run/1", "command": [], "runs": ways, "interrupted": null,
                "settings": {
                    "dram_bytes": 1, "footprint_bytes": 4, "footprint_measured": false,
                    "tier": "t", "prefetch": "stream", "page_cluster": "3",
                    "endurance_bytes": null, "cgroup_version": 1, "kernel": "6",
                    "machine_memory_bytes": 1, "cpus": 2, "terrace": "0",
                },
            },
        });
        serde_json::from_value(row).unwrap()
    }

    /// The cells of a table's lines.
    fn cells(rows: Vec<Row>) -> Vec<Vec<String>> {
        let mut document = BenchDocument::new("a suite");
        document.rows = rows;
        let table = document.table().to_string();
        let lines = table.lines().filter(|line| line.starts_with('|')).skip(2);
        let cells = lines.map(|line| {
            line.trim_matches('|')
                .split('|')
                .map(|c| c.trim().to_owned())
        });
        cells.map(|cells| cells.collect()).collect()
    }

    #[test]
    fn a_line_worked_out_by_hand() {
        let ways = [
            way("all-dram", None, &[1.0, 2.0, 3.0], 0),
            way("kernel", None, &[10.0], 0),
            way("kernel-cpf", None, &[5.0, 7.0], 0),
            way("terrace", Some("stream"), &[5.0, 3.0], 0),
            way("terrace", Some("spatial"), &[8.0], 0),
        ];
        let cells = cells(vec![row("one", &ways)]);
        let line = [
            "one",
            "25%",
            "stream",
            "2.00",
            "10.00",
            "6.00",
            "4.00",
            "1.50",
            "50 %",
            "3.00 to 5.00",
            "kernel-cpf 5.00 to 7.00",
            "6",
            "3",
            "1",
            "1",
            "1",
            "1.00",
            "ok",
        ];
        assert_eq!(cells[0], line);
        let of_second = [2, 6, 7, 8, 17].map(|column| cells[1][column].as_str());
        assert_eq!(
            of_second,
            ["spatial", "8.00", "0.75", "-50 %", "short by 25.0 %"]
        );
        assert_eq!(cells.len(), 2, "a mean of one is none");
    }

    #[test]
    fn means_are_geometric_and_leave_out_what_failed() {
        let ways = |dram: f64, kernel: f64, cpf: f64, terrace: f64, code| {
            [
                way("all-dram", None, &[dram], 0),
                way("kernel", None, &[kernel], 0),
                way("kernel-cpf", None, &[cpf], code),
                way("terrace", None, &[terrace], 0),
            ]
        };
        let cells = cells(vec![
            row("one", &ways(1.0, 8.0, 16.0, 4.0, 0)),
            row("two", &ways(4.0, 64.0, 32.0, 16.0, 0)),
            row("three", &ways(1.0, 1.0, 1.0, 1.0, 7)),
            row("four", &ways(1.0, 1.0, 1.0, 1.0, 0)[..3]),
        ]);
        assert_eq!(cells[2][17], "FAILED: the program failed under kernel-cpf");
        assert_eq!(cells[3][17], "FAILED: there is no run of the way terrace");
        // Better ways 8 and 32: 16; with 2 all in DRAM and 8 under terrace, 8 of 14 come back.
        let mean = [
            "mean of 2",
            "25%",
            "stream",
            "2.00",
            "22.63",
            "22.63",
            "8.00",
            "2.00",
            "57 %",
        ];
        assert_eq!(cells[4][..9], mean);
    }

    #[test]
    fn of_noise_nothing_is_won_back() {
        let ways = [
            way("all-dram", None, &[10.0], 0),
            way("kernel", None, &[10.1], 0),
            way("kernel-cpf", None, &[10.2], 0),
            way("terrace", None, &[9.0], 0),
        ];
        assert_eq!(cells(vec![row("one", &ways)])[0][8], "");
    }
}
