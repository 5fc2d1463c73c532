//! Schema of results: each field is declared once, with its name, unit, help and value.
//!
//! From a list of [`Field`]s come JSON ([`Tree`]) and its JSON Schema ([`described`]), the columns
//! of CSV and Parquet, tables and documentation.
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

mod described;
mod tree;
mod value;

use std::borrow::Cow;
use std::sync::Arc;

pub use described::described;
use schemars::Schema;
pub use tree::Tree;
pub use value::{Kind, List, Typed, Unit, Unsigned, Value, years};

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
    /// JSON Schema of each item of a list.
    items: Option<fn() -> Schema>,
    /// Meanings of objects in which the field is, each with the number of names from there to the
    /// field.
    objects: Vec<(usize, &'static str)>,
    get: Arc<dyn Fn(&R) -> Value + Send + Sync>,
}

impl<R: ?Sized> Clone for Field<R> {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            path: self.path.clone(),
            get: Arc::clone(&self.get),
            objects: self.objects.clone(),
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
            items: T::ITEMS,
            objects: Vec::new(),
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

    /// The same field, a list whose items have this JSON Schema.
    #[must_use]
    pub fn items(mut self, items: fn() -> Schema) -> Self {
        self.items = Some(items);
        self
    }

    /// The same field in an object of this name and meaning in JSON; null where the name ends with
    /// `?` and the object has no value.
    #[must_use]
    pub fn under(mut self, object: &str, help: &'static str) -> Self {
        self.objects.push((self.path.split('.').count(), help));
        let path = format!("{object}.{}", self.path);
        self.json(path)
    }

    /// The same field, which has no value in records of which `has` is false.
    #[must_use]
    pub fn only_where(mut self, has: impl Fn(&R) -> bool + Send + Sync + 'static) -> Self
    where
        R: 'static,
    {
        let get = self.get;
        self.get = Arc::new(move |record| match has(record) {
            true => get(record),
            false => Value::Null,
        });
        self.optional = true;
        self
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
            items: self.items,
            objects: self.objects,
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

/// Returns the fields of a record `S` that show its part `R` as an object of this name and meaning
/// in JSON; they have no value where there is no part.
pub fn object<R: 'static, S: ?Sized>(
    name: &str,
    help: &'static str,
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
        items: field.items,
        objects: {
            let names = field.path.split('.').count();
            [&field.objects[..], &[(names, help)]].concat()
        },
        get: Arc::new(move |whole| part(whole).map_or(Value::Null, |part| (field.get)(&part))),
    })
}

/// Declares the [`Field`]s of a record: help, place in JSON, [`Unit`] and value, and if they differ
/// from the place, the name in columns (`, column "misses"`) or the place (`, json
/// "counts.misses"`). An entry with a colon is an [`object`]: its name, the fields in it, and the
/// part of the record that it shows. With brackets it is a list of such objects, and with `?`
/// behind these one that need not be there.
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
///     /// all corners
///     "corners": [corner()] => |window| window;
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
     $(#[doc = $help:literal])+ $name:literal: [$items:expr] => |$one:ident| $value:expr
         $(, $change:ident $to:literal)*; $($rest:tt)*
    ) => {
        $fields.push($crate::schema::Field::new(
            $name,
            $crate::schema::Unit::None,
            concat!($($help),+).trim_ascii(),
            |$one: &$record| $crate::schema::Tree::list(&$items, $value),
        ).items(|| $crate::schema::described(&$items))$(.$change($to))*);
        $crate::schema::fields!(@to $fields $record; $($rest)*);
    };
    (@to $fields:ident $record:ty;
     $(#[doc = $help:literal])+ $name:literal: [$items:expr]? => |$one:ident| $value:expr
         $(, $change:ident $to:literal)*; $($rest:tt)*
    ) => {
        $fields.push($crate::schema::Field::new(
            $name,
            $crate::schema::Unit::None,
            concat!($($help),+).trim_ascii(),
            |$one: &$record| $value.map(|records| $crate::schema::Tree::list(&$items, records)),
        ).items(|| $crate::schema::described(&$items))$(.$change($to))*);
        $crate::schema::fields!(@to $fields $record; $($rest)*);
    };
    (@to $fields:ident $record:ty;
     $(#[doc = $help:literal])+ $name:literal: $part:expr => |$one:ident| $value:expr; $($rest:tt)*
    ) => {
        $fields.extend($crate::schema::object(
            $name,
            concat!($($help),+).trim_ascii(),
            $part,
            |$one: &$record| $value,
        ));
        $crate::schema::fields!(@to $fields $record; $($rest)*);
    };
    ($record:ty; $($entries:tt)+) => {{
        // Not `Vec::new()`: of one field, clippy would have a `vec!` in its place.
        let mut fields: Vec<$crate::schema::Field<$record>> = Vec::from([]);
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
        assert_eq!(Tree::of(&fields, &()).places(), ["a", "b", "d", "e"]);
        assert_eq!(names(&columns(fields)), ["c", "a", "d", "e"]);
    }
}
