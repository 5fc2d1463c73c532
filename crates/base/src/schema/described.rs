//! Fields as JSON Schema (draft 2020-12).

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::Field;

/// Returns the JSON Schema of the objects as which [`super::Tree`] writes records with these
/// fields: types, meanings as `description`, units as `unit`, and no other fields.
pub fn described<R: ?Sized>(fields: &[Field<R>]) -> Schema {
    let fields = fields.iter().filter(|field| !field.path.is_empty());
    let leaves: Vec<_> = fields.map(|field| (&*field.path, field)).collect();
    Schema::from(object(&leaves))
}

/// Returns the JSON Schema of an object with these fields, each with its place in it.
fn object<R: ?Sized>(mut leaves: &[(&str, &Field<R>)]) -> Map<String, Value> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    while let [(path, field), ..] = leaves {
        let (head, rest) = path.split_once('.').unwrap_or((path, ""));
        let name = head.trim_end_matches('?');
        let is_marked = name != head;
        let (taken, schema) = match rest {
            "" => (1, leaf(field)),
            _ => {
                let below = leaves.iter().map_while(|(path, field)| {
                    Some((path.strip_prefix(head)?.strip_prefix('.')?, *field))
                });
                let below: Vec<_> = below.collect();
                (below.len(), nested(&below, is_marked))
            }
        };
        if !(is_marked && rest.is_empty()) {
            required.push(Value::from(name));
        }
        properties.insert(name.to_owned(), schema);
        leaves = &leaves[taken..];
    }
    let mut map = Map::new();
    map.insert("type".to_owned(), "object".into());
    map.insert("properties".to_owned(), properties.into());
    map.insert("required".to_owned(), required.into());
    map.insert("additionalProperties".to_owned(), false.into());
    map
}

/// Returns the JSON Schema of an object in another one, which may be null.
fn nested<R: ?Sized>(leaves: &[(&str, &Field<R>)], optional: bool) -> Value {
    let mut schema = object(leaves);
    if optional {
        schema.insert("type".to_owned(), json!(["object", "null"]));
    }
    let helps = leaves.iter().flat_map(|(path, field)| {
        let names = path.split('.').count();
        let about = field.objects.iter();
        about.filter(move |(below, _)| *below == names)
    });
    if let Some((_, help)) = helps.into_iter().next() {
        schema.insert("description".to_owned(), (*help).into());
    }
    schema.into()
}

fn leaf<R: ?Sized>(field: &Field<R>) -> Value {
    let mut schema = field.kind.described(field.optional);
    schema.insert("description".to_owned(), field.help.into());
    if !field.unit.name().is_empty() {
        schema.insert("unit".to_owned(), field.unit.name().into());
    }
    if let Some(items) = field.items {
        schema.insert("items".to_owned(), items().into());
    }
    schema.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Field, Unit, Value as Typed, fields};

    fn part() -> Vec<Field<u64>> {
        fields! { u64;
            /// time
            "time_ns" Nanos |part| *part;
        }
    }

    fn whole() -> Vec<Field<Option<u64>>> {
        fields! { Option<u64>;
            /// name
            "name" None |_whole| "main";
            /// first part
            "first?": part() => |whole| *whole;
            /// all parts
            "parts": [part()] => |whole| whole.iter();
            /// spare parts
            "spare?": [part()]? => |whole| Some(whole.iter());
            /// numbers
            "of.numbers" None |_whole| Typed::list(&[Some(1.5)]), column "";
        }
    }

    #[test]
    fn objects_and_lists_are_described_by_their_fields() {
        let schema = Value::from(described(&whole()));
        let at = |place: &str| schema.pointer(place).unwrap_or(&Value::Null);
        assert_eq!(at("/required"), &json!(["name", "first", "parts", "of"]));
        assert_eq!(at("/additionalProperties"), false);
        assert_eq!(at("/properties/first/type"), &json!(["object", "null"]));
        assert_eq!(at("/properties/first/description"), "first part");
        let time = "/properties/parts/items/properties/time_ns";
        assert_eq!(
            at(time),
            &json!({"type": "integer", "minimum": 0, "unit": "ns", "description": "time"})
        );
        let spare = "/properties/spare/items/properties/time_ns/unit";
        assert_eq!(at(spare), Unit::Nanos.name());
        let numbers = "/properties/of/properties/numbers/items/type";
        assert_eq!(at(numbers), &json!(["number", "null"]));
    }

    #[test]
    fn an_object_within_others_keeps_its_meaning() {
        let moved: Vec<_> = whole()
            .into_iter()
            .map(|field| field.under("settings", "effective settings"))
            .collect();
        let schema = Value::from(described(&moved));
        let first = "/properties/settings/properties/first/description";
        assert_eq!(schema.pointer(first), Some(&json!("first part")));
        let settings = "/properties/settings/description";
        assert_eq!(schema.pointer(settings), Some(&json!("effective settings")));
    }
}
