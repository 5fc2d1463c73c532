//! An effective setting on a page: its value as people read it, with its unit; the exact one and
//! the meaning show where the mouse rests.

use maud::{Markup, html};
use schemars::Schema;
use serde::Serialize;
use serde_json::Value;
use terrace_base::schema::{self, Unit};

use crate::flat::{flat, plain};
use crate::json_schema::{Entry, Legend};

/// A setting with what its schema says of it.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    name: String,
    value: Value,
    about: Entry,
}

impl Setting {
    /// Returns all settings of a record with a schema.
    pub(super) fn all(schema: &Schema, record: &impl Serialize) -> Vec<Self> {
        let legend = Legend::of(schema);
        let settings = flat(record).into_iter().map(|(name, value)| Self {
            about: legend.entry(&name),
            name,
            value,
        });
        settings.collect()
    }

    /// Returns the setting of the same name among those of another run.
    pub(super) fn among<'s>(&self, others: &'s [Self]) -> Option<&'s Self> {
        others.iter().find(|other| other.name == self.name)
    }

    /// Whether another run has the same value.
    pub(super) fn is_same(&self, other: Option<&Self>) -> bool {
        plain(&self.value) == other.map_or_else(String::new, |other| plain(&other.value))
    }

    /// Returns the name.
    pub(super) fn name(&self) -> Markup {
        let help = Some(&self.about.help).filter(|help| !help.is_empty());
        html! { span title=[help] { (self.name) } }
    }

    /// Returns the value.
    pub(super) fn value(&self) -> Markup {
        let shown = self.shown();
        let exact = format!("{} {}", plain(&self.value), self.about.unit);
        let exact = Some(exact).filter(|exact| exact.trim() != shown && self.value.is_number());
        html! { span title=[exact] { (shown) } }
    }

    fn shown(&self) -> String {
        let number = match (self.value.as_u64(), self.value.as_f64()) {
            _ if self.value.is_null() => return "-".to_owned(),
            (Some(number), _) => schema::Value::Integer(number),
            (None, Some(number)) => schema::Value::Float(number),
            (None, None) => return plain(&self.value),
        };
        match &*self.about.unit {
            "" => plain(&self.value),
            "ns" => Unit::Nanos.shown(&number),
            "bytes" => Unit::Bytes.shown(&number),
            "bytes/s" => Unit::Rate.shown(&number),
            "years" => schema::years(self.value.as_f64().unwrap_or(0.0)),
            unit => format!("{} {unit}", plain(&self.value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn setting(value: Value, unit: &str, help: &str) -> Setting {
        let (unit, help) = (unit.to_owned(), help.to_owned());
        Setting {
            name: "one".to_owned(),
            value,
            about: Entry { unit, help },
        }
    }

    #[test]
    fn values_are_shown_with_their_units() {
        for (unit, value, shown) in [
            ("ns", json!(6000), "6.00 us"),
            ("bytes", json!(65536), "64.0 KiB"),
            ("bytes/s", json!(2048), "2.00 KiB/s"),
            ("pages", json!(64), "64 pages"),
            ("ps", json!(500), "500 ps"),
            ("s", json!(1.5), "1.5 s"),
            ("years", json!(2), "2.0 years"),
            ("ns", json!(null), "-"),
            ("", json!("lru"), "lru"),
            ("", json!(7), "7"),
        ] {
            assert_eq!(setting(value, unit, "").shown(), shown);
        }
    }

    #[test]
    fn the_exact_value_and_the_meaning_are_there() {
        let one = setting(json!(6000), "ns", "into the kernel and back");
        let (name, value) = (one.name().into_string(), one.value().into_string());
        assert_eq!(name, r#"<span title="into the kernel and back">one</span>"#);
        assert_eq!(value, r#"<span title="6000 ns">6.00 us</span>"#);
        let plain = setting(json!("lru"), "", "").value().into_string();
        assert_eq!(plain, "<span>lru</span>");
    }
}
