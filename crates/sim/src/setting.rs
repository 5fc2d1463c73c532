//! A setting of simulated machines, declared once: its option, default and help, and the fields of
//! results that show it.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;

use terrace_base::count::whole;
use terrace_base::schema::{Field, Typed, Unit};
use terrace_base::{Bytes, Error, Result, memory};

use crate::named::Named;

/// Machines that settings describe.
pub trait Machine: Sized + 'static {
    /// A machine as it was asked for, before all that it depends on is known.
    type Choice: 'static;
    /// Source in which some values are looked up.
    type Known: 'static;
    /// Records of results that show the settings.
    type Record: 'static;

    /// Returns the machine of a choice.
    fn of(choice: &mut Self::Choice) -> &mut Self;

    /// Returns all settings in the order of help, with the heading of their options.
    fn settings() -> Vec<(Option<&'static str>, Vec<Setting<Self>>)>;
}

/// A value of a setting, as a change of a machine.
pub struct Set<M: Machine>(Arc<Change<M>>);

type Change<M> =
    dyn Fn(&mut <M as Machine>::Choice, &<M as Machine>::Known) -> Result<()> + Send + Sync;

impl<M: Machine> Clone for Set<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: Machine> Set<M> {
    /// Makes a value that changes a choice and may look something up.
    pub fn new(
        change: impl Fn(&mut M::Choice, &M::Known) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(change))
    }

    /// Makes a value that changes a machine and never fails.
    pub fn plain(change: impl Fn(&mut M) + Send + Sync + 'static) -> Self {
        Self::new(move |choice, _| {
            change(M::of(choice));
            Ok(())
        })
    }

    /// Changes a choice.
    ///
    /// # Errors
    /// A usage error if the value is not allowed, or names something unknown.
    pub fn apply(&self, choice: &mut M::Choice, known: &M::Known) -> Result<()> {
        (self.0)(choice, known)
    }
}

/// Reads a value.
type Parse<T> = Arc<dyn Fn(&str) -> Result<T> + Send + Sync>;

/// How the values of a setting are written.
pub enum Values<M: Machine> {
    /// Values with these names.
    Names(Vec<Name<M>>),
    /// Values that this parses; in a list they have no commas.
    Each(Parse<Set<M>>),
    /// A list whose values may contain commas.
    List(Parse<Vec<Set<M>>>),
}

/// A value that has a name.
pub struct Name<M: Machine> {
    /// The name.
    pub name: &'static str,
    /// Its help; empty if the name suffices.
    pub help: &'static str,
    /// The value.
    pub set: Set<M>,
}

impl<M: Machine> Clone for Name<M> {
    fn clone(&self) -> Self {
        let set = self.set.clone();
        Self { set, ..*self }
    }
}

/// A setting of the machines that a command simulates.
pub struct Setting<M: Machine> {
    /// Name of the option, without dashes.
    pub name: &'static str,
    /// Placeholder for its values in help.
    pub value_name: &'static str,
    /// Help as part of a sentence, for the option and the column.
    pub help: &'static str,
    /// Further paragraph of the long help.
    pub details: &'static str,
    /// Default, as on the command line.
    pub default: Option<&'static str>,
    /// Description of a default that depends on other settings or on the program.
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
    /// Heading of the table's column, and name of the field below it.
    pub shown: Option<(&'static str, &'static str)>,
    /// Fields of results that show the setting.
    pub fields: Vec<Field<M::Record>>,
    /// Why the setting changes nothing on a machine; `None` if it may.
    pub idle: Option<Idle<M>>,
}

/// Says why a setting changes nothing on a machine; `None` if it may.
type Idle<M> = fn(&M) -> Option<&'static str>;

impl<M: Machine> Setting<M> {
    /// Makes a setting with these values.
    pub fn new(name: &'static str, value_name: &'static str, values: Values<M>) -> Self {
        Self {
            name,
            value_name,
            help: "",
            details: "",
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
            idle: None,
        }
    }

