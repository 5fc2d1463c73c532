//! Schema of results: each field is declared once, with its name, unit, help and value.
//!
//! From a list of [`Field`]s come JSON ([`Tree`]), the columns of CSV and Parquet, tables and
//! documentation.
//!
//! ```
//! use terrace_base::schema::{Field, Tree, Unit};
//!
//! struct Run {
//!     faults: u32,
//!     wait: Option<f64>,
//! }
//! let fields = [
//!     Field::new("faults", Unit::None, "faults that waited for a read", |run: &Run| run.faults),
//!     Field::new("wait_ns", Unit::Nanos, "mean wait", |run: &Run| run.wait).json("times.wait"),
//! ];
//! let run = Run { faults: 2, wait: Some(1500.0) };
//! assert_eq!(fields[1].shown(&run), "1.50 us");
//! assert_eq!(Tree::of(&fields, &run).leaf("times.wait"), Some(&1500.0.into()));
//! ```

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

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

impl<T: Typed> Typed for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
    fn value(self) -> Value {
        self.map_or(Value::Null, T::value)
    }
}

/// A field of a record `R`: what it is called, what it means, and where its value is found.
pub struct Field<R: ?Sized> {
    /// Name of the column; empty where the field is in JSON only.
    pub name: Cow<'static, str>,
    /// Place in JSON, objects separated by dots; empty where the field is a column only. An object
    /// named with `?`, as `energy?.read_j`, is `null` where all its fields are; a list named so is
    /// left out where it is empty.
    pub path: Cow<'static, str>,
    /// Unit of the value.
    pub unit: Unit,
    /// Meaning, as part of a sentence, without the unit.
    pub help: &'static str,
    /// Type of the value.
    pub kind: Kind,
    /// Whether there may be no value.
    pub optional: bool,
    /// The column behind which this one stands, where the order differs from that in JSON.
    behind: Option<&'static str>,
    get: Arc<dyn Fn(&R) -> Value + Send + Sync>,
}

impl<R: ?Sized> Clone for Field<R> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            path: self.path.clone(),
            get: Arc::clone(&self.get),
            ..*self
        }
    }
}

impl<R: ?Sized> Field<R> {
    /// A field with the same name in JSON as in columns.
    pub fn new<T: Typed>(
        name: impl Into<Cow<'static, str>>,
        unit: Unit,
        help: &'static str,
        get: impl Fn(&R) -> T + Send + Sync + 'static,
    ) -> Self {
        let name = name.into();
        Self {
            path: name.clone(),
            name,
            unit,
            help,
            kind: T::KIND,
            optional: T::OPTIONAL,
            behind: None,
            get: Arc::new(move |record| get(record).value()),
        }
    }

    /// The same field at another place in JSON; empty: not in JSON.
    #[must_use]
    pub fn json(mut self, path: impl Into<Cow<'static, str>>) -> Self {
        self.path = path.into();
        self
    }

    /// The same field with another name in columns; empty: no column.
    #[must_use]
    pub fn column(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = name.into();
        self
    }

    /// The same field, whose column stands behind that of this name.
    #[must_use]
    pub fn behind(mut self, name: &'static str) -> Self {
        self.behind = Some(name);
        self
    }

    /// The same field in an object of this name in JSON; null where the name ends with `?` and the
    /// object has no value.
    #[must_use]
    pub fn under(self, object: &str) -> Self {
        let path = format!("{object}.{}", self.path);
        self.json(path)
    }

    /// The field of a record `S` of which `R` is a part.
    #[must_use]
    pub fn of<S: ?Sized>(self, part: impl Fn(&S) -> &R + Send + Sync + 'static) -> Field<S>
    where
        R: 'static,
    {
        let get = self.get;
        Field {
            name: self.name,
            path: self.path,
            get: Arc::new(move |whole| get(part(whole))),
            unit: self.unit,
            help: self.help,
            kind: self.kind,
            optional: self.optional,
            behind: self.behind,
        }
    }
}

impl<R: ?Sized> Field<R> {
    /// Returns the value in a record.
    pub fn value(&self, record: &R) -> Value {
        (self.get)(record)
    }

