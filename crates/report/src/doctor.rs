//! Results of `terrace doctor`: text, and the JSON of schema `terrace.doctor/1`.

use std::fmt::Write;

use serde::Serialize;
use terrace_live::doctor::{Check, Verdict};

use crate::document::Document;
use crate::html::Page;
use crate::rows::Rows;
use crate::text::Text;

/// The JSON of `terrace doctor --json`: schema `terrace.doctor/1`.
#[derive(Serialize)]
pub struct DoctorDocument<'a> {
    /// `terrace.doctor/1`.
    schema: &'static str,
    /// Whether `terrace run` works here.
    pub ready: bool,
    /// Each check: its name, `ok`, `optional` or `missing`, what was found, and the fix or null.
    checks: &'a [Check],
}

impl<'a> DoctorDocument<'a> {
    /// Returns the document of these checks.
    pub fn of(checks: &'a [Check]) -> Self {
        Self {
            schema: "terrace.doctor/1",
            ready: checks.iter().all(|c| c.verdict != Verdict::Missing),
            checks,
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
        text.push_str(match self.ready {
            true => "terrace run works here\n",
            false => "terrace run does not work here yet: see the lines marked NO\n",
        });
        Text::default().prose(text)
    }
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
        let document = DoctorDocument::of(&checks);
        assert!(document.ready);
        let text = document.text().to_string();
        assert!(text.contains("--  qemu-user  this -> install it\n"));
        let checks = [check("swap", Verdict::Missing, Some("boot"))];
        let document = DoctorDocument::of(&checks);
        assert!(!document.ready);
        assert!(document.to_json().contains(r#""verdict": "missing""#));
    }
}
