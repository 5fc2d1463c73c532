//! Values of fields, with their types and units.

use std::fmt;
use std::marker::PhantomData;

use schemars::{Schema, json_schema};
use serde::Serialize;

use super::Tree;
use crate::{Bytes, Nanos};

/// A value of a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// No value: `null` in JSON, empty in CSV.
    Null,
    /// Yes or no.
    Flag(bool),
    /// Whole number.
    Integer(u64),
    /// Number.
    Float(f64),
    /// Text.
    Text(String),
    /// List of values, in JSON only.
    List(Vec<Value>),
    /// Object, in JSON only.
    Tree(Tree),
}

/// The type of a field's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// [`Value::Flag`].
    Flag,
    /// [`Value::Integer`], stored signed so that differences can be computed; at most 2^63 - 1.
    Integer,
    /// [`Value::Integer`] of 64 bits, such as a seed.
    Unsigned,
    /// [`Value::Float`].
    Float,
    /// [`Value::Text`].
    Text,
    /// [`Value::List`] and [`Value::Tree`], which cannot be a column.
    Nested,
}

/// The unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Count, text or flag.
    None,
    /// Nanoseconds.
    Nanos,
    /// Picoseconds.
    Picos,
    /// Bytes.
    Bytes,
    /// Bytes a second.
    Rate,
    /// Pages of 4 KiB.
    Pages,
    /// Part of a whole, from 0 to 1.
    Share,
    /// One quantity divided by another of the same unit.
    Ratio,
    /// Joules.
    Joules,
    /// Years.
    Years,
}

/// A Rust type that holds values of a field.
pub trait Typed {
    /// Type of the values.
    const KIND: Kind;
    /// Whether there may be none.
    const OPTIONAL: bool = false;
    /// JSON Schema of each item, where the values are lists of which it is known.
    const ITEMS: Option<fn() -> Schema> = None;

    /// Returns the value.
    fn value(self) -> Value;
}

/// Implements [`Typed`], and the conversion to [`Value`].
macro_rules! typed {
    ($($type:ty: $kind:ident |$value:ident| $as:expr;)*) => {$(
        impl Typed for $type {
            const KIND: Kind = Kind::$kind;
            fn value(self) -> Value {
                let $value = self;
                $as
            }
        }

        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                value.value()
            }
        }
    )*};
}

typed! {
    bool: Flag |flag| Value::Flag(flag);
    u64: Integer |number| Value::Integer(number);
    u32: Integer |number| Value::Integer(number.into());
    usize: Integer |number| Value::Integer(number as u64);
    Bytes: Integer |bytes| Value::Integer(bytes.0);
    Nanos: Integer |time| Value::Integer(time.0);
    Unsigned: Unsigned |number| Value::Integer(number.0);
    f64: Float |number| Value::Float(number);
    String: Text |text| Value::Text(text);
    &str: Text |text| Value::Text(text.to_owned());
    Vec<Value>: Nested |list| Value::List(list);
    Tree: Nested |tree| Value::Tree(tree);
}

/// A number that may use all of its 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsigned(pub u64);

/// Values of one type.
#[derive(Clone, Debug, PartialEq)]
pub struct List<T>(Vec<Value>, PhantomData<T>);

impl<T: Typed> Typed for List<T> {
    const KIND: Kind = Kind::Nested;
    const ITEMS: Option<fn() -> Schema> = Some(|| T::KIND.described(T::OPTIONAL));
    fn value(self) -> Value {
        Value::List(self.0)
    }
}

impl<T: Typed> Typed for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    const ITEMS: Option<fn() -> Schema> = T::ITEMS;
    fn value(self) -> Value {
        self.map_or(Value::Null, T::value)
    }
}

