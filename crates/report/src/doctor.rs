//! Results of `terrace doctor`: text, and the JSON of schema `terrace.doctor/1`.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Serialize;
use terrace_live::doctor::{Check, MeasuredNode, Verdict};

use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::rows::Rows;
use terrace_results::text::Text;

/// The JSON of `terrace doctor --json`: schema `terrace.doctor/1`.
#[derive(Serialize, JsonSchema)]
pub struct DoctorDocument<'a> {
    /// `terrace.doctor/1`.
    schema: &'static str,
    /// Whether `terrace run` works here.
    pub ready: bool,
    /// Whether killed runs have left nothing behind.
    pub clean: bool,
    /// Each check: its name, `ok`, `optional` or `missing`, what was found, and the fix or null.
    checks: &'a [Check],
    /// The memory nodes: number, CPUs, size and free part, distances, the kernel's tier, and the
    /// time of a load.
    nodes: &'a [MeasuredNode],
}

impl<'a> DoctorDocument<'a> {
    /// Returns the document of these checks.
    pub fn of(checks: &'a [Check], nodes: &'a [MeasuredNode]) -> Self {
        Self {
            schema: "terrace.doctor/1",
            ready: checks.iter().all(|c| c.verdict != Verdict::Missing),
            clean: !checks.iter().any(Check::found_leftovers),
            checks,
            nodes,
        }
    }

    /// Returns a line for each check, with the fix at its end where one is needed.
    pub fn text(&self) -> Text {
        let width = self.checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
        let mut text = String::new();
        for check in self.checks {
            let mark = match check.verdict {
                Verdict::Ok => "ok",
                Verdict::Optional => "--",
                Verdict::Missing => "NO",
            };
            let _ = write!(text, "{mark}  {:width$}  {}", check.name, check.found);
            if let Some(fix) = &check.fix {
                let _ = write!(text, " -> {fix}");
            }
            text.push('\n');
        }
        for measured in self.nodes.iter().filter(|_| self.nodes.len() > 1) {
            text.push_str(&line(measured));
        }
        text.push_str(match self.ready {
            true => "terrace run works here\n",
            false => "terrace run does not work here yet: see the lines marked NO\n",
        });
        if !self.clean {
            text.push_str("a killed run has left something behind: see the line `leftovers`\n");
        }
        Text::default().prose(text)
    }
}

/// Returns a line about a memory node.
fn line(measured: &MeasuredNode) -> String {
    let node = &measured.node;
    let load = measured.load_ns.map_or(
        "a load was not measured, for want of room".to_owned(),
        |ns| format!("a load takes {ns:.0} ns"),
    );
    let distances = node
        .distances
        .iter()
        .map(|(other, distance)| format!("{distance} to {other}"));
    let distances: Vec<_> = distances.collect();
    let tier = node
        .tier
        .map_or(String::new(), |tier| format!(", memory tier {tier}"));
    format!(
        "    node {}: {} free of {}, {load}, distance {}{tier}\n",
        node.id,
        node.free,
        node.memory,
        distances.join(" and ")
    )
}

impl Document for DoctorDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat(self.checks)
    }

    fn page(&self) -> Page {
        Page::new("terrace doctor")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_shown_with_its_fix() {
        let check = |name, verdict, fix: Option<&'static str>| Check {
            name,
            verdict,
            found: "this".into(),
            fix: fix.map(Into::into),
        };
        let checks = [
            check("swap", Verdict::Ok, None),
            check("qemu-user", Verdict::Optional, Some("install it")),
        ];
        let document = DoctorDocument::of(&checks, &[]);
        assert!(document.ready);
        let text = document.text().to_string();
        assert!(text.contains("--  qemu-user  this -> install it\n"));
        assert!(document.clean && !text.contains("left something behind"));
        let checks = [check("leftovers", Verdict::Optional, Some("clean"))];
        let document = DoctorDocument::of(&checks, &[]);
        assert!(document.ready && !document.clean);
        let text = document.text().to_string();
        assert!(
            text.ends_with("behind: see the line `leftovers`\n"),
            "{text}"
        );
        let checks = [check("swap", Verdict::Missing, Some("boot"))];
        let document = DoctorDocument::of(&checks, &[]);
        assert!(!document.ready);
        assert!(document.to_json().contains(r#""verdict": "missing""#));
    }
}
