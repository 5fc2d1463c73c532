//! Rows of results whose fields are those of their JSON.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use terrace_base::schema::{self, Field, Kind, Tree};

use crate::json_schema::{self, Entry, Legend};
use crate::rows::{Column, Rows};

impl Rows {
    /// Flattens records: a column a field, a field of an object named after both, as
    /// `prefetch_issued`; a list is its JSON. A column has the type of its values, and any may be
    /// missing.
    pub fn flat<T: Serialize + JsonSchema>(records: impl IntoIterator<Item = T>) -> Self {
        Self::flattened(&Legend::of(&json_schema::of::<T>()), records)
    }

    /// Flattens records with these fields likewise.
    pub fn flat_of<R>(fields: &[Field<R>], records: impl IntoIterator<Item = R>) -> Self {
        let records = records.into_iter();
        let records = records.map(|record| Tree::of(fields, &record));
        Self::flattened(&Legend::of(&json_schema::of_fields(fields)), records)
    }

    fn flattened(legend: &Legend, records: impl IntoIterator<Item = impl Serialize>) -> Self {
        let records = records.into_iter();
        let records = records.map(|record| flat(&record).into_iter().collect());
        let records: Vec<IndexMap<String, Value>> = records.collect();
        let mut columns: IndexMap<&str, Vec<&Value>> = IndexMap::new();
        for (name, value) in records.iter().flatten() {
            columns.entry(name).or_default().push(value);
        }
        let columns = columns
            .iter()
            .map(|(name, values)| column(name, values, legend));
        let columns: Vec<Column> = columns.collect();
        let row = |record: &IndexMap<String, Value>| {
            let value = |column: &Column| value(record.get(&column.name), column.kind);
            columns.iter().map(value).collect()
        };
        Self {
            rows: records.iter().map(row).collect(),
            columns,
        }
    }
}

fn column(name: &str, values: &[&Value], legend: &Legend) -> Column {
    let present = values.iter().filter(|value| !value.is_null());
    let all = |holds: fn(&Value) -> bool| present.clone().all(|value| holds(value));
    let kind = match () {
        () if all(Value::is_null) => Kind::Text,
        () if all(Value::is_boolean) => Kind::Flag,
        () if all(Value::is_i64) && all(Value::is_u64) => Kind::Integer,
        () if all(Value::is_number) => Kind::Float,
        () => Kind::Text,
    };
    let Entry { unit, help } = legend.entry(name);
    Column {
        name: name.to_owned(),
        unit,
        help,
        kind,
        optional: true,
    }
}

fn value(value: Option<&Value>, kind: Kind) -> schema::Value {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return schema::Value::Null;
    };
    let typed = match kind {
        Kind::Flag => value.as_bool().map(schema::Value::Flag),
        Kind::Integer => value.as_u64().map(schema::Value::Integer),
        Kind::Float => value.as_f64().map(schema::Value::Float),
        _ => None,
    };
    typed.unwrap_or_else(|| schema::Value::Text(plain(value)))
}

/// Returns the fields of a record, in their order, those of objects in it named after both.
pub(crate) fn flat(record: &impl Serialize) -> Vec<(String, Value)> {
    fn into(name: &str, value: &RawValue, fields: &mut Vec<(String, Value)>) {
        let Ok(object) = serde_json::from_str::<IndexMap<String, &RawValue>>(value.get()) else {
            let value = match value.get() {
                list if list.starts_with('[') => Value::String(list.to_owned()),
                plain => serde_json::from_str(plain).expect("it was JSON before"),
            };
            return fields.push((name.to_owned(), value));
        };
        for (field, value) in object {
            let joined = match name {
                "" => field,
                _ => format!("{name}_{field}"),
            };
            into(&joined, value, fields);
        }
    }
    let mut fields = Vec::new();
    let value = to_raw_value(record).expect("plain data serializes");
    into("", &value, &mut fields);
    fields
}

/// Returns a value as text, without the quotation marks of JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    use super::*;

    fn rows() -> Rows {
        Rows::flat([
            json!({"way": "a, b", "wall_s": [1.5, 2.0], "prefetch": {"issued": 3, "share": 0.5}}),
            json!({"way": "c", "wall_s": [], "prefetch": null, "huge": 9_007_199_254_740_993_u64}),
            json!({"way": null, "wall_s": [], "ok": true}),
        ])
    }

    #[test]
    fn objects_are_flat_lists_are_json_and_what_is_missing_is_empty() {
        let csv = String::from_utf8(rows().csv().unwrap()).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(
            lines,
            [
                "prefetch_issued,prefetch_share,wall_s,way,huge,prefetch,ok",
                "3,0.5,\"[1.5,2.0]\",\"a, b\",,,",
                ",,[],c,9007199254740993,,",
                ",,[],,,,true",
            ]
        );
    }

    #[test]
    fn a_parquet_file_has_the_same_rows() {
        let file = Bytes::from(rows().parquet("results", &[]).unwrap());
        let reader = SerializedFileReader::new(file).unwrap();
        let read: Vec<String> = reader
            .get_row_iter(None)
            .unwrap()
            .map(|row| row.unwrap().to_string())
            .collect();
        assert_eq!(read.len(), 3);
        assert!(
            read[0].contains("prefetch_issued: 3, prefetch_share: 0.5"),
            "{}",
            read[0]
        );
        assert!(read[2].contains("way: null"), "{}", read[2]);
        assert!(read[2].contains("ok: true"), "{}", read[2]);
    }

    #[derive(Serialize, JsonSchema)]
    struct Record {
        /// Time of the program.
        wall_s: f64,
        /// Its end.
        exit: Exit,
    }

    #[derive(Serialize, JsonSchema)]
    struct Exit {
        /// Exit code.
        code: u32,
    }

    #[test]
    fn a_parquet_file_says_units_and_meanings_of_its_columns() {
        let record = Record {
            wall_s: 1.5,
            exit: Exit { code: 3 },
        };
        let file = Rows::flat([record]).parquet("results", &[("other", "key")]);
        let reader = SerializedFileReader::new(Bytes::from(file.unwrap())).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata();
        let mut metadata = metadata.unwrap().iter();
        let found = metadata.find(|entry| entry.key == "terrace.columns");
        let found: Value = serde_json::from_str(found.unwrap().value.as_ref().unwrap()).unwrap();
        assert_eq!(
            found,
            json!({
                "wall_s": { "unit": "s", "help": "Time of the program." },
                "exit_code": { "help": "Exit code." },
            })
        );
    }

    #[test]
    fn no_rows_are_a_table_all_the_same() {
        let none = Rows::flat(Vec::<Value>::new());
        none.parquet("results", &[]).unwrap();
    }
}
