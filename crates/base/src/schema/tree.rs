//! Records as JSON.

use std::borrow::{Borrow, Cow};

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::{Field, Value};

/// Values with their places in JSON: those whose places begin alike and stand together are fields
/// of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(Vec<(Cow<'static, str>, Value)>);

impl Tree {
    /// Returns the values of all fields that are in JSON.
    pub fn of<R: ?Sized>(fields: &[Field<R>], record: &R) -> Self {
        let fields = fields.iter().filter(|field| !field.path.is_empty());
        Self(
            fields
                .map(|field| (field.path.clone(), field.value(record)))
                .collect(),
        )
    }

    /// Returns the values of several records.
    pub fn list<R>(fields: &[Field<R>], records: impl IntoIterator<Item: Borrow<R>>) -> Vec<Value> {
        let records = records.into_iter();
        records
            .map(|record| Self::of(fields, record.borrow()).into())
            .collect()
    }

    /// Returns the value at a place.
    pub fn leaf(&self, path: &str) -> Option<&Value> {
        let leaf = self.0.iter().find(|(place, _)| place == path);
        leaf.map(|(_, value)| value)
    }

    /// Returns the values in order.
    pub(super) fn values(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|(_, value)| value)
    }

    /// Returns the places in order.
    #[cfg(test)]
    pub(super) fn places(&self) -> Vec<&str> {
        self.0.iter().map(|(place, _)| &**place).collect()
    }

    /// Returns the fields of the object `head` with which `leaves` begin.
    fn object(leaves: &[(Cow<'static, str>, Value)], head: &str) -> Self {
        let below = leaves.iter().map_while(|(path, value)| {
            let path = path.strip_prefix(head)?.strip_prefix('.')?;
            Some((path.to_owned().into(), value.clone()))
        });
        Self(below.collect())
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let mut leaves = &self.0[..];
        while let [(path, value), ..] = leaves {
            let mut taken = 1;
            match path.split_once('.') {
                None => match path.strip_suffix('?') {
                    Some(_) if *value == Value::List(Vec::new()) => {}
                    name => map.serialize_entry(name.unwrap_or(path), value)?,
                },
                Some((head, _)) => {
                    let object = Self::object(leaves, head);
                    taken = object.0.len();
                    let none = object.0.iter().all(|(_, value)| *value == Value::Null);
                    match head.strip_suffix('?') {
                        Some(name) if none => map.serialize_entry(name, &())?,
                        name => map.serialize_entry(name.unwrap_or(head), &object)?,
                    }
                }
            }
            leaves = &leaves[taken..];
        }
        map.end()
    }
}
