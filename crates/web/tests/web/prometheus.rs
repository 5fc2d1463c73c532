//! Metrics, alerts and the dashboard, as the tools of Prometheus take them.

use super::*;

#[test]
fn metrics_are_those_of_the_daemon_while_it_answers() {
    let web = Web::start();
    web.await_metric("terrace_up 0.0");
    let daemon = web.daemon();
    let metrics = web.await_metric("terrace_up 1.0");
    for line in [
        "terrace_target_dram_bytes{target=\"postgres\"} 3221225472.0",
        "terrace_target_stall_seconds_total{target=\"postgres\"} 1.5",
        "terrace_target_written_bytes_total{target=\"postgres\"} 4096.0",
        "terrace_target_major_faults_total{target=\"postgres\"} 11.0",
        "terrace_target_oom_kills_total{target=\"postgres\"} 2.0",
        "terrace_oom_kills_total 3.0",
        "terrace_events_lost_total 4.0",
        "terrace_events_not_shown_total 3.0",
        "terrace_target_stall_limit_ratio{target=\"postgres\"} 0.02",
        "terrace_target_write_share_bytes{target=\"postgres\"} -5.0",
        "terrace_tier_life_seconds 86400000.0",
        "# TYPE terrace_target_reclaims counter",
        "# UNIT terrace_target_dram_bytes bytes",
        "# EOF",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}:\n{metrics}");
    }
    let evil =
        "target=\"<img src=x onerror=\\\"document.title='taken'\\\">\\n{evil=\\\"1\\\"} 7\\\\\"";
    assert!(metrics.contains(evil), "{metrics}");
    drop(daemon);
    // The connection of before may last; a daemon that ends closes it.
    let metrics = body(&metrics).to_owned();
    accepted_by_prometheus(&metrics);
}

/// Returns metrics in the older text format, which that tool reads: it has no units and no mark of
/// the end, and the name of a counter ends in `_total` everywhere.
fn older(metrics: &str) -> String {
    let counters = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"));
    let counters: Vec<&str> = counters.collect();
    let lines = metrics
        .lines()
        .filter(|line| !line.starts_with("# UNIT") && *line != "# EOF");
    let lines = lines.map(|line| {
        let about = line
            .strip_prefix("# ")
            .and_then(|about| about.split(' ').nth(1));
        match about.filter(|name| counters.contains(name)) {
            Some(name) => line.replacen(name, &format!("{name}_total"), 1) + "\n",
            None => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Has Prometheus' own tool read the metrics, where it is there.
fn accepted_by_prometheus(metrics: &str) {
    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tool) = tool else {
        eprintln!("SKIPPED: promtool is not there (Debian: apt-get install prometheus)");
        return;
    };
    let text = older(metrics);
    tool.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = tool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{text}");
}

/// A file of `contrib`.
fn contributed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contrib")
        .join(name)
}

/// Returns the metrics that a text names.
fn named(text: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c| !is_name(c));
    words.filter(|word| word.starts_with("terrace_")).collect()
}

#[test]
fn alerts_and_the_dashboard_name_metrics_that_there_are() {
    let web = Web::start();
    let _daemon = web.daemon();
    let metrics = web.await_metric("terrace_up 1.0");
    let dashboard = std::fs::read_to_string(contributed("grafana.json")).unwrap();
    let _: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let alerts = std::fs::read_to_string(contributed("alerts.yml")).unwrap();
    let there: Vec<&str> = metrics
        .lines()
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let names = [named(&dashboard), named(&alerts)].concat();
    assert!(names.len() > 20);
    for name in names {
        assert!(there.contains(&name), "{name}");
    }
    let expressions = dashboard_expressions(&dashboard);
    assert!(expressions.len() > 15);
    let rules = tempfile::tempdir().unwrap();
    let rules = rules.path().join("dashboard.json");
    // Rules may be JSON, which is YAML as well.
    std::fs::write(&rules, recording(&expressions)).unwrap();
    prometheus(&["check", "rules"], &rules);
    prometheus(&["check", "rules"], &contributed("alerts.yml"));
}

/// Returns what the panels of the dashboard ask for.
fn dashboard_expressions(dashboard: &str) -> Vec<String> {
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let asked = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().unwrap());
    asked
        .map(|one| one["expr"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns rules that record what is asked for.
fn recording(expressions: &[String]) -> String {
    let rules = expressions.iter().enumerate();
    let rules: Vec<_> = rules
        .map(|(at, expr)| serde_json::json!({ "record": format!("asked:{at}"), "expr": expr }))
        .collect();
    serde_json::json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string()
}

/// Has Prometheus' own tool look at a file, where it is there.
fn prometheus(arguments: &[&str], file: &Path) {
    let output = Command::new("promtool").args(arguments).arg(file).output();
    let Ok(output) = output else {
        eprintln!("SKIPPED: promtool is not there (Debian: apt-get install prometheus)");
        return;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
}

#[test]
fn alerts_come_when_they_should() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/alerts.yml");
    let rules = contributed("alerts.yml").canonicalize().unwrap();
    let text = std::fs::read_to_string(tests).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let tests = directory.path().join("tests.yml");
    std::fs::write(&tests, text.replace("RULES", rules.to_str().unwrap())).unwrap();
    prometheus(&["test", "rules"], &tests);
}
