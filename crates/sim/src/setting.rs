//! A setting of simulated machines, declared once: its option, default and help, and the fields of
//! results that show it.

use std::ops::RangeInclusive;
use std::sync::Arc;

use terrace_base::count::whole;
use terrace_base::schema::{Field, Typed, Unit};
use terrace_base::{Error, Result};

/// Machines that settings describe.
pub trait Machine: Sized + 'static {
    /// A machine while it is chosen, before everything is known that it depends on.
    type Choice: 'static;
    /// What some values must be looked up in.
    type Known: 'static;
    /// Records of results that show the settings.
    type Record: 'static;

    /// Returns the machine that is chosen.
    fn of(choice: &mut Self::Choice) -> &mut Self;

    /// Returns all settings in the order of help, with the heading of their options.
    fn settings() -> Vec<(Option<&'static str>, Vec<Setting<Self>>)>;
}

/// One value of a setting: carries itself over to a machine.
pub struct Set<M: Machine>(Arc<Change<M>>);

type Change<M> =
    dyn Fn(&mut <M as Machine>::Choice, &<M as Machine>::Known) -> Result<()> + Send + Sync;

impl<M: Machine> Clone for Set<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Machine> Set<M> {
    /// A value that changes a choice, and may need to know something.
    pub fn new(
        change: impl Fn(&mut M::Choice, &M::Known) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(change))
    }

    /// A value that changes a machine and cannot fail.
    pub fn plain(change: impl Fn(&mut M) + Send + Sync + 'static) -> Self {
        Self::new(move |choice, _| {
            change(M::of(choice));
            Ok(())
        })
    }

    /// Changes a choice.
    ///
    /// # Errors
    /// A usage error if the value is not one of this machine, or names what is not known.
    pub fn apply(&self, choice: &mut M::Choice, known: &M::Known) -> Result<()> {
        (self.0)(choice, known)
    }
}

/// Reads a value.
type Parse<T> = Arc<dyn Fn(&str) -> Result<T> + Send + Sync>;

/// How the values of a setting are written.
pub enum Values<M: Machine> {
    /// Values with these names.
    Names(Vec<(&'static str, Set<M>)>),
    /// Values that this reads, without commas where a list is given.
    Each(Parse<Set<M>>),
    /// A list whose values may contain commas themselves.
    List(Parse<Vec<Set<M>>>),
}

/// A setting of the machines that a command simulates.
pub struct Setting<M: Machine> {
    /// Name of the option, without dashes.
    pub name: &'static str,
    /// Placeholder for its values in help.
    pub value_name: &'static str,
    /// Meaning, as part of a sentence: first line of the help, and meaning of the column.
    pub help: &'static str,
    /// Further paragraph of the long help.
    pub details: &'static str,
    /// Meanings of the values that have names, in their order; none where the names say it.
    pub meanings: &'static [&'static str],
    /// Default as it would be written.
    pub default: Option<&'static str>,
    /// What holds where no value is given and there is no default.
    pub otherwise: Option<&'static str>,
    /// Whether a value must be given.
    pub is_required: bool,
    /// Whether only one value can be given, not a list with commas.
    pub is_single: bool,
    /// Whether the setting changes only results that are written to files.
    pub needs_results: bool,
    /// Whether the option is in the short help.
    pub is_common: bool,
    /// Whether values may begin with a hyphen, so that the error is about the value.
    pub may_begin_with_hyphen: bool,
    /// How values are written.
    pub values: Values<M>,
    /// Heading of the table's column, and name of the field that it shows.
    pub shown: Option<(&'static str, &'static str)>,
    /// Fields of results that show the setting.
    pub fields: Vec<Field<M::Record>>,
}

impl<M: Machine> Setting<M> {
    /// A setting with these values.
    pub fn new(name: &'static str, value_name: &'static str, values: Values<M>) -> Self {
        Self {
            name,
            value_name,
            help: "",
            details: "",
            meanings: &[],
            default: None,
            otherwise: None,
            is_required: false,
            is_single: false,
            needs_results: false,
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
        set: fn(&mut M, u64),
    ) -> Self {
        Self::read(name, value_name, whole(range), set)
    }

    /// A setting whose values are times or sizes.
    pub fn quantity<T: Clone + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        parse: fn(&str) -> Result<T>,
        set: fn(&mut M, T),
    ) -> Self {
        Self::read(name, value_name, parse, set).hyphens()
    }

    /// A setting whose values are read by `parse` and carried over by `set`.
    pub fn read<T: Clone + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        parse: impl Fn(&str) -> Result<T> + Send + Sync + 'static,
        set: impl Fn(&mut M, T) + Copy + Send + Sync + 'static,
    ) -> Self {
        Self::parsed(name, value_name, move |text| {
            let value = parse(text)?;
            Ok(Set::plain(move |machine| set(machine, value.clone())))
        })
    }

