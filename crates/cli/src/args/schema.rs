//! Options of `terrace schema`.

use clap::Args;

/// Print the JSON Schema of results
///
/// Without a kind, the kinds of results are listed, each with the command that writes it. A
/// document says its kind in its field `schema`: `terrace.sim.pages/1` is of the kind `sim.pages`.
/// The schema (draft 2020-12) has the type, the meaning (`description`) and the unit (`unit`) of
/// each field, and allows no others. A later version of Terrace may add fields.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace schema
  terrace schema run
  terrace schema sim.pages | jq .properties.runs.items.properties.time_ns")]
pub struct Schema {
    /// Kind of results, or the text `schema` of a document; without it, the kinds are listed
    #[arg(value_name = "KIND")]
    pub kind: Option<String>,
}
