//! What a help text says.

/// The commands that a help lists below `Commands:`.
pub fn listed(help: &str) -> Vec<&str> {
    let behind = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with("  -");
    let entries = behind.take_while(is_entry);
    let entries = entries.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    entries
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}
