//! The kinds of results, and the JSON Schema of each.

use schemars::{JsonSchema, Schema};
use serde_json::json;
use terrace_base::{Error, Result};

use terrace_results::json_schema::of;
use terrace_results::{convert, curve, files, llc, mix, place, sim, sweep, trace};

use crate::{
    attach, bench, calibrate, circuit, control, daemon, doctor, extend, heap, interval, known,
    mount, sched, schema, size, tcam, validate,
};

/// A kind of results in JSON.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Name: the text `schema` of its documents without `terrace.` and the version.
    pub name: &'static str,
    /// The command that writes it, without `terrace`.
    pub command: &'static str,
    /// JSON Schema without its names.
    schema: fn() -> Schema,
}

impl Kind {
    const fn new<T: JsonSchema>(name: &'static str, command: &'static str) -> Self {
        Self {
            name,
            command,
            schema: of::<T>,
        }
    }

    /// Returns the JSON Schema of its documents, indented, with a line end.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(&self.schema());
        text.expect("plain data serializes") + "\n"
    }

    /// Returns the text `schema` of its documents.
    fn document(&self) -> String {
        format!("terrace.{}/1", self.name)
    }

    fn schema(&self) -> Schema {
        let mut schema = (self.schema)();
        let name = self.document();
        schema.insert("title".to_owned(), name.clone().into());
        if let Some(stated) = schema.pointer_mut("/properties/schema") {
            stated["const"] = json!(name);
        }
        schema
    }
}

/// All kinds, in the order of the commands.
pub const KINDS: [Kind; 36] = [
    Kind::new::<schema::RunDocument>("run", "run --json"),
    Kind::new::<interval::IntervalLine>("interval", "run --interval, attach --interval: each line"),
    Kind::new::<attach::AttachDocument>("attach", "attach --json"),
    Kind::new::<size::SizeDocument>("size", "size --json"),
    Kind::new::<daemon::StatusDocument>("status", "status --json"),
    Kind::new::<bench::BenchDocument>("bench", "bench --json"),
    Kind::new::<extend::ExtendDocument>("extend", "extend --json"),
    Kind::new::<mount::MountDocument>("mount", "mount --json"),
    Kind::new::<control::ControlDocument>("mount-control", "mount --control --json"),
    Kind::new::<sched::SchedDocument>("sched", "sched run --json, sched attach --json"),
    Kind::new::<sched::ProfileDocument>("sched-profile", "sched profile --json"),
    Kind::new::<trace::TraceDocument>("trace", "trace info --json"),
    Kind::new::<convert::ConvertDocument>("convert", "trace convert --json"),
    Kind::new::<sim::PagesDocument>("sim.pages", "sim pages --json"),
    Kind::new::<curve::CurveDocument>("sim.curve", "sim curve --json"),
    Kind::new::<llc::LlcDocument>("sim.llc", "sim llc --json"),
    Kind::new::<mix::MixDocument>("sim.mix", "sim mix --json"),
    Kind::new::<files::FilesDocument>("sim.files", "sim files --json"),
    Kind::new::<place::PlaceDocument>("place", "place --json"),
    Kind::new::<sweep::SweepDocument>("sweep", "sweep --json"),
    Kind::new::<calibrate::CalibrationDocument>("calibrate", "calibrate --json"),
    Kind::new::<validate::ValidationDocument>("validate", "validate --json"),
    Kind::new::<validate::mix::MixValidationDocument>("validate-mix", "validate mix --json"),
    Kind::new::<heap::InfoDocument>("heap.info", "heap info --json"),
    Kind::new::<heap::CheckDocument>("heap.check", "heap check --json"),
    Kind::new::<heap::ItemDocument>("heap.dump", "heap dump --json: each line"),
    Kind::new::<heap::ObjectDocument>("heap.object", "heap dump --object --json"),
    Kind::new::<heap::CompactDocument>("heap.compact", "heap compact --json"),
    Kind::new::<heap::SalvageDocument>("heap.salvage", "heap salvage --json"),
    Kind::new::<tcam::LookupDocument>("tcam.lookup", "tcam lookup --json"),
    Kind::new::<tcam::ReplayDocument>("tcam.replay", "tcam replay --json"),
    Kind::new::<tcam::BenchDocument>("tcam.bench", "tcam bench --json"),
    Kind::new::<circuit::CircuitDocument>("tcam.circuit", "tcam circuit --json"),
    Kind::new::<doctor::DoctorDocument>("doctor", "doctor --json"),
    Kind::new::<known::ListDocument>("list", "list --json"),
    Kind::new::<known::ListDocument>("explain", "explain --json"),
];

/// Returns the kind of a name, or of the text `schema` of a document.
///
/// # Errors
/// A usage error if there is no such kind.
pub fn of_kind(name: &str) -> Result<Kind> {
    let mut kinds = KINDS.into_iter();
    let found = kinds.find(|kind| kind.name == name || kind.document() == name);
    found.ok_or_else(|| {
        let names = KINDS.map(|kind| kind.name).join(", ");
        Error::usage(format!(
            "there is no kind of results `{name}`; there are {names}"
        ))
    })
}

/// Returns the kinds as text, a line each.
pub fn listed() -> String {
    let width = KINDS.iter().map(|kind| kind.name.len()).max().unwrap_or(0);
    let line = |kind: &Kind| format!("{:width$}  terrace {}\n", kind.name, kind.command);
    KINDS.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_one_kind() {
        for kind in KINDS {
            assert_eq!(of_kind(kind.name).unwrap().command, kind.command);
            let document = format!("terrace.{}/1", kind.name);
            assert_eq!(of_kind(&document).unwrap().command, kind.command);
        }
        let error = of_kind("magic").unwrap_err().to_string();
        assert!(
            error.contains("`magic`") && error.contains("sim.pages"),
            "{error}"
        );
    }
}
