//! The documents: their links lead somewhere, the book lists its pages, the first pages are short,
//! and what they call is right.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Appends the files with an extension below a directory, but for what was built.
fn files(directory: &Path, wanted: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if name != "target" && !name.to_string_lossy().starts_with('.') {
                files(&path, wanted, found);
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == wanted)
        {
            found.push(path);
        }
    }
}

/// Returns the targets of the links of a document that lead to files.
fn links(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && !line.starts_with("    ")
    });
    let targets = lines.flat_map(|line| line.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split([')', '#', ' ']).next());
    let is_file = |target: &&str| !target.is_empty() && !target.contains(':');
    targets.filter(is_file).collect()
}

/// Returns the lines of comments that are too long: but for tables, code, and what has no space to
/// break at.
fn too_long(text: &str) -> Vec<&str> {
    const COLUMNS: usize = 100;
    let mut is_code = false;
    let comments = text.lines().filter(|line| {
        let comment = line.trim_start();
        let content = comment.trim_start_matches(['/', '!']).trim_start();
        let is_comment = comment.starts_with("//");
        is_code = is_comment && (is_code ^ content.starts_with("```"));
        let has_space = content.chars().take(COLUMNS - 20).any(|c| c == ' ');
        is_comment && !is_code && !content.starts_with('|') && has_space
    });
    comments
        .filter(|line| line.chars().count() > COLUMNS)
        .collect()
}

#[test]
fn comments_have_at_most_100_columns() {
    let long = format!("// {}", "word ".repeat(30));
    assert_eq!(too_long(&long), [long.as_str()]);
    assert_eq!(too_long(&format!("/// ```\n/{long}\n/// ```")), [""; 0]);
    assert_eq!(too_long(&format!("/// | {}|", "word ".repeat(30))), [""; 0]);
    let mut all = Vec::new();
    for directory in ["crates", "benches"] {
        files(&root().join(directory), "rs", &mut all);
    }
    assert!(all.len() > 1000, "{}", all.len());
    for source in all {
        let text = fs::read_to_string(&source).unwrap();
        assert_eq!(too_long(&text), [""; 0], "{}", source.display());
    }
}

#[test]
fn links_are_found() {
    let text = "[a](one.md) and [b](two.md#part)\n    [code](three.md)\n[c](#part) [d](https://e)\n\
                ```\n[e](four.md)\n```\n[f](five.md)";
    assert_eq!(links(text), ["one.md", "two.md", "five.md"]);
}

#[test]
fn links_lead_somewhere() {
    let mut all = Vec::new();
    files(&root(), "md", &mut all);
    assert!(all.len() > 50, "{}", all.len());
    for document in all {
        let text = fs::read_to_string(&document).unwrap();
        for target in links(&text) {
            let there = document.parent().unwrap().join(target);
            assert!(there.exists(), "{}: {target}", document.display());
        }
    }
}

#[test]
fn the_book_lists_its_pages() {
    let source = root().join("book/src");
    let summary = fs::read_to_string(source.join("SUMMARY.md")).unwrap();
    let mut listed: Vec<PathBuf> = links(&summary).iter().map(|it| source.join(it)).collect();
    let mut there = Vec::new();
    files(&source, "md", &mut there);
    there.retain(|page| !page.ends_with("SUMMARY.md"));
    listed.sort();
    there.sort();
    assert_eq!(listed, there);
}

#[test]
fn the_first_pages_are_short() {
    let first = [
        ("README.md", 6),
        ("ARCHITECTURE.md", 8),
        ("CONTRIBUTING.md", 5),
    ];
    for (name, kilobytes) in first {
        let length = fs::metadata(root().join(name)).unwrap().len();
        assert!(length <= kilobytes * 1024, "{name}: {length} bytes");
    }
}

/// Returns the lines of a document that call `terrace`, without what they are run by.
fn calls(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", " ");
    let lines = text.lines().map(str::trim);
    let lines = lines.map(|line| line.strip_prefix("sudo ").unwrap_or(line));
    let lines = lines.map(|line| line.strip_prefix("target/release/").unwrap_or(line));
    let calls = lines.filter_map(|line| line.strip_prefix("terrace "));
    let calls = calls.map(|line| {
        line.split(['|', '&', '#', '>', '`', '<'])
            .next()
            .unwrap_or(line)
    });
    calls.map(str::to_owned).collect()
}

#[test]
fn calls_are_found() {
    let text = "Call\n\n    sudo terrace run --dram 1G \\\n        -- ls    # lists\n\nor terrace.\n\
                ```\nterrace list | head\n```\n";
    let calls: Vec<String> = calls(text);
    let words = calls
        .iter()
        .map(|call| call.split_whitespace().collect::<Vec<_>>());
    let expected = [vec!["run", "--dram", "1G", "--", "ls"], vec!["list"]];
    assert_eq!(words.collect::<Vec<_>>(), expected);
}

/// A call is wrong if its options are. Nothing is run: the help is printed in its place, if all
/// before it is right.
#[test]
fn what_the_documents_call_is_right() {
    let mut all = vec![root().join("README.md")];
    files(&root().join("book/src"), "md", &mut all);
    let mut seen = 0;
    for document in all
        .iter()
        .filter(|path| !path.to_string_lossy().contains("/reference/"))
    {
        let text = fs::read_to_string(document).unwrap();
        for call in calls(&text) {
            let before = call.split(" -- ").next().unwrap_or(&call);
            let words = before.split_whitespace().filter(|word| *word != "--");
            let words = words.map(|word| word.trim_matches('\''));
            let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
                .args(words)
                .arg("--help")
                .output()
                .unwrap();
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{}: terrace {call}: {error}",
                document.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 30, "{seen}");
}
