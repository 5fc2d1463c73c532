//! Units and meanings of flattened records, by the names of their columns.

use std::collections::HashMap;

use schemars::Schema;
use serde_json::{Map, Value};

/// What a schema says of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Unit; empty where there is none.
    pub(crate) unit: String,
    /// Meaning.
    pub(crate) help: String,
}

/// What a schema says of each column of its records, flattened as by [`crate::rows::Rows::flat`].
#[derive(Debug, Default)]
pub(crate) struct Legend(HashMap<String, Entry>);

impl Legend {
    /// Returns the legend of records with a schema.
    pub(crate) fn of(schema: &Schema) -> Self {
        let mut legend = Self::default();
        if let Some(schema) = schema.as_object() {
            legend.add("", schema);
        }
        legend
    }

    /// Returns what is said of a column.
    pub(crate) fn entry(&self, name: &str) -> Entry {
        self.0.get(name).cloned().unwrap_or_default()
    }

    fn add(&mut self, name: &str, schema: &Map<String, Value>) {
        let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
        if !name.is_empty() {
            self.0.entry(name.to_owned()).or_insert_with(|| Entry {
                unit: text("unit").to_owned(),
                help: text("description").to_owned(),
            });
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        for (field, property) in properties.into_iter().flatten() {
            let joined = match name {
                "" => field.clone(),
                _ => format!("{name}_{field}"),
            };
            if let Some(property) = property.as_object() {
                self.add(&joined, property);
            }
        }
        for parts in ["oneOf", "anyOf", "allOf"] {
            let parts = schema.get(parts).and_then(Value::as_array);
            let parts = parts.into_iter().flatten().filter_map(Value::as_object);
            parts.for_each(|part| self.add(name, part));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_named_as_flattened_records_are() {
        let schema = Schema::try_from(json!({ "properties": {
            "time_ns": { "unit": "ns", "description": "time" },
            "exit": { "oneOf": [{ "properties": { "code": { "description": "code" } } }] },
        }}));
        let legend = Legend::of(&schema.unwrap());
        assert_eq!(legend.entry("time_ns").unit, "ns");
        assert_eq!(legend.entry("exit_code").help, "code");
        assert_eq!(legend.entry("other"), Entry::default());
    }
}
