//! Typed settings, written behind a policy's name as `stride:depth=4,history=1`.
//!
//! A setting is declared once, where it is taken: its name, help, default and [`Values`]. The
//! constructor's default, error messages, `terrace list` and `terrace explain` all come from that
//! declaration. [`settings!`](crate::settings) declares a struct of settings.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Values of a switch that is on by default.
pub const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];
/// Values of a switch that is off by default.
pub const OFF_ON: [(&str, bool); 2] = [("off", false), ("on", true)];

/// Largest values of number types: a range up to one of these has no bound worth naming.
const UNBOUNDED: [&str; 3] = ["4294967295", "18446744073709551615", "inf"];

/// The values that a setting of type `T` can have: a range of numbers, or names with their values.
pub trait Values<T> {
    /// Reads a value; `None` if it is not allowed.
    fn read(&self, text: &str) -> Option<T>;

    /// Writes a value as [`Values::read`] reads it.
    fn write(&self, value: &T) -> String;

    /// Describes the allowed values, as `1 to 8`.
    fn describe(&self) -> String;

    /// Describes the allowed values at the end of the sentence "it is ...".
    fn expected(&self) -> String;

    /// Names of the allowed values, if they have names.
    fn names(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

impl<T: FromStr + PartialOrd + fmt::Display> Values<T> for RangeInclusive<T> {
    fn read(&self, text: &str) -> Option<T> {
        text.parse().ok().filter(|value| self.contains(value))
    }

    fn write(&self, value: &T) -> String {
        value.to_string()
    }

    fn describe(&self) -> String {
        match UNBOUNDED.contains(&&*self.end().to_string()) {
            true => format!("{} or more", self.start()),
            false => format!("{} to {}", self.start(), self.end()),
        }
    }

    fn expected(&self) -> String {
        format!("a number from {} to {}", self.start(), self.end())
    }
}

impl<T: Copy + PartialEq, const N: usize> Values<T> for [(&'static str, T); N] {
    fn read(&self, text: &str) -> Option<T> {
        let found = self.iter().find(|(name, _)| *name == text);
        found.map(|(_, value)| *value)
    }

    fn write(&self, value: &T) -> String {
        let found = self.iter().find(|(_, known)| known == value);
        found.map_or("", |(name, _)| name).to_owned()
    }

    fn describe(&self) -> String {
        self.names().join(", ")
    }

    fn expected(&self) -> String {
        format!("one of {}", self.describe())
    }

    fn names(&self) -> Vec<&'static str> {
        self.iter().map(|(name, _)| *name).collect()
    }
}

/// A declared setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key before the `=`.
    pub key: &'static str,
    /// Value used when the setting is not given; empty if it must be given.
    pub default: String,
    /// Description of the allowed values.
    pub values: String,
    /// Help: what the setting means, without a capital letter and a full stop.
    pub meaning: &'static str,
    names: Vec<&'static str>,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.default)?;
        let mut others = self.names.iter().filter(|name| **name != self.default);
        others.try_for_each(|name| write!(f, "|{name}"))
    }
}

/// Given keys and values, and the settings that were declared while taking them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    given: Vec<(String, String)>,
    declared: Vec<Setting>,
}

impl Params {
    /// Reads `key=value,key=value`; an empty text gives no settings.
    ///
    /// # Errors
    /// Returns a message if a part has another form or a key is given twice.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut params = Self::default();
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("`{part}` is not a setting; write it as key=value"));
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            if params.given.iter().any(|(known, _)| *known == key) {
                return Err(format!("`{key}` is set twice"));
            }
            params.given.push((key, value));
        }
        Ok(params)
    }

    /// Declares a setting, and takes its given value or the default.
    ///
    /// # Errors
    /// Returns a message if the given value is not one of `values`.
    pub fn take<T>(
        &mut self,
        key: &'static str,
        meaning: &'static str,
        default: T,
        values: impl Values<T>,
    ) -> Result<T, String> {
        let given = self.declare(Setting {
            key,
            default: values.write(&default),
            values: values.describe(),
            meaning,
            names: values.names(),
        });
        match given {
            None => Ok(default),
            Some(text) => values
                .read(&text)
                .ok_or_else(|| format!("{key}={text}: it is {}", values.expected())),
        }
    }

    /// Declares a setting of free text with a description of its values, and takes its given value
    /// or the default.
    pub fn text(
        &mut self,
        key: &'static str,
        meaning: &'static str,
        default: &str,
        values: &str,
    ) -> String {
        let given = self.declare(Setting {
            key,
            default: default.to_owned(),
            values: values.to_owned(),
            meaning,
            names: Vec::new(),
        });
        given.unwrap_or_else(|| default.to_owned())
    }

    fn declare(&mut self, setting: Setting) -> Option<String> {
        let key = setting.key;
        if !self.declared.iter().any(|known| known.key == key) {
            self.declared.push(setting);
        }
        let place = self.given.iter().position(|(known, _)| known == key)?;
        Some(self.given.remove(place).1)
    }

    /// The settings declared so far, in order of declaration.
    pub fn declared(&self) -> &[Setting] {
        &self.declared
    }

    /// Checks that every given setting was declared.
    ///
    /// # Errors
    /// Returns a message that names a setting which was not, and those that were.
    pub fn finish(self) -> Result<(), String> {
        let Some((key, _)) = self.given.first() else {
            return Ok(());
        };
        let declared: Vec<String> = self.declared.iter().map(Setting::to_string).collect();
        let there_are = match declared.is_empty() {
            true => "it has none".to_owned(),
            false => format!("there are: {}", declared.join(", ")),
        };
        Err(format!("it has no setting `{key}`; {there_are}"))
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self
            .given
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        f.write_str(&given.collect::<Vec<_>>().join(","))
    }
}

