//! What can be written after `--prefetch`, for `--help`.

use terrace_policy::prefetch::{ENGINE_KEYS, REGISTRY};

/// A title, a line for each name and its settings; `others` are names that no predictor has.
pub fn help(title: &str, others: &[(&str, &str)]) -> String {
    let mut text = String::from(title);
    for (name, summary) in others {
        text.push_str(&format!("\n- {name}: {summary}"));
    }
    for entry in REGISTRY {
        text.push_str(&format!("\n- {}: {}", entry.name, entry.summary));
        if !entry.keys.is_empty() {
            text.push_str(&format!(" [{}]", entry.keys));
        }
    }
    text.push_str(&format!(
        "\nSettings go behind a name, as stream:depth=64,queue=fifo. All take [{ENGINE_KEYS}] too."
    ));
    text
}
