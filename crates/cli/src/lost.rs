//! Says what a trace that was written does not say.

use std::path::Path;

use terrace_trace::lost::Loss;

use crate::screen::say;

/// Says what the format of a trace had no room for.
pub fn say_lost(path: &Path, lost: &[Loss]) {
    if lost.is_empty() {
        return;
    }
    let lost: Vec<_> = lost.iter().map(Loss::to_string).collect();
    say(&format!(
        "terrace: `{}` does not say {}: its format has no room for that\n",
        path.display(),
        lost.join(", ")
    ));
}
