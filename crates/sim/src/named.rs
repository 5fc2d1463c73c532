//! Enumerations whose values have names: on the command line, in help and in results.

/// A value with a name: an option takes its name, and results show it.
pub trait Named: Copy + PartialEq + Send + Sync + 'static {
    /// All values in the order of help, each with its name and its help, which is empty where the
    /// name suffices.
    const VALUES: &'static [(&'static str, Self, &'static str)];

    /// Returns the name.
    fn name(self) -> &'static str {
        let known = Self::VALUES.iter().find(|(_, known, _)| *known == self);
        known.map_or("", |(name, _, _)| name)
    }
}

/// Declares an enumeration, each value with its name and, where the name does not suffice, its
/// help. Its default is that of the option.
macro_rules! named {
    (
        $(#[$about:meta])*
        $vis:vis enum $type:ident {
            $($(#[$meta:meta])* $value:ident = $name:literal $($help:literal)?,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        $vis enum $type {
            $($(#[$meta])* $value,)*
        }

        impl $crate::named::Named for $type {
            const VALUES: &'static [(&'static str, Self, &'static str)] =
                &[$(($name, Self::$value, concat!($($help)?)),)*];
        }

        impl terrace_base::schema::Typed for $type {
            const KIND: terrace_base::schema::Kind = terrace_base::schema::Kind::Text;

            fn value(self) -> terrace_base::schema::Value {
                $crate::named::Named::name(self).value()
            }
        }
    };
}

pub(crate) use named;

#[cfg(test)]
mod tests {
    use terrace_base::schema::{Typed, Value};

    use super::*;

    named! {
        /// A colour.
        enum Colour {
            /// Red.
            Red = "red",
            /// Green.
            #[default]
            Green = "green" "As grass",
        }
    }

    #[test]
    fn a_value_has_its_name_everywhere() {
        let names = [
            ("red", Colour::Red, ""),
            ("green", Colour::Green, "As grass"),
        ];
        assert_eq!(Colour::VALUES, names);
        assert_eq!(Colour::default().name(), "green");
        assert_eq!(Colour::Red.value(), Value::Text("red".to_owned()));
    }
}
