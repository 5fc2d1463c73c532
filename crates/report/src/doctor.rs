//! What `terrace doctor` found, for people and machines.

use std::fmt::Write;

use serde::Serialize;
use terrace_live::doctor::{Check, Verdict};

/// The JSON of `terrace doctor --json`: schema `terrace.doctor/1`.
#[derive(Serialize)]
struct Document<'a> {
    /// `terrace.doctor/1`.
    schema: &'static str,
    /// Whether `terrace run` works here.
    ready: bool,
    /// Each check: its name, `ok`, `optional` or `missing`, what was found, and the fix or null.
    checks: &'a [Check],
}

/// Whether `terrace run` works here.
pub fn ready(checks: &[Check]) -> bool {
    checks.iter().all(|c| c.verdict != Verdict::Missing)
}

/// A line a check, with the fix behind it where one is needed.
pub fn lines(checks: &[Check]) -> String {
    let width = checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let mark = match check.verdict {
            Verdict::Ok => "ok",
            Verdict::Optional => "--",
            Verdict::Missing => "NO",
        };
        let _ = write!(text, "{mark}  {:width$}  {}", check.name, check.found);
        if let Some(fix) = check.fix {
            let _ = write!(text, " -> {fix}");
        }
        text.push('\n');
    }
    let verdict = if ready(checks) {
        "terrace run works here"
    } else {
        "terrace run does not work here yet: see the lines marked NO"
    };
    let _ = writeln!(text, "{verdict}");
    text
}

/// As JSON.
pub fn json(checks: &[Check]) -> String {
    crate::json::pretty(&Document {
        schema: "terrace.doctor/1",
        ready: ready(checks),
        checks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_shown_with_its_fix() {
        let check = |name, verdict, fix| Check {
            name,
            verdict,
            found: "this".into(),
            fix,
        };
        let checks = [
            check("swap", Verdict::Ok, None),
            check("qemu-user", Verdict::Optional, Some("install it")),
        ];
        assert!(ready(&checks));
        assert!(lines(&checks).contains("--  qemu-user  this -> install it\n"));
        let checks = [check("swap", Verdict::Missing, Some("boot"))];
        assert!(!ready(&checks));
        assert!(json(&checks).contains(r#""verdict": "missing""#));
    }
}
