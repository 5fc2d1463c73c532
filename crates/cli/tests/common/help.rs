//! What a help text says.

/// The commands that a help lists below `Commands:`.
pub fn listed(help: &str) -> Vec<&str> {
    let behind = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let entries = behind.take_while(|line| !line.is_empty());
    let entries = entries.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    entries
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}
