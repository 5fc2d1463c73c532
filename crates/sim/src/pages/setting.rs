//! A setting of machines, declared once: its option, default and help, and the fields of results
//! that show it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use terrace_base::count::whole;
use terrace_base::schema::{Field, Typed, Unit};
use terrace_base::{Error, Result};
use terrace_device::Catalogue;

use super::choice::Choice;
use super::settings::PageMachine;

/// One value of a setting: carries itself over to a machine.
#[derive(Clone)]
pub struct Set(Arc<Change>);

type Change = dyn Fn(&mut Choice, &Catalogue) -> Result<()> + Send + Sync;

impl Set {
    /// A value that changes a machine, and may need to know the memories that there are.
    pub fn new(
        change: impl Fn(&mut Choice, &Catalogue) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(change))
    }

    /// A value that changes a machine and cannot fail.
    pub fn plain(change: impl Fn(&mut PageMachine) + Send + Sync + 'static) -> Self {
        Self::new(move |choice, _| {
            change(&mut choice.machine);
            Ok(())
        })
    }

    /// Changes a machine.
    ///
    /// # Errors
    /// A usage error if the value is not one of this machine, or names no known memory.
    pub fn apply(&self, choice: &mut Choice, catalogue: &Catalogue) -> Result<()> {
        (self.0)(choice, catalogue)
    }
}

/// Reads a value.
type Parse<T> = Arc<dyn Fn(&str) -> Result<T> + Send + Sync>;

/// How the values of a setting are written.
#[derive(Clone)]
pub enum Values {
    /// A list with commas of these names.
    Names(Vec<(&'static str, Set)>),
    /// A list with commas of what this reads.
    Each(Parse<Set>),
    /// A single value.
    One(Parse<Set>),
    /// A list whose values may contain commas themselves.
    List(Parse<Vec<Set>>),
}

/// A setting of the machines that `sim pages` and `sweep` simulate.
pub struct Setting {
    /// Name of the option, without dashes.
    pub name: &'static str,
    /// Placeholder for its values in help.
    pub value_name: &'static str,
    /// Meaning, as part of a sentence: first line of the help, and meaning of the column.
    pub help: &'static str,
    /// Further paragraph of the long help.
    pub details: &'static str,
    /// Default as it would be written.
    pub default: Option<&'static str>,
    /// What holds where no value is given and there is no default.
    pub otherwise: Option<&'static str>,
    /// Whether the option is in the short help.
    pub is_common: bool,
    /// Whether values may begin with a hyphen, so that the error is about the value.
    pub may_begin_with_hyphen: bool,
    /// How values are written.
    pub values: Values,
    /// Heading of the table's column, and name of the field that it shows.
    pub shown: Option<(&'static str, &'static str)>,
    /// Fields of results that show the setting.
    pub fields: Vec<Field<PageMachine>>,
}

impl Setting {
    /// A setting with these values.
    pub fn new(name: &'static str, value_name: &'static str, values: Values) -> Self {
        Self {
            name,
            value_name,
            help: "",
            details: "",
            default: None,
            otherwise: None,
            is_common: false,
            may_begin_with_hyphen: false,
            values,
            shown: None,
            fields: Vec::new(),
        }
    }

    /// A setting whose values are whole numbers in a range.
    pub fn number(
        name: &'static str,
        value_name: &'static str,
        range: RangeInclusive<u64>,
        set: fn(&mut PageMachine, u64),
    ) -> Self {
        let read = whole(range);
        Self::parsed(name, value_name, move |text| {
            let number = read(text)?;
            Ok(Set::plain(move |machine| set(machine, number)))
        })
    }

    /// A setting whose values are times or sizes.
    pub fn quantity<T: Clone + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        parse: fn(&str) -> Result<T>,
        set: fn(&mut PageMachine, T),
    ) -> Self {
        let setting = Self::parsed(name, value_name, move |text| {
            let value = parse(text)?;
            Ok(Set::plain(move |machine| set(machine, value.clone())))
        });
        setting.hyphens()
    }

    /// A setting whose values are one of a few names.
    pub fn names<T: Copy + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        names: &[(&'static str, T)],
        set: fn(&mut PageMachine, T),
    ) -> Self {
        let names = names.iter();
        let names = names.map(|&(name, value)| (name, Set::plain(move |m| set(m, value))));
        Self::new(name, value_name, Values::Names(names.collect()))
    }

    /// A setting whose values are read by `parse`.
    pub fn parsed(
        name: &'static str,
        value_name: &'static str,
        parse: impl Fn(&str) -> Result<Set> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, value_name, Values::Each(Arc::new(parse)))
    }

    /// Adds the meaning.
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Adds a paragraph of long help.
    pub fn details(self, details: &'static str) -> Self {
        Self { details, ..self }
    }

    /// Adds the default.
    pub fn default(self, default: &'static str) -> Self {
        Self {
            default: Some(default),
            ..self
        }
    }

    /// Adds what holds where no value is given.
    pub fn otherwise(self, otherwise: &'static str) -> Self {
        Self {
            otherwise: Some(otherwise),
            ..self
        }
    }

    /// Lets values begin with a hyphen.
    pub fn hyphens(self) -> Self {
        Self {
            may_begin_with_hyphen: true,
            ..self
        }
    }

    /// Puts the option into the short help.
    pub fn common(self) -> Self {
        Self {
            is_common: true,
            ..self
        }
    }

    /// Adds a field of results with the setting's meaning; the table shows it under `heading`.
    pub fn column<T: Typed>(
        self,
        heading: &'static str,
        name: &'static str,
        unit: Unit,
        get: impl Fn(&PageMachine) -> T + Send + Sync + 'static,
    ) -> Self {
        let field = Field::new(name, unit, self.help, get);
        self.shown(heading, name).field(field)
    }

    /// Has the table show the field `name` under `heading`.
    pub fn shown(self, heading: &'static str, name: &'static str) -> Self {
        Self {
            shown: Some((heading, name)),
            ..self
        }
    }

    /// Adds a field of results.
    pub fn field(mut self, field: Field<PageMachine>) -> Self {
        self.fields.push(field);
        self
    }

    /// Changes the last field.
    pub fn with(mut self, change: impl FnOnce(Field<PageMachine>) -> Field<PageMachine>) -> Self {
        let field = self.fields.pop().map(change);
        self.fields.extend(field);
        self
    }

    /// Returns the first line of the option's help.
    pub fn summary(&self) -> String {
        let (first, rest) = self.help.split_at(1);
        let otherwise = self.otherwise.map(|text| format!(" [default: {text}]"));
        let first = first.to_uppercase();
        format!("{first}{rest}{}", otherwise.unwrap_or_default())
    }

    /// Reads a list of values as it is written on the command line.
    ///
    /// # Errors
    /// A usage error if it is none.
    pub fn parse(&self, text: &str) -> Result<Vec<Set>> {
        match &self.values {
            Values::Names(names) => {
                let named = |text| names.iter().find(|(name, _)| *name == text);
                let none = |text| Error::usage(format!("there is no {} `{text}`", self.name));
                let set = |text| named(text).map(|(_, set)| set.clone());
                let sets = text.split(',');
                sets.map(|text| set(text).ok_or_else(|| none(text)))
                    .collect()
            }
            Values::Each(parse) => text.split(',').map(|text| parse(text)).collect(),
            Values::One(parse) => Ok(vec![parse(text)?]),
            Values::List(parse) => parse(text),
        }
    }
}