    /// Returns the value as people read it, with its unit.
    pub fn shown(&self, record: &R) -> String {
        self.unit.shown(&self.value(record))
    }
}

/// Returns the fields of a record `S` that show its part `R` as an object of this name in JSON; they
/// have no value where there is no part.
pub fn object<R: 'static, S: ?Sized>(
    name: &str,
    fields: Vec<Field<R>>,
    part: impl Fn(&S) -> Option<R> + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<S>> {
    let column = name.trim_end_matches('?');
    fields.into_iter().map(move |field| Field {
        name: format!("{column}_{}", field.name).into(),
        path: format!("{name}.{}", field.path).into(),
        unit: field.unit,
        help: field.help,
        kind: field.kind,
        optional: true,
        behind: None,
        get: Arc::new(move |whole| part(whole).map_or(Value::Null, |part| (field.get)(&part))),
    })
}

/// Declares the [`Field`]s of a record: help, place in JSON, [`Unit`] and value, and if they differ
/// from the place, the name in columns (`, column "misses"`) or the place (`, json "counts.misses"`). An
/// entry with a colon is an [`object`]: its name, the fields in it, and the part of the record that it shows.
///
/// ```
/// use terrace_base::schema::{Field, Tree, fields};
///
/// fn corner() -> Vec<Field<(u32, u32)>> {
///     fields! { (u32, u32);
///         /// distance from the left
///         "x" None |corner| corner.0;
///         /// distance from the top
///         "y" None |corner| corner.1;
///     }
/// }
/// let window = fields! { [(u32, u32); 2];
///     /// name
///     "name" None |_window| "main";
///     /// where it begins
///     "from": corner() => |window| Some(window[0]);
/// };
/// let window = Tree::of(&window, &[(1, 2), (3, 4)]);
/// assert_eq!(window.leaf("from.y"), Some(&2u32.into()));
/// ```
#[macro_export]
macro_rules! fields {
    (@to $fields:ident $record:ty;) => {};
    (@to $fields:ident $record:ty;
     $(#[doc = $help:literal])+ $path:literal $unit:ident |$one:ident| $value:expr
         $(, $change:ident $to:literal)*; $($rest:tt)*
    ) => {
        $fields.push($crate::schema::Field::new(
            $path,
            $crate::schema::Unit::$unit,
            concat!($($help),+).trim_ascii(),
            |$one: &$record| $value,
        )$(.$change($to))*);
        $crate::schema::fields!(@to $fields $record; $($rest)*);
    };
    (@to $fields:ident $record:ty;
     $(#[doc = $help:literal])+ $name:literal: $part:expr => |$one:ident| $value:expr; $($rest:tt)*
    ) => {
        $fields.extend($crate::schema::object($name, $part, |$one: &$record| $value));
        $crate::schema::fields!(@to $fields $record; $($rest)*);
    };
    ($record:ty; $($entries:tt)+) => {{
        let mut fields: Vec<$crate::schema::Field<$record>> = Vec::new();
        $crate::schema::fields!(@to fields $record; $($entries)+);
        fields
    }};
}

pub use fields;

/// Returns the fields that are columns, in the order of columns.
pub fn columns<R: ?Sized>(fields: Vec<Field<R>>) -> Vec<Field<R>> {
    let columns = fields.into_iter().filter(|field| !field.name.is_empty());
    let (moved, mut columns): (Vec<_>, Vec<_>) = columns.partition(|field| field.behind.is_some());
    for field in moved {
        let before = columns.iter();
        let before = before.take_while(|one| Some(&*one.name) != field.behind);
        let at = before.count() + 1;
        columns.insert(at.min(columns.len()), field);
    }
    columns
}

impl Unit {
    /// Returns the name of the unit; empty where there is none.
    pub fn name(self) -> &'static str {
        match self {
            Self::None | Self::Share | Self::Ratio => "",
            Self::Nanos => "ns",
            Self::Picos => "ps",
            Self::Bytes => "bytes",
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
    pub fn list<T: Typed + Copy>(values: &[T]) -> Vec<Self> {
        values.iter().map(|value| value.value()).collect()
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
            Self::Tree(tree) => tree.0.iter().try_for_each(|(_, value)| value.fmt(f)),
        }
    }
}

/// Values with their places in JSON: those whose places begin alike and stand together are fields of
/// one object.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &'static str, value: Option<u64>) -> Field<()> {
        Field::new(name, Unit::None, "a number", move |()| value)
    }

    fn names(fields: &[Field<()>]) -> Vec<&str> {
        fields.iter().map(|field| &*field.name).collect()
    }

    #[test]
    fn columns_have_an_order_of_their_own() {
        let fields = vec![
            field("a", None).behind("c"),
            field("b", None).column(""),
            field("c", None).json(""),
            field("d", None),
            field("e", None).behind("none"),
        ];
        let places: Vec<_> = Tree::of(&fields, &())
            .0
            .into_iter()
            .map(|(p, _)| p)
            .collect();
        assert_eq!(places, ["a", "b", "d", "e"]);
        assert_eq!(names(&columns(fields)), ["c", "a", "d", "e"]);
    }

    #[test]
    fn values_as_people_read_them() {
        for (unit, value, shown) in [
            (Unit::Nanos, Value::Float(1499.6), "1.50 us"),
            (Unit::Share, Value::Float(0.125), "12.5 %"),
            (Unit::Picos, Value::Integer(500), "500 ps"),
            (Unit::Years, Value::Float(0.5), "183 days"),
            (Unit::Years, Value::Null, "-"),
            (Unit::None, Value::Text("lru".to_owned()), "lru"),
        ] {
            assert_eq!(unit.shown(&value), shown);
        }
    }
}