/// Declares a struct of settings: of each its documentation, which is also its help, its name,
/// type, default and [`Values`](crate::params::Values).
///
/// The struct gets a constructor `take(&mut Params)` and, unless it has an argument, a `Default`.
/// An argument in parentheses is a further argument of `take` and a field; defaults and ranges can
/// use it and the settings before. `as "key"` gives a setting another name for users.
///
/// ```
/// use terrace_policy::params::Params;
/// terrace_policy::settings! {
///     /// Settings of a predictor.
///     pub struct NextSettings {
///         /// pages named at a fault
///         degree: usize = 8, 1..=512;
///     }
/// }
/// assert_eq!(NextSettings::default().degree, 8);
/// let given = NextSettings::take(&mut Params::parse("degree=4")?)?;
/// assert_eq!(given.degree, 4);
/// # Ok::<(), String>(())
/// ```
#[macro_export]
macro_rules! settings {
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    (@default $name:ident) => {
        impl Default for $name {
            fn default() -> Self {
                let taken = Self::take(&mut $crate::params::Params::default());
                taken.expect("defaults are among the allowed values")
            }
        }
    };
    (@default $name:ident $argument:ident) => {};
    (
        $(#[$doc:meta])*
        $visible:vis struct $name:ident $(($argument:ident: $kind:ty))? {
            $(
                $(#[doc = $help:literal])+
                $field:ident $(as $key:literal)?: $type:ty = $default:expr, $values:expr;
            )+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visible struct $name {
            $(
                /// The environment of the policy, on which defaults and ranges depend.
                pub $argument: $kind,
            )?
            $($(#[doc = $help])+ pub $field: $type,)+
        }

        impl $name {
            /// Takes the settings that are given; the others have their defaults.
            ///
            /// # Errors
            /// Returns a message if a value is not allowed.
            $visible fn take(
                params: &mut $crate::params::Params
                $(, $argument: $kind)?
            ) -> Result<Self, String> {
                $(let $field: $type = params.take(
                    $crate::settings!(@key $field $($key)?),
                    concat!($($help),+).trim_ascii_start(),
                    $default,
                    $values,
                )?;)+
                Ok(Self { $($argument,)? $($field),+ })
            }
        }

        $crate::settings!(@default $name $($argument)?);
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDERS: [(&str, i32); 2] = [("lifo", 1), ("fifo", 2)];

    #[test]
    fn settings_are_taken_once_and_by_name() {
        let mut params = Params::parse("depth=4, order=fifo").unwrap();
        for depth in [4, 1] {
            assert_eq!(params.take("depth", "", 1, 1..=8), Ok(depth));
        }
        for order in [2, 1] {
            assert_eq!(params.take("order", "", 1, ORDERS), Ok(order));
        }
        assert_eq!(params.finish(), Ok(()));
    }

    #[test]
    fn errors_name_the_problem() {
        for (text, why) in [("depth", "key=value"), ("a=1,a=2", "twice")] {
            let error = Params::parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let params = || Params::parse("depth=9").unwrap();
        let error = params().take("depth", "", 1, 1..=8).unwrap_err();
        assert!(error.contains("from 1 to 8"), "{error}");
        let error = params().take("depth", "", 1, [("on", 1)]).unwrap_err();
        assert!(error.contains("one of on"), "{error}");
        let nothing = params().finish().unwrap_err();
        assert_eq!(nothing, "it has no setting `depth`; it has none");
    }

    settings! {
        struct Example(most: usize) {
            /// pages that are named,
            /// at most
            depth: usize = 4, 1..=8;
            /// sets
            sets: usize = most.min(depth), 1..=usize::MAX;
            /// order of hints
            order as "queue": i32 = 2, ORDERS;
        }
    }

    #[test]
    fn a_declaration_gives_default_values_and_help() {
        let mut params = Params::parse("deep=1").unwrap();
        let example = Example::take(&mut params, 3).unwrap();
        assert_eq!((example.depth, example.sets, example.order), (4, 3, 2));
        params.text("of", "names", "all", "words");
        let declared = params.declared().iter();
        let values: Vec<_> = declared.map(|setting| setting.values.as_str()).collect();
        assert_eq!(values, ["1 to 8", "1 or more", "lifo, fifo", "words"]);
        assert_eq!(
            params.declared()[0].meaning,
            "pages that are named, at most"
        );
        let error = params.finish().unwrap_err();
        assert!(
            error.ends_with("depth=4, sets=3, queue=fifo|lifo, of=all"),
            "{error}"
        );
    }
}
