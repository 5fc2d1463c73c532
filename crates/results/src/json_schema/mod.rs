//! JSON Schemas (draft 2020-12) of results, from the declarations that write these.
//!
//! Records are declared twice over, and never a third time: as [`terrace_base::schema::Field`]s, or
//! as types whose fields and comments [`schemars`] reads. Both give types, meanings as
//! `description`, and units as `unit`.

mod finish;
mod legend;

pub(crate) use legend::{Entry, Legend};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, json_schema};
use terrace_base::schema::{Field, described};

/// Returns the JSON Schema of values of a type as they are written.
pub fn of<T: JsonSchema + ?Sized>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = true;
    let schema = settings.into_generator().into_root_schema_for::<T>();
    finish::finished(schema)
}

/// Returns the JSON Schema of records with these fields.
pub fn of_fields<R: ?Sized>(fields: &[Field<R>]) -> Schema {
    finish::finished(described(fields))
}

/// Returns the JSON Schema of a list of records with these fields.
pub fn list_of<R: ?Sized>(fields: &[Field<R>]) -> Schema {
    json_schema!({ "type": "array", "items": described(fields) })
}