    /// Makes a setting whose values are whole numbers in a range.
    pub fn number<T>(
        name: &'static str,
        value_name: &'static str,
        range: RangeInclusive<T>,
        set: fn(&mut M, T),
    ) -> Self
    where
        T: TryFrom<u64> + PartialOrd + Display + Copy + Send + Sync + 'static,
    {
        Self::read(name, value_name, whole(range), set)
    }

    /// Makes a setting whose values are times, sizes or costs.
    pub fn quantity<T: Clone + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        parse: fn(&str) -> Result<T>,
        set: fn(&mut M, T),
    ) -> Self {
        Self::read(name, value_name, parse, set).hyphens()
    }

    /// Makes a setting whose values are parsed by `parse` and stored by `set`.
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

    /// Makes a setting whose values are those of an enumeration, with its default.
    pub fn named<T: Named + Default>(
        name: &'static str,
        value_name: &'static str,
        set: fn(&mut M, T),
    ) -> Self {
        Self::names(name, value_name, T::VALUES, set).default(T::default().name())
    }

    /// Makes a setting whose values have names, each with its help, which may be empty.
    pub fn names<T: Copy + Send + Sync + 'static>(
        name: &'static str,
        value_name: &'static str,
        names: &[(&'static str, T, &'static str)],
        set: fn(&mut M, T),
    ) -> Self {
        let names = names.iter().map(|&(name, value, help)| Name {
            name,
            help,
            set: Set::plain(move |machine| set(machine, value)),
        });
        Self::new(name, value_name, Values::Names(names.collect()))
    }

    /// Makes a setting whose values are parsed by `parse`.
    pub fn parsed(
        name: &'static str,
        value_name: &'static str,
        parse: impl Fn(&str) -> Result<Set<M>> + Send + Sync + 'static,
    ) -> Self {
        Self::new(name, value_name, Values::Each(Arc::new(parse)))
    }

    /// Adds the help.
    pub fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// Adds a paragraph of long help.
    pub fn details(self, details: &'static str) -> Self {
        Self { details, ..self }
    }

    /// Adds the default.
    pub fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// Adds the description of a default that depends on other settings or on the program, in place
    /// of another default.
    pub fn otherwise(mut self, otherwise: &'static str) -> Self {
        self.default = None;
        self.otherwise = Some(otherwise);
        self
    }

    /// Requires a value.
    pub fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    /// Takes one value, not a list.
    pub fn single(mut self) -> Self {
        self.is_single = true;
        self
    }

    /// Requires an option that writes results to a file.
    pub fn needs_results(mut self) -> Self {
        self.needs_results = true;
        self
    }

    /// Lets values begin with a hyphen.
    pub fn hyphens(mut self) -> Self {
        self.may_begin_with_hyphen = true;
        self
    }

    /// Says why the setting changes nothing on some machines.
    pub fn idle(mut self, idle: Idle<M>) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Puts the option into the short help.
    pub fn common(mut self) -> Self {
        self.is_common = true;
        self
    }

    /// Adds a field of results with the setting's help; the table shows it under `heading`.
    pub fn column<T: Typed>(
        self,
        heading: &'static str,
        name: &'static str,
        unit: Unit,
        get: impl Fn(&M::Record) -> T + Send + Sync + 'static,
    ) -> Self {
        self.shown(heading, name).result(name, unit, get)
    }

    /// Adds a field of results with the setting's help.
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
    pub fn shown(mut self, heading: &'static str, name: &'static str) -> Self {
        self.shown = Some((heading, name));
        self
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
    /// A usage error if the text is no such list.
    pub fn parse(&self, text: &str) -> Result<Vec<Set<M>>> {
        let texts: Vec<&str> = match self.is_single {
            true => vec![text],
            false => text.split(',').collect(),
        };
        match &self.values {
            Values::Names(names) => {
                let set = |text| match names.iter().find(|known| known.name == text) {
                    Some(known) => Ok(known.set.clone()),
                    None => Err(Error::usage(format!("there is no `{text}`"))),
                };
                texts.into_iter().map(set).collect()
            }
            Values::Each(parse) => texts.into_iter().map(|text| parse(text)).collect(),
            Values::List(parse) => parse(text),
        }
    }
}