impl Kind {
    /// Returns the JSON Schema of values of this kind, or of none as well.
    pub(super) fn described(self, optional: bool) -> Schema {
        let name = match self {
            Self::Flag => "boolean",
            Self::Integer | Self::Unsigned => "integer",
            Self::Float => "number",
            Self::Text => "string",
            Self::Nested => "array",
        };
        let mut schema = match optional {
            true => json_schema!({ "type": [name, "null"] }),
            false => json_schema!({ "type": name }),
        };
        if name == "integer" {
            schema.insert("minimum".to_owned(), 0.into());
        }
        schema
    }
}

impl Unit {
    /// Returns the name of the unit; empty where there is none.
    pub fn name(self) -> &'static str {
        match self {
            Self::None | Self::Share | Self::Ratio => "",
            Self::Nanos => "ns",
            Self::Picos => "ps",
            Self::Bytes => "bytes",
            Self::Rate => "bytes/s",
            Self::Pages => "pages",
            Self::Joules => "J",
            Self::Years => "years",
        }
    }

    /// Returns a value of this unit as people read it: `1.5 ms`, `64 MiB`, `12.5 %`; `-` for none.
    pub fn shown(self, value: &Value) -> String {
        match (self, value) {
            (_, Value::Null) => "-".to_owned(),
            (Self::Nanos, Value::Integer(time)) => Nanos(*time).to_string(),
            (Self::Nanos, Value::Float(time)) => Nanos(time.round() as u64).to_string(),
            (Self::Bytes, Value::Integer(bytes)) => Bytes(*bytes).to_string(),
            (Self::Rate, Value::Integer(rate)) => format!("{}/s", Bytes(*rate)),
            (Self::Rate, Value::Float(rate)) => format!("{}/s", Bytes(rate.round() as u64)),
            (Self::Pages, Value::Integer(pages)) => Bytes::of_pages(*pages).to_string(),
            (Self::Picos, value) => format!("{value} ps"),
            (Self::Share, Value::Float(share)) => format!("{:.1} %", 100.0 * share),
            (Self::Ratio, Value::Float(ratio)) => format!("{ratio:.2}"),
            (Self::Joules, Value::Float(energy)) => format!("{energy:.3e} J"),
            (Self::Years, Value::Float(time)) => years(*time),
            (_, value) => value.to_string(),
        }
    }
}

/// Returns a time in years as people read it: in days or hours where it is short.
pub fn years(years: f64) -> String {
    match years {
        y if y >= 1000.0 => format!("{y:.0} years"),
        y if y >= 1.0 => format!("{y:.1} years"),
        y if y * 365.25 >= 1.5 => format!("{:.0} days", y * 365.25),
        y if y * 365.25 * 24.0 >= 1.0 => format!("{:.1} hours", y * 365.25 * 24.0),
        _ => "under an hour".to_owned(),
    }
}

impl Value {
    /// Returns a list of these values.
    pub fn list<T: Typed + Copy>(values: &[T]) -> List<T> {
        let values = values.iter().map(|value| value.value());
        List(values.collect(), PhantomData)
    }
}

impl fmt::Display for Value {
    /// Writes the value as CSV has it: nothing for [`Value::Null`], floats with the digits that
    /// identify them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Flag(flag) => flag.fmt(f),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Text(text) => f.write_str(text),
            Self::List(values) => values.iter().try_for_each(|value| value.fmt(f)),
            Self::Tree(tree) => tree.values().try_for_each(|value| value.fmt(f)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_people_read_them() {
        for (unit, value, shown) in [
            (Unit::Nanos, Value::Float(1499.6), "1.50 us"),
            (Unit::Share, Value::Float(0.125), "12.5 %"),
            (Unit::Picos, Value::Integer(500), "500 ps"),
            (Unit::Years, Value::Float(0.5), "183 days"),
            (Unit::Rate, Value::Integer(100 << 20), "100 MiB/s"),
            (Unit::Rate, Value::Float(1024.4), "1.00 KiB/s"),
            (Unit::Years, Value::Null, "-"),
            (Unit::None, Value::Text("lru".to_owned()), "lru"),
        ] {
            assert_eq!(unit.shown(&value), shown);
        }
    }
}