    /// A setting whose values are one of a few names.
    pub fn names<T: Copy + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        names: &[(&'static str, T)],
        set: fn(&mut M, T),
    ) -> Self {
        let names = names.iter();
        let names = names.map(|&(name, value)| (name, Set::plain(move |m| set(m, value))));
        Self::new(name, value_name, Values::Names(names.collect()))
    }

    /// A setting whose values are read by `parse`.
    pub fn parsed(
        name: &'static str,
        value_name: &'static str,
        parse: impl Fn(&str) -> Result<Set<M>> + Send + Sync + 'static,
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

    /// Adds the meanings of values that have names.
    pub fn meanings(self, meanings: &'static [&'static str]) -> Self {
        Self { meanings, ..self }
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

    /// Requires a value.
    pub fn required(self) -> Self {
        Self {
            is_required: true,
            ..self
        }
    }

    /// Takes one value, not a list.
    pub fn single(self) -> Self {
        Self {
            is_single: true,
            ..self
        }
    }

    /// Requires an option that writes results to a file.
    pub fn needs_results(self) -> Self {
        Self {
            needs_results: true,
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
        get: impl Fn(&M::Record) -> T + Send + Sync + 'static,
    ) -> Self {
        self.shown(heading, name).result(name, unit, get)
    }

    /// Adds a field of results with the setting's meaning.
    pub fn result<T: Typed>(
        self,
        name: &'static str,
        unit: Unit,
        get: impl Fn(&M::Record) -> T + Send + Sync + 'static,
    ) -> Self {
        let field = Field::new(name, unit, self.help, get);
        self.field(field)
    }

    /// Has the table show the field `name` under `heading`.
    pub fn shown(self, heading: &'static str, name: &'static str) -> Self {
        Self {
            shown: Some((heading, name)),
            ..self
        }
    }

    /// Adds a field of results.
    pub fn field(mut self, field: Field<M::Record>) -> Self {
        self.fields.push(field);
        self
    }

    /// Adds fields of results.
    pub fn fields(mut self, fields: impl IntoIterator<Item = Field<M::Record>>) -> Self {
        self.fields.extend(fields);
        self
    }

    /// Changes the last field.
    pub fn with(mut self, change: impl FnOnce(Field<M::Record>) -> Field<M::Record>) -> Self {
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

    /// Reads values as they are written on the command line.
    ///
    /// # Errors
    /// A usage error if they are none of the setting.
    pub fn parse(&self, text: &str) -> Result<Vec<Set<M>>> {
        let texts: Vec<&str> = match self.is_single {
            true => vec![text],
            false => text.split(',').collect(),
        };
        match &self.values {
            Values::Names(names) => {
                let named = |text| names.iter().find(|(name, _)| *name == text);
                let none = |text| Error::usage(format!("there is no {} `{text}`", self.name));
                let set = |text| named(text).map(|(_, set)| set.clone());
                let sets = texts.into_iter();
                sets.map(|text| set(text).ok_or_else(|| none(text)))
                    .collect()
            }
            Values::Each(parse) => texts.into_iter().map(|text| parse(text)).collect(),
            Values::List(parse) => parse(text),
        }
    }
}

/// Returns all settings, in the order of help.
pub fn all<M: Machine>() -> Vec<Setting<M>> {
    let settings = M::settings().into_iter();
    settings.flat_map(|(_, settings)| settings).collect()
}

/// Values of all settings of a machine.
pub struct Given<M: Machine>(pub Vec<(&'static str, Vec<Set<M>>)>);

impl<M: Machine> Clone for Given<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: Machine> Given<M> {
    /// Reads these values, written as on the command line, by setting; other settings have their
    /// defaults.
    ///
    /// # Errors
    /// A usage error if a value is none of its setting, or there is no such setting.
    pub fn parse(values: &[(&str, &str)]) -> Result<Self> {
        let known = all::<M>();
        let unknown = |name: &str| known.iter().all(|setting| setting.name != name);
        if let Some((name, _)) = values.iter().find(|(name, _)| unknown(name)) {
            return Err(Error::usage(format!("there is no setting `{name}`")));
        }
        let sets = known.iter().map(|setting| {
            let given = values.iter().find(|(name, _)| *name == setting.name);
            let text = given.map(|(_, text)| *text).or(setting.default);
            let sets = text.map(|text| setting.parse(text)).transpose()?;
            Ok((setting.name, sets.unwrap_or_default()))
        });
        sets.collect::<Result<_>>().map(Self)
    }
}
