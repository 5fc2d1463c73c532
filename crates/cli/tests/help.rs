//! Help: `-h` fits a screen, `--help` teaches with examples that are right, and what it refers to
//! is there. Needs no privilege.

mod common;

use std::process::Command;

use common::help::listed;
use common::schema::checked;

/// A screen, and the page that lists all commands.
const LINES: usize = 24;
const FIRST: usize = 28;
const COLUMNS: usize = 80;

/// Every command that people call, with its commands.
const COMMANDS: &[&str] = &[
    "",
    "run",
    "attach",
    "size",
    "status",
    "top",
    "reload",
    "bench",
    "extend",
    "mount",
    "sched",
    "sched run",
    "sched attach",
    "sched profile",
    "record",
    "trace",
    "trace info",
    "trace convert",
    "trace gen",
    "trace gen sequential",
    "trace gen strided",
    "trace gen zipf",
    "trace gen chase",
    "trace gen gups",
    "trace gen matmul",
    "trace gen stencil",
    "trace gen join",
    "trace gen bfs",
    "trace gen postmark",
    "sim",
    "sim pages",
    "sim llc",
    "sim mix",
    "sim files",
    "sim curve",
    "place",
    "sweep",
    "calibrate",
    "validate",
    "validate mix",
    "heap",
    "tcam",
    "tcam replay",
    "tcam lookup",
    "tcam bench",
    "tcam circuit",
    "doctor",
    "list",
    "explain",
    "schema",
];

fn terrace(line: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(line.split_whitespace())
        .output()
        .expect("terrace runs");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn printed(line: &str) -> String {
    let (code, text, error) = terrace(line);
    assert_eq!(code, Some(0), "{line}: {error}");
    text
}

#[test]
fn every_short_help_fits_a_screen() {
    for command in COMMANDS {
        let help = printed(&format!("{command} -h"));
        let lines = help.lines().count();
        let most = if command.is_empty() { FIRST } else { LINES };
        assert!(lines <= most, "{command} -h has {lines} lines:\n{help}");
        for line in help.lines() {
            let columns = line.chars().count();
            assert!(
                columns <= COLUMNS,
                "{command} -h: {columns} columns:\n{line}"
            );
        }
    }
}

#[test]
fn the_commands_here_are_all_there_are() {
    for command in COMMANDS {
        let help = printed(&format!("{command} -h"));
        for sub in listed(&help).into_iter().filter(|sub| *sub != "help") {
            let whole = format!("{command} {sub}");
            let known = COMMANDS.contains(&whole.trim()) || *command == "heap";
            assert!(known, "{whole}");
        }
    }
}

/// What stands below `Example:` or `Examples:`, a command a line.
fn examples(help: &str) -> Vec<&str> {
    let behind = help.lines().skip_while(|line| !line.starts_with("Example"));
    behind
        .filter(|line| line.starts_with("  terrace "))
        .map(str::trim)
        .collect()
}

/// An example is wrong if Terrace says that it is wrong usage. Files in it do not exist and
/// programs are not run: a usage error about a file or program is none about the line.
#[test]
fn every_command_has_examples_that_are_right() {
    for command in COMMANDS {
        let help = printed(&format!("{command} --help"));
        let own: Vec<&str> = match listed(&help).is_empty() {
            true => examples(&help),
            false => continue,
        };
        assert!(
            !own.is_empty() || command.starts_with("trace gen"),
            "{command} --help has no example:\n{help}"
        );
        for line in own {
            let line = line.split(['|', '&', '#']).next().unwrap();
            // The command behind its help: all that is wrong in the line comes before what it does.
            let (before, _) = line.split_once(" -- ").unwrap_or((line, ""));
            let before = before
                .trim()
                .trim_end_matches(" --")
                .strip_prefix("terrace ")
                .unwrap();
            let before = before.replace("/mnt/nvme", env!("CARGO_TARGET_TMPDIR"));
            // The long help is printed only when all before it is right.
            let (code, _, error) = terrace(&format!("{before} --help"));
            assert_eq!(code, Some(0), "{line}: {error}");
        }
    }
}

#[test]
fn long_help_tells_no_lists_that_are_told_elsewhere() {
    for command in [
        "run",
        "attach",
        "bench",
        "sim pages",
        "sweep",
        "validate",
        "sim llc",
        "sim mix",
        "sim files",
        "sim curve",
    ] {
        let help = printed(&format!("{command} --help"));
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("terrace list "), "{command}: {help}");
        for word in [
            "- vldp:",
            "- s3fifo:",
            "- stacked-dram:",
            "lifetime_years:",
            "see below",
            "list below",
        ] {
            assert!(!help.contains(word), "{command} --help has {word}:\n{help}");
        }
    }
}

#[test]
fn lists_name_what_can_be_explained() {
    let kinds = printed("list");
    for kind in [
        "policies",
        "predictors",
        "memories",
        "fault-costs",
        "placements",
        "turn-policies",
        "columns",
    ] {
        assert!(kinds.contains(kind), "{kinds}");
        let json = printed(&format!("list {kind} --json"));
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["schema"], "terrace.list/1");
        let text = printed(&format!("list {kind}"));
        let entries = json["entries"].as_array().unwrap();
        assert!(!entries.is_empty(), "{kind}");
        for entry in entries {
            let name = entry["name"].as_str().unwrap();
            assert!(text.contains(name), "{name} is not in:\n{text}");
            let told = printed(&format!("explain {name}"));
            for setting in entry["settings"].as_array().unwrap() {
                let key = setting["key"].as_str().unwrap();
                assert!(told.contains(key), "{key} is not in:\n{told}");
            }
        }
    }
    let (code, _, error) = terrace("explain magic");
    assert_eq!(code, Some(2));
    assert!(error.contains("`terrace list`"), "{error}");
}

/// The parser says which settings there are, and `explain` says the same.
#[test]
fn explain_names_every_setting_that_is_read() {
    let file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    let trace = file.path().to_str().unwrap();
    for (kind, option) in [
        ("predictors", "sim pages --dram 1M --prefetch"),
        ("placements", "sim llc --pages"),
        ("turn-policies", "sim mix --turn"),
        ("admission", "sim files --dram 1M --admission"),
    ] {
        let json: serde_json::Value =
            checked(serde_json::from_str(&printed(&format!("list {kind} --json"))).expect("JSON"));
        for entry in json["entries"].as_array().unwrap() {
            let (name, settings) = (entry["name"].as_str().unwrap(), &entry["settings"]);
            if settings.as_array().unwrap().is_empty() {
                continue;
            }
            let shares = if name == "coloured" { ",shares=32" } else { "" };
            let (code, _, error) = terrace(&format!("{option} {name}:nonsense=1{shares} {trace}"));
            assert_eq!(code, Some(2), "{name}: {error}");
            for setting in settings.as_array().unwrap() {
                let key = format!("{}=", setting["key"].as_str().unwrap());
                assert!(error.contains(&key), "{name}: {key} is not in: {error}");
            }
        }
    }
}
