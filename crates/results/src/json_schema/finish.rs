//! What a JSON Schema of declarations lacks: units, and that there are no other fields.

use schemars::Schema;
use serde_json::{Map, Value};

/// Returns the schema with the units that names say, without fields that are not declared, and with
/// descriptions as plain sentences.
pub(super) fn finished(schema: Schema) -> Schema {
    let mut value = schema.to_value();
    finish(&mut value, None);
    Schema::try_from(value).expect("an object stays one")
}

/// Finishes a schema within one whose name says this unit.
fn finish(schema: &mut Value, unit: Option<&str>) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    // What Rust keeps numbers in, and what it takes for a field that is missing, say nothing here.
    schema.remove("format");
    schema.remove("default");
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = plain(text);
    }
    let own = schema.get("unit").and_then(Value::as_str);
    let own = own.map(str::to_owned).or_else(|| unit.map(str::to_owned));
    if let Some(unit) = &own {
        match is_number(schema) {
            true => drop(schema.insert("unit".to_owned(), unit.as_str().into())),
            false => drop(schema.remove("unit")),
        }
    }
    let inherited = own.filter(|unit| !["bytes", "pages"].contains(&&**unit));
    let inherited = inherited.as_deref();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            finish(property, said(name).or(inherited));
        }
        close(schema);
    }
    let inherited = inherited.filter(|_| !is_number(schema));
    for part in ["items", "additionalProperties"] {
        if let Some(part) = schema.get_mut(part) {
            finish(part, inherited);
        }
    }
    for parts in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        if let Some(Value::Array(parts)) = schema.get_mut(parts) {
            parts.iter_mut().for_each(|part| finish(part, inherited));
        }
    }
}

/// Allows no other fields, unless others are declared.
fn close(schema: &mut Map<String, Value>) {
    let parts = ["oneOf", "anyOf", "allOf"];
    let closed = match parts.iter().any(|part| schema.contains_key(*part)) {
        true => "unevaluatedProperties",
        false => "additionalProperties",
    };
    schema.entry(closed).or_insert(Value::Bool(false));
}

/// Whether values are numbers, or lists of numbers.
fn is_number(schema: &Map<String, Value>) -> bool {
    let is = |name: &Value| name == "integer" || name == "number";
    match (schema.get("type"), schema.get("items")) {
        (Some(Value::Array(names)), None) => names.iter().any(is),
        (Some(name), None) => is(name),
        (_, Some(Value::Object(items))) => is_number(items),
        _ => false,
    }
}

/// Returns the unit that a name ends with.
fn said(name: &str) -> Option<&'static str> {
    const UNITS: [(&str, &str); 20] = [
        ("ps", "ps"),
        ("ns", "ns"),
        ("us", "us"),
        ("ms", "ms"),
        ("s", "s"),
        ("seconds", "s"),
        ("years", "years"),
        ("bytes", "bytes"),
        ("pages", "pages"),
        ("j", "J"),
        ("hz", "Hz"),
        ("v", "V"),
        ("w", "W"),
        ("mw", "mW"),
        ("nj", "nJ"),
        ("pj", "pJ"),
        ("um2", "um2"),
        ("cm2", "cm2"),
        ("gbps", "Gb/s"),
        ("percent", "%"),
    ];
    let (before, last) = name.rsplit_once('_').unwrap_or(("", name));
    let is_rate = before.split('_').any(|word| word == "per");
    let unit = UNITS.iter().find(|(suffix, _)| *suffix == last);
    unit.map(|(_, unit)| *unit).filter(|_| !is_rate)
}

/// Returns documentation without links to code, in one line a paragraph.
fn plain(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| {
        let words: Vec<&str> = paragraph.split_whitespace().collect();
        words.join(" ").replace("[`", "`").replace("`]", "`")
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde_json::json;

    use crate::json_schema::of;

    /// A record.
    #[derive(JsonSchema)]
    struct Record {
        /// Wall times, see
        /// [`Record`].
        #[expect(dead_code)]
        wall_s: Vec<f64>,
        /// Both of them.
        #[expect(dead_code)]
        turns_ns: Option<Both>,
        /// Name.
        #[expect(dead_code)]
        name_s: String,
        /// Rate.
        #[expect(dead_code)]
        misses_per_ms: f64,
    }

    /// Two figures.
    #[derive(JsonSchema)]
    #[expect(dead_code)]
    struct Both {
        live: f64,
        pages: u64,
    }

    #[test]
    fn units_are_those_that_names_say() {
        let schema = of::<Record>().to_value();
        let at = |place: &str| schema.pointer(&format!("/properties/{place}"));
        assert_eq!(at("wall_s/unit"), Some(&json!("s")));
        assert_eq!(at("wall_s/items/unit"), None);
        assert_eq!(
            at("wall_s/description"),
            Some(&json!("Wall times, see `Record`."))
        );
        assert_eq!(at("name_s/unit"), None);
        assert_eq!(at("misses_per_ms/unit"), None);
        let text = at("turns_ns").unwrap().to_string();
        assert!(
            text.contains(r#""live":{"type":"number","unit":"ns"}"#),
            "{text}"
        );
        assert!(text.contains(r#""unit":"pages""#), "{text}");
    }

    #[test]
    fn no_other_field_is_allowed() {
        let schema = of::<Record>().to_value();
        assert_eq!(schema["additionalProperties"], false);
        let text = schema["properties"]["turns_ns"].to_string();
        assert!(text.contains(r#""additionalProperties":false"#), "{text}");
    }
}
