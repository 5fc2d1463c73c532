//! The life story of predictions in JSON Schemas, from the declaration of its counts.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, json};
use terrace_policy::prefetch::LifeStory;

/// Stands for a [`LifeStory`], which knows nothing of schemas.
pub(crate) struct Story;

impl JsonSchema for Story {
    fn schema_name() -> Cow<'static, str> {
        "LifeStory".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let counts = LifeStory::COUNTS.iter();
        let names: Vec<&str> = counts.clone().map(|count| count.name).collect();
        let properties: Map<_, _> = counts
            .map(|count| {
                let help = count.help.trim_ascii();
                let schema = json!({ "type": "integer", "minimum": 0, "description": help });
                (count.name.to_owned(), schema)
            })
            .collect();
        json_schema!({ "type": "object", "properties": properties, "required": names })
    }
}