/// Declares settings, each as its help, option, placeholder, kind and what else the methods of
/// [`Setting`] add.
macro_rules! settings {
    ($machine:ty; $(
        $(#[doc = $help:literal])*
        $name:literal $value:literal: $kind:ident($($how:expr),*)
        $(, $add:ident($($what:expr),*))*;
    )*) => {
        vec![$(
            $crate::setting::Setting::<$machine>::$kind($name, $value, $($how),*)
                .help(concat!($($help),*).trim_ascii())
                $(.$add($($what),*))*
        ),*]
    };
}

pub(crate) use settings;

/// Returns all settings, in the order of help.
pub fn all<M: Machine>() -> Vec<Setting<M>> {
    let settings = M::settings().into_iter();
    settings.flat_map(|(_, settings)| settings).collect()
}

/// Returns a sentence for each of the `asked` settings that changes nothing on any of these
/// machines.
pub fn idle<'m, M: Machine>(
    asked: &[&str],
    machines: impl Iterator<Item = &'m M> + Clone,
) -> Vec<String> {
    let asked = all::<M>()
        .into_iter()
        .filter(|setting| asked.contains(&setting.name));
    let sentences = asked.filter_map(|setting| {
        let idle = setting.idle?;
        let reasons: Option<Vec<_>> = machines.clone().map(idle).collect();
        let reason = *reasons?.first()?;
        Some(format!("‘{}’ changes nothing: {reason}", setting.name))
    });
    sentences.collect()
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
    /// A usage error if a text is no value of its setting, there is no such setting, or one that
    /// must be given is missing.
    pub fn parse(values: &[(&str, &str)]) -> Result<Self> {
        let known = all::<M>();
        let unknown = |name: &str| known.iter().all(|setting| setting.name != name);
        if let Some((name, _)) = values.iter().find(|(name, _)| unknown(name)) {
            return Err(Error::usage(format!("there is no setting `{name}`")));
        }
        let sets = known.iter().map(|setting| {
            let given = values.iter().find(|(name, _)| *name == setting.name);
            let text = given.map(|(_, text)| *text).or(setting.default);
            if setting.is_required && text.is_none() {
                return Err(Error::usage(format!(
                    "‘{}’ is missing; give it",
                    setting.name
                )));
            }
            let sets = text.map(|text| setting.parse(text)).transpose();
            let of = |error| Error::usage(format!("‘{}’: {error}", setting.name));
            Ok((setting.name, sets.map_err(of)?.unwrap_or_default()))
        });
        sets.collect::<Result<_>>().map(Self)
    }

    /// Applies all values of all settings to a choice, in their order.
    ///
    /// # Errors
    /// A usage error if a value is not allowed, or names something unknown.
    pub fn apply(&self, choice: &mut M::Choice, known: &M::Known) -> Result<()> {
        let mut sets = self.0.iter().flat_map(|(_, sets)| sets);
        sets.try_for_each(|set| set.apply(choice, known))
    }

    /// Returns all combinations of the values, the first setting slowest. A choice takes `bytes` of
    /// memory.
    ///
    /// # Errors
    /// Errors of [`Given::apply`]; a failure if there is not enough memory for the choices.
    pub fn combinations(&self, known: &M::Known, bytes: u64) -> Result<Vec<M::Choice>>
    where
        M::Choice: Clone + Default,
    {
        let varied = self.0.iter().map(|(_, sets)| &sets[..]);
        let varied: Vec<&[Set<M>]> = varied.filter(|sets| !sets.is_empty()).collect();
        let numbers = varied.iter().map(|sets| sets.len() as u64);
        let choices = numbers.fold(1u64, u64::saturating_mul);
        let bytes = Bytes(choices.saturating_mul(bytes));
        memory::require(bytes, &format!("{choices} machines"))?;
        let mut choices = vec![M::Choice::default()];
        for sets in varied {
            let each = choices.iter().flat_map(|choice| {
                sets.iter().map(move |set| {
                    let mut choice = choice.clone();
                    set.apply(&mut choice, known)?;
                    Ok(choice)
                })
            });
            choices = each.collect::<Result<_>>()?;
        }
        Ok(choices)
    }
}
