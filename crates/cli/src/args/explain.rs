//! Options of `terrace list` and `terrace explain`.

use clap::Args;

use super::Results;

/// List policies, predictors, memories and other names
///
/// Without a kind, the kinds are listed. `terrace explain NAME` describes an entry of a list.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace list
  terrace list predictors
  terrace list memories --json | jq -r '.entries[].name'")]
pub struct List {
    /// Kind of the entries; without it, the kinds are listed
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,

    #[command(flatten)]
    pub results: Results,
}

/// Explain a policy, a predictor or a memory
///
/// Shows its paper, its settings, and when to use it. If several entries have one name,
/// such as `lru`, all are explained. Figures of memories come with their sources.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace explain stream
  terrace explain pcm
  terrace explain ari --json | jq '.entries[0].settings'")]
pub struct Explain {
    /// Name, as it is listed
    #[arg(value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub results: Results,
}
