use std::path::PathBuf;

use clap::Args;

/// Write manual pages and shell completions below a prefix, where they are installed
#[derive(Args)]
pub struct Manual {
    /// The prefix, as /usr/local
    pub prefix: PathBuf,
}
