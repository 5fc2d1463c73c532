//! Everything that users can name on the command line: policies, predictors, memories and more, for
//! `terrace list` and `terrace explain`. Each is described where it is declared.

mod gather;
mod listing;

use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::{Error, Result};
use terrace_policy::params;

pub use listing::{ListDocument, explained, kinds, listed};

/// The kinds of `terrace list`, each with a line of help.
pub const KINDS: [(&str, &str); 15] = [
    ("policies", "what stays in DRAM and in last-level caches"),
    ("predictors", "what is fetched ahead"),
    (
        "memories",
        "what lies behind DRAM and behind last-level caches",
    ),
    ("write-schemes", "what is written of pages that leave DRAM"),
    (
        "wear-levellings",
        "how a simulated memory spreads writes over its lines",
    ),
    ("admission", "which pages are written to a flash level"),
    (
        "migration",
        "which pages lie in fast memory, before slow memory that serves lines",
    ),
    (
        "control",
        "how much DRAM a service keeps, as it is seen to need",
    ),
    ("turn-policies", "how long tasks of a core have their turns"),
    (
        "fault-costs",
        "what a simulated fault costs beyond the device",
    ),
    (
        "placements",
        "which frames pages get, with `--pages` of `terrace sim llc` and `terrace sim mix`",
    ),
    (
        "update-policies",
        "which updates of routes are written to flash, with `terrace tcam replay`",
    ),
    (
        "block-levellings",
        "how a flash TCAM spreads writes over its blocks",
    ),
    ("formats", "files in which traces are read and written"),
    ("columns", "columns of the tables of `terrace sweep`"),
];

/// An entry of `terrace list` and `terrace explain`.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Known {
    /// Name.
    pub name: String,
    /// Kind in which it is listed.
    pub kind: &'static str,
    /// Option that takes the name; null if users do not write it.
    pub option: Option<&'static str>,
    /// One line of help.
    pub summary: String,
    /// Paper and section, or the origin if there is no paper; null if neither applies.
    pub paper: Option<&'static str>,
    /// When to use it.
    pub when: Option<&'static str>,
    /// What the paper leaves open, or could not be checked; null if nothing is known to be.
    pub open: Option<&'static str>,
    /// With what it was compared, and the result, or `not compared`; null if it is no policy.
    pub compared: Option<&'static str>,
    /// Settings, given as `NAME:key=value`; for last-level caches with the defaults of 2 MiB in 16
    /// ways.
    pub settings: Vec<Setting>,
    /// Figures of a memory.
    pub figures: Vec<Figure>,
    /// Columns or fields of a format.
    pub fields: Vec<Field>,
    /// Layouts of tables of a format that are well known, by the names that `--columns` takes.
    pub layouts: Vec<Layout>,
    /// Lines of a text of a format, or the command that makes a file of it.
    pub example: Option<&'static str>,
}

/// A setting that follows a name.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Setting {
    /// The key before the `=`.
    pub key: &'static str,
    /// Value used when the setting is not given; empty if it must be given.
    pub default: String,
    /// Description of the allowed values.
    pub values: String,
    /// What the setting means.
    pub meaning: &'static str,
}

impl From<params::Setting> for Setting {
    fn from(declared: params::Setting) -> Self {
        Self {
            key: declared.key,
            default: declared.default,
            values: declared.values,
            meaning: declared.meaning,
        }
    }
}

/// A column of a format, or a field of its records.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Field {
    /// Name.
    pub name: &'static str,
    /// What it says, with its unit.
    pub meaning: &'static str,
    /// Whether it is read.
    pub is_read: bool,
}

/// A layout of tables that is well known.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Layout {
    /// Name.
    pub name: &'static str,
    /// Whose tables have it, and their columns.
    pub of: &'static str,
    /// What is read, as `--columns` takes it.
    pub columns: &'static str,
}

impl From<terrace_trace::layout::Known> for Layout {
    fn from(known: terrace_trace::layout::Known) -> Self {
        Self {
            name: known.name,
            of: known.of,
            columns: known.roles,
        }
    }
}

/// A figure of a memory.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Figure {
    /// Name.
    pub name: &'static str,
    /// Value with its unit.
    pub value: String,
    /// Paper and section.
    pub source: String,
}

/// Returns all entries of a kind.
///
/// # Errors
/// Returns a usage error if there is no such kind.
pub fn of_kind(kind: &str) -> Result<Vec<Known>> {
    if !KINDS.iter().any(|(name, _)| *name == kind) {
        let names = KINDS.map(|(name, _)| name).join(", ");
        return Err(Error::usage(format!(
            "there is no kind `{kind}` to list; there are {names}"
        )));
    }
    let mut all = gather::all();
    all.retain(|known| known.kind == kind);
    Ok(all)
}

/// Returns all entries with a name, which may have settings behind it.
///
/// # Errors
/// Returns a usage error if there is no such entry.
pub fn by_name(name: &str) -> Result<Vec<Known>> {
    let bare = name.split_once(':').map_or(name, |(bare, _)| bare);
    let mut found = gather::all();
    found.retain(|known| known.name == bare);
    match found.is_empty() {
        true => Err(Error::usage(format!(
            "nothing is called `{name}`; `terrace list` says what there is"
        ))),
        false => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_something_and_each_thing_its_words() {
        for (kind, _) in KINDS {
            let all = of_kind(kind).unwrap();
            assert!(!all.is_empty(), "{kind}");
            for known in all {
                assert!(!known.summary.is_empty(), "{}", known.name);
                for setting in &known.settings {
                    assert!(
                        !setting.meaning.is_empty(),
                        "{}: {}",
                        known.name,
                        setting.key
                    );
                }
            }
        }
    }

    #[test]
    fn one_name_may_be_of_several_kinds() {
        assert_eq!(by_name("lru").unwrap().len(), 2);
        assert_eq!(by_name("stream:depth=4").unwrap().len(), 1);
        assert!(by_name("magic").is_err());
        assert!(of_kind("magic").is_err());
    }

    #[test]
    fn what_is_told_names_each_setting() {
        for known in gather::all() {
            let text = explained(std::slice::from_ref(&known), 80);
            for setting in &known.settings {
                assert!(text.contains(setting.key), "{text}");
            }
            for figure in &known.figures {
                assert!(text.contains(figure.name), "{text}");
            }
        }
    }
}
